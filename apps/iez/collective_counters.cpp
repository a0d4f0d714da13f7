// What collective I/O did in a run, by the lines that the library under the program left: docs/formats/collective-counters.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "collective.hpp"
#include "collective/file_report.hpp"
#include "json.hpp"
#include "table.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

// A line is from outside: what it lacks, or has of another kind, is remembered and taken for nothing.
class Fields {
 public:
  Fields(const ordered_json& json, bool& good) : json_(json), good_(good) {}

  const ordered_json& at(const char* key) const {
    static const ordered_json kNothing;
    const auto found = json_.find(key);
    if (json_.is_object() && found != json_.end()) return *found;
    good_ = false;
    return kNothing;
  }
  Fields inside(const char* key) const { return {at(key), good_}; }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  std::int64_t number(const char* key) const {
    const ordered_json& value = at(key);
    const bool fits = value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= kMost);
    if (fits && value.get<std::int64_t>() >= 0) return value.get<std::int64_t>();
    good_ = false;
    return 0;
  }
  double real(const char* key) const {
    const ordered_json& value = at(key);
    good_ = good_ && value.is_number();
    return value.is_number() ? value.get<double>() : 0;
  }
  bool flag(const char* key) const {
    const ordered_json& value = at(key);
    good_ = good_ && value.is_boolean();
    return value.is_boolean() && value.get<bool>();
  }
  std::string text(const char* key) const {
    const ordered_json& value = at(key);
    good_ = good_ && value.is_string();
    return value.is_string() ? value.get<std::string>() : std::string();
  }

 private:
  static constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

  const ordered_json& json_;
  bool& good_;
};

struct Seconds {
  double all = 0;
  double largest = 0;
};

// What was learnt of a kind of calls. Nanoseconds for each KiB; none: that way was not tried.
struct WayTold {
  bool write = false;
  std::int64_t piece = 0;
  std::int64_t call = 0;
  std::string kept;
  bool tried = false;
  std::optional<std::int64_t> collected;
  std::optional<std::int64_t> passed;
};

struct FileCounters {
  ordered_json line;
  std::string path;
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
  std::int64_t aggregators = 0;
  std::int64_t window_bytes = 0;
  collective::FileLayout layout;
  std::int64_t calls = 0;
  std::int64_t writes = 0;
  std::int64_t reads = 0;
  std::int64_t independent = 0;
  std::int64_t aside = 0;
  std::int64_t unasked = 0;
  std::int64_t passed = 0;
  std::int64_t guessed = 0;
  std::int64_t portions = 0;
  std::int64_t written = 0;
  std::int64_t bytes = 0;
  std::int64_t shared = 0;
  std::int64_t sent = 0;
  std::int64_t transfers = 0;
  std::int64_t whole = 0;
  std::int64_t transferred = 0;
  Seconds copy;
  Seconds wait;
  Seconds send;
  Seconds file;
  double share = 0;
  std::optional<collective::Requests> largest_write;
  std::vector<WayTold> ways;
  collective::Hints hints;
};

constexpr std::int64_t kLeastStripe = 4 << 10;
constexpr auto kMostStripe = static_cast<std::int64_t>(model::kMaxStripeSize.count);

collective::FileLayout read_layout(const Fields& fields, bool& good) {
  collective::FileLayout layout{.ranges = {}, .striped = fields.flag("striped")};
  for (const ordered_json& json : fields.at("components")) {
    const Fields component(json, good);
    collective::StripedRange range{
        .begin = component.number("start"), .stripe_size = component.number("stripe_size"), .osts = {}};
    for (const ordered_json& ost : component.at("osts")) {
      if (ost.is_number_unsigned()) range.osts.push_back(ost.get<std::uint32_t>());
    }
    const bool follows = layout.ranges.empty() ? range.begin == 0 : range.begin > layout.ranges.back().begin;
    good = good && follows && range.stripe_size >= kLeastStripe && range.stripe_size <= kMostStripe && !range.osts.empty();
    if (!layout.ranges.empty()) layout.ranges.back().end = range.begin;
    layout.ranges.push_back(std::move(range));
  }
  good = good && !layout.ranges.empty();
  return layout;
}

std::optional<collective::Requests> read_write(const Fields& fields, bool& good) {
  const ordered_json& json = fields.at("largest_write");
  if (json.is_null()) return std::nullopt;
  const Fields write(json, good);
  collective::Requests requests{.interleaved = write.flag("interleaved"),
                                .ranks_with_data = static_cast<std::uint32_t>(write.number("ranks")),
                                .bytes = write.number("bytes"),
                                .shortest_piece = write.number("shortest_piece"),
                                .longest_piece = write.number("longest_piece"),
                                .begin = write.number("begin"),
                                .end = write.number("end")};
  good = good && requests.bytes > 0 && requests.begin < requests.end;
  return requests;
}

// Lines of iez 0.1 and before have none.
std::vector<WayTold> read_ways(const Fields& fields, bool& good) {
  std::vector<WayTold> ways;
  if (!fields.has("ways")) return ways;
  for (const ordered_json& json : fields.at("ways")) {
    const Fields way(json, good);
    const auto cost = [&way](const char* key) { return way.at(key).is_null() ? std::nullopt : std::optional(way.number(key)); };
    ways.push_back({.write = way.flag("write"),
                    .piece = way.number("piece"),
                    .call = way.number("call"),
                    .kept = way.text("kept"),
                    .tried = way.flag("tried"),
                    .collected = cost("collected_ns_per_kib"),
                    .passed = cost("passed_ns_per_kib")});
  }
  return ways;
}

Seconds read_seconds(const Fields& fields, const char* part) {
  const Fields seconds = fields.inside("seconds").inside(part);
  return {.all = seconds.real("sum"), .largest = seconds.real("largest")};
}

// None if it is no line of counters, or of a version that came later.
std::optional<FileCounters> read_line(std::string_view text) {
  FileCounters counters;
  counters.line = ordered_json::parse(text, nullptr, false);
  if (!counters.line.is_object()) return std::nullopt;
  bool good = true;
  const Fields fields(counters.line, good);
  if (fields.number("version") != collective::kReportVersion) return std::nullopt;
  struct Number {
    const char* key;
    std::int64_t FileCounters::* field;
  };
  for (const Number& number :
       {Number{"ranks", &FileCounters::ranks}, Number{"nodes", &FileCounters::nodes},
        Number{"aggregators", &FileCounters::aggregators}, Number{"window_bytes", &FileCounters::window_bytes},
        Number{"calls", &FileCounters::calls}, Number{"collected_writes", &FileCounters::writes},
        Number{"collected_reads", &FileCounters::reads}, Number{"independent", &FileCounters::independent},
        Number{"passed", &FileCounters::passed}, Number{"guessed", &FileCounters::guessed},
        Number{"portions", &FileCounters::portions}, Number{"written_bytes", &FileCounters::written},
        Number{"bytes", &FileCounters::bytes}, Number{"shared_bytes", &FileCounters::shared},
        Number{"sent_bytes", &FileCounters::sent}, Number{"transfers", &FileCounters::transfers},
        Number{"rpc_transfers", &FileCounters::whole}, Number{"transferred_bytes", &FileCounters::transferred}}) {
    counters.*number.field = fields.number(number.key);
  }
  if (fields.has("aside")) counters.aside = fields.number("aside");
  if (fields.has("unasked")) counters.unasked = fields.number("unasked");
  counters.ways = read_ways(fields, good);
  counters.path = fields.text("path");
  counters.copy = read_seconds(fields, "copy");
  counters.wait = read_seconds(fields, "wait");
  counters.send = read_seconds(fields, "send");
  counters.file = read_seconds(fields, "file");
  counters.share = fields.real("communication_share");
  counters.layout = read_layout(fields, good);
  counters.largest_write = read_write(fields, good);
  for (const ordered_json& json : fields.at("hints")) {
    const Fields hint(json, good);
    counters.hints.take(hint.text("key"), hint.text("value"));
  }
  good = good && counters.ranks > 0 && counters.nodes > 0;
  return good ? std::optional(std::move(counters)) : std::nullopt;
}

// Locks that the writes of a file would have had taken away, by three ways.
struct HandOvers {
  std::int64_t independent = 0;
  std::int64_t contiguous = 0;
  std::int64_t stripes = 0;
  std::int64_t avoided() const { return std::max<std::int64_t>(independent - stripes, 0); }
};

// Of the largest write, as often as it goes into all that was written. None without Lustre, without writes, or if it is too much.
std::optional<HandOvers> hand_overs(const FileCounters& counters) {
  if (!counters.layout.striped || !counters.largest_write) return std::nullopt;
  const collective::Requests& write = *counters.largest_write;
  const auto ranks = std::max<std::uint32_t>(write.ranks_with_data, 1);
  const auto nodes = static_cast<std::uint32_t>(std::clamp<std::int64_t>(counters.nodes, 1, ranks));
  const collective::Machine machine{.ranks = ranks, .nodes = nodes, .cpus_per_node = (ranks + nodes - 1) / nodes};
  const auto explained = collective::explain(counters.hints, counters.layout, machine, collective::nearest_pattern(write));
  if (!explained) return std::nullopt;
  const double times = std::max(1.0, static_cast<double>(counters.written) / static_cast<double>(write.bytes));
  const auto scaled = [times](std::int64_t count) { return std::llround(static_cast<double>(count) * times); };
  return HandOvers{.independent = scaled(explained->independent.hand_overs),
                   .contiguous = scaled(explained->contiguous.hand_overs),
                   .stripes = scaled(explained->stripes.hand_overs)};
}

std::string size_text(std::int64_t bytes) { return to_string(Bytes{static_cast<std::uint64_t>(bytes)}); }
// Of blocks, windows, stripes and calls, which are as Lustre counts them.
std::string binary_text(std::int64_t bytes) { return to_binary_string(Bytes{static_cast<std::uint64_t>(bytes)}); }

std::string times_text(const FileCounters& counters, double Seconds::* which) {
  const auto text = [](double seconds) {
    constexpr double kMost = 1e9;  // thirty years
    return to_string(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, kMost))));
  };
  return fmt::format("{} copying, {} waiting, {} sending, {} in the file", text(counters.copy.*which), text(counters.wait.*which),
                     text(counters.send.*which), text(counters.file.*which));
}

std::string line(std::string_view what, std::string_view text) { return fmt::format("{:<12} {}\n", what, text); }

std::string calls_text(const FileCounters& counters) {
  std::string text = fmt::format("{} and {} collected", counted(static_cast<std::size_t>(counters.writes), "write"),
                                 counted(static_cast<std::size_t>(counters.reads), "read"));
  if (counters.guessed > 0) text += fmt::format(", {} of them foreseen", counters.guessed);
  if (counters.independent > 0) text += fmt::format("; {} by each rank itself", counters.independent);
  const std::int64_t refused = counters.calls - counters.writes - counters.reads - counters.independent - counters.aside;
  if (refused > 0) text += fmt::format("; {} refused, for a bad argument", refused);
  if (counters.passed > 0) text += fmt::format("; {} left to the MPI", counters.passed);
  if (counters.unasked > 0) text += fmt::format(", {} of them without asking", counters.unasked);
  return text;
}

std::string way_text(const WayTold& way) {
  std::string text =
      fmt::format("{} of {} a piece, {} a call: ", way.write ? "writes" : "reads", binary_text(way.piece), binary_text(way.call));
  if (!way.tried) return text + "left to the MPI, pieces are long";
  const auto rate = [](const std::optional<std::int64_t>& cost) {
    constexpr double kNsOfSecond = 1e9;
    constexpr double kKib = 1024;  // what it is the cost of
    return cost && *cost > 0 ? to_string(BytesPerSecond{kKib * kNsOfSecond / static_cast<double>(*cost)})
                             : std::string("not tried");
  };
  text += fmt::format("collected {}, by the MPI {}; ", rate(way.collected), rate(way.passed));
  return text + (way.kept == "collect" ? "collected" : way.kept == "pass" ? "left to the MPI" : "still on trial");
}

std::string locks_text(const FileCounters& counters) {
  const auto locks = hand_overs(counters);
  if (!locks) return counters.layout.striped ? "nothing to tell of" : "none: this is not Lustre";
  return fmt::format(
      "{} taken from another node; by the model {} if each rank had written by itself, {} by contiguous parts of the file",
      locks->stripes, locks->independent, locks->contiguous);
}

std::string to_text(const FileCounters& counters) {
  std::string out = fmt::format("{}: {} on {}\n", counters.path, counted(static_cast<std::size_t>(counters.ranks), "rank"),
                                counted(static_cast<std::size_t>(counters.nodes), "node"));
  out += line("calls", calls_text(counters));
  for (const WayTold& way : counters.ways) out += line("way", way_text(way));
  out +=
      line("aggregators", fmt::format("{}, with windows of {}, in {}", counters.aggregators, binary_text(counters.window_bytes),
                                      counted(static_cast<std::size_t>(counters.portions), "round")));
  out += line("data", fmt::format("{}; {} of it through windows of other ranks, {} sent between nodes", size_text(counters.bytes),
                                  size_text(counters.shared), size_text(counters.sent)));
  out +=
      line("file", counters.transfers == 0 ? std::string("no reads or writes")
                                           : fmt::format("{}, {} each; {} of them as large as an RPC",
                                                         counted(static_cast<std::size_t>(counters.transfers), "transfer"),
                                                         binary_text(counters.transferred / counters.transfers), counters.whole));
  out += line("all ranks", times_text(counters, &Seconds::all));
  out += line("one at most", times_text(counters, &Seconds::largest));
  out += line("exchange", fmt::format("{} of the aggregators' time is not in the file", percent(counters.share)));
  out += line("locks", locks_text(counters));
  return out;
}

ordered_json to_json(const FileCounters& counters) {
  ordered_json json = counters.line;
  const auto locks = hand_overs(counters);
  json["hand_overs"] = nullptr;
  if (locks) {
    json["hand_overs"] = {{"independent_ranks", locks->independent},
                          {"contiguous_parts", locks->contiguous},
                          {"stripes", locks->stripes},
                          {"avoided", locks->avoided()}};
  }
  return json;
}

}  // namespace

Result<void> run_collective_counters(const CollectiveExplainOptions& options, Context& context) {
  IEZ_TRY(const std::string text, read_text_file(options.counters));
  std::vector<FileCounters> files;
  std::size_t number = 0;
  std::size_t skipped = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    ++number;
    if (one.empty()) continue;
    if (auto counters = read_line(one)) {
      files.push_back(*std::move(counters));
      continue;
    }
    if (++skipped == 1) {
      context.log.warning(fmt::format("{}: line {} is not a line of counters, version {}; skipped", options.counters, number,
                                      collective::kReportVersion));
    }
  }
  if (files.empty() && skipped > 0) {
    return fail(Errc::parse, fmt::format("{}: no line of counters, as IEZ_COLLECTIVE_COUNTERS makes them", options.counters));
  }
  if (options.json) {
    ordered_json json{{"files", ordered_json::array()}, {"skipped_lines", skipped}};
    for (const FileCounters& counters : files) json["files"].push_back(to_json(counters));
    return print(to_line(json));
  }
  std::string out;
  for (const FileCounters& counters : files) {
    if (!out.empty()) out += '\n';
    out += to_text(counters);
  }
  return print(out);
}

}  // namespace iez::cli
