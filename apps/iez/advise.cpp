#include "advise.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/cluster_toml.hpp"
#include "contention_live.hpp"
#include "file_system.hpp"
#include "json.hpp"
#include "lustre/cluster_reader.hpp"
#include "lustre/job_reader.hpp"
#include "plot.hpp"
#include "stripe_words.hpp"
#include "table.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr unsigned kPlotWidth = 60;
constexpr unsigned kPlotHeight = 12;

bool takes_objects(const model::Ost& ost) {
  return ost.state.active && !ost.state.read_only && !ost.state.no_create && !model::full(ost);
}

Result<void> check(const AdviseOptions& options) {
  const int machines =
      (options.cluster.empty() ? 0 : 1) + (options.machine.empty() ? 0 : 1) + (options.source.roots.empty() ? 0 : 1);
  if (machines > 1) return fail(Errc::invalid_argument, "of --cluster, --machine and --root only one can tell the machine");
  if (!options.others.empty() && options.others_follow) {
    return fail(Errc::invalid_argument,
                "--others with --others-follow: the first says what they have, the second that they take the "
                "same advice; give one");
  }
  if (options.ranks == 0) return fail(Errc::invalid_argument, "--ranks is 0: expected how many processes write");
  if (options.ranks_per_node == 0) return fail(Errc::invalid_argument, "--ranks-per-node is 0: expected 1 or more");
  if (options.bytes.count == 0) return fail(Errc::invalid_argument, "--bytes is 0: expected what all ranks write together");
  const auto rate = [](const std::optional<BytesPerSecond>& given, std::string_view option) -> Result<void> {
    if (!given || given->value > 0) return {};
    return fail(Errc::invalid_argument, fmt::format("{} is 0: expected a rate such as 500MB/s", option));
  };
  IEZ_CHECK(rate(options.ost_rate, "--ost-rate"));
  IEZ_CHECK(rate(options.server_rate, "--server-rate"));
  IEZ_CHECK(rate(options.node_rate, "--node-rate"));
  if (options.max_stripes == 0U) return fail(Errc::invalid_argument, "--max-stripes is 0: expected 1 or more");
  return {};
}

void apply_rates(contention::Machine& machine, const AdviseOptions& options) {
  if (options.ost_rate) machine.ost_rate = *options.ost_rate;
  if (options.server_rate) machine.server_rate = *options.server_rate;
  if (options.node_rate) machine.node_rate = machine.node_rate_files = *options.node_rate;
  if (options.max_stripes) machine.max_stripes = *options.max_stripes;
}

// A machine, and what others do on it.
struct Situation {
  AdviseMachine machine;
  contention::Load others;
  std::string others_text;
};

// What jobs on these servers do now; nobody, with a warning, where that cannot be told.
Result<void> take_live_load(const std::vector<std::unique_ptr<lustre::ParamSource>>& sources, const model::Cluster& cluster,
                            const AdviseOptions& options, Context& context, Situation& situation) {
  input::ParseReport report;
  auto sample = lustre::read_jobs(sources, context.clock, {.file_system = cluster.name}, report);
  std::set<std::uint32_t> osts;
  for (const model::Ost& ost : cluster.osts) {
    if (takes_objects(ost)) osts.insert(ost.index.value);
  }
  const LiveRequest request{.file_system = cluster.name,
                            .min_bytes = options.min_bytes.value_or(kMinBytes),
                            .osts = std::move(osts),
                            .machine_osts = situation.machine.machine.osts};
  auto view = sample ? make_live_view(*sample, request, {}) : std::unexpected(std::move(sample).error());
  if (!view) {
    if (view.error().code != Errc::not_found) return std::unexpected(std::move(view).error());
    context.log.warning(fmt::format("{}; nobody else is taken to write: say otherwise with --others", view.error().message));
    situation.others_text = "nobody (not known)";
    return {};
  }
  report_problems(report, context);
  situation.others = contention::load_of(view->state);
  // Without rates, what they move is unknown, not 0.
  if (view->basis == RateBasis::none) situation.others.demand = std::nullopt;
  situation.others_text = fmt::format("{} jobs seen in job_stats, on {:.0f} OSTs, D_load {:.2f}", view->state.jobs.size(),
                                      view->state.now.in_use, view->state.now.load);
  return {};
}

Result<void> take_given_load(const AdviseOptions& options, Situation& situation) {
  situation.others = {};
  if (options.others_follow) {
    situation.others.jobs = *options.others_follow;
    situation.others_text = fmt::format("{} jobs like this one, which take the same advice", *options.others_follow);
    return {};
  }
  IEZ_TRY(const auto requests, parse_requests("--others", options.others));
  auto load = contention::load_of_requests(situation.machine.machine.osts, requests);
  if (!load) return with_context(std::move(load).error(), "--others");
  situation.others = *std::move(load);
  situation.others_text = fmt::format("{} jobs of {} stripes, on OSTs chosen at random", requests.size(), options.others);
  return {};
}

Result<Situation> situation_of(const AdviseOptions& options, Context& context) {
  Situation situation{.others_text = "nobody"};
  const bool others_given = !options.others.empty() || options.others_follow.has_value();
  if (!options.machine.empty()) {
    IEZ_TRY(situation.machine, machine_named(options));
  } else if (!options.cluster.empty()) {
    IEZ_TRY(const std::string text, read_text_file(options.cluster));
    IEZ_TRY(const auto cluster, config::parse_cluster(text, options.cluster == "-" ? "standard input" : options.cluster));
    IEZ_TRY(situation.machine, machine_of(cluster, true, options));
  } else {
    IEZ_TRY(const auto sources, open_sources(options.source.roots));
    input::ParseReport report;
    auto reading = lustre::read_clusters(sources, {}, report);
    if (!reading && options.source.roots.empty()) {
      return with_context(std::move(reading).error(), "no --cluster, --machine or --root given, and this node");
    }
    if (!reading) return std::unexpected(std::move(reading).error());
    report_problems(report, context);
    IEZ_TRY(const auto view, one_file_system(*std::move(reading), options.source.file_system));
    IEZ_TRY(situation.machine, machine_of(view.cluster, view.servers_known, options));
    if (!others_given) IEZ_CHECK(take_live_load(sources, view.cluster, options, context, situation));
  }
  if (others_given) IEZ_CHECK(take_given_load(options, situation));
  return situation;
}

std::string_view limit_of(const contention::Prediction& expected) {
  if (expected.speed == expected.clients) return "nodes";
  return expected.speed == expected.targets ? "OSTs" : "servers";
}

// Rows at every candidate would be too many for people: those around the answer, and a few to see the shape.
bool worth_a_row(const contention::Advice& advice, std::size_t i) {
  const std::uint32_t stripes = advice.curve[i].stripes;
  const bool round = (stripes & (stripes - 1)) == 0 || stripes % 32 == 0;
  return round || i == advice.chosen || i == advice.fastest || i + 1 == advice.curve.size();
}

std::string curve_table(const contention::Advice& advice, const AdviseOptions& options, const Terminal& terminal) {
  Table table({{"STRIPES", Align::right},
               {"SPEED", Align::right},
               {"OF BEST", Align::right},
               {"LIMIT"},
               {"D_INUSE", Align::right},
               {"D_LOAD", Align::right},
               {"OTHERS LOSE", Align::right},
               {""}});
  for (std::size_t i = 0; i < advice.curve.size(); ++i) {
    if (!worth_a_row(advice, i)) continue;
    const contention::Choice& choice = advice.curve[i];
    std::string mark;
    if (i == advice.fastest) mark = "fastest";
    if (i == advice.chosen) mark = mark.empty() ? "advised" : "advised, fastest";
    table.add({{fmt::to_string(choice.stripes)},
               {to_string(choice.expected.speed)},
               {percent(choice.share_of_best)},
               {std::string(limit_of(choice.expected))},
               {fmt::format("{:.1f}", choice.expected.after.in_use)},
               {fmt::format("{:.2f}", choice.expected.after.load)},
               {percent(choice.expected.slowdown)},
               {mark, i == advice.chosen ? Colour::bold : Colour::none}});
  }
  return table.render(terminal, !options.no_header);
}

std::string curve_chart(const contention::Advice& advice, bool others, const Terminal& terminal) {
  std::vector<Line> lines{{.name = "share of the best speed (%) over stripes", .points = {}}};
  if (others) lines.push_back({.name = "share of the others' speed that is left (%)", .points = {}});
  for (const contention::Choice& choice : advice.curve) {
    lines[0].points.push_back({static_cast<double>(choice.stripes), 100 * choice.share_of_best});
    if (others) lines[1].points.push_back({static_cast<double>(choice.stripes), 100 * (1 - choice.expected.slowdown)});
  }
  return line_chart(lines, kPlotWidth, kPlotHeight, terminal);
}

std::string to_text(const Situation& situation, const contention::Advice& advice, const AdviseOptions& options,
                    const Terminal& terminal) {
  const contention::Machine& machine = situation.machine.machine;
  std::string out;
  if (!options.no_header) {
    out =
        fmt::format("{}: {} OSTs of {}, {} server{} of {}, nodes of {}\n", situation.machine.name, machine.osts,
                    to_string(machine.ost_rate), machine.servers, machine.servers == 1 ? "" : "s", to_string(machine.server_rate),
                    to_string(options.per_process ? machine.node_rate_files : machine.node_rate));
    if (!situation.machine.assumed.empty()) out += fmt::format("assumed: {}\n", situation.machine.assumed);
    out += fmt::format("others: {}\n\n", situation.others_text);
    out += fmt::format("{}\n\n  {}\n\n", advice.reason, setstripe_line(advice.stripes, advice.stripe_size, "DIR"));
  }
  out += curve_table(advice, options, terminal);
  if (options.plot || (terminal.interactive && !options.no_header)) {
    out += '\n' + curve_chart(advice, situation.others.jobs > 0, terminal);
  }
  return out;
}

std::string to_json(const Situation& situation, const contention::Advice& advice) {
  const contention::Machine& machine = situation.machine.machine;
  ordered_json json;
  json["stripe_count"] = advice.stripes;
  json["stripe_size"] = advice.stripe_size.count;
  json["reason"] = advice.reason;
  json["setstripe"] = setstripe_line(advice.stripes, advice.stripe_size, "DIR");
  json["fastest_count"] = advice.curve[advice.fastest].stripes;
  json["machine"] = {{"name", situation.machine.name},
                     {"osts", machine.osts},
                     {"ost_rate", machine.ost_rate.value},
                     {"servers", machine.servers},
                     {"server_rate", machine.server_rate.value},
                     {"node_rate", machine.node_rate.value},
                     {"node_rate_files", machine.node_rate_files.value},
                     {"max_stripes", machine.max_stripes},
                     {"assumed", situation.machine.assumed}};
  json["others_jobs"] = situation.others.jobs;
  json["curve"] = ordered_json::array();
  for (const contention::Choice& choice : advice.curve) {
    const contention::Prediction& expected = choice.expected;
    json["curve"].push_back({{"stripe_count", choice.stripes},
                             {"speed", expected.speed.value},
                             {"share_of_best", choice.share_of_best},
                             {"limit", limit_of(expected)},
                             {"in_use", expected.after.in_use},
                             {"requested", expected.after.requested},
                             {"load", expected.after.load},
                             {"others_before", expected.others_before.value},
                             {"others_after", expected.others_after.value},
                             {"slowdown", expected.slowdown}});
  }
  json["aggregation"] = nullptr;
  if (advice.aggregation)
    json["aggregation"] = {{"writers", advice.aggregation->writers}, {"speed", advice.aggregation->speed.value}};
  return to_line(json);
}

}  // namespace

Result<AdviseMachine> machine_named(const AdviseOptions& options) {
  if (options.machine != kLscratchcName) {
    return fail(Errc::invalid_argument, fmt::format("--machine: found '{}'; expected {}, or describe yours with --cluster",
                                                    text::printable(options.machine), kLscratchcName));
  }
  AdviseMachine named{.name = options.machine, .machine = contention::kLscratchc};
  apply_rates(named.machine, options);
  return named;
}

Result<AdviseMachine> machine_of(const model::Cluster& cluster, bool servers_known, const AdviseOptions& options) {
  AdviseMachine made{.name = cluster.name};
  std::set<std::size_t> servers;
  for (const model::Ost& ost : cluster.osts) {
    if (!takes_objects(ost)) continue;
    ++made.machine.osts;
    servers.insert(ost.oss);
  }
  if (made.machine.osts == 0) {
    return fail(Errc::not_found, fmt::format("{}: none of its {} OSTs takes new objects", cluster.name, cluster.osts.size()));
  }
  std::vector<std::string> assumed;
  made.machine.ost_rate = options.ost_rate.value_or(kAssumedOstRate);
  if (!options.ost_rate) assumed.push_back(fmt::format("OST rate {} (--ost-rate)", to_string(kAssumedOstRate)));

  made.machine.servers = servers_known ? static_cast<std::uint32_t>(servers.size()) : made.machine.osts;
  double known_rates = 0;
  std::uint32_t known = 0;
  for (const std::size_t server : servers) {
    const auto& bandwidth = cluster.servers[server].bandwidth;
    if (!bandwidth) continue;
    known_rates += bandwidth->value;
    ++known;
  }
  if (known > 0 && servers_known) {
    made.machine.server_rate = {known_rates / known};
  } else {
    made.machine.server_rate = {made.machine.ost_rate.value * made.machine.osts / made.machine.servers};
    if (!options.server_rate) assumed.emplace_back("a server is as fast as its OSTs (--server-rate)");
  }
  made.machine.node_rate = made.machine.node_rate_files = kAssumedNodeRate;
  if (!options.node_rate) assumed.push_back(fmt::format("node rate {} (--node-rate)", to_string(kAssumedNodeRate)));
  apply_rates(made.machine, options);
  made.assumed = fmt::format("{}", fmt::join(assumed, ", "));
  return made;
}

Result<void> run_advise(const AdviseOptions& options, Context& context) {
  IEZ_CHECK(check(options));
  contention::AdviceRequest request{.ranks = options.ranks,
                                    .ranks_per_node = options.ranks_per_node,
                                    .bytes = options.bytes,
                                    .files = options.per_process ? contention::FileUse::per_process : contention::FileUse::shared,
                                    .block = options.block,
                                    .others_follow = options.others_follow.has_value()};
  if (options.transfer) request.transfer = *options.transfer;
  IEZ_TRY(request.accept, parse_share("--accept", options.accept));
  IEZ_TRY(const Situation situation, situation_of(options, context));
  request.others = situation.others;
  IEZ_TRY(const auto advice, contention::advise(situation.machine.machine, request));
  return print(options.json ? to_json(situation, advice) : to_text(situation, advice, options, context.terminal));
}

}  // namespace iez::cli
