#include "plan/plan_lookup.hpp"

#include <cerrno>
#include <cstring>

#include "plan/field_match.hpp"
#include "plan/packed_layout.hpp"

namespace iez::plan {

namespace {

constexpr int kMaxInterrupts = 16;

// All of it, or false: an error, or the file is shorter.
bool read_exactly(const LookupCalls& calls, int fd, void* to, std::size_t size, std::uint64_t offset) {
  auto* at = static_cast<std::byte*>(to);
  int interrupts = 0;
  while (size > 0) {
    const ssize_t got = calls.pread(fd, at, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR && ++interrupts < kMaxInterrupts) continue;
    if (got <= 0 || static_cast<std::size_t>(got) > size) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

bool section_fits(std::uint64_t at, std::uint64_t size, std::uint64_t file_size) {
  return at >= sizeof(abi::Header) && at <= file_size && size <= file_size - at;
}

PlanState check_sizes(const abi::Header& header) {
  const std::uint64_t size = header.file_size;
  const bool plausible = header.header_size == sizeof(abi::Header) && header.id != 0 && size <= abi::kMaxFile &&
                         size >= sizeof(abi::Header) + sizeof(std::uint64_t) && header.bucket_count <= size / 8 &&
                         section_fits(header.directory_at, (header.bucket_count + 1) * 8, size - 8) &&
                         section_fits(header.layouts_at, header.layouts_size, size - 8) &&
                         section_fits(header.rules_at, header.rules_size, size - 8) &&
                         section_fits(header.trie_at, header.trie_size, size - 8) &&
                         (header.file_count == 0 || header.bucket_count != 0);
  return plausible ? PlanState::ready : PlanState::damaged;
}

PlanState read_header(const LookupCalls& calls, int fd, OpenPlan& plan) {
  abi::Header header{};
  const ssize_t got = calls.pread(fd, &header, sizeof(header), 0);
  if (got < 0) return PlanState::unreadable;
  if (static_cast<std::size_t>(got) != sizeof(header) || header.magic != abi::kMagic) return PlanState::not_a_plan;
  if (header.byte_order != abi::kByteOrder || header.version != abi::kVersion) return PlanState::other_version;
  if (header.checksum != abi::header_checksum(header)) return PlanState::damaged;
  if (const PlanState state = check_sizes(header); state != PlanState::ready) return state;
  std::uint64_t mark = 0;
  if (!read_exactly(calls, fd, &mark, sizeof(mark), header.file_size - sizeof(mark))) return PlanState::damaged;
  if (mark != abi::end_mark(header.id)) return PlanState::damaged;
  plan = {.fd = fd,
          .size = header.file_size,
          .id = header.id,
          .file_count = header.file_count,
          .bucket_count = header.bucket_count,
          .directory_at = header.directory_at,
          .layouts_at = header.layouts_at,
          .layouts_size = header.layouts_size,
          .rules_at = header.rules_at,
          .rules_size = header.rules_size,
          .trie_at = header.trie_at,
          .trie_size = header.trie_size,
          .rule_count = header.rule_count};
  return PlanState::ready;
}

struct Name {
  const char* text;
  std::size_t size;
};

// One lookup. Everything that is read goes into the bytes of the answer:
//   files:  the bucket
//   rules:  the path through the trie | dead ends of it | a window of the trie or of a rule
// and the layout, once it is known to be good, is expanded to their front.
class Lookup {
 public:
  Lookup(const LookupCalls& calls, const OpenPlan& plan, Name name, FoundLayout& layout, FoundBy& by)
      : calls_(calls), plan_(plan), name_(name), layout_(layout), scratch_(layout.bytes), by_(by) {}

  Found run() {
    layout_.size = 0;
    if (name_.size == 0 || name_.size > abi::kMaxName) return Found::nothing;
    if (plan_.file_count != 0) {
      if (const Found found = find_file(); found != Found::nothing) return found;
    }
    return plan_.rule_count == 0 ? Found::nothing : find_rule();
  }

 private:
  // A step of the path through the trie.
  struct Step {
    std::uint32_t node;   // its offset in the section
    std::uint16_t begin;  // of what the edge to it took of the name
    std::uint16_t end;
    std::uint16_t edge;   // the next to be tried
    std::uint16_t below;  // and the length that it must stay below
    std::uint8_t kind;    // of the edge to it
    std::uint8_t reserved[3];
  };
  static_assert(sizeof(Step) == 16 && abi::kMaxName < 0xFFFF);

  static constexpr std::size_t kDeadEndsAt = sizeof(Step) * (abi::kMaxDepth + 1);
  static constexpr std::size_t kDeadEnds = 2048;
  static constexpr std::size_t kWindowAt = kDeadEndsAt + kDeadEnds * sizeof(std::uint64_t);
  static constexpr std::size_t kWindowRoom = kMaxRequest - kWindowAt;
  static constexpr std::size_t kReadAhead = 4096;
  static_assert(abi::kMaxBucket <= kMaxRequest && abi::kMaxNode + kReadAhead <= kWindowRoom);

  bool read(std::uint64_t offset, std::byte* to, std::size_t size) const {
    if (offset > plan_.size || size > plan_.size - offset) return false;
    return read_exactly(calls_, plan_.fd, to, size, offset);
  }

  // ---- Files ----

  Found find_file() {
    const std::uint64_t hash = abi::name_hash(plan_.id, name_.text, name_.size);
    const std::uint64_t bucket = abi::bucket_of(hash, plan_.bucket_count);
    std::uint64_t extent[2];
    if (!read(plan_.directory_at + bucket * 8, reinterpret_cast<std::byte*>(extent), sizeof(extent))) return Found::damaged;
    if (extent[0] < sizeof(abi::Header) || extent[1] < extent[0] || extent[1] - extent[0] < 8 ||
        extent[1] - extent[0] > abi::kMaxBucket) {
      return Found::damaged;
    }
    const std::size_t size = static_cast<std::size_t>(extent[1] - extent[0]);
    if (!read(extent[0], scratch_, size)) return Found::damaged;
    if (abi::load_u64(scratch_) != abi::bucket_check(plan_.id, bucket, scratch_ + 8, size - 8)) return Found::damaged;
    return find_record(extent[0], size, hash);
  }

  Found find_record(std::uint64_t bucket_at, std::size_t size, std::uint64_t hash) {
    std::size_t at = 8;
    while (at < size) {
      if (size - at < abi::kRecordHead) return Found::damaged;
      const std::byte* const record = scratch_ + at;
      const std::size_t name_size = abi::load_u16(record + abi::kRecordNameSize);
      const std::size_t final_size = abi::load_u16(record + abi::kRecordFinalSize);
      const std::size_t layout_size = abi::load_u16(record + abi::kRecordLayoutSize);
      const std::size_t record_size = abi::kRecordHead + name_size + final_size + layout_size;
      if (size - at < record_size) return Found::damaged;
      const std::byte* const name = record + abi::kRecordHead;
      if (abi::load_u64(record + abi::kRecordHash) == hash && name_size == name_.size &&
          std::memcmp(name, name_.text, name_size) == 0) {
        by_.at = bucket_at + at;
        return take_own_layout(name + name_size + final_size, layout_size) ? Found::file : Found::damaged;
      }
      at += record_size;
    }
    return Found::nothing;
  }

  // ---- Layouts ----

  // The layout of a file record, which may point to a shared one.
  bool take_own_layout(const std::byte* packed, std::size_t size) {
    if (size == 0) return false;
    if (std::to_integer<std::uint8_t>(packed[0]) != abi::kLayoutShared) return expand_layout(packed, size, layout_);
    return size == abi::kSharedSize && take_shared_layout(abi::load_u64(packed + 1), abi::kNoRule, 0);
  }

  bool take_shared_layout(std::uint64_t ref, std::uint64_t rule, std::uint64_t index) {
    const std::uint64_t at = ref & abi::kRefMask;
    if (ref != abi::layout_ref(plan_.id, rule, index, at)) return false;
    if (at < plan_.layouts_at || at - plan_.layouts_at > plan_.layouts_size) return false;
    const std::uint64_t left = plan_.layouts_size - (at - plan_.layouts_at);
    // Most are short: one read.
    constexpr std::size_t kUsual = 256;
    const std::size_t first = left < kUsual ? static_cast<std::size_t>(left) : kUsual;
    if (first < abi::kLayoutHead || !read(at, scratch_, first)) return false;
    const std::size_t size = abi::load_u16(scratch_ + 4);
    if (size == 0 || size > abi::kMaxLayout || size > left - abi::kLayoutHead) return false;
    const std::uint32_t check = abi::load_u32(scratch_);
    if (size <= first - abi::kLayoutHead) {
      std::memmove(scratch_, scratch_ + abi::kLayoutHead, size);
    } else if (!read(at + abi::kLayoutHead, scratch_, size)) {
      return false;
    }
    return check == abi::layout_check(plan_.id, at, scratch_, size) && expand_layout(scratch_, size, layout_);
  }

  // ---- Rules ----

  // `size` bytes of the file from `offset` on, from the window or read into it with what follows them; nullptr if they cannot be
  // had. Valid until the next call. The section ends at `end`.
  const std::byte* fetch(std::uint64_t offset, std::size_t size, std::uint64_t end) {
    if (offset > end || size > end - offset || size > kWindowRoom) return nullptr;
    std::byte* const window = scratch_ + kWindowAt;
    if (offset >= window_at_ && offset - window_at_ <= window_size_ && size <= window_size_ - (offset - window_at_)) {
      return window + (offset - window_at_);
    }
    std::uint64_t wanted = size > kReadAhead ? size : kReadAhead;
    if (wanted > end - offset) wanted = end - offset;
    window_size_ = 0;
    if (!read(offset, window, static_cast<std::size_t>(wanted))) return nullptr;
    window_at_ = offset;
    window_size_ = static_cast<std::size_t>(wanted);
    return window;
  }

  struct Node {
    const std::byte* bytes = nullptr;  // nullptr: damaged
    std::uint32_t rule = 0;
    std::uint16_t edges = 0;
    std::size_t label_size = 0;
    const std::byte* edge(std::size_t i) const { return bytes + sizeof(abi::TrieNode) + i * sizeof(abi::TrieEdge); }
    const std::byte* label() const { return edge(edges); }
  };

  Node node_at(std::uint32_t offset) {
    const std::uint64_t at = plan_.trie_at + offset;
    const std::uint64_t end = plan_.trie_at + plan_.trie_size;
    const std::byte* bytes = fetch(at, sizeof(abi::TrieNode), end);
    if (bytes == nullptr) return {};
    const std::size_t size = abi::load_u32(bytes + offsetof(abi::TrieNode, size));
    if (size < sizeof(abi::TrieNode) || size > abi::kMaxNode) return {};
    bytes = fetch(at, size, end);
    if (bytes == nullptr || abi::load_u32(bytes) != abi::node_check(plan_.id, offset, bytes + 4, size - 4)) return {};
    Node node{.bytes = bytes,
              .rule = abi::load_u32(bytes + offsetof(abi::TrieNode, rule)),
              .edges = abi::load_u16(bytes + offsetof(abi::TrieNode, edge_count)),
              .label_size = abi::load_u16(bytes + offsetof(abi::TrieNode, label_size))};
    if (sizeof(abi::TrieNode) + node.edges * sizeof(abi::TrieEdge) + node.label_size != size) return {};
    return node;
  }

  Step* steps() { return reinterpret_cast<Step*>(scratch_); }

  // A search that takes long goes over the same ground again and again: from a node and a place in the name the outcome is always
  // the same. So dead ends are remembered, as far as there is room.
  static constexpr std::size_t kLong = 64;

  std::uint64_t& dead_end(std::uint64_t key) {
    return reinterpret_cast<std::uint64_t*>(scratch_ + kDeadEndsAt)[abi::fold(key, abi::kHashStep) % kDeadEnds];
  }
  // Where the step began, as a key; never 0.
  static std::uint64_t key_of(const Step& step) {
    const std::uint16_t from = step.kind == abi::kEdgeLiteral ? step.begin : step.end;
    return ((std::uint64_t{step.node} << 16U) | from) + 1;
  }

  // Depth first. The path is kept with the edge to try next at each node, so a dead end goes on where it left off.
  Found find_rule() {
    std::uint32_t spread = 0;  // node of the first one met
    std::size_t depth = 1;
    steps()[0] = first_step(0, 0, abi::kEdgeLiteral);
    for (std::size_t tried = 0; depth != 0 && tried < abi::kMaxSteps; ++tried) {
      if (tried == kLong) std::memset(scratch_ + kDeadEndsAt, 0, kDeadEnds * sizeof(std::uint64_t));
      Step& step = steps()[depth - 1];
      const Node node = node_at(step.node);
      if (node.bytes == nullptr) return Found::damaged;
      if (is_new(step)) {
        if (!enter(step, node)) {
          --depth;
          continue;
        }
        if (step.end == name_.size && node.rule != 0) return take_rule(node.rule - 1, depth);
      }
      Step next = step;
      switch (advance(step, node, next)) {
        case Advance::none:
          if (tried >= kLong) dead_end(key_of(step)) = key_of(step);
          --depth;
          break;
        case Advance::next:
          if (tried >= kLong && dead_end(key_of(next)) == key_of(next)) break;
          if (depth > abi::kMaxDepth) return Found::damaged;
          steps()[depth++] = next;
          break;
        case Advance::spread:
          if (spread == 0) spread = next.node;
          break;
        case Advance::leave:
          return spread == 0 ? leave(next.node) : take_spread(spread);
        case Advance::damaged:
          return Found::damaged;
      }
    }
    return spread == 0 ? Found::nothing : take_spread(spread);
  }

  Found leave(std::uint32_t offset) {
    const Node node = node_at(offset);
    if (node.bytes == nullptr || node.rule == 0) return Found::damaged;
    by_.at = plan_.rules_at + node.rule - 1;
    by_.left_alone = true;
    return Found::nothing;
  }

  Found take_spread(std::uint32_t offset) {
    const Node node = node_at(offset);
    return node.bytes == nullptr || node.rule == 0 ? Found::damaged : take_rule(node.rule - 1, 0);
  }

  static Step first_step(std::uint32_t node, std::uint16_t at, std::uint8_t kind) {
    return {.node = node, .begin = at, .end = at, .edge = 0, .below = kNotTried, .kind = kind, .reserved = {}};
  }

  static bool is_new(const Step& step) { return step.edge == 0 && step.below == kNotTried; }

  // The label of the node must follow in the name.
  bool enter(Step& step, const Node& node) const {
    if (node.label_size > name_.size - step.end) return false;
    if (std::memcmp(node.label(), name_.text + step.end, node.label_size) != 0) return false;
    step.end = static_cast<std::uint16_t>(step.end + node.label_size);
    return true;
  }

  enum class Advance : std::uint8_t { none, next, spread, leave, damaged };

  // The next way on from the node, after those that step.edge and step.below tell of.
  Advance advance(Step& step, const Node& node, Step& next) const {
    const char* const text = name_.text + step.end;
    const std::size_t left = name_.size - step.end;
    for (; step.edge < node.edges; ++step.edge, step.below = kNotTried) {
      const std::byte* const edge = node.edge(step.edge);
      const auto kind = std::to_integer<std::uint8_t>(edge[offsetof(abi::TrieEdge, kind)]);
      const auto first = std::to_integer<std::uint8_t>(edge[offsetof(abi::TrieEdge, first)]);
      if (kind == abi::kEdgeLiteral && (left == 0 || static_cast<unsigned char>(text[0]) != first)) continue;
      next = first_step(abi::load_u32(edge), step.end, kind);
      if (kind == abi::kEdgeLiteral || kind == abi::kEdgeRest) {
        ++step.edge;
        step.below = kNotTried;
      } else {
        const std::size_t length = field_length(kind, first, text, left, step.below);
        if (length == 0) continue;
        next.end = static_cast<std::uint16_t>(step.end + length);
        step.below = static_cast<std::uint16_t>(length);
      }
      if (next.node <= step.node) return Advance::damaged;  // else a path could go round in circles
      if (kind != abi::kEdgeRest) return Advance::next;
      if (first == abi::kRuleSpread) return Advance::spread;
      return first == abi::kRuleLeave ? Advance::leave : Advance::damaged;
    }
    return Advance::none;
  }

  struct Rule {
    const std::byte* bytes = nullptr;  // nullptr: damaged
    std::uint8_t type = 0;
    std::size_t fields = 0;
    std::uint32_t layouts = 0;
    std::uint64_t layouts_at = 0;
  };

  Rule rule_at(std::uint32_t offset) {
    const std::uint64_t at = plan_.rules_at + offset;
    const std::uint64_t end = plan_.rules_at + plan_.rules_size;
    const std::byte* bytes = fetch(at, sizeof(abi::RuleHead), end);
    if (bytes == nullptr) return {};
    Rule rule{.bytes = bytes,
              .type = std::to_integer<std::uint8_t>(bytes[offsetof(abi::RuleHead, type)]),
              .fields = std::to_integer<std::uint8_t>(bytes[offsetof(abi::RuleHead, field_count)]),
              .layouts = abi::load_u32(bytes + offsetof(abi::RuleHead, layout_count))};
    const std::size_t texts = std::size_t{abi::load_u16(bytes + offsetof(abi::RuleHead, text_size))} +
                              abi::load_u16(bytes + offsetof(abi::RuleHead, final_size));
    if (rule.fields > abi::kMaxFields || texts > 2 * abi::kMaxName) return {};
    const std::size_t checked = sizeof(abi::RuleHead) + rule.fields * sizeof(abi::RuleField) + texts;
    bytes = fetch(at, checked, end);
    if (bytes == nullptr || abi::load_u32(bytes) != abi::rule_check(plan_.id, offset, bytes + 4, checked - 4)) return {};
    if (abi::load_u32(bytes + offsetof(abi::RuleHead, size)) != checked + std::uint64_t{rule.layouts} * 8) return {};
    rule.bytes = bytes;
    rule.layouts_at = at + checked;
    return rule;
  }

  // Which of the layouts: by the fields on the path of `depth` steps, or by the whole name if there is no path.
  Found take_rule(std::uint32_t offset, std::size_t depth) {
    const Rule rule = rule_at(offset);
    const bool spread = depth == 0;
    if (rule.bytes == nullptr || rule.type != (spread ? abi::kRuleSpread : abi::kRulePattern) || rule.layouts == 0) {
      return Found::damaged;
    }
    std::uint64_t turn = 0;
    if (spread) {
      turn = abi::hash64(abi::kTurnSeed, name_.text, name_.size) % rule.layouts;
    } else if (!turn_of(rule, depth, turn)) {
      return Found::damaged;
    }
    by_.at = plan_.rules_at + offset;
    by_.turn = turn;
    const std::uint64_t at = rule.layouts_at + turn * 8;
    const std::byte* const ref = fetch(at, 8, plan_.rules_at + plan_.rules_size);
    if (ref == nullptr || !take_shared_layout(abi::load_u64(ref), offset, turn)) return Found::damaged;
    return spread ? Found::spread : Found::pattern;
  }

  bool turn_of(const Rule& rule, std::size_t depth, std::uint64_t& turn) {
    std::uint64_t sum = 0;
    std::uint64_t hash = abi::kTurnSeed;
    bool hashed = false;
    std::size_t field = 0;
    for (std::size_t i = 0; i < depth; ++i) {
      const Step& step = steps()[i];
      if (step.kind == abi::kEdgeLiteral) continue;
      if (field == rule.fields) return false;
      const std::byte* const how = rule.bytes + sizeof(abi::RuleHead) + field++ * sizeof(abi::RuleField);
      const auto mode = std::to_integer<std::uint8_t>(how[offsetof(abi::RuleField, turn)]);
      const char* const text = name_.text + step.begin;
      const std::size_t size = static_cast<std::size_t>(step.end) - step.begin;
      if (mode == abi::kTurnCount) {
        const std::uint32_t divisor = abi::load_u32(how + offsetof(abi::RuleField, divisor));
        if (divisor == 0) return false;
        sum += abi::load_u32(how + offsetof(abi::RuleField, factor)) * (number_of(text, size) / divisor);
      } else if (mode == abi::kTurnHash) {
        hash = abi::hash64(hash, text, size);
        hashed = true;
      }
    }
    if (field != rule.fields) return false;
    turn = (sum % rule.layouts + (hashed ? hash % rule.layouts : 0)) % rule.layouts;
    return true;
  }

  static constexpr std::uint16_t kNotTried = 0xFFFF;  // longer than any field

  const LookupCalls& calls_;
  const OpenPlan& plan_;
  Name name_;
  FoundLayout& layout_;
  std::byte* scratch_;
  FoundBy& by_;
  std::uint64_t window_at_ = 0;  // in the file
  std::size_t window_size_ = 0;
};

}  // namespace

PlanState open_plan(const LookupCalls& calls, int fd, OpenPlan& plan) {
  const int caller_errno = errno;
  const PlanState state = read_header(calls, fd, plan);
  errno = caller_errno;
  return state;
}

Found find_layout(const LookupCalls& calls, const OpenPlan& plan, const char* name, std::size_t name_size, FoundLayout& layout,
                  FoundBy& by) {
  const int caller_errno = errno;
  by = {};
  const Found found = Lookup(calls, plan, {name, name_size}, layout, by).run();
  errno = caller_errno;
  return found;
}

Found find_layout(const LookupCalls& calls, const OpenPlan& plan, const char* name, std::size_t name_size, FoundLayout& layout) {
  FoundBy by;
  return find_layout(calls, plan, name, name_size, layout, by);
}

}  // namespace iez::plan
