#include "plan/plan_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "lustre/layout_codec.hpp"
#include "plan/field_match.hpp"
#include "plan/packed_layout.hpp"
#include "plan/pattern_text.hpp"

namespace iez::plan {

namespace {

constexpr LookupCalls kSystem{.pread = [](int fd, void* to, std::size_t size, off_t at) { return ::pread(fd, to, size, at); }};

constexpr std::uint64_t kBucketsAtOnce = 512;

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

std::string_view text_at(const std::byte* from, std::size_t size) { return {reinterpret_cast<const char*>(from), size}; }

std::vector<std::byte> bytes_of(const FoundLayout& layout) { return {layout.bytes, layout.bytes + layout.size}; }

// Fields of a pattern in a name, by trying the longest first, at most `budget` pieces.
bool match_pieces(std::span<const PatternPiece> pieces, std::string_view name, std::size_t& budget,
                  std::vector<std::string_view>& values) {
  if (budget == 0) return false;
  --budget;
  if (pieces.empty()) return name.empty();
  const PatternPiece& piece = pieces.front();
  if (piece.kind == abi::kEdgeLiteral) {
    return name.starts_with(piece.text) && match_pieces(pieces.subspan(1), name.substr(piece.text.size()), budget, values);
  }
  std::size_t length = name.size() + 1;
  while ((length = field_length(piece.kind, piece.width, name.data(), name.size(), length)) != 0) {
    values.push_back(name.substr(0, length));
    if (match_pieces(pieces.subspan(1), name.substr(length), budget, values)) return true;
    values.pop_back();
  }
  return false;
}

std::string turn_text(std::span<const abi::RuleField> fields, const std::vector<PatternPiece>& pieces) {
  std::string text;
  std::size_t at = 0;
  bool hashed = false;
  for (const PatternPiece& piece : pieces) {
    if (piece.kind == abi::kEdgeLiteral || at == fields.size()) continue;
    const abi::RuleField& field = fields[at++];
    hashed = hashed || field.turn == abi::kTurnHash;
    if (field.turn != abi::kTurnCount) continue;
    if (!text.empty()) text += '+';
    if (field.factor != 1) text += fmt::format("{}*", field.factor);
    text += piece.text;
    if (field.divisor != 1) text += fmt::format("/{}", field.divisor);
  }
  // The rank and a hash of the others, or nothing but a rank: as without a turn.
  if (hashed) return text.empty() ? "hash" : "";
  return text;
}

}  // namespace

struct PlanReader::RawRule {
  std::uint64_t offset = 0;
  abi::RuleHead head{};
  std::vector<abi::RuleField> fields;
  std::string text;
  std::string final_text;
  std::uint64_t layouts_at = 0;
};

std::unexpected<Error> PlanReader::damaged(std::string_view what, std::uint64_t at) const {
  return fail(Errc::parse, fmt::format("{}: damaged: {} at offset {}; compile the plan again", path_, what, at));
}

Result<PlanReader> PlanReader::open(const std::string& path) {
  PlanReader reader;
  reader.path_ = path;
  reader.fd_ = input::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reader.fd_) return fail_errno(errno, path);
  errno = 0;
  switch (open_plan(kSystem, reader.fd_.get(), reader.plan_)) {
    case PlanState::unreadable:
      return fail(Errc::io, fmt::format("{}: cannot be read, expected a plan file", path));
    case PlanState::not_a_plan:
      return fail(Errc::parse, fmt::format("{}: found no plan file, expected one that 'iez plan compile' made", path));
    case PlanState::other_version:
      return fail(Errc::unsupported,
                  fmt::format("{}: a plan of another version or byte order, expected version {}; compile it again with this iez",
                              path, abi::kVersion));
    case PlanState::damaged:
      return fail(Errc::parse,
                  fmt::format("{}: damaged or cut short: its header does not fit its content; compile it again", path));
    case PlanState::ready:
      break;
  }
  abi::Header header{};
  IEZ_CHECK(reader.read(0, std::as_writable_bytes(std::span(&header, 1))));
  reader.info_ = {.id = header.id,
                  .created_ns = header.created_ns,
                  .version = header.version,
                  .minor_version = header.minor_version,
                  .bytes = header.file_size,
                  .files = header.file_count,
                  .buckets = header.bucket_count,
                  .rules = header.rule_count,
                  .name_bytes = header.name_bytes};
  return reader;
}

Result<void> PlanReader::read(std::uint64_t at, std::span<std::byte> to) const {
  if (at > plan_.size || to.size() > plan_.size - at) return damaged("an offset beyond its end", at);
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = ::pread(fd_.get(), to.data() + done, to.size() - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path_);
    if (got == 0) return damaged("its end", at + done);
    done += static_cast<std::size_t>(got);
  }
  return {};
}

// ---- Files ----

Result<void> PlanReader::visit_files(const std::function<Result<void>(const ReadFile&)>& visit) const {
  std::vector<std::uint64_t> extents;
  std::vector<std::byte> bytes;
  for (std::uint64_t first = 0; first < plan_.bucket_count; first += kBucketsAtOnce) {
    const std::uint64_t count = std::min(kBucketsAtOnce, plan_.bucket_count - first);
    extents.resize(count + 1);
    IEZ_CHECK(read(plan_.directory_at + first * 8, std::as_writable_bytes(std::span(extents))));
    for (std::uint64_t i = 0; i < count; ++i) {
      if (extents[i] < sizeof(abi::Header) || extents[i + 1] < extents[i] || extents[i + 1] - extents[i] > abi::kMaxBucket ||
          extents[i + 1] - extents[i] < 8) {
        return damaged(fmt::format("the extent of bucket {}", first + i), plan_.directory_at + (first + i) * 8);
      }
    }
    bytes.resize(extents.back() - extents.front());
    IEZ_CHECK(read(extents.front(), bytes));
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto bucket = std::span(bytes).subspan(extents[i] - extents.front(), extents[i + 1] - extents[i]);
      if (abi::load_u64(bucket.data()) != abi::bucket_check(plan_.id, first + i, bucket.data() + 8, bucket.size() - 8)) {
        return damaged(fmt::format("bucket {}", first + i), extents[i]);
      }
      IEZ_CHECK(visit_bucket(first + i, bucket.subspan(8), visit));
    }
  }
  return {};
}

Result<void> PlanReader::visit_bucket(std::uint64_t bucket, std::span<const std::byte> bytes,
                                      const std::function<Result<void>(const ReadFile&)>& visit) const {
  const auto layout = std::make_unique<FoundLayout>();
  while (!bytes.empty()) {
    const auto bad = [&] { return damaged(fmt::format("a file in bucket {}", bucket), plan_.directory_at + bucket * 8); };
    if (bytes.size() < abi::kRecordHead) return bad();
    const std::size_t name_size = abi::load_u16(bytes.data() + abi::kRecordNameSize);
    const std::size_t final_size = abi::load_u16(bytes.data() + abi::kRecordFinalSize);
    const std::size_t layout_size = abi::load_u16(bytes.data() + abi::kRecordLayoutSize);
    if (bytes.size() - abi::kRecordHead < name_size + final_size + layout_size) return bad();
    const std::byte* const name = bytes.data() + abi::kRecordHead;
    const std::uint64_t hash = abi::name_hash(plan_.id, name, name_size);
    if (name_size == 0 || name_size > abi::kMaxName || hash != abi::load_u64(bytes.data() + abi::kRecordHash) ||
        abi::bucket_of(hash, plan_.bucket_count) != bucket) {
      return bad();
    }
    const std::byte* const packed = name + name_size + final_size;
    if (layout_size == abi::kSharedSize && packed[0] == std::byte{abi::kLayoutShared}) {
      IEZ_CHECK(read_shared(abi::load_u64(packed + 1), abi::kNoRule, 0, *layout));
    } else if (!expand_layout(packed, layout_size, *layout)) {
      return bad();
    }
    IEZ_CHECK(visit({.name = text_at(name, name_size),
                     .final_name = text_at(name + name_size, final_size),
                     .request = std::span(layout->bytes).first(layout->size)}));
    bytes = bytes.subspan(abi::kRecordHead + name_size + final_size + layout_size);
  }
  return {};
}

Result<void> PlanReader::read_shared(std::uint64_t ref, std::uint64_t rule, std::uint64_t turn, FoundLayout& layout) const {
  const std::uint64_t at = ref & abi::kRefMask;
  if (ref != abi::layout_ref(plan_.id, rule, turn, at) || at < plan_.layouts_at || at - plan_.layouts_at > plan_.layouts_size ||
      plan_.layouts_size - (at - plan_.layouts_at) < abi::kLayoutHead) {
    return damaged("a reference to a layout", at);
  }
  std::byte head[abi::kLayoutHead];
  IEZ_CHECK(read(at, head));
  std::vector<std::byte> packed(abi::load_u16(head + 4));
  IEZ_CHECK(read(at + abi::kLayoutHead, packed));
  if (packed.size() > abi::kMaxLayout || abi::load_u32(head) != abi::layout_check(plan_.id, at, packed.data(), packed.size()) ||
      !expand_layout(packed.data(), packed.size(), layout)) {
    return damaged("a layout", at);
  }
  return {};
}

// ---- Rules ----

Result<PlanReader::RawRule> PlanReader::read_rule(std::uint64_t offset) const {
  RawRule rule{.offset = offset};
  const std::uint64_t at = plan_.rules_at + offset;
  const auto bad = [&] { return damaged("a rule", at); };
  if (offset > plan_.rules_size || plan_.rules_size - offset < sizeof(rule.head)) return bad();
  IEZ_CHECK(read(at, std::as_writable_bytes(std::span(&rule.head, 1))));
  const std::size_t fields = rule.head.field_count * sizeof(abi::RuleField);
  const std::size_t tail = fields + rule.head.text_size + rule.head.final_size;
  const std::uint64_t whole = sizeof(rule.head) + tail + std::uint64_t{rule.head.layout_count} * 8;
  if (whole != rule.head.size || whole > plan_.rules_size - offset || rule.head.field_count > abi::kMaxFields) return bad();
  std::vector<std::byte> bytes(sizeof(rule.head) + tail);
  IEZ_CHECK(read(at, bytes));
  if (rule.head.check != abi::rule_check(plan_.id, offset, bytes.data() + 4, bytes.size() - 4)) return bad();
  if (rule.head.type < abi::kRulePattern || rule.head.type > abi::kRuleLeave) return bad();
  if ((rule.head.type == abi::kRuleLeave) != (rule.head.layout_count == 0)) return bad();
  const std::byte* from = bytes.data() + sizeof(rule.head);
  for (std::size_t i = 0; i < rule.head.field_count; ++i) {
    rule.fields.push_back(load<abi::RuleField>(from + i * sizeof(abi::RuleField)));
  }
  rule.text = text_at(from + fields, rule.head.text_size);
  rule.final_text = text_at(from + fields + rule.head.text_size, rule.head.final_size);
  rule.layouts_at = at + bytes.size();
  return rule;
}

Result<void> PlanReader::visit_rules(std::size_t max_requests, const std::function<Result<void>(const ReadRule&)>& visit) const {
  std::uint64_t offset = 0;
  const auto layout = std::make_unique<FoundLayout>();
  for (std::uint64_t number = 0; number < plan_.rule_count; ++number) {
    IEZ_TRY(const RawRule raw, read_rule(offset));
    const auto pieces = parse_pattern(raw.text);
    if (!pieces) return damaged("the text of a rule", plan_.rules_at + offset);
    ReadRule rule{.type = static_cast<RuleType>(raw.head.type),
                  .text = raw.text,
                  .final_text = raw.final_text,
                  .turn = turn_text(raw.fields, *pieces),
                  .turns = raw.head.layout_count,
                  .requests = {}};
    const std::size_t count = std::min<std::size_t>(raw.head.layout_count, max_requests);
    std::vector<std::uint64_t> refs(count);
    IEZ_CHECK(read(raw.layouts_at, std::as_writable_bytes(std::span(refs))));
    rule.requests.reserve(count);
    for (std::size_t turn = 0; turn < count; ++turn) {
      IEZ_CHECK(read_shared(refs[turn], offset, turn, *layout));
      rule.requests.push_back(bytes_of(*layout));
    }
    IEZ_CHECK(visit(rule));
    offset += raw.head.size;
  }
  if (offset != plan_.rules_size) return damaged("the end of the rules", plan_.rules_at + offset);
  return {};
}

// The rules that the nodes lead to, each of which must be one.
Result<std::uint64_t> PlanReader::check_trie() const {
  std::set<std::uint64_t> rules;
  std::uint64_t at = 0;
  while (at < plan_.trie_size) {
    const auto bad = [&] { return damaged("a node of the rules", plan_.trie_at + at); };
    if (plan_.trie_size - at < sizeof(abi::TrieNode)) return bad();
    abi::TrieNode node{};
    IEZ_CHECK(read(plan_.trie_at + at, std::as_writable_bytes(std::span(&node, 1))));
    if (node.size < sizeof(node) || node.size > abi::kMaxNode || node.size > plan_.trie_size - at) return bad();
    std::vector<std::byte> bytes(node.size);
    IEZ_CHECK(read(plan_.trie_at + at, bytes));
    if (node.check != abi::node_check(plan_.id, at, bytes.data() + 4, bytes.size() - 4) ||
        sizeof(node) + node.edge_count * sizeof(abi::TrieEdge) + node.label_size != node.size) {
      return bad();
    }
    for (std::size_t i = 0; i < node.edge_count; ++i) {
      const auto edge = load<abi::TrieEdge>(bytes.data() + sizeof(node) + i * sizeof(abi::TrieEdge));
      if (edge.node <= at || edge.node >= plan_.trie_size || edge.kind > abi::kEdgeRest) return bad();
    }
    if (node.rule != 0) rules.insert(node.rule - 1);
    at += node.size;
  }
  for (const std::uint64_t offset : rules) {
    if (const auto rule = read_rule(offset); !rule) return std::unexpected(rule.error());
  }
  return rules.size();
}

// `known`: places of layouts that were found good.
Result<void> PlanReader::check_layouts(const RawRule& rule, std::set<std::uint64_t>& known) const {
  constexpr std::size_t kAtOnce = 4096;
  const auto layout = std::make_unique<FoundLayout>();
  std::vector<std::uint64_t> refs;
  for (std::uint64_t first = 0; first < rule.head.layout_count; first += kAtOnce) {
    refs.resize(std::min<std::uint64_t>(kAtOnce, rule.head.layout_count - first));
    IEZ_CHECK(read(rule.layouts_at + first * 8, std::as_writable_bytes(std::span(refs))));
    for (std::size_t i = 0; i < refs.size(); ++i) {
      const std::uint64_t at = refs[i] & abi::kRefMask;
      if (known.contains(at) && refs[i] == abi::layout_ref(plan_.id, rule.offset, first + i, at)) continue;
      IEZ_CHECK(read_shared(refs[i], rule.offset, first + i, *layout));
      IEZ_CHECK(decodes(std::span(layout->bytes).first(layout->size), rule.text));
      known.insert(at);
    }
  }
  return {};
}

Result<void> PlanReader::decodes(std::span<const std::byte> request, std::string_view of) const {
  const auto layout = lustre::decode_layout(request);
  if (layout) return {};
  return fail(Errc::parse, fmt::format("{}: damaged: the layout of {}: {}", path_, text::printable(of.substr(0, 200)),
                                       layout.error().message));
}

Result<void> PlanReader::check() const {
  std::uint64_t files = 0;
  std::uint64_t name_bytes = 0;
  IEZ_CHECK(visit_files([&](const ReadFile& file) {
    ++files;
    name_bytes += file.name.size() + file.final_name.size();
    return decodes(file.request, file.name);
  }));
  if (files != info_.files || name_bytes != info_.name_bytes) {
    return fail(Errc::parse, fmt::format("{}: damaged: {} files with {} bytes of names, expected {} with {}", path_, files,
                                         name_bytes, info_.files, info_.name_bytes));
  }
  IEZ_CHECK(visit_rules(0, [](const ReadRule&) -> Result<void> { return {}; }));
  std::set<std::uint64_t> known;
  std::uint64_t offset = 0;
  for (std::uint64_t number = 0; number < plan_.rule_count; ++number) {
    IEZ_TRY(const RawRule rule, read_rule(offset));
    IEZ_CHECK(check_layouts(rule, known));
    offset += rule.head.size;
  }
  IEZ_TRY(const std::uint64_t reached, check_trie());
  if (reached != info_.rules) {
    return fail(Errc::parse,
                fmt::format("{}: damaged: names find {} of {} rules; compile it again", path_, reached, info_.rules));
  }
  return {};
}

// ---- One name ----

Result<Explanation> PlanReader::explain(std::string_view name) const {
  const auto layout = std::make_unique<FoundLayout>();
  FoundBy by;
  Explanation explanation{.found = find_layout(kSystem, plan_, name.data(), name.size(), *layout, by)};
  explanation.left_alone = by.left_alone;
  explanation.turn = by.turn;
  if (explanation.found == Found::damaged) {
    return fail(Errc::parse,
                fmt::format("{}: damaged: what it says of this name is not whole; 'iez plan check' tells more", path_));
  }
  if (explanation.found != Found::nothing) explanation.request = bytes_of(*layout);
  if (explanation.found == Found::file) {
    std::byte head[abi::kRecordHead];
    IEZ_CHECK(read(by.at, head));
    explanation.final_name.resize(abi::load_u16(head + abi::kRecordFinalSize));
    IEZ_CHECK(read(by.at + abi::kRecordHead + name.size(), std::as_writable_bytes(std::span(explanation.final_name))));
  } else if (by.at != 0) {
    IEZ_TRY(const RawRule rule, read_rule(by.at - plan_.rules_at));
    explanation.rule = rule.text;
    explanation.turns = rule.head.layout_count;
    if (!rule.final_text.empty())
      explanation.final_name = final_name_of(rule.text, rule.final_text, name).value_or(rule.final_text);
  }
  return explanation;
}

std::optional<std::string> final_name_of(std::string_view pattern, std::string_view final_pattern, std::string_view name) {
  const auto pieces = parse_pattern(pattern);
  const auto wanted = parse_pattern(final_pattern);
  std::vector<std::string_view> values;
  std::size_t budget = 1'000'000;
  if (!pieces || !wanted || !match_pieces(*pieces, name, budget, values)) return std::nullopt;
  std::string out;
  for (const PatternPiece& piece : *wanted) {
    if (piece.kind == abi::kEdgeLiteral) {
      out += piece.text;
      continue;
    }
    std::size_t field = 0;
    for (const PatternPiece& from : *pieces) {
      if (from.kind == abi::kEdgeLiteral) continue;
      if (from.text == piece.text) break;
      ++field;
    }
    if (field == values.size()) return std::nullopt;
    out += values[field];
  }
  return out;
}

}  // namespace iez::plan
