#include "wrap.hpp"

#include <algorithm>

namespace iez::cli {

std::string wrapped(std::string_view text, std::size_t at, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = at;
  bool begun = false;  // the line has a word
  const auto new_line = [&] {
    out += '\n';
    out.append(indent, ' ');
    column = indent;
    begun = false;
  };
  while (!text.empty()) {
    if (text.front() == '\n') {
      text.remove_prefix(1);
      if (!text.empty()) new_line();
      continue;
    }
    if (text.front() == ' ') {
      text.remove_prefix(1);
      continue;
    }
    const std::string_view word = text.substr(0, std::min(text.find_first_of(" \n"), text.size()));
    if (begun && column + 1 + word.size() > width) new_line();
    if (begun) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    begun = true;
    text.remove_prefix(word.size());
  }
  return out;
}

std::string fitted(std::string_view lines, std::size_t indent, std::size_t width) {
  if (width == 0) return std::string(lines);
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    out += line.size() <= width ? std::string(line) : wrapped(line, 0, indent, width);
    if (end == std::string_view::npos) break;
    out += '\n';
    lines.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace iez::cli
