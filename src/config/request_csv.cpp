#include "config/request_csv.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/words.hpp"
#include "input/csv_records.hpp"
#include "model/layout.hpp"
#include "model/layout_spec.hpp"

namespace iez::config {

namespace {

using placement::Request;
using placement::RequestComponent;

enum Column : std::size_t { name, bytes, stripe_count, stripe_size, pool, overstripe, components, phase, read_phase };
constexpr std::array<std::string_view, 9> kColumns{"name",       "bytes",      "stripe_count", "stripe_size", "pool",
                                                   "overstripe", "components", "phase",        "read_phase"};

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// A name that stands for many: front, a number from first to last of at least `width` digits, back.
struct NamePattern {
  std::string front;
  std::string back;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 0;  // 0: a single name, and only front is set
};

// The range "{0..63}" at the front of text.
struct RangeText {
  std::string_view first;
  std::string_view last;
  std::size_t length = 0;  // of all of it
};

std::optional<RangeText> range_at(std::string_view text) {
  const auto digits = [&](std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && text::is_digit(text[end])) ++end;
    return text.substr(from, end - from);
  };
  RangeText range{.first = digits(1)};
  const std::size_t dots = 1 + range.first.size();
  if (range.first.empty() || !text.substr(dots).starts_with("..")) return std::nullopt;
  range.last = digits(dots + 2);
  range.length = dots + 2 + range.last.size() + 1;
  if (range.last.empty() || range.length > text.size() || text[range.length - 1] != '}') return std::nullopt;
  return range;
}

class RequestParser {
 public:
  RequestParser(std::string_view text, std::string_view file_name, const RequestLimits& limits)
      : records_(text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text),
        file_(text::printable(file_name)),
        limits_(limits) {}

  Result<std::vector<Request>> parse() {
    IEZ_CHECK(read_header());
    while (records_.next()) {
      IEZ_CHECK(check_record());
      if (records_.fields().size() != columns_) {
        return fail_line(Errc::parse, fmt::format("found {} field{}, expected {}, one for each column of the header",
                                                  records_.fields().size(), records_.fields().size() == 1 ? "" : "s", columns_));
      }
      IEZ_CHECK(add_record());
    }
    IEZ_CHECK(check_twice());
    return std::move(requests_);
  }

 private:
  std::unexpected<Error> fail_line(Errc code, std::string_view message) const {
    return fail(code, fmt::format("{}:{}: {}", file_, records_.line(), message));
  }

  std::unexpected<Error> bad(Column column, std::string_view expected, Errc code = Errc::parse) const {
    return fail_line(code, fmt::format("column {}: found {}, expected {}", kColumns[column], shown(value(column)), expected));
  }

  Result<void> check_record() const {
    if (records_.problem() != input::CsvRecords::Problem::none) return fail_line(Errc::parse, input::explain(records_.problem()));
    return {};
  }

  Result<void> read_header() {
    const std::string expected = fmt::format("a header line: {}", fmt::join(kColumns, ","));
    if (!records_.next()) return fail(Errc::parse, fmt::format("{}: found an empty file, expected {}", file_, expected));
    IEZ_CHECK(check_record());
    const auto column_of = [](std::string_view word) {
      return static_cast<std::size_t>(std::ranges::find(kColumns, text::trim(word)) - kColumns.begin());
    };
    const auto fields = records_.fields();
    if (std::ranges::none_of(fields, [&](std::string_view word) { return column_of(word) < kColumns.size(); })) {
      return fail_line(Errc::parse, fmt::format("found {} and no column that is known, expected {}", shown(fields[0]), expected));
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::size_t column = column_of(fields[i]);
      if (column == kColumns.size()) {
        return fail_line(Errc::parse, fmt::format("unknown column {}: expected {}{}", shown(fields[i]), fmt::join(kColumns, ", "),
                                                  suggestion(text::trim(fields[i]), kColumns)));
      }
      if (position_[column]) {
        return fail_line(Errc::parse, fmt::format("column {}: found twice in the header, expected once", kColumns[column]));
      }
      position_[column] = i;
    }
    for (const Column required : {name, bytes}) {
      if (!position_[required]) {
        return fail_line(Errc::parse, fmt::format("column {}: missing in the header, expected it", kColumns[required]));
      }
    }
    columns_ = fields.size();
    return {};
  }

  // Of the record that is being read; empty where the file has no such column.
  std::string_view value(Column column) const {
    const std::optional<std::size_t>& position = position_[column];
    return position ? records_.fields()[*position] : std::string_view{};
  }
  std::string_view word(Column column) const { return text::trim(value(column)); }

  Result<void> add_record() {
    Request request;
    IEZ_TRY(request.bytes, read_bytes());
    IEZ_TRY(request.overstripe, read_overstripe());
    IEZ_TRY(request.phase, read_phase_number(phase));
    IEZ_TRY(request.read_phase, read_phase_number(read_phase));
    if (request.read_phase && request.read_phase == request.phase.value_or(0)) {
      return bad(read_phase, "another phase than that in which the file is written");
    }
    if (word(components).empty()) {
      IEZ_CHECK(read_striping(request));
    } else {
      IEZ_TRY(request.components, read_components());
    }
    IEZ_TRY(const NamePattern pattern, read_name());
    return expand(pattern, std::move(request));
  }

  Result<Bytes> read_bytes() const {
    const std::string_view text = word(bytes);
    std::optional<std::uint64_t> count = text::parse_u64(text);
    if (!count) {
      if (const auto parsed = parse_bytes(text)) count = parsed->count;
    }
    if (!count || *count == 0 || *count > kMaxSize) return bad(bytes, "a size from 1 to 2^63-1 bytes, such as 1GiB");
    return Bytes{*count};
  }

  Result<bool> read_overstripe() const {
    const std::string_view text = word(overstripe);
    if (text.empty() || text == "no" || text == "false" || text == "0") return false;
    if (text == "yes" || text == "true" || text == "1") return true;
    return bad(overstripe, "yes or no");
  }

  Result<std::optional<std::uint32_t>> read_phase_number(Column column) const {
    const std::string_view text = word(column);
    if (text.empty()) return std::optional<std::uint32_t>();
    const auto number = text::parse_u64(text);
    if (!number || *number > placement::kMaxPhase)
      return bad(column, fmt::format("a whole number from 0 to {}", placement::kMaxPhase));
    return std::optional(static_cast<std::uint32_t>(*number));
  }

  Result<void> read_striping(Request& request) const {
    if (const std::string_view text = word(stripe_count); text == "-1") {
      request.stripe_count = placement::kAllTargets;
    } else if (!text.empty()) {
      const auto count = text::parse_u64(text);
      if (!count || *count == 0 || *count > model::kMaxStripeCount) {
        return bad(stripe_count, fmt::format("1 to {}, or -1 for all OSTs; empty is 1", model::kMaxStripeCount));
      }
      request.stripe_count = static_cast<std::int32_t>(*count);
    }
    if (const std::string_view text = word(stripe_size); !text.empty()) {
      const auto size = parse_bytes(text);
      if (!size || size->count == 0 || *size > model::kMaxStripeSize || size->count % model::kStripeAlignment.count != 0) {
        return bad(stripe_size, "a multiple of 64KiB below 4GiB; empty leaves the choice to iez");
      }
      request.stripe_size = *size;
    }
    if (const std::string_view text = word(pool); !text.empty()) {
      if (!valid_pool_name(text)) return bad(pool, "1 to 15 letters, digits, '_', '-' or '.'");
      request.pool = text;
    }
    return {};
  }

  Result<std::vector<RequestComponent>> read_components() const {
    for (const Column other : {stripe_count, stripe_size, pool}) {
      if (!word(other).empty()) return bad(other, "nothing beside components, which have their own count, size and pool");
    }
    std::vector<std::string> specs;
    std::string_view rest = value(components);
    for (std::string_view spec = text::take_word(rest); !spec.empty(); spec = text::take_word(rest)) {
      if (specs.size() == kMaxFileComponents) {
        return bad(components, fmt::format("at most {} components", kMaxFileComponents), Errc::limit);
      }
      specs.emplace_back(spec);
    }
    const auto layout = model::parse_components(specs);
    const auto checked = layout ? model::validate_request(*layout) : Result<void>{};
    if (!layout || !checked) {
      return bad(components, fmt::format("such as \"4M:count=1 eof:count=8\"; {}",
                                         text::printable((layout ? checked.error() : layout.error()).message)));
    }
    if (layout->components.back().extent.end != model::Extent::kEof)
      return bad(components, "eof as the end of the last component");
    std::vector<RequestComponent> pieces;
    pieces.reserve(specs.size());
    for (const model::Component& component : layout->components) {
      IEZ_TRY(pieces.emplace_back(), read_component(component));
    }
    return pieces;
  }

  Result<RequestComponent> read_component(const model::Component& component) const {
    if (component.pattern == model::Pattern::mdt || !component.osts.empty() || component.first_ost) {
      return bad(components, "no mdt, osts= or first=: the OSTs are to be chosen");
    }
    if (component.overstriped) return bad(components, "no overstripe in it: use the column overstripe");
    if (!component.pool.empty() && !valid_pool_name(component.pool)) {
      return bad(components, "pools of 1 to 15 letters, digits, '_', '-' or '.'");
    }
    RequestComponent piece{.end = component.extent.end, .pool = component.pool};
    if (component.stripe_count == model::Component::kAllOsts) {
      piece.stripe_count = placement::kAllTargets;
    } else if (component.stripe_count != 0) {
      piece.stripe_count = component.stripe_count;
    }
    if (component.stripe_size.count != 0) piece.stripe_size = component.stripe_size;
    return piece;
  }

  Result<NamePattern> read_name() const {
    const std::string_view text = value(name);
    if (text.empty() || text.size() > kMaxFileName) return bad(name, fmt::format("a path of 1 to {} bytes", kMaxFileName));
    if (text.find('\0') != std::string_view::npos) return bad(name, "a path without a zero byte");
    if (!valid_utf8(text)) return bad(name, "a path in UTF-8");
    NamePattern pattern;
    std::size_t brace = text.find('{');
    if (brace == std::string_view::npos) {
      pattern.front = text;
      return pattern;
    }
    std::size_t done = 0;
    while (brace != std::string_view::npos) {
      std::string& side = pattern.width == 0 ? pattern.front : pattern.back;
      side += text.substr(done, brace - done);
      done = brace;
      if (text.substr(brace).starts_with("{{")) {
        side += '{';
        done += 2;
      } else if (const auto range = range_at(text.substr(brace))) {
        if (pattern.width != 0) return bad(name, "one range; {{ stands for a brace");
        IEZ_CHECK(read_range(*range, pattern));
        done += range->length;
      } else {
        side += '{';
        done += 1;
      }
      brace = text.find('{', done);
    }
    (pattern.width == 0 ? pattern.front : pattern.back) += text.substr(done);
    return pattern;
  }

  Result<void> read_range(const RangeText& range, NamePattern& pattern) const {
    constexpr std::size_t kMaxDigits = 18;
    const auto first = text::parse_u64(range.first);
    const auto last = text::parse_u64(range.last);
    if (range.first.size() > kMaxDigits || range.last.size() > kMaxDigits || !first || !last || *first > *last) {
      return bad(name, fmt::format("a range from low to high, of at most {} digits, such as {{0..63}}", kMaxDigits));
    }
    pattern.first = *first;
    pattern.last = *last;
    // As in a shell: a leading zero asks for numbers of one width.
    const bool padded = (range.first.size() > 1 && range.first[0] == '0') || (range.last.size() > 1 && range.last[0] == '0');
    pattern.width = padded ? std::max(range.first.size(), range.last.size()) : 1;
    return {};
  }

  Result<void> expand(const NamePattern& pattern, Request request) {
    const std::uint64_t files = pattern.last - pattern.first + 1;
    if (files > limits_.files - requests_.size()) {
      return bad(name, fmt::format("at most {} files in all", limits_.files), Errc::limit);
    }
    constexpr std::size_t kMostDigits = 20;
    const std::uint64_t each = pattern.front.size() + (pattern.width == 0 ? 0 : pattern.back.size() + kMostDigits) +
                               request.components.size() * sizeof(RequestComponent);
    if (each > 0 && files > (limits_.text.count - text_bytes_) / each) {
      return bad(name, fmt::format("names and components of at most {} bytes in all", limits_.text.count), Errc::limit);
    }
    text_bytes_ += files * each;
    records_seen_.push_back({.request = requests_.size(), .line = records_.line()});
    if (pattern.width == 0) {
      request.name = pattern.front;
      requests_.push_back(std::move(request));
      return {};
    }
    if (files > requests_.capacity() - requests_.size())
      requests_.reserve(std::max(requests_.size() + files, 2 * requests_.size()));
    for (std::uint64_t number = pattern.first; number <= pattern.last; ++number) {
      request.name = fmt::format("{}{:0{}}{}", pattern.front, number, pattern.width, pattern.back);
      if (request.name.size() > kMaxFileName) return bad(name, fmt::format("paths of at most {} bytes", kMaxFileName));
      requests_.push_back(request);
    }
    return {};
  }

  // Sorting by hash, then name, has no bad case that a file could be made for.
  Result<void> check_twice() const {
    struct Entry {
      std::size_t hash;
      std::size_t request;
    };
    std::vector<Entry> entries;
    entries.reserve(requests_.size());
    for (const Request& request : requests_) {
      entries.push_back({.hash = std::hash<std::string_view>{}(request.name), .request = entries.size()});
    }
    std::ranges::sort(entries, [this](const Entry& a, const Entry& b) {
      if (a.hash != b.hash) return a.hash < b.hash;
      if (const int order = requests_[a.request].name.compare(requests_[b.request].name); order != 0) return order < 0;
      return a.request < b.request;
    });
    std::optional<std::pair<std::size_t, std::size_t>> first;  // the earliest second one, and the one before it
    for (std::size_t i = 1; i < entries.size(); ++i) {
      if (entries[i].hash != entries[i - 1].hash) continue;
      const std::pair pair{entries[i].request, entries[i - 1].request};
      if (requests_[pair.first].name == requests_[pair.second].name && (!first || pair < *first)) first = pair;
    }
    if (!first) return {};
    return fail(Errc::parse,
                fmt::format("{}:{}: column name: found {} a second time, expected another name: line {} has it", file_,
                            line_of(first->first), shown(requests_[first->first].name), line_of(first->second)));
  }

  std::size_t line_of(std::size_t request) const {
    const auto after = std::ranges::upper_bound(records_seen_, request, {}, &Record::request);
    return std::prev(after)->line;
  }

  struct Record {
    std::size_t request;  // the first one that it gave
    std::size_t line;
  };

  input::CsvRecords records_;
  std::string file_;
  RequestLimits limits_;
  std::array<std::optional<std::size_t>, kColumns.size()> position_;  // of each column in the records
  std::size_t columns_ = 0;
  std::vector<Request> requests_;
  std::vector<Record> records_seen_;
  std::uint64_t text_bytes_ = 0;
};

}  // namespace

Result<std::vector<Request>> parse_requests(std::string_view text, std::string_view file_name, const RequestLimits& limits) {
  return RequestParser(text, file_name, limits).parse();
}

}  // namespace iez::config
