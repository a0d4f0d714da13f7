// Text in lines of so many characters.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace iez::cli {

// Breaks at blanks. Lines but the first begin with so many blanks; `at` is where the first one begins. A word that is longer than
// a line has one of its own. What is in the text as a new line stays one.
std::string wrapped(std::string_view text, std::size_t at, std::size_t indent, std::size_t width);

// Lines that are longer than `width` are wrapped, the others stay as they are; 0: all stay.
std::string fitted(std::string_view lines, std::size_t indent, std::size_t width);

}  // namespace iez::cli
