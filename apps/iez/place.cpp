#include "place.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/cluster_toml.hpp"
#include "config/request_csv.hpp"
#include "file_system.hpp"
#include "lustre/cluster_reader.hpp"
#include "model/layout_spec.hpp"
#include "place_compare.hpp"
#include "place_explain.hpp"
#include "place_phases.hpp"
#include "place_view.hpp"
#include "placement/plan.hpp"
#include "progress.hpp"
#include "svg_chart.hpp"
#include "table.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kShownByDefault = 20;
constexpr std::uint64_t kSeedsByDefault = 100;

struct ClusterInput {
  model::Cluster cluster;
  bool servers_known = true;
};

Result<ClusterInput> read_cluster(const PlaceOptions& options, Context& context) {
  if (!options.cluster.empty()) {
    IEZ_TRY(const std::string text, read_text_file(options.cluster));
    IEZ_TRY(auto cluster, config::parse_cluster(text, options.cluster));
    return ClusterInput{.cluster = std::move(cluster)};
  }
  IEZ_TRY(const auto sources, open_sources(options.source.roots));
  input::ParseReport report;
  auto reading = lustre::read_clusters(sources, {}, report);
  if (!reading && options.source.roots.empty())
    return with_context(std::move(reading).error(), "no --cluster given, and this node");
  if (!reading) return std::unexpected(std::move(reading).error());
  report_problems(report, context);
  IEZ_TRY(auto view, one_file_system(*std::move(reading), options.source.file_system));
  return ClusterInput{.cluster = std::move(view.cluster), .servers_known = view.servers_known};
}

struct Batch {
  std::string path;
  std::vector<placement::Request> requests;
};

struct Input {
  std::string cluster;
  bool servers_known = true;
  placement::TargetTable table;
  std::vector<Batch> batches;
};

Result<void> check_streams(const PlaceOptions& options) {
  const auto readers = std::ranges::count(options.requests, kStandardStream) + (options.cluster == kStandardStream ? 1 : 0) +
                       std::ranges::count(options.source.roots, kStandardStream);
  if (readers > 1) return fail(Errc::invalid_argument, "'-' is given twice: standard input can be read once");
  const int writers =
      (options.csv == kStandardStream ? 1 : 0) + (options.svg == kStandardStream ? 1 : 0) + (options.json ? 1 : 0);
  if (writers > 1) return fail(Errc::invalid_argument, "of --json, --csv - and --svg - only one can have standard output");
  return {};
}

Result<Input> read_input(const PlaceOptions& options, Context& context) {
  IEZ_CHECK(check_streams(options));
  placement::TargetOptions target_options;
  if (!options.exclude.empty()) {
    auto excluded = model::parse_ost_list(options.exclude, ',');
    if (!excluded) return with_context(std::move(excluded).error(), "--exclude");
    target_options.excluded = *std::move(excluded);
  }
  // A policy that nobody knows is told before anything is read.
  IEZ_TRY([[maybe_unused]] const auto policy, placement::make_policy(options.policy, options.seed));
  IEZ_TRY(ClusterInput cluster, read_cluster(options, context));
  Input input{.cluster = cluster.cluster.name, .servers_known = cluster.servers_known};
  IEZ_TRY(input.table, placement::make_targets(cluster.cluster, target_options));
  for (const std::string& path : options.requests) {
    IEZ_TRY(const std::string text, read_text_file(path));
    IEZ_TRY(auto requests, config::parse_requests(text, path == kStandardStream ? "standard input" : path));
    if (requests.empty()) context.log.warning(fmt::format("{}: no files to place", text::printable(path)));
    input.batches.push_back({.path = path, .requests = std::move(requests)});
  }
  return input;
}

// All batches as one; a name may occur in one of them only.
Result<std::vector<placement::Request>> join(std::vector<Batch> batches) {
  if (batches.size() == 1) return std::move(batches.front().requests);
  std::vector<placement::Request> all;
  std::size_t count = 0;
  for (const Batch& batch : batches) count += batch.requests.size();
  all.reserve(count);
  std::unordered_map<std::string_view, std::size_t> owner;
  owner.reserve(count);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    for (const placement::Request& request : batches[i].requests) {
      const auto [found, fresh] = owner.emplace(request.name, i);
      if (fresh) continue;
      return fail(
          Errc::parse,
          fmt::format("{}: column name: found '{}', which {} has already; expected each name once (to compare batches that "
                      "share names, use --compare)",
                      batches[i].path, text::printable(request.name), batches[found->second].path));
    }
  }
  for (Batch& batch : batches) std::ranges::move(batch.requests, std::back_inserter(all));
  return all;
}

// What is wrong with the requests is no wrong usage of the command.
Error of_requests(Error error, std::span<const std::string> paths) {
  if (error.code == Errc::invalid_argument) error.code = Errc::parse;
  return paths.size() == 1 ? with_context(std::move(error), paths.front()).error() : error;
}

Result<placement::Plan> make_plan(const Input& input, std::span<const placement::Request> requests, const std::string& policy,
                                  std::uint64_t seed) {
  IEZ_TRY(const auto made, placement::make_policy(policy, seed));
  return placement::plan_files(input.table, requests, *made);
}

// "ior-count8" for ".../ior-count8.csv", unless two would be named alike.
std::vector<std::string> labels(std::span<const Batch> batches) {
  std::vector<std::string> names;
  for (const Batch& batch : batches) {
    std::string name = batch.path.substr(batch.path.rfind('/') + 1);
    if (name.size() > 4 && name.ends_with(".csv")) name.resize(name.size() - 4);
    names.push_back(std::move(name));
  }
  std::vector<std::string> result;
  result.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    result.push_back(std::ranges::count(names, names[i]) > 1 ? batches[i].path : names[i]);
  }
  return result;
}

Result<void> run_compare(const PlaceOptions& options, const Input& input, Context& context) {
  Comparison comparison{.cluster = input.cluster,
                        .servers_known = input.servers_known,
                        .seed = options.seed,
                        .seeds = options.seeds.value_or(kSeedsByDefault),
                        .cases = {}};
  const std::vector<std::string> names = labels(input.batches);
  {
    Progress progress(context.clock);
    for (std::size_t i = 0; i < input.batches.size(); ++i) {
      const auto tell = [&](std::string_view policy, std::uint64_t run, std::uint64_t runs) {
        progress.tell(fmt::format("{}: {}, run {} of {}", names[i], policy, run + 1, runs));
      };
      auto one = compare_policies(input.table, input.batches[i].requests, comparison.seed, comparison.seeds, context.clock, tell);
      if (!one) return std::unexpected(of_requests(std::move(one).error(), {&input.batches[i].path, 1}));
      one->label = names[i];
      comparison.cases.push_back(*std::move(one));
    }
  }
  for (const ComparedCase& one : comparison.cases) {
    for (const PolicyResult& result : one.policies) {
      if (!result.refused.empty())
        context.log.warning(fmt::format("{}: policy {}: {}", one.label, result.policy, result.refused));
    }
  }
  if (!options.svg.empty()) IEZ_CHECK(write_text_file(options.svg, to_svg(compare_chart(comparison))));
  if (options.svg == kStandardStream) return {};
  const bool plot = options.plot || (context.terminal.interactive && !options.no_header);
  return print(options.json ? compare_json(comparison) : compare_text(comparison, !options.no_header, plot, context.terminal));
}

PlanView view_of(const Input& input, std::uint64_t seed, const std::vector<placement::Request>& requests,
                 const placement::Plan& plan) {
  return {.cluster = input.cluster,
          .servers_known = input.servers_known,
          .seed = seed,
          .table = input.table,
          .requests = requests,
          .plan = plan};
}

Result<void> run_plan(const PlaceOptions& options, Input input, Context& context) {
  IEZ_TRY(const auto requests, join(std::move(input.batches)));
  std::optional<PhasesPlan> by_phases;
  if (options.phases) {
    auto planned = plan_phases(input.table, requests);
    if (!planned) return std::unexpected(of_requests(std::move(planned).error(), options.requests));
    by_phases = *std::move(planned);
  }
  const auto plan =
      by_phases ? Result<placement::Plan>(by_phases->plan) : make_plan(input, requests, options.policy, options.seed);
  if (!plan) return std::unexpected(of_requests(plan.error(), options.requests));
  const PlanView view = view_of(input, options.seed, requests, *plan);
  const auto limit = [&](std::size_t usual) {
    if (!options.limit) return usual;
    return *options.limit == 0 ? std::numeric_limits<std::size_t>::max() : *options.limit;
  };
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  if (!options.csv.empty()) IEZ_CHECK(write_text_file(options.csv, plan_csv(view, limit(kAll))));
  if (!options.svg.empty()) IEZ_CHECK(write_text_file(options.svg, to_svg(plan_chart(view))));
  if (options.csv == kStandardStream || options.svg == kStandardStream) return {};
  if (by_phases) {
    return print(options.json ? phases_json(view, *by_phases, limit(kAll))
                              : phases_text(view, *by_phases, limit(kShownByDefault), !options.no_header, context.terminal));
  }
  return print(options.json ? plan_json(view, limit(kAll))
                            : plan_text(view, limit(kShownByDefault), !options.no_header, context.terminal));
}

Result<void> check_modes(const PlaceOptions& options) {
  const auto only_compared = [&](bool given, std::string_view option) -> Result<void> {
    if (!given || options.compare) return {};
    return fail(Errc::invalid_argument, fmt::format("{} is for --compare", option));
  };
  IEZ_CHECK(only_compared(options.seeds.has_value(), "--seeds"));
  IEZ_CHECK(only_compared(options.plot, "--plot"));
  if (options.seeds == 0U) return fail(Errc::invalid_argument, "--seeds is 0: expected 1 or more");
  if (options.compare && !options.csv.empty()) return fail(Errc::invalid_argument, "--csv writes one plan: not with --compare");
  if (options.compare && options.limit) return fail(Errc::invalid_argument, "--limit is for files: --compare lists none");
  return {};
}

}  // namespace

Result<void> run_place(const PlaceOptions& options, Context& context) {
  IEZ_CHECK(check_modes(options));
  IEZ_TRY(Input input, read_input(options, context));
  if (options.compare) return run_compare(options, input, context);
  return run_plan(options, std::move(input), context);
}

Result<void> run_place_explain(const PlaceOptions& options, const std::string& name, Context& context) {
  if (options.compare || options.phases || options.seeds || options.plot || options.limit || !options.svg.empty() ||
      !options.csv.empty()) {
    return fail(Errc::invalid_argument, "explain takes no --compare, --phases, --seeds, --plot, --limit, --svg or --csv");
  }
  IEZ_TRY(Input input, read_input(options, context));
  IEZ_TRY(const auto requests, join(std::move(input.batches)));
  const auto found = std::ranges::find(requests, name, &placement::Request::name);
  if (found == requests.end()) {
    std::vector<std::string_view> names;
    names.reserve(requests.size());
    for (const placement::Request& request : requests) names.emplace_back(request.name);
    const auto meant = text::nearest(name, names);
    return fail(Errc::not_found,
                fmt::format("no file '{}' among the {}{}", text::printable(name), counted(requests.size(), "request"),
                            meant ? fmt::format("; did you mean '{}'?", *meant) : ""));
  }
  const auto plan = make_plan(input, requests, options.policy, options.seed);
  if (!plan) return std::unexpected(of_requests(plan.error(), options.requests));
  std::vector<OtherPlan> others;
  {
    Progress progress(context.clock);
    for (const std::string_view policy : placement::policy_names()) {
      if (policy == options.policy) continue;
      progress.tell(fmt::format("policy {}", policy));
      others.push_back({std::string(policy), make_plan(input, requests, std::string(policy), options.seed)});
    }
  }
  const PlanView view = view_of(input, options.seed, requests, *plan);
  const auto request = static_cast<std::uint32_t>(found - requests.begin());
  return print(options.json ? explain_json(view, request, others)
                            : explain_text(view, request, others, !options.no_header, context.terminal));
}

}  // namespace iez::cli
