#include "jobs/spool_codec.hpp"

#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace iez::jobs {

namespace {

enum class Kind : std::uint8_t { jobs = 1, series = 2, reports = 3, marks = 4 };

constexpr std::size_t kFullFrame = std::size_t{256} << 10U;  // a frame that has grown so large is closed
constexpr std::uint64_t kHasMemory = 1;
constexpr std::uint64_t kHasNetwork = 2;

class Writer {
 public:
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80U));
      value >>= 7U;
    }
    bytes_.push_back(static_cast<char>(value));
  }
  // Small numbers of either sign stay small.
  void integer(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    number(bits << 1U ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  void text(std::string_view value) {
    value = value.substr(0, kMaxName);
    number(value.size());
    bytes_.append(value);
  }
  // A bit for each that is not 0, then those.
  void counters(std::span<const std::uint64_t> values) {
    std::uint64_t present = 0;
    for (std::size_t i = 0; i < values.size(); ++i) present |= values[i] != 0 ? std::uint64_t{1} << i : 0;
    number(present);
    for (const std::uint64_t value : values) {
      if (value != 0) number(value);
    }
  }

  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// Stops for good at the first thing that is not as asked for.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      const std::uint64_t bits = byte & 0x7FU;
      if (shift == 63 && bits > 1) break;
      value |= bits << shift;
      if (byte < 0x80) return value;
    }
    good_ = false;
    return 0;
  }
  std::uint32_t small() {
    const std::uint64_t value = number();
    if (value > std::numeric_limits<std::uint32_t>::max()) good_ = false;
    return static_cast<std::uint32_t>(value);
  }
  std::int64_t integer() {
    const std::uint64_t bits = number();
    return static_cast<std::int64_t>(bits >> 1U ^ ((bits & 1U) != 0 ? ~std::uint64_t{0} : 0));
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > kMaxName || size > rest_.size()) {
      good_ = false;
      return {};
    }
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  void counters(std::span<std::uint64_t> values) {
    const std::uint64_t present = number();
    if (present >> values.size() != 0) good_ = false;
    for (std::size_t i = 0; i < values.size() && good_; ++i) {
      if ((present >> i & 1U) != 0) values[i] = number();
    }
  }

  bool more() const { return good_ && !rest_.empty(); }
  bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void put_io(Writer& out, const IoCounters& io) { out.counters(to_counts(io)); }

IoCounters take_io(Reader& in) {
  IoCounts counts{};
  in.counters(counts);
  return from_counts(counts);
}

void put_extras(Writer& out, const std::optional<std::uint64_t>& memory, const std::optional<NetworkCounts>& network) {
  out.number((memory ? kHasMemory : 0) | (network ? kHasNetwork : 0));
  if (memory) out.number(*memory);
  if (network) out.counters(to_counts(*network));
}

void take_extras(Reader& in, std::optional<std::uint64_t>& memory, std::optional<NetworkCounts>& network) {
  const std::uint64_t flags = in.number();
  if ((flags & kHasMemory) != 0) memory = in.number();
  if ((flags & kHasNetwork) != 0) {
    NetworkArray counts{};
    in.counters(counts);
    network = from_counts(counts);
  }
}

void put(Writer& out, const JobRow& row) {
  out.text(row.cluster);
  out.text(row.id);
  out.text(row.user);
  out.integer(row.started);
  out.integer(row.ended);
  out.number(row.nodes);
  out.number(row.silent_nodes);
  put_extras(out, row.memory, row.network);
  put_io(out, {.data = row.data, .metadata = row.metadata});
}

JobRow take_job(Reader& in) {
  JobRow row;
  row.cluster = in.text();
  row.id = in.text();
  row.user = in.text();
  row.started = in.integer();
  row.ended = in.integer();
  row.nodes = in.small();
  row.silent_nodes = in.small();
  take_extras(in, row.memory, row.network);
  const IoCounters io = take_io(in);
  row.data = io.data;
  row.metadata = io.metadata;
  return row;
}

void put(Writer& out, const NodeReport& report) {
  out.text(report.job.cluster);
  out.text(report.job.id);
  out.text(report.job.user);
  out.text(report.job.node);
  out.number(report.job.nodes);
  out.integer(report.started);
  out.integer(report.ended);
  out.number(report.others);
  out.number(report.restarted);
  out.number(report.lost_mounts);
  put_extras(out, report.memory, report.network);
  put_io(out, report.io);
}

NodeReport take_report(Reader& in) {
  NodeReport report;
  report.job.cluster = in.text();
  report.job.id = in.text();
  report.job.user = in.text();
  report.job.node = in.text();
  report.job.nodes = in.small();
  report.started = in.integer();
  report.ended = in.integer();
  report.others = in.small();
  report.restarted = in.small();
  report.lost_mounts = in.small();
  take_extras(in, report.memory, report.network);
  report.io = take_io(in);
  return report;
}

void put(Writer& out, const CollectedMark& mark) {
  out.text(mark.cluster);
  out.text(mark.id);
  out.integer(mark.started);
  out.integer(mark.ended);
  out.number(mark.reports);
}

CollectedMark take_mark(Reader& in) {
  CollectedMark mark;
  mark.cluster = in.text();
  mark.id = in.text();
  mark.started = in.integer();
  mark.ended = in.integer();
  mark.reports = in.small();
  return mark;
}

// Of all rows of a frame: what they have in common stands once, at its front.
bool share(const SeriesRow& a, const SeriesRow& b) {
  return a.cluster == b.cluster && a.target == b.target && a.time == b.time && a.seconds == b.seconds;
}

void put_head(Writer& out, const SeriesRow& row) {
  out.text(row.cluster);
  out.text(row.target);
  out.integer(row.time);
  out.number(row.seconds);
}

void put(Writer& out, const SeriesRow& row) {
  out.text(row.id);
  out.text(row.user);
  put_io(out, {.data = row.data, .metadata = row.metadata});
}

void take_series(Reader& in, std::vector<SeriesRow>& rows) {
  SeriesRow row;
  row.cluster = in.text();
  row.target = in.text();
  row.time = in.integer();
  row.seconds = in.small();
  while (in.more()) {
    row.id = in.text();
    row.user = in.text();
    const IoCounters io = take_io(in);
    row.data = io.data;
    row.metadata = io.metadata;
    rows.push_back(row);
  }
}

void append_number(std::string& out, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

void close_frame(Writer& payload, std::string& frames) {
  if (payload.bytes().empty()) return;
  frames.append(kFrameMagic);
  append_number(frames, static_cast<std::uint32_t>(payload.bytes().size()));
  append_number(frames, crc32c(payload.bytes()));
  frames.append(payload.bytes());
  payload.bytes().clear();
}

template <typename Row>
std::string frames_of(Kind kind, std::span<const Row> rows) {
  std::string frames;
  Writer payload;
  for (const Row& row : rows) {
    if (payload.bytes().empty()) payload.number(static_cast<std::uint64_t>(kind));
    put(payload, row);
    if (payload.bytes().size() >= kFullFrame) close_frame(payload, frames);
  }
  close_frame(payload, frames);
  return frames;
}

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1U) != 0 ? value >> 1U ^ 0x82F63B78U : value >> 1U;
    table[i] = value;
  }
  return table;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) crc = crc >> 8U ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return ~crc;
}

std::string to_frames(std::span<const JobRow> rows) { return frames_of(Kind::jobs, rows); }
std::string to_frames(std::span<const NodeReport> reports) { return frames_of(Kind::reports, reports); }
std::string to_frames(std::span<const CollectedMark> marks) { return frames_of(Kind::marks, marks); }

std::string to_frames(std::span<const SeriesRow> rows) {
  std::string frames;
  Writer payload;
  const SeriesRow* first = nullptr;
  for (const SeriesRow& row : rows) {
    if (first != nullptr && (!share(*first, row) || payload.bytes().size() >= kFullFrame)) {
      close_frame(payload, frames);
      first = nullptr;
    }
    if (first == nullptr) {
      first = &row;
      payload.number(static_cast<std::uint64_t>(Kind::series));
      put_head(payload, row);
    }
    put(payload, row);
  }
  close_frame(payload, frames);
  return frames;
}

Result<SpoolPayload> parse_payload(std::string_view payload) {
  SpoolPayload out;
  Reader in(payload);
  switch (static_cast<Kind>(in.number())) {
    case Kind::jobs:
      while (in.more()) out.jobs.push_back(take_job(in));
      break;
    case Kind::series:
      take_series(in, out.series);
      break;
    case Kind::reports:
      while (in.more()) out.reports.push_back(take_report(in));
      break;
    case Kind::marks:
      while (in.more()) out.marks.push_back(take_mark(in));
      break;
    default:
      out.unknown = true;
      break;
  }
  if (!in.good()) return fail(Errc::parse, "the frame does not hold what its kind asks for");
  return out;
}

}  // namespace iez::jobs
