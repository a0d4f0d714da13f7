// Choices in words, for people. Not part of preload libraries.
#pragma once

#include <string_view>

#include "collective/choices.hpp"

namespace iez::collective {

std::string_view to_word(Way way);          // "collect"
std::string_view to_word(Because because);  // "short_pieces": for programs
std::string_view to_text(Because because);  // a clause that follows a colon

}  // namespace iez::collective
