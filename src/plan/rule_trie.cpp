#include "plan/rule_trie.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <ranges>

#include <fmt/format.h>

namespace iez::plan {

namespace {

constexpr std::uint8_t kWidest = 255;

void store(std::vector<std::byte>& bytes, std::size_t at, const void* from, std::size_t size) {
  if (size != 0) std::memcpy(bytes.data() + at, from, size);
}

}  // namespace

std::size_t RuleTrie::add_literal(std::size_t node, std::string_view text) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const auto [edge, is_new] = nodes_[node].literals.try_emplace(first, nodes_.size());
    if (is_new) {
      nodes_.push_back({.label = std::string(text), .literals = {}, .fields = {}});
      return nodes_.size() - 1;
    }
    const std::size_t child = edge->second;
    const std::string& label = nodes_[child].label;
    const auto parted = std::ranges::mismatch(label, text);
    const auto common = static_cast<std::size_t>(parted.in1 - label.begin());
    if (common < label.size()) {
      // The child keeps the end of its label, below a new node that has the front.
      Node front{
          .label = label.substr(0, common), .literals = {{static_cast<unsigned char>(label[common]), child}}, .fields = {}};
      edge->second = nodes_.size();
      nodes_[child].label.erase(0, common);
      nodes_.push_back(std::move(front));
      node = nodes_.size() - 1;
    } else {
      node = child;
    }
    text.remove_prefix(common);
  }
  return node;
}

std::size_t RuleTrie::add_field(std::size_t node, std::uint8_t kind, std::uint8_t first) {
  const auto [edge, is_new] = nodes_[node].fields.try_emplace({kind, static_cast<std::uint8_t>(kWidest - first)}, nodes_.size());
  const std::size_t child = edge->second;
  if (is_new) nodes_.emplace_back();
  return child;
}

std::uint32_t RuleTrie::add(std::span<const PatternPiece> pieces, std::uint8_t type, std::uint32_t rule) {
  std::size_t node = 0;
  for (const PatternPiece& piece : pieces) {
    node = piece.kind == abi::kEdgeLiteral ? add_literal(node, piece.text) : add_field(node, piece.kind, piece.width);
  }
  if (type != abi::kRulePattern) {
    // A prefix has one rule, be it spread or leave.
    for (const std::uint8_t other : {abi::kRuleSpread, abi::kRuleLeave}) {
      const auto found = nodes_[node].fields.find({abi::kEdgeRest, static_cast<std::uint8_t>(kWidest - other)});
      if (found != nodes_[node].fields.end()) return nodes_[found->second].rule - 1;
    }
    node = add_field(node, abi::kEdgeRest, type);
  }
  if (nodes_[node].rule == 0) nodes_[node].rule = rule + 1;
  return nodes_[node].rule - 1;
}

std::size_t RuleTrie::size_of(const Node& node) {
  return sizeof(abi::TrieNode) + (node.literals.size() + node.fields.size()) * sizeof(abi::TrieEdge) + node.label.size();
}

std::vector<std::size_t> RuleTrie::children(const Node& node) const {
  std::vector<std::size_t> all;
  all.reserve(node.literals.size() + node.fields.size());
  for (const auto& [first, child] : node.literals) all.push_back(child);
  for (const auto& [kind, child] : node.fields) all.push_back(child);
  return all;
}

Result<std::vector<std::byte>> RuleTrie::encode(std::uint64_t id, std::span<const std::uint64_t> offsets) const {
  struct Visit {
    std::size_t node;
    std::size_t depth;
  };
  std::vector<std::size_t> order;
  std::vector<std::uint64_t> place(nodes_.size());
  std::uint64_t size = 0;
  std::vector<Visit> open{{.node = 0, .depth = 1}};
  while (!open.empty()) {
    const Visit visit = open.back();
    open.pop_back();
    if (visit.depth > abi::kMaxDepth) {
      return fail(Errc::limit,
                  fmt::format("the patterns and prefixes nest {} deep, expected at most {}: use fewer that begin alike",
                              visit.depth, abi::kMaxDepth));
    }
    place[visit.node] = size;
    size += size_of(nodes_[visit.node]);
    order.push_back(visit.node);
    const std::vector<std::size_t> all = children(nodes_[visit.node]);
    for (const std::size_t child : std::views::reverse(all)) open.push_back({.node = child, .depth = visit.depth + 1});
  }
  if (size > std::numeric_limits<std::uint32_t>::max()) {
    return fail(Errc::limit, fmt::format("the patterns and prefixes need {} bytes, expected at most 4 GiB", size));
  }

  std::vector<std::byte> bytes(size);
  for (const std::size_t number : order) {
    const Node& node = nodes_[number];
    const std::uint64_t at = place[number];
    abi::TrieNode head{.check = 0,
                       .size = static_cast<std::uint32_t>(size_of(node)),
                       .rule = node.rule == 0 ? 0 : static_cast<std::uint32_t>(offsets[node.rule - 1] + 1),
                       .edge_count = static_cast<std::uint16_t>(node.literals.size() + node.fields.size()),
                       .label_size = static_cast<std::uint16_t>(node.label.size())};
    std::size_t to = at + sizeof(head);
    const auto put_edge = [&](std::size_t child, std::uint8_t kind, std::uint8_t first) {
      const abi::TrieEdge edge{.node = static_cast<std::uint32_t>(place[child]), .kind = kind, .first = first, .reserved = 0};
      store(bytes, to, &edge, sizeof(edge));
      to += sizeof(edge);
    };
    for (const auto& [first, child] : node.literals) put_edge(child, abi::kEdgeLiteral, first);
    for (const auto& [kind, child] : node.fields) put_edge(child, kind.first, static_cast<std::uint8_t>(kWidest - kind.second));
    store(bytes, to, node.label.data(), node.label.size());
    store(bytes, at, &head, sizeof(head));
    head.check = abi::node_check(id, at, bytes.data() + at + 4, head.size - 4);
    store(bytes, at, &head.check, sizeof(head.check));
  }
  return bytes;
}

}  // namespace iez::plan
