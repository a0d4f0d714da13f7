// Text from outside for HTML and SVG: printable, and with nothing that could be taken for markup.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace iez::cli {

// Safe inside an element or a quoted attribute.
std::string markup_escaped(std::string_view text);

}  // namespace iez::cli
