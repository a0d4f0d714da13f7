#include "bench_command.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "bench.hpp"
#include "build_info.hpp"
#include "json.hpp"
#include "preload_library.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

Result<const bench::Bench*> find_bench(const std::string& name) {
  std::vector<std::string_view> names;
  for (const bench::Bench& known : bench::benches()) {
    if (known.name == name) return &known;
    names.push_back(known.name);
  }
  const auto meant = text::nearest(name, names);
  return fail(Errc::invalid_argument, fmt::format("no benchmark '{}'; {}", name,
                                                  meant ? fmt::format("did you mean {}?", *meant)
                                                        : fmt::format("there are: {}", fmt::join(names, ", "))));
}

std::string_view verdict(const bench::Figure& figure) {
  if (!figure.value) return "skipped";
  const auto reached = bench::reached(figure);
  if (!reached) return "";
  return *reached ? "reached" : "missed";
}

// "1.57 (1.50..1.80)": seconds.
std::string spread_text(const bench::Spread& spread) {
  return fmt::format("{:.2f} ({:.2f}..{:.2f})", spread.median, spread.least, spread.most);
}

std::string cases_table(const bench::Figure& figure, const Terminal& terminal) {
  Table table({{"CASE"},
               {"DEFAULT s", Align::right},
               {"PLACED s", Align::right},
               {"RATIO", Align::right},
               {"RUNS", Align::right},
               {"IEZ SAID"}});
  for (const bench::ComparedCase& one : figure.cases) {
    if (!one.skipped.empty()) {
      table.add({{one.name}, {"-"}, {"-"}, {"-"}, {"0"}, {fmt::format("skipped: {}", one.skipped)}});
      continue;
    }
    const double ratio = bench::ratio_of(one);
    table.add({{one.name},
               {spread_text(one.by_default)},
               {spread_text(one.placed)},
               {fmt::format("{:.2f}", ratio), ratio < figure.target.value_or(0) ? Colour::red : Colour::none},
               {std::to_string(one.placed.runs)},
               {one.said}});
  }
  return table.render(terminal, true);
}

std::string to_text(std::string_view name, const std::vector<bench::Figure>& figures, const Terminal& terminal) {
  Table table({{"FIGURE"}, {"VALUE", Align::right}, {"UNIT"}, {"TARGET", Align::right}, {""}, {"NOTE"}});
  for (const bench::Figure& figure : figures) {
    table.add({{figure.name},
               {figure.value ? fmt::format("{:.4g}", *figure.value) : "-"},
               {figure.unit},
               {figure.target ? fmt::format("{} {:g}", figure.higher_is_better ? ">=" : "<=", *figure.target) : "-"},
               {std::string(verdict(figure)), verdict(figure) == "missed" ? Colour::red : Colour::none},
               {figure.note}});
  }
  std::string text = fmt::format("{} ({})\n{}", name, build::kCommit, table.render(terminal, true));
  for (const bench::Figure& figure : figures) {
    if (!figure.cases.empty()) text += fmt::format("\n{}: its cases\n{}", figure.name, cases_table(figure, terminal));
  }
  return text;
}

ordered_json to_json(const bench::Spread& spread) {
  return {{"median_s", spread.median}, {"least_s", spread.least}, {"most_s", spread.most}, {"runs", spread.runs}};
}

ordered_json to_json(const bench::ComparedCase& one) {
  if (!one.skipped.empty()) return {{"case", one.name}, {"about", one.about}, {"skipped", one.skipped}};
  return {{"case", one.name},
          {"about", one.about},
          {"default", to_json(one.by_default)},
          {"placed", to_json(one.placed)},
          {"ratio", bench::ratio_of(one)},
          {"said", one.said}};
}

ordered_json to_json(std::string_view name, const std::vector<bench::Figure>& figures) {
  ordered_json json{{"bench", name}, {"commit", build::kCommit}, {"figures", ordered_json::array()}};
  for (const bench::Figure& figure : figures) {
    json["figures"].push_back({{"name", figure.name},
                               {"value", or_null(figure.value)},
                               {"unit", figure.unit},
                               {"better", figure.higher_is_better ? "higher" : "lower"},
                               {"target", or_null(figure.target)},
                               {"note", figure.note}});
    if (figure.cases.empty()) continue;
    ordered_json& cases = json["figures"].back()["cases"];
    for (const bench::ComparedCase& one : figure.cases) cases.push_back(to_json(one));
  }
  return json;
}

Result<void> list_benches(const Terminal& terminal, bool json) {
  if (json) {
    ordered_json list = ordered_json::array();
    for (const bench::Bench& known : bench::benches()) list.push_back({{"bench", known.name}, {"summary", known.summary}});
    return print(to_line(list));
  }
  Table table({{"BENCHMARK"}, {"WHAT"}});
  for (const bench::Bench& known : bench::benches()) table.add({{std::string(known.name)}, {std::string(known.summary)}});
  return print(table.render(terminal, true));
}

Result<void> measure(const std::string& path) {
  IEZ_TRY(const bench::ParseCost cost, bench::measure_job_stats(path));
  return print(to_line({{"jobs", cost.jobs}, {"bytes", cost.bytes}, {"seconds", cost.seconds}, {"peak_kib", cost.peak_kib}}));
}

Result<std::vector<bench::Peer>> peers_of(const std::vector<std::string>& given) {
  std::vector<bench::Peer> peers;
  peers.reserve(given.size());
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return fail(Errc::invalid_argument,
                  fmt::format("--peer '{}': expected NAME=LIBRARY, as darshan=/opt/lib/libdarshan.so", text));
    }
    bench::Peer peer{.name = text.substr(0, equals), .library = text.substr(equals + 1)};
    std::error_code error;
    const auto path = std::filesystem::canonical(peer.library, error);
    if (error) return fail(Errc::not_found, fmt::format("--peer {}: {}: {}", peer.name, peer.library, error.message()));
    peer.library = path.string();
    peers.push_back(std::move(peer));
  }
  return peers;
}

}  // namespace

Result<void> run_bench(const BenchOptions& options, Context& context) {
  if (!options.measure.empty()) return measure(options.measure);
  std::vector<const bench::Bench*> chosen;
  for (const std::string& name : options.names) {
    IEZ_TRY(const bench::Bench* found, find_bench(name));
    chosen.push_back(found);
  }
  if (options.all) {
    for (const bench::Bench& known : bench::benches()) chosen.push_back(&known);
  }
  if (chosen.empty()) return list_benches(context.terminal, options.json);
  IEZ_TRY(const auto peers, peers_of(options.peers));
  const auto is_chosen = [&chosen](std::string_view name) {
    return std::ranges::any_of(chosen, [name](const bench::Bench* one) { return one->name == name; });
  };
  if (!options.cases.empty() && !is_chosen("loop")) return fail(Errc::invalid_argument, "--case: only loop has cases");
  if (!options.cells.empty() && !is_chosen("collective"))
    return fail(Errc::invalid_argument, "--cell: only collective has cells");
  std::error_code ignored;
  for (const bench::Bench* known : chosen) {
    const bench::Settings settings{.progress = [&](std::string_view line) { fmt::print(stderr, "{}: {}\n", known->name, line); },
                                   .quick = options.quick,
                                   .program = std::filesystem::read_symlink("/proc/self/exe", ignored).string(),
                                   .preload_library = find_preload_library().value_or(""),
                                   .openmpi_library = find_mpi_library("openmpi").value_or(""),
                                   .mpich_library = find_mpi_library("mpich").value_or(""),
                                   .peers = peers,
                                   .cases = options.cases,
                                   .cells = options.cells};
    auto figures = known->run(settings);
    if (!figures) return with_context(std::move(figures).error(), known->name);
    IEZ_CHECK(print(options.json ? to_line(to_json(known->name, *figures)) : to_text(known->name, *figures, context.terminal)));
  }
  return {};
}

}  // namespace iez::cli
