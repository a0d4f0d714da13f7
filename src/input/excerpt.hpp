// The front of outside text, short enough to be quoted in a message.
#pragma once

#include <string_view>

namespace iez::input {

inline constexpr std::size_t kExcerpt = 48;

constexpr std::string_view excerpt(std::string_view text) { return text.substr(0, kExcerpt); }

}  // namespace iez::input
