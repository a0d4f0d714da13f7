#include "lustre/host_load.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"

namespace iez::lustre {

namespace {

constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();

// The columns of a cpu line: user, nice, system, idle, and since long ago iowait, irq, softirq, steal. The two of guests behind
// them are counted in user and nice.
constexpr std::size_t kIdle = 3;
constexpr std::size_t kIoWait = 4;
constexpr std::size_t kColumns = 8;
constexpr std::size_t kOldestColumns = 4;

// What stands behind "cpu". Nothing if the times are malformed, or too large to be added.
std::optional<CpuTimes> parse_times(std::string_view text) {
  std::array<std::uint64_t, kColumns> ticks{};
  std::size_t columns = 0;
  std::uint64_t total = 0;
  for (; columns < kColumns; ++columns) {
    const std::string_view word = text::take_word(text);
    if (word.empty()) break;
    const auto value = text::parse_u64(word);
    if (!value || *value > kMax - total) return std::nullopt;
    ticks[columns] = *value;
    total += *value;
  }
  if (columns < kOldestColumns) return std::nullopt;
  return CpuTimes{.busy = total - ticks[kIdle] - ticks[kIoWait], .total = total};
}

bool is_core(std::string_view label) {
  constexpr std::string_view kPrefix = "cpu";
  return label.starts_with(kPrefix) && text::parse_u64(label.substr(kPrefix.size())).has_value();
}

double share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 0;
  return std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

struct MemoryFields {
  std::optional<Bytes> total;
  std::optional<Bytes> available;
  std::optional<Bytes> free;
  std::optional<Bytes> buffers;
  std::optional<Bytes> cached;

  // The field of that key, or nullptr.
  std::optional<Bytes>* find(std::string_view key) {
    if (key == "MemTotal:") return &total;
    if (key == "MemAvailable:") return &available;
    if (key == "MemFree:") return &free;
    if (key == "Buffers:") return &buffers;
    if (key == "Cached:") return &cached;
    return nullptr;
  }

  std::optional<Bytes> usable() const {
    if (available || !free) return available;
    return *free + buffers.value_or(Bytes{}) + cached.value_or(Bytes{});
  }
};

// "24682416 kB"; a kB of the kernel is 1024 bytes.
std::optional<Bytes> parse_kilobytes(std::string_view text) {
  const auto count = text::parse_u64(text::take_word(text));
  // Three of them can be added without a thought.
  if (!count || *count > (kMax >> 12U) || text::trim(text) != "kB") return std::nullopt;
  return Bytes::kib(*count);
}

// "0.39": the kernel prints no sign, no exponent.
std::optional<double> parse_average(std::string_view word) {
  if (word.empty() || !text::is_digit(word.front()) || word.find_first_not_of("0123456789.") != std::string_view::npos) {
    return std::nullopt;
  }
  return text::parse_double(word);
}

std::optional<LoadAverage> parse_averages(const input::LineReader::Line& line) {
  std::string_view rest = line.text;
  const auto one = parse_average(text::take_word(rest));
  const auto five = parse_average(text::take_word(rest));
  const auto fifteen = parse_average(text::take_word(rest));
  const bool whole = line.ended || !rest.empty();  // else the last may have lost digits
  if (!one || !five || !fifteen || !whole) return std::nullopt;
  return LoadAverage{.one = *one, .five = *five, .fifteen = *fifteen};
}

}  // namespace

double busy_share(const CpuTimes& since_boot) { return share(since_boot.busy, since_boot.total); }

double busy_share(const CpuTimes& before, const CpuTimes& after) {
  if (after.total <= before.total || after.busy < before.busy) return busy_share(after);
  return share(after.busy - before.busy, after.total - before.total);
}

double used_share(const MemoryLoad& memory) {
  if (memory.available >= memory.total) return 0;
  return share((memory.total - memory.available).count, memory.total.count);
}

Result<CpuLoad> parse_cpu(input::ByteStream& stream, std::string_view origin, input::ParseReport& report) {
  input::LineReader lines(stream);
  CpuLoad load;
  std::optional<CpuTimes> times;
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) break;
    std::string_view rest = line->text;
    const std::string_view label = text::take_word(rest);
    if (is_core(label)) ++load.cores;
    if (label != "cpu" || times) continue;
    if (line->ended && !line->cut) times = parse_times(rest);
    if (times) {
      ++report.rows;
    } else {
      report.skip(origin, line->number, fmt::format("'{}' holds no processor times", input::excerpt(line->text)));
    }
  }
  if (!times)
    return fail(Errc::parse, fmt::format("{}: expected a line 'cpu USER NICE SYSTEM IDLE ...'", text::printable(origin)));
  load.times = *times;
  return load;
}

Result<MemoryLoad> parse_memory(input::ByteStream& stream, std::string_view origin, input::ParseReport& report) {
  input::LineReader lines(stream);
  MemoryFields fields;
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) break;
    std::string_view rest = line->text;
    std::optional<Bytes>* const field = fields.find(text::take_word(rest));
    if (field == nullptr) continue;
    const auto value = parse_kilobytes(rest);
    if (value && !*field) {
      *field = value;
      ++report.rows;
    } else {
      report.skip(origin, line->number, fmt::format("'{}' is malformed or repeated", input::excerpt(line->text)));
    }
  }
  const auto available = fields.usable();
  if (!fields.total || !available) {
    return fail(Errc::parse, fmt::format("{}: expected 'MemTotal:' and 'MemAvailable:' in kB", text::printable(origin)));
  }
  return MemoryLoad{.total = *fields.total, .available = *available};
}

Result<LoadAverage> parse_load_average(input::ByteStream& stream, std::string_view origin, input::ParseReport& report) {
  input::LineReader lines(stream);
  IEZ_TRY(const auto line, lines.next());
  const std::string_view found = line ? line->text : std::string_view{};
  const auto averages = line ? parse_averages(*line) : std::nullopt;
  if (!averages) {
    return fail(Errc::parse, fmt::format("{}: expected three load averages, found '{}'", text::printable(origin),
                                         text::printable(input::excerpt(found))));
  }
  ++report.rows;
  return *averages;
}

}  // namespace iez::lustre
