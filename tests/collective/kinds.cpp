#include "kinds.hpp"

#include <array>

namespace iez::collective_test {

namespace {

constexpr std::array<std::string_view, kKinds> kNames{"contiguous",
                                                      "vector",
                                                      "hvector",
                                                      "indexed",
                                                      "hindexed",
                                                      "indexed_block",
                                                      "hindexed_block",
                                                      "struct",
                                                      "subarray",
                                                      "darray",
                                                      "resized",
                                                      "dup",
                                                      "lower",
                                                      "pairs",
                                                      "etype",
                                                      "nothing",
                                                      "memory",
                                                      "shifted",
                                                      "transpose",
                                                      "bottom",
                                                      "pointer",
                                                      "at",
                                                      "split",
                                                      "nonblocking",
                                                      "own_nonblocking",
                                                      "ordered",
                                                      "independent",
                                                      "mixed",
                                                      "large",
                                                      "seek",
                                                      "size",
                                                      "old",
                                                      "overlap",
                                                      "zeros",
                                                      "zero",
                                                      "eof",
                                                      "unsynced",
                                                      "visible",
                                                      "append",
                                                      "remove",
                                                      "wronly",
                                                      "rdonly",
                                                      "self",
                                                      "sub",
                                                      "two",
                                                      "atomic",
                                                      "hints",
                                                      "threads",
                                                      "big",
                                                      "far"};

}  // namespace

std::string_view name_of(Kind kind) { return kNames[static_cast<std::size_t>(kind)]; }

bool parse_kinds(std::string_view text, Kinds& kinds, std::string& wrong) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const bool on = !word.starts_with('-');
    if (!on) word.remove_prefix(1);
    bool known = false;
    for (int i = 0; i < kKinds; ++i) {
      if (word != "all" && word != kNames[static_cast<std::size_t>(i)]) continue;
      kinds.put(static_cast<Kind>(i), on);
      known = true;
    }
    if (!known) {
      wrong = word;
      return false;
    }
  }
  return true;
}

}  // namespace iez::collective_test
