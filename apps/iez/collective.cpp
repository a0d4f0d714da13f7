#include "collective.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "collective/choice_text.hpp"
#include "contention/log_choice.hpp"
#include "json.hpp"
#include "layout.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

using collective::Explanation;
using collective::Figures;

constexpr std::size_t kRows = 16;  // of aggregators, for people
constexpr std::uint32_t kMaxStripes = 2000;

Result<std::int64_t> signed_bytes(std::string_view option, Bytes size) {
  if (size.count > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return fail(Errc::invalid_argument, fmt::format("{} is {}: expected less than 8 EiB", option, to_string(size)));
  }
  return static_cast<std::int64_t>(size.count);
}

std::string size_text(std::int64_t bytes) { return to_string(Bytes{static_cast<std::uint64_t>(bytes)}); }
// Of blocks, windows, stripes and calls, which are as Lustre counts them.
std::string binary_text(std::int64_t bytes) { return to_binary_string(Bytes{static_cast<std::uint64_t>(bytes)}); }

std::string mean_text(std::int64_t bytes, std::int64_t calls) { return calls == 0 ? "-" : binary_text(bytes / calls); }

Result<collective::FileLayout> layout_of(const CollectiveExplainOptions& options, const CollectiveCase& asked) {
  if (!options.file.empty()) {
    auto layout = load_layout(options.file, options.raw);
    if (!layout && layout.error().code == Errc::unsupported && !options.raw) {
      return collective::layout_without_stripes(asked.hints, asked.machine);
    }
    if (!layout) return std::unexpected(std::move(layout).error());
    auto striped = collective::striped_layout(*layout);
    if (!striped) {
      return fail(Errc::unsupported,
                  fmt::format("{}: its layout leaves stripes to be chosen, as the default of a directory does; "
                              "give them by --stripe-count and --stripe-size",
                              options.file));
    }
    return *std::move(striped);
  }
  if (!options.stripes) return collective::layout_without_stripes(asked.hints, asked.machine);
  if (*options.stripes == 0 || *options.stripes > kMaxStripes) {
    return fail(Errc::invalid_argument, fmt::format("--stripe-count is {}: expected 1 to {}", *options.stripes, kMaxStripes));
  }
  if (options.stripe_size.count == 0 || options.stripe_size.count % model::kStripeAlignment.count != 0 ||
      options.stripe_size > model::kMaxStripeSize) {
    return fail(Errc::invalid_argument, fmt::format("--stripe-size is {}: expected a multiple of 64 KiB below 4 GiB",
                                                    to_binary_string(options.stripe_size)));
  }
  auto layout = collective::imagined_layout(1, *options.stripes);
  layout.striped = true;
  layout.ranges[0].stripe_size = static_cast<std::int64_t>(options.stripe_size.count);
  return layout;
}

std::string ost_text(std::uint32_t ost) {
  if (ost == collective::kMetadataTarget) return "MDT";
  return ost >= collective::kUnknownOst ? "?" : fmt::to_string(ost);
}

std::string osts_text(const std::vector<std::uint32_t>& osts, bool striped) {
  constexpr std::size_t kShown = 6;
  if (!striped) return "-";
  std::string text;
  for (std::size_t i = 0; i < osts.size() && i < kShown; ++i) {
    if (i > 0) text += ',';
    text += ost_text(osts[i]);
  }
  if (osts.size() > kShown) text += fmt::format(", {} more", osts.size() - kShown);
  return text;
}

std::string layout_text(const collective::FileLayout& layout) {
  std::string text;
  for (const collective::StripedRange& range : layout.ranges) {
    if (!text.empty()) text += fmt::format("; from {} on ", binary_text(range.begin));
    if (!layout.striped) return fmt::format("none; stripes of {} are imagined", binary_text(range.stripe_size));
    text += fmt::format("{} of {}", counted(range.osts.size(), "stripe"), binary_text(range.stripe_size));
  }
  return text;
}

std::string line(std::string_view what, std::string_view text) { return fmt::format("{:<12} {}\n", what, text); }

std::string summary(const CollectiveCase& asked, const Explanation& answer) {
  const collective::Pattern& pattern = asked.pattern;
  const collective::FileChoices& choices = answer.choices;
  std::string out = fmt::format("{} on {} {} {}: {} each, in blocks of {}", counted(asked.machine.ranks, "rank"),
                                counted(asked.machine.nodes, "node"), pattern.write ? "write" : "read",
                                size_text(answer.requests.bytes), size_text(pattern.bytes), binary_text(pattern.block));
  if (pattern.hole > 0) out += fmt::format(" with holes of {}", binary_text(pattern.hole));
  out += pattern.interleaved ? ", interleaved\n" : ", one rank behind the other\n";
  out += line("layout", layout_text(asked.layout));
  out += line("way", fmt::format("{}: {}", to_word(answer.way.value), to_text(answer.way.because)));
  out += line("aggregators", fmt::format("{}: {}", choices.aggregators.value, to_text(choices.aggregators.because)));
  out += line("window", fmt::format("{}: {}", binary_text(choices.window_bytes.value), to_text(choices.window_bytes.because)));
  out += line("memory", fmt::format("{} of an aggregator, two buffers; {} in all", binary_text(2 * choices.window_bytes.value),
                                    binary_text(2 * choices.window_bytes.value * choices.aggregators.value)));
  const auto& direct = pattern.write ? choices.direct_writes : choices.direct_reads;
  out += line("direct I/O", fmt::format("{}: {}", direct.value ? "yes" : "no", to_text(direct.because)));
  out += line("exchange", choices.exchange_requests ? "ranks tell each other what they have, unless their views imply it"
                                                    : "none: same_io_size and contiguous_data tell it");
  out += line("rounds", fmt::to_string(answer.portions));
  if (answer.way.value != collective::Way::collect) out += "Aggregators are as they would be if data were collected.\n";
  return out;
}

// One file or logs, by the number of OSTs that hint iez_osts tells; none without it, or for reads.
Result<std::optional<contention::LogChoice>> logs_or_file(const CollectiveCase& asked) {
  if (asked.hints.osts == 0 || !asked.pattern.write) return std::nullopt;
  const std::uint32_t stripes = asked.layout.striped ? collective::widest(asked.layout) : 1;
  IEZ_TRY(contention::LogChoice choice, contention::log_pays(contention::machine_like_lscratchc(asked.hints.osts), {},
                                                             {.ranks = asked.machine.ranks,
                                                              .nodes = asked.machine.nodes,
                                                              .stripes = std::min(stripes, asked.hints.osts),
                                                              .shared_share = 1,
                                                              .flatten_at_close = !asked.hints.flatten_later}));
  return choice;
}

std::string logs_text(const contention::LogChoice& choice) {
  return line("logs", fmt::format("{}: {}", choice.pays ? "would pay" : "would not pay", choice.reason));
}

std::string work_text(const CollectiveCase& asked, const Explanation& answer, const CollectiveExplainOptions& options,
                      const Terminal& terminal) {
  Table table({{"AGGREGATOR", Align::right},
               {"OSTS"},
               {"BYTES", Align::right},
               {"WINDOWS", Align::right},
               {"CALLS", Align::right},
               {"BYTES/CALL", Align::right}});
  const std::size_t rows = std::min(answer.work.size(), kRows);
  for (std::size_t a = 0; a < rows; ++a) {
    const collective::Work& work = answer.work[a];
    table.add({{fmt::to_string(a)},
               {osts_text(work.osts, asked.layout.striped)},
               {size_text(work.bytes)},
               {fmt::to_string(work.windows)},
               {fmt::to_string(work.calls)},
               {mean_text(work.bytes, work.calls)}});
  }
  std::string out = table.render(terminal, !options.no_header);
  if (rows < answer.work.size()) out += fmt::format("and {} more; --json has all\n", answer.work.size() - rows);
  return out;
}

struct Compared {
  std::string_view word;
  std::string_view text;
  const Figures& figures;
};

std::array<Compared, 3> compared(const Explanation& answer, bool striped) {
  return {{{"independent", "each rank by itself", answer.independent},
           {"contiguous", "contiguous parts of the file", answer.contiguous},
           {"stripes", striped ? "stripes of an OST" : "imagined stripes", answer.stripes}}};
}

std::string compared_text(const CollectiveCase& asked, const Explanation& answer, const CollectiveExplainOptions& options,
                          const Terminal& terminal) {
  std::vector<Table::Column> columns{{"WHO WRITES WHAT"}};
  if (!asked.pattern.write) columns = {{"WHO READS WHAT"}};
  for (const std::string_view title : {"CALLS", "BYTES/CALL"}) columns.push_back({title, Align::right});
  if (asked.layout.striped) {
    columns.push_back({"CLIENTS/OBJECT", Align::right});
    if (asked.pattern.write) columns.push_back({"LOCK HAND-OVERS", Align::right});
  }
  Table table(std::move(columns));
  for (const Compared& row : compared(answer, asked.layout.striped)) {
    std::vector<Cell> cells{
        {std::string(row.text)}, {fmt::to_string(row.figures.calls)}, {mean_text(answer.requests.bytes, row.figures.calls)}};
    if (asked.layout.striped) {
      cells.push_back({fmt::to_string(row.figures.clients_per_object)});
      if (asked.pattern.write) cells.push_back({fmt::to_string(row.figures.hand_overs)});
    }
    table.add(std::move(cells));
  }
  return table.render(terminal, !options.no_header);
}

ordered_json osts_json(const std::vector<std::uint32_t>& osts, bool striped) {
  auto json = ordered_json::array();
  if (!striped) return json;
  for (const std::uint32_t ost : osts) json.push_back(ost >= collective::kUnknownOst ? ordered_json(nullptr) : ordered_json(ost));
  return json;
}

template <typename T>
ordered_json choice_json(const collective::Choice<T>& choice) {
  return {{"value", choice.value}, {"because", to_word(choice.because)}};
}

ordered_json to_json(const std::optional<contention::LogChoice>& choice) {
  if (!choice) return nullptr;
  return {{"pays", choice->pays},
          {"logs_bytes_s", choice->logs.value},
          {"shared_bytes_s", choice->shared.value},
          {"because", choice->reason}};
}

ordered_json to_json(const CollectiveCase& asked, const Explanation& answer) {
  const collective::Pattern& pattern = asked.pattern;
  const collective::FileChoices& choices = answer.choices;
  ordered_json json{
      {"ranks", asked.machine.ranks}, {"nodes", asked.machine.nodes}, {"cpus_per_node", asked.machine.cpus_per_node}};
  json["pattern"] = {{"write", pattern.write},    {"interleaved", pattern.interleaved}, {"block", pattern.block},
                     {"hole", pattern.hole},      {"bytes_per_rank", pattern.bytes},    {"begin", answer.requests.begin},
                     {"end", answer.requests.end}};
  json["striped"] = asked.layout.striped;
  json["components"] = ordered_json::array();
  for (const collective::StripedRange& range : asked.layout.ranges) {
    json["components"].push_back({{"start", range.begin},
                                  {"stripe_size", range.stripe_size},
                                  {"stripe_count", range.osts.size()},
                                  {"osts", osts_json(range.osts, asked.layout.striped)}});
  }
  json["way"] = {{"value", to_word(answer.way.value)}, {"because", to_word(answer.way.because)}};
  json["aggregators"] = choice_json(choices.aggregators);
  json["window_bytes"] = choice_json(choices.window_bytes);
  json["direct"] = choice_json(pattern.write ? choices.direct_writes : choices.direct_reads);
  json["memory_bytes"] = 2 * choices.window_bytes.value;
  json["exchange"] = choices.exchange_requests;
  json["rounds"] = answer.portions;
  json["work"] = ordered_json::array();
  for (std::size_t a = 0; a < answer.work.size(); ++a) {
    const collective::Work& work = answer.work[a];
    json["work"].push_back({{"aggregator", a},
                            {"osts", osts_json(work.osts, asked.layout.striped)},
                            {"bytes", work.bytes},
                            {"windows", work.windows},
                            {"calls", work.calls}});
  }
  json["compared"] = ordered_json::array();
  for (const Compared& row : compared(answer, asked.layout.striped)) {
    const bool locks = asked.layout.striped && pattern.write;
    json["compared"].push_back(
        {{"who", row.word},
         {"calls", row.figures.calls},
         {"steps", row.figures.steps},
         {"clients_per_object", asked.layout.striped ? ordered_json(row.figures.clients_per_object) : ordered_json(nullptr)},
         {"hand_overs", locks ? ordered_json(row.figures.hand_overs) : ordered_json(nullptr)}});
  }
  json["hints"] = ordered_json::array();
  collective::hints_in_force(asked.hints, asked.layout, choices).each([&](const char* key, const char* value) {
    json["hints"].push_back({{"key", key}, {"value", value}});
  });
  json["ignored_hints"] = asked.ignored;
  return json;
}

}  // namespace

Result<CollectiveCase> collective_case(const CollectiveExplainOptions& options) {
  CollectiveCase asked;
  for (const std::string& hint : options.hints) {
    const std::size_t equals = hint.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(Errc::invalid_argument, fmt::format("--hint is '{}': expected KEY=VALUE", hint));
    }
    const std::uint32_t bad = asked.hints.bad_values;
    const bool ours = asked.hints.take(std::string_view(hint).substr(0, equals), std::string_view(hint).substr(equals + 1));
    if (!ours || asked.hints.bad_values != bad) asked.ignored.push_back(hint);
  }
  if (options.ranks == 0) return fail(Errc::invalid_argument, "--ranks is 0: expected 1 or more");
  if (options.nodes == 0 || options.nodes > options.ranks) {
    return fail(Errc::invalid_argument,
                fmt::format("--nodes is {}: expected 1 to {}, a rank on each", options.nodes, options.ranks));
  }
  asked.machine = {.ranks = options.ranks,
                   .nodes = options.nodes,
                   .cpus_per_node = options.cpus.value_or((options.ranks + options.nodes - 1) / options.nodes)};
  IEZ_TRY(asked.pattern.block, signed_bytes("--block", options.block));
  IEZ_TRY(asked.pattern.hole, signed_bytes("--hole", options.hole));
  IEZ_TRY(asked.pattern.bytes, signed_bytes("--bytes", options.bytes));
  IEZ_TRY(asked.pattern.begin, signed_bytes("--offset", options.offset));
  asked.pattern.interleaved = !options.contiguous;
  asked.pattern.write = !options.read;
  IEZ_TRY(asked.layout, layout_of(options, asked));
  return asked;
}

Result<void> run_collective_explain(const CollectiveExplainOptions& options, Context& context) {
  if (!options.counters.empty()) return run_collective_counters(options, context);
  IEZ_TRY(const CollectiveCase asked, collective_case(options));
  for (const std::string& hint : asked.ignored) {
    context.log.warning(fmt::format("hint {}: not a hint of collective I/O, or not a value of it; ignored", hint));
  }
  IEZ_TRY(const Explanation answer, collective::explain(asked.hints, asked.layout, asked.machine, asked.pattern));
  IEZ_TRY(const std::optional<contention::LogChoice> logs, logs_or_file(asked));
  if (options.json) {
    ordered_json json = to_json(asked, answer);
    json["logs"] = to_json(logs);
    return print(to_line(json));
  }
  std::string out;
  if (!options.no_header) out = summary(asked, answer) + (logs ? logs_text(*logs) : "") + '\n';
  out += work_text(asked, answer, options, context.terminal);
  out += '\n';
  out += compared_text(asked, answer, options, context.terminal);
  return print(out);
}

}  // namespace iez::cli
