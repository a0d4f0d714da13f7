#include "markup.hpp"

#include "base/text.hpp"

namespace iez::cli {

std::string markup_escaped(std::string_view text) {
  std::string out;
  for (const char c : text::printable(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace iez::cli
