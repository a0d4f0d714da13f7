#include "lustre/import.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"

namespace iez::lustre {

namespace {

struct StateName {
  ImportState state;
  std::string_view name;
};

constexpr std::array<StateName, 11> kStates{{{ImportState::closed, "CLOSED"},
                                             {ImportState::created, "NEW"},
                                             {ImportState::disconnected, "DISCONN"},
                                             {ImportState::connecting, "CONNECTING"},
                                             {ImportState::replay, "REPLAY"},
                                             {ImportState::replay_locks, "REPLAY_LOCKS"},
                                             {ImportState::replay_wait, "REPLAY_WAIT"},
                                             {ImportState::recover, "RECOVER"},
                                             {ImportState::full, "FULL"},
                                             {ImportState::evicted, "EVICTED"},
                                             {ImportState::idle, "IDLE"}}};

// Each setter stores a value once; false if it is malformed, or the field has one already.

bool set_text(std::string& field, std::string_view value) {
  const bool plain = std::ranges::all_of(value, [](char c) { return c > ' ' && c <= '~'; });
  if (!field.empty() || value.empty() || value.size() > Import::kMaxText || !plain) return false;
  field = value;
  return true;
}

bool set_count(std::optional<std::uint64_t>& field, std::string_view value) {
  if (field) return false;
  field = text::parse_u64(value);
  return field.has_value();
}

bool set_bytes(std::optional<Bytes>& field, std::string_view value) {
  const auto count = text::parse_u64(value);
  if (field || !count) return false;
  field = Bytes{*count};
  return true;
}

bool set_duration(std::optional<Duration>& field, std::string_view number, std::uint64_t nanoseconds_each) {
  const auto count = text::parse_u64(number);
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Duration::rep>::max());
  if (field || !count || *count > kMax / nanoseconds_each) return false;
  field = Duration{static_cast<Duration::rep>(*count * nanoseconds_each)};
  return true;
}

constexpr std::uint64_t kMicrosecond = 1'000;
constexpr std::uint64_t kSecond = 1'000'000'000;

// "6054 usec" of 2.10, "44907 usecs" of 2.17, "5 sec".
bool set_time(std::optional<Duration>& field, std::string_view value) {
  const std::string_view number = text::take_word(value);
  const std::string_view unit = text::trim(value);
  if (unit == "usec" || unit == "usecs") return set_duration(field, number, kMicrosecond);
  if (unit == "sec" || unit == "secs") return set_duration(field, number, kSecond);
  return false;
}

// "19.38", bytes per microsecond. Lustre computes the fraction in 32 bits and prints more than two digits when that overflows.
bool set_rate(std::optional<BytesPerSecond>& field, std::string_view value) {
  const std::size_t point = value.find('.');
  if (field || point == std::string_view::npos || value.size() - point != 3) return false;
  const auto whole = text::parse_u64(value.substr(0, point));
  const auto hundredths = text::parse_u64(value.substr(point + 1));
  if (!whole || !hundredths) return false;
  field = BytesPerSecond{static_cast<double>(*whole) * 1e6 + static_cast<double>(*hundredths) * 1e4};
  return true;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return text;
  return text.substr(1, text.size() - 2);
}

bool set_nid(std::string& field, std::string_view value) {
  const std::string_view nid = unquoted(value);
  return nid == "<none>" || set_text(field, nid);
}

// [ "10.0.0.1@tcp", "10.0.0.2@tcp" ]; older versions have no quotes, or no spaces.
bool set_nids(std::vector<std::string>& field, std::string_view value) {
  if (!field.empty() || value.size() < 2 || !value.starts_with('[') || !value.ends_with(']')) return false;
  std::string_view rest = text::trim(value.substr(1, value.size() - 2));
  std::vector<std::string> nids;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view nid = unquoted(text::trim(rest.substr(0, comma)));
    if (nids.size() == Import::kMaxNids || !set_text(nids.emplace_back(), nid)) return false;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  field = std::move(nids);
  return true;
}

bool set_target(std::string& field, std::string_view value) {
  constexpr std::string_view kSuffix = "_UUID";
  if (value.ends_with(kSuffix)) value.remove_suffix(kSuffix.size());
  return set_text(field, value);
}

bool set_state(Import& import, std::string_view value) {
  if (!set_text(import.state_text, value)) return false;
  const auto* const known = std::ranges::find(kStates, value, &StateName::name);
  if (known != kStates.end()) import.state = known->state;
  return true;
}

// Averages come into being with their first value.
template <typename T>
bool set_average(std::optional<Import::Averages>& averages, std::optional<T> Import::Averages::* field, std::string_view value,
                 bool (*set)(std::optional<T>&, std::string_view)) {
  Import::Averages changed = averages.value_or(Import::Averages{});
  if (!set(changed.*field, value)) return false;
  averages = changed;
  return true;
}

bool set_microseconds(std::optional<Duration>& field, std::string_view value) { return set_duration(field, value, kMicrosecond); }

enum class Section { other, import, connect_data, connection, rpcs, estimates, read_averages, write_averages };

// The section a key without a value opens, by the key and by the section around it.
Section opened(std::string_view key, std::optional<Section> parent) {
  if (!parent) return key == "import" ? Section::import : Section::other;
  if (*parent != Section::import) return Section::other;
  if (key == "connect_data") return Section::connect_data;
  if (key == "connection") return Section::connection;
  if (key == "rpcs") return Section::rpcs;
  if (key == "service_estimates") return Section::estimates;
  if (key == "read_data_averages") return Section::read_averages;
  if (key == "write_data_averages") return Section::write_averages;
  return Section::other;
}

struct Field {
  Section section;
  std::string_view key;
  bool (*set)(Import&, std::string_view value);
};

template <std::optional<Import::Averages> Import::* kAverages>
bool set_bytes_per_rpc(Import& import, std::string_view value) {
  return set_average(import.*kAverages, &Import::Averages::bytes_per_rpc, value, &set_bytes);
}
template <std::optional<Import::Averages> Import::* kAverages>
bool set_time_per_rpc(Import& import, std::string_view value) {
  return set_average(import.*kAverages, &Import::Averages::time_per_rpc, value, &set_microseconds);
}
template <std::optional<Import::Averages> Import::* kAverages>
bool set_average_rate(Import& import, std::string_view value) {
  return set_average(import.*kAverages, &Import::Averages::rate, value, &set_rate);
}

using Value = std::string_view;
constexpr std::array kFields{
    Field{Section::import, "name", [](Import& to, Value value) { return set_text(to.name, value); }},
    Field{Section::import, "target", [](Import& to, Value value) { return set_target(to.target, value); }},
    Field{Section::import, "state", &set_state},
    Field{Section::connect_data, "target_version", [](Import& to, Value value) { return set_text(to.target_version, value); }},
    Field{Section::connect_data, "max_brw_size", [](Import& to, Value value) { return set_bytes(to.max_brw_size, value); }},
    Field{Section::connection, "failover_nids", [](Import& to, Value value) { return set_nids(to.failover_nids, value); }},
    Field{Section::connection, "current_connection",
          [](Import& to, Value value) { return set_nid(to.current_connection, value); }},
    Field{Section::connection, "idle", [](Import& to, Value value) { return set_time(to.idle, value); }},
    Field{Section::rpcs, "inflight", [](Import& to, Value value) { return set_count(to.inflight, value); }},
    Field{Section::rpcs, "unregistering", [](Import& to, Value value) { return set_count(to.unregistering, value); }},
    Field{Section::rpcs, "timeouts", [](Import& to, Value value) { return set_count(to.timeouts, value); }},
    Field{Section::rpcs, "avg_waittime", [](Import& to, Value value) { return set_time(to.avg_waittime, value); }},
    Field{Section::estimates, "services", [](Import& to, Value value) { return set_time(to.service_estimate, value); }},
    Field{Section::estimates, "network", [](Import& to, Value value) { return set_time(to.network_estimate, value); }},
    Field{Section::read_averages, "bytes_per_rpc", &set_bytes_per_rpc<&Import::read>},
    Field{Section::read_averages, "usec_per_rpc", &set_time_per_rpc<&Import::read>},
    Field{Section::read_averages, "usecs_per_rpc", &set_time_per_rpc<&Import::read>},
    Field{Section::read_averages, "MB_per_sec", &set_average_rate<&Import::read>},
    Field{Section::write_averages, "bytes_per_rpc", &set_bytes_per_rpc<&Import::write>},
    Field{Section::write_averages, "usec_per_rpc", &set_time_per_rpc<&Import::write>},
    Field{Section::write_averages, "usecs_per_rpc", &set_time_per_rpc<&Import::write>},
    Field{Section::write_averages, "MB_per_sec", &set_average_rate<&Import::write>},
};

// Which section a line is in, by indentation alone, as in YAML.
class Outline {
 public:
  // The innermost section around a line so far indented.
  std::optional<Section> enter(std::size_t indent) {
    while (depth_ > 0 && levels_[depth_ - 1].indent >= indent) --depth_;
    if (depth_ == 0) return std::nullopt;
    return levels_[depth_ - 1].section;
  }

  void open(std::size_t indent, Section section) {
    // Only the first two levels hold anything known; what lies deeper than kDepth stays in an unknown section all the same.
    if (depth_ < kDepth) levels_[depth_++] = {.indent = indent, .section = section};
  }

 private:
  struct Level {
    std::size_t indent = 0;
    Section section = Section::other;
  };
  static constexpr std::size_t kDepth = 4;
  std::array<Level, kDepth> levels_;
  std::size_t depth_ = 0;
};

class Parser {
 public:
  Parser(std::string_view origin, input::ParseReport& report) : origin_(origin), report_(report) {}

  void line(const input::LineReader::Line& line) {
    const std::string_view text = text::trim(line.text);
    if (text.empty()) return;
    if (line.cut) return skip(line, "the line is too long");
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return skip(line, fmt::format("'{}' is not 'key: value'", input::excerpt(text)));
    const std::string_view key = text.substr(0, colon);
    const std::string_view value = text::trim(text.substr(colon + 1));
    const std::size_t indent = line.text.find_first_not_of(' ');
    const auto section = outline_.enter(indent);
    if (value.empty()) outline_.open(indent, opened(key, section));
    if (section) set(line, *section, key, value);
  }

  Import finish() { return std::move(result_); }

 private:
  void skip(const input::LineReader::Line& line, std::string message) { report_.skip(origin_, line.number, std::move(message)); }

  void set(const input::LineReader::Line& line, Section section, std::string_view key, std::string_view value) {
    const auto* const field =
        std::ranges::find_if(kFields, [&](const Field& known) { return known.section == section && known.key == key; });
    if (field == kFields.end()) return;
    if (!line.ended) return skip(line, fmt::format("the text ends within '{}'", key));
    if (!field->set(result_, value))
      return skip(line, fmt::format("{}: '{}' is malformed or repeated", key, input::excerpt(value)));
    ++report_.rows;
  }

  std::string_view origin_;
  input::ParseReport& report_;
  Import result_;
  Outline outline_;
};

}  // namespace

std::string_view to_string(ImportState state) {
  const auto* const known = std::ranges::find(kStates, state, &StateName::state);
  return known == kStates.end() ? "<UNKNOWN>" : known->name;
}

Result<Import> parse_import(input::ByteStream& stream, std::string_view origin, input::ParseReport& report) {
  input::LineReader lines(stream);
  Parser parser(origin, report);
  bool begun = false;
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) break;
    const std::string_view text = text::trim(line->text);
    if (!begun && text.empty()) continue;
    if (!begun && text != "import:") {
      return fail(Errc::parse, fmt::format("{}: not an import: expected 'import:', found '{}'", text::printable(origin),
                                           text::printable(input::excerpt(text))));
    }
    begun = true;
    parser.line(*line);
  }
  if (!begun) return fail(Errc::parse, fmt::format("{}: empty: expected 'import:'", text::printable(origin)));
  return parser.finish();
}

}  // namespace iez::lustre
