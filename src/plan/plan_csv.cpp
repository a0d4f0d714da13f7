#include "plan/plan_csv.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"
#include "input/csv_records.hpp"
#include "lustre/layout_codec.hpp"
#include "model/layout.hpp"
#include "model/layout_spec.hpp"
#include "plan/pattern_text.hpp"

namespace iez::plan {

namespace {

enum Column : std::size_t { name, stripe_size, stripe_count, osts, first_ost, pool, components, weight, turn, created_as };
constexpr std::array<std::string_view, 10> kColumns{"name", "stripe_size", "stripe_count", "osts", "first_ost",
                                                    "pool", "components",  "weight",       "turn", "created_as"};

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::uint64_t kMaxWeight = 1000;
constexpr std::size_t kMaxTurns = 1'000'000;
constexpr std::size_t kMaxCached = std::size_t{64} << 20U;    // bytes of requests
constexpr std::size_t kMaxOfRules = std::size_t{256} << 20U;  // bytes of requests

using Request = std::vector<std::byte>;

std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return fmt::format("'{}'{}", text::printable(text.substr(0, kShown)), text.size() > kShown ? "..." : "");
}

enum class RowKind { file, pattern, spread, leave };

// A rule whose lines are still being read.
struct OpenRule {
  PlannedRule rule;
  std::vector<std::uint32_t> weights;  // of its requests
  std::uint64_t turns = 0;
};

class PlanParser {
 public:
  PlanParser(std::string_view text, std::string_view file_name, PlanWriter& writer)
      : records_(text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text),
        file_(text::printable(file_name)),
        writer_(writer) {}

  Result<void> parse() {
    IEZ_CHECK(read_header());
    while (records_.next()) {
      IEZ_CHECK(check_record());
      if (records_.fields().size() != columns_) {
        return fail_line(Errc::parse,
                         fmt::format("found {} field{}, expected {}, one for each column of the header; a field with a "
                                     "comma is written in quotes",
                                     records_.fields().size(), records_.fields().size() == 1 ? "" : "s", columns_));
      }
      IEZ_CHECK(add_record());
    }
    return add_rules();
  }

 private:
  std::unexpected<Error> fail_at(std::size_t line, Errc code, std::string_view message) const {
    return fail(code, fmt::format("{}:{}: {}", file_, line, message));
  }
  std::unexpected<Error> fail_line(Errc code, std::string_view message) const { return fail_at(records_.line(), code, message); }

  std::unexpected<Error> bad(Column column, std::string_view expected) const {
    return fail_line(Errc::parse,
                     fmt::format("column {}: found {}, expected {}", kColumns[column], shown(value(column)), expected));
  }

  Result<void> check_record() const {
    if (records_.problem() != input::CsvRecords::Problem::none) return fail_line(Errc::parse, input::explain(records_.problem()));
    return {};
  }

  Result<void> read_header() {
    const std::string expected = fmt::format("a header line with columns of {}", fmt::join(kColumns, ","));
    if (!records_.next()) return fail(Errc::parse, fmt::format("{}: found an empty file, expected {}", file_, expected));
    IEZ_CHECK(check_record());
    const auto fields = records_.fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto column = static_cast<std::size_t>(std::ranges::find(kColumns, text::trim(fields[i])) - kColumns.begin());
      if (column == kColumns.size()) {
        const auto near = text::nearest(text::trim(fields[i]), kColumns);
        return fail_line(Errc::parse, fmt::format("unknown column {}: expected {}{}", shown(fields[i]), fmt::join(kColumns, ", "),
                                                  near ? fmt::format("; did you mean '{}'?", *near) : ""));
      }
      if (position_[column]) {
        return fail_line(Errc::parse, fmt::format("column {}: found twice in the header, expected once", kColumns[column]));
      }
      position_[column] = i;
    }
    if (!position_[name]) return fail_line(Errc::parse, "column name: missing in the header, expected it");
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
    std::string_view key = value(name);
    RowKind kind = RowKind::file;
    const auto take = [&key](std::string_view prefix) {
      if (!key.starts_with(prefix)) return false;
      key.remove_prefix(prefix.size());
      return true;
    };
    if (take("spread:")) {
      kind = RowKind::spread;
    } else if (take("leave:")) {
      kind = RowKind::leave;
    } else if (!take("file:") && (has_fields(key) || has_fields(value(created_as)))) {
      kind = RowKind::pattern;
    }
    if (!key.starts_with('/')) {
      return bad(name, "an absolute name, /..., with file:, spread: or leave: before it where that is meant");
    }
    if (kind == RowKind::file && key.ends_with('/')) return bad(name, "the name of a file; spread: and leave: take directories");
    if (!value(created_as).empty() && !value(created_as).starts_with('/')) return bad(created_as, "an absolute name, /...");
    if (kind != RowKind::pattern && !word(turn).empty()) return bad(turn, "nothing: only patterns have one");
    if (kind == RowKind::spread || kind == RowKind::leave) {
      if (!value(created_as).empty()) return bad(created_as, "nothing: only files and patterns have one");
    }
    return kind == RowKind::file ? add_file(key) : add_to_rule(key, kind);
  }

  Result<void> add_file(std::string_view key) {
    if (!word(weight).empty()) return bad(weight, "nothing: only patterns and spread: have one");
    IEZ_TRY(const std::vector<Request>* const requests, read_layouts(RowKind::file));
    const auto added = writer_.add(
        PlannedFile{.name = key, .created_as = value(created_as), .request = requests->front(), .origin = records_.line()});
    if (!added) return fail_line(added.error().code, fmt::format("column name: {}", added.error().message));
    return {};
  }

  Result<void> add_to_rule(std::string_view key, RowKind kind) {
    const std::string full = fmt::format("{}:{}", static_cast<int>(kind), key);
    const auto [found, is_new] = rule_numbers_.try_emplace(full, rules_.size());
    if (is_new) {
      rules_.emplace_back();
      PlannedRule& rule = rules_.back().rule;
      rule.type = kind == RowKind::spread ? RuleType::spread : kind == RowKind::leave ? RuleType::leave : RuleType::pattern;
      rule.text = key;
      rule.created_as = value(created_as);
      rule.turn = word(turn);
      rule.origin = records_.line();
    }
    OpenRule& open = rules_[found->second];
    if (kind == RowKind::leave) {
      if (!is_new) return bad(name, fmt::format("it once: line {} has it", open.rule.origin));
      for (const Column column : {stripe_size, stripe_count, osts, first_ost, pool, components, weight}) {
        if (!word(column).empty()) return bad(column, "nothing beside leave:");
      }
      return {};
    }
    if (!value(created_as).empty() && value(created_as) != open.rule.created_as) {
      return bad(created_as, fmt::format("the same as in line {}, or nothing", open.rule.origin));
    }
    if (!word(turn).empty() && word(turn) != open.rule.turn) {
      return bad(turn, fmt::format("the same as in line {}, or nothing", open.rule.origin));
    }
    std::uint32_t times = 1;
    if (!word(weight).empty()) {
      const auto given = text::parse_u64(word(weight));
      if (!given || *given == 0 || *given > kMaxWeight) return bad(weight, fmt::format("1 to {}; empty is 1", kMaxWeight));
      times = static_cast<std::uint32_t>(*given);
    }
    IEZ_TRY(const std::vector<Request>* const requests, read_layouts(kind));
    open.turns += times * requests->size();
    if (open.turns > kMaxTurns) {
      return fail_line(Errc::limit, fmt::format("found more than {0} layouts of one rule, expected at most {0}", kMaxTurns));
    }
    rule_bytes_ += requests->size() * requests->front().size();
    if (rule_bytes_ > kMaxOfRules) {
      return fail_line(Errc::limit,
                       fmt::format("found more than {} MiB of layouts in patterns and spreads, expected fewer stripes "
                                   "or fewer lines",
                                   kMaxOfRules >> 20U));
    }
    open.rule.requests.insert(open.rule.requests.end(), requests->begin(), requests->end());
    open.weights.insert(open.weights.end(), requests->size(), times);
    return {};
  }

  Result<void> add_rules() {
    for (OpenRule& open : rules_) {
      open.rule.order = order_by_weight(open.weights);
      const auto added = writer_.add(open.rule);
      if (!added) return fail_at(open.rule.origin, added.error().code, fmt::format("column name: {}", added.error().message));
      open = {};
    }
    return {};
  }

  // ---- Layouts ----

  // What the line asks for: one layout, or those that files take in turn. Lines that ask for the same are read once.
  Result<const std::vector<Request>*> read_layouts(RowKind kind) {
    key_.clear();
    key_ += static_cast<char>('0' + static_cast<int>(kind));
    for (const Column column : {stripe_size, stripe_count, osts, first_ost, pool, components}) {
      key_ += word(column);
      key_ += '\0';
    }
    if (const auto found = cache_.find(key_); found != cache_.end()) return &found->second;
    IEZ_TRY(std::vector<Request> requests, make_layouts(kind));
    cached_ += requests.size() * requests.front().size() + key_.size();
    if (cached_ > kMaxCached) {
      cache_.clear();
      cached_ = 0;
    }
    return &cache_.emplace(key_, std::move(requests)).first->second;
  }

  Result<std::vector<Request>> make_layouts(RowKind kind) const {
    if (!word(components).empty()) return make_composite();
    model::Component component;
    if (!word(stripe_size).empty()) {
      const auto size = parse_bytes(word(stripe_size));
      if (!size || size->count == 0 || *size > model::kMaxStripeSize || size->count % model::kStripeAlignment.count != 0) {
        return bad(stripe_size, "a multiple of 64KiB below 4GiB, such as 1M; empty is the file system's default");
      }
      component.stripe_size = *size;
    }
    if (!word(stripe_count).empty()) {
      const auto count = model::parse_stripe_count(word(stripe_count));
      if (!count) return bad(stripe_count, fmt::format("1 to {}, or -1 for all OSTs", model::kMaxStripeCount));
      component.stripe_count = *count;
    }
    if (!word(pool).empty()) {
      const auto fits = [](char c) {
        return text::is_digit(c) || (text::to_lower(c) >= 'a' && text::to_lower(c) <= 'z') || c == '_' || c == '-' || c == '.';
      };
      if (word(pool).size() > model::kMaxPoolName || !std::ranges::all_of(word(pool), fits)) {
        return bad(pool, "1 to 15 letters, digits, '_', '-' or '.'");
      }
      component.pool = word(pool);
    }
    if (!word(osts).empty()) return make_listed(kind, std::move(component));
    if (!word(first_ost).empty()) {
      const auto first = text::parse_u64(word(first_ost));
      constexpr std::uint64_t kMaxOst = 0xFFFE;
      if (!first || *first > kMaxOst) return bad(first_ost, "the number of an OST, 0 to 65534");
      component.first_ost = OstIndex{static_cast<std::uint32_t>(*first)};
    }
    if (component == model::Component{}) {
      return bad(name, "a layout for it: osts, or stripe_count, stripe_size, pool, first_ost, or components");
    }
    IEZ_TRY(Request request, encode({.components = {std::move(component)}}));
    return std::vector<Request>{std::move(request)};
  }

  Result<std::vector<OstIndex>> read_osts() const {
    std::string list;
    std::string_view rest = word(osts);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of(", \t"), rest.size());
      if (end != 0) {
        if (!list.empty()) list += ',';
        list += rest.substr(0, end);
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    auto parsed = model::parse_ost_list(list, ',');
    if (!parsed)
      return bad(osts, fmt::format("OST numbers such as \"3 1 2\" or 0-5: {}", text::printable(parsed.error().message)));
    return parsed;
  }

  Result<std::vector<Request>> make_listed(RowKind kind, model::Component component) const {
    if (!word(first_ost).empty()) return bad(first_ost, "nothing beside osts: the first of the list is the first stripe");
    IEZ_TRY(const std::vector<OstIndex> list, read_osts());
    std::size_t count = list.size();
    if (word(stripe_count).empty()) {
      if (kind == RowKind::spread) count = 1;
    } else {
      count = component.stripe_count;
    }
    if (kind == RowKind::file ? count != list.size() : count > list.size()) {
      return bad(stripe_count, fmt::format("{}{}, as {} OSTs are listed; an OST may be listed several times",
                                           kind == RowKind::file ? "" : "at most ", list.size(), list.size()));
    }
    // File n takes `count` OSTs behind those of file n - 1, and begins anew where the list ends.
    std::vector<Request> requests;
    const std::size_t turns = list.size() / std::gcd(list.size(), count);
    requests.reserve(turns);
    for (std::size_t i = 0; i < turns; ++i) {
      component.osts.clear();
      for (std::size_t j = 0; j < count; ++j) component.osts.push_back(list[(i * count + j) % list.size()]);
      component.stripe_count = static_cast<std::uint16_t>(count);
      std::vector<OstIndex> sorted = component.osts;
      std::ranges::sort(sorted);
      component.overstriped = std::ranges::adjacent_find(sorted) != sorted.end();
      IEZ_TRY(requests.emplace_back(), encode({.components = {component}}));
    }
    return requests;
  }

  Result<std::vector<Request>> make_composite() const {
    for (const Column other : {stripe_count, stripe_size, pool, osts, first_ost}) {
      if (!word(other).empty()) return bad(other, "nothing beside components, which have their own");
    }
    std::vector<std::string> specs;
    std::string_view rest = value(components);
    for (std::string_view spec = text::take_word(rest); !spec.empty(); spec = text::take_word(rest)) specs.emplace_back(spec);
    const auto layout = model::parse_components(specs);
    if (!layout) {
      return bad(components, fmt::format("such as \"4M:count=1 eof:count=8\"; {}", text::printable(layout.error().message)));
    }
    if (layout->components.back().extent.end != model::Extent::kEof) {
      return bad(components, "eof as the end of the last component");
    }
    IEZ_TRY(Request request, encode(*layout));
    return std::vector<Request>{std::move(request)};
  }

  Result<Request> encode(const model::Layout& layout) const {
    if (const auto valid = model::validate_request(layout); !valid) {
      return fail_line(Errc::parse, fmt::format("found a layout that a file system would refuse: {}", valid.error().message));
    }
    auto request = lustre::encode_request(layout);
    if (!request) return fail_line(Errc::parse, request.error().message);
    return request;
  }

  input::CsvRecords records_;
  std::string file_;
  PlanWriter& writer_;
  std::array<std::optional<std::size_t>, kColumns.size()> position_;  // of each column in the records
  std::size_t columns_ = 0;
  std::unordered_map<std::string, std::size_t> rule_numbers_;
  std::vector<OpenRule> rules_;
  std::unordered_map<std::string, std::vector<Request>> cache_;
  std::size_t cached_ = 0;  // bytes
  std::size_t rule_bytes_ = 0;
  std::string key_;
};

}  // namespace

std::vector<std::size_t> order_by_weight(std::span<const std::uint32_t> weights) {
  struct Turn {
    std::size_t number;
    std::uint64_t time;    // 2 i + 1 ...
    std::uint64_t weight;  // ... of 2 * weight
  };
  std::vector<Turn> turns;
  for (std::size_t number = 0; number < weights.size(); ++number) {
    for (std::uint64_t i = 0; i < weights[number]; ++i)
      turns.push_back({.number = number, .time = 2 * i + 1, .weight = weights[number]});
  }
  std::ranges::sort(turns, [](const Turn& a, const Turn& b) {
    const std::uint64_t left = a.time * b.weight;
    const std::uint64_t right = b.time * a.weight;
    return left != right ? left < right : a.number < b.number;
  });
  std::vector<std::size_t> order;
  order.reserve(turns.size());
  for (const Turn& one : turns) order.push_back(one.number);
  return order;
}

Result<void> read_plan_csv(std::string_view text, std::string_view file_name, PlanWriter& writer) {
  return PlanParser(text, file_name, writer).parse();
}

}  // namespace iez::plan
