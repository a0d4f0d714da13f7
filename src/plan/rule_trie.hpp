// Builds the trie by which a name finds its rule.
//
// Problem: many patterns, one name; which of them match, without asking each?
// Algorithm: a radix tree over the pieces of the patterns. Patterns that begin alike share nodes; at each node one edge leads on
// for each first byte of literal text, and one for each kind of field. Nodes are laid out in the order of a search, so that what
// one search needs lies together.
// Complexity: a search reads the nodes along the name, at most its length plus the number of its fields, and those of the ways
// that fields leave open; nodes have at most 256 literal edges. So it does not grow with the number of patterns. Limits:
// abi::kMaxDepth nodes deep, 4 GiB.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "plan/pattern_text.hpp"

namespace iez::plan {

class RuleTrie {
 public:
  RuleTrie() : nodes_(1) {}

  // Gives the number of the rule that the trie has for this pattern: `rule`, or an earlier one that matches just the same names.
  // For spread and leave (`type`) the pieces are a prefix.
  std::uint32_t add(std::span<const PatternPiece> pieces, std::uint8_t type, std::uint32_t rule);

  // The bytes of the section. `offsets`: of each rule in its own section.
  [[nodiscard]] Result<std::vector<std::byte>> encode(std::uint64_t id, std::span<const std::uint64_t> offsets) const;

 private:
  struct Node {
    std::string label;
    std::map<unsigned char, std::size_t> literals;                        // by the first byte of the label
    std::map<std::pair<std::uint8_t, std::uint8_t>, std::size_t> fields;  // by kind, and 255 less the width: wide ones first
    std::uint32_t rule = 0;                                               // its number plus 1
  };

  std::size_t add_literal(std::size_t node, std::string_view text);
  std::size_t add_field(std::size_t node, std::uint8_t kind, std::uint8_t first);
  static std::size_t size_of(const Node& node);
  // Children of a node in the order of a search.
  std::vector<std::size_t> children(const Node& node) const;

  std::vector<Node> nodes_;  // the root first
};

}  // namespace iez::plan
