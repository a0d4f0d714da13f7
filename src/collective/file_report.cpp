#include "collective/file_report.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>

namespace iez::collective {

namespace {

__extension__ using Wide = unsigned __int128;

// Whether it may stand in a JSON text: shortest forms only, no surrogates, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text) {
  const auto byte = [&text](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  for (std::size_t at = 0; at < text.size();) {
    const unsigned first = byte(at);
    const std::size_t size = first < 0x80 ? 1 : first >> 5U == 6 ? 2 : first >> 4U == 14 ? 3 : first >> 3U == 30 ? 4 : 0;
    if (size == 0) return false;
    unsigned code = size == 1 ? first : first & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
      if (byte(at + i) >> 6U != 2) return false;
      code = code << 6U | (byte(at + i) & 0x3FU);
    }
    const unsigned least = size == 2 ? 0x80 : size == 3 ? 0x800 : size == 4 ? 0x10000 : 0;
    if (code < least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
    at += size;
  }
  return true;
}

// JSON, piece by piece. Numbers are whole, so that no locale has a say.
class Line {
 public:
  std::string take() { return std::move(text_); }

  void open(char bracket) { text_ += bracket; }
  void close(char bracket) {
    if (text_.back() == ',') text_.pop_back();
    text_ += bracket;
    text_ += ',';
  }
  void key(std::string_view name) {
    string(name);
    text_.back() = ':';
  }

  void string(std::string_view value) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const bool good = is_utf8(value);
    text_ += '"';
    for (const char letter : value) {
      const auto code = static_cast<unsigned char>(letter);
      if (letter == '"' || letter == '\\') {
        text_ += '\\';
        text_ += letter;
      } else if (code < 0x20) {
        text_ += "\\u00";
        text_ += kDigits[code >> 4U];
        text_ += kDigits[code & 15U];
      } else if (code >= 0x80 && !good) {
        text_ += "\\ufffd";
      } else {
        text_ += letter;
      }
    }
    text_ += "\",";
  }
  void word(std::string_view value) {
    text_ += value;
    text_ += ',';
  }
  template <std::integral Number>
  void number(Number value) {
    text_ += std::to_string(value);
    text_ += ',';
  }
  // value / 10^digits
  void fraction(std::uint64_t value, unsigned digits) {
    std::uint64_t unit = 1;
    for (unsigned i = 0; i < digits; ++i) unit *= 10;
    number(value / unit);
    text_.back() = '.';
    for (std::uint64_t rest = value % unit; unit > 1; rest %= unit) {
      unit /= 10;
      text_ += static_cast<char>('0' + (rest / unit));
    }
    text_ += ',';
  }

  template <typename Value>
  void field(std::string_view name, Value value) {
    key(name);
    if constexpr (std::same_as<Value, bool>) {
      word(value ? "true" : "false");
    } else {
      number(value);
    }
  }

 private:
  std::string text_;
};

void add_times(Line& line, const FileReport& report) {
  struct Part {
    std::string_view name;
    std::uint64_t Times::* time;
  };
  line.key("seconds");
  line.open('{');
  for (const Part& part :
       {Part{"copy", &Times::copy}, Part{"wait", &Times::wait}, Part{"send", &Times::send}, Part{"file", &Times::file}}) {
    line.key(part.name);
    line.open('{');
    line.key("sum");
    line.fraction(report.all.*part.time, 9);
    line.key("largest");
    line.fraction(report.largest.*part.time, 9);
    line.key("aggregators");
    line.fraction(report.aggregating.*part.time, 9);
    line.close('}');
  }
  line.close('}');
}

void add_layout(Line& line, const FileLayout& layout) {
  line.field("striped", layout.striped);
  line.key("components");
  line.open('[');
  for (const StripedRange& range : layout.ranges) {
    line.open('{');
    line.field("start", range.begin);
    line.field("stripe_size", range.stripe_size);
    line.key("osts");
    line.open('[');
    for (const std::uint32_t ost : range.osts) line.number(ost);
    line.close(']');
    line.close('}');
  }
  line.close(']');
}

void add_pattern(Line& line, const Requests& requests) {
  line.key("largest_write");
  if (requests.bytes == 0) return line.word("null");
  line.open('{');
  line.field("begin", requests.begin);
  line.field("end", requests.end);
  line.field("bytes", requests.bytes);
  line.field("ranks", requests.ranks_with_data);
  line.field("shortest_piece", requests.shortest_piece);
  line.field("longest_piece", requests.longest_piece);
  line.field("interleaved", requests.interleaved);
  line.close('}');
}

void add_costs(Line& line, std::string_view name, const Contest::Costs& costs) {
  line.key(name);
  if (costs.count == 0) return line.word("null");
  line.number(costs.median());
}

void add_ways(Line& line, const Contest& contest) {
  line.key("ways");
  line.open('[');
  for (const Contest::Standing& one : contest.standings()) {
    line.open('{');
    line.field("write", one.kind.write);
    line.field("interleaved", one.kind.interleaved);
    line.field("piece", std::uint64_t{1} << one.kind.piece);
    line.field("call", std::uint64_t{1} << one.kind.bytes);
    line.key("kept");
    line.string(!one.kept ? "none" : *one.kept == Way::collect ? "collect" : "pass");
    line.field("tried", one.trial > 0 || (one.kept && !one.aside));
    add_costs(line, "collected_ns_per_kib", one.collected);
    add_costs(line, "passed_ns_per_kib", one.passed);
    line.field("dropped", one.dropped);
    line.close('}');
  }
  line.close(']');
}

Times times_of(const Counters& counters) {
  return {.copy = counters.copy_ns, .wait = counters.wait_ns, .send = counters.send_ns, .file = counters.file_ns};
}

template <typename Join>
void join(Times& all, const Times& one, Join join) {
  for (const auto time : {&Times::copy, &Times::wait, &Times::send, &Times::file}) all.*time = join(all.*time, one.*time);
}

}  // namespace

void FileReport::take(std::span<const RankReport> ranks_of_file) {
  const auto add = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  for (const RankReport& rank : ranks_of_file) {
    if (ranks++ == 0) first = rank.counters;
    sum += rank.counters;
    const Times times = times_of(rank.counters);
    join(all, times, add);
    join(largest, times, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
    if (rank.is_aggregator == 0) continue;
    ++aggregator_ranks;
    join(aggregating, times, add);
  }
}

std::uint32_t communication_share(const Times& aggregating) {
  const std::uint64_t talk = aggregating.copy + aggregating.send + aggregating.wait;
  const std::uint64_t total = talk + aggregating.file;
  if (total == 0) return 0;
  return static_cast<std::uint32_t>(Wide{talk} * 10000 / total);
}

std::string to_json_line(const FileReport& report) {
  Line line;
  line.open('{');
  line.field("version", kReportVersion);
  line.key("path");
  line.string(report.path);
  line.field("ranks", report.ranks);
  line.field("nodes", report.nodes);
  line.field("aggregators", report.aggregators);
  line.field("aggregator_ranks", report.aggregator_ranks);
  line.field("window_bytes", report.window_bytes);
  add_layout(line, report.layout);
  line.field("calls", report.first.calls);
  line.field("collected_writes", report.first.writes);
  line.field("collected_reads", report.first.reads);
  line.field("independent", report.first.independent);
  line.field("aside", report.first.aside);
  line.field("unasked", report.first.unasked);
  line.field("compared", report.first.compared);
  line.field("passed", report.passed);
  line.field("guessed", report.first.guessed);
  line.field("portions", report.first.portions);
  line.field("written_bytes", report.first.written);
  line.field("bytes", report.sum.bytes);
  line.field("shared_bytes", report.sum.shared);
  line.field("sent_bytes", report.sum.sent);
  line.field("transfers", report.sum.transfers);
  line.field("rpc_transfers", report.sum.whole);
  line.field("transferred_bytes", report.sum.transferred);
  add_times(line, report);
  line.key("communication_share");
  line.fraction(communication_share(report.aggregating), 4);
  add_pattern(line, report.largest_write);
  add_ways(line, report.contest);
  line.key("hints");
  line.open('[');
  report.hints.each([&line](const char* key, const char* value) {
    line.open('{');
    line.key("key");
    line.string(key);
    line.key("value");
    line.string(value);
    line.close('}');
  });
  line.close(']');
  line.close('}');
  std::string text = line.take();
  text.back() = '\n';
  return text;
}

}  // namespace iez::collective
