#include "table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/result.hpp"
#include "base/text.hpp"

namespace iez::cli {

namespace {

// Characters, not bytes. Wide ones are counted as one: no name of Lustre has any.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

std::string_view code(Colour colour) {
  switch (colour) {
    case Colour::none:
      return "";
    case Colour::bold:
      return "\x1b[1m";
    case Colour::red:
      return "\x1b[31m";
    case Colour::yellow:
      return "\x1b[33m";
  }
  return "";
}

// Where so many characters end.
std::size_t end_of(std::string_view text, std::size_t characters) {
  std::size_t end = 0;
  for (; characters > 0 && end < text.size(); --characters) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) ++end;
  }
  return end;
}

// What does not fit has a '~' in place of what is left out: near the front, since names of many files differ at their ends.
std::string cut(std::string text, std::size_t width) {
  const std::size_t all = width_of(text);
  if (all <= width) return text;
  if (width < 2) return "~";
  const std::size_t front = (width - 1) / 3;
  const std::size_t back = width - 1 - front;
  return text.substr(0, end_of(text, front)) + "~" + text.substr(end_of(text, all - back));
}

std::string coloured(const Cell& cell, const Terminal& terminal) {
  if (!terminal.colour || cell.colour == Colour::none) return cell.text;
  return fmt::format("{}{}\x1b[0m", code(cell.colour), cell.text);
}

}  // namespace

void Table::add(std::vector<Cell> row) {
  IEZ_ASSERT(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = text::printable(cell.text);
  rows_.push_back(std::move(row));
}

std::string Table::render(const Terminal& terminal, bool header) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = header ? width_of(columns_[i].title) : 0;
    for (const auto& row : rows_) width = std::max(width, width_of(row[i].text));
    widths.push_back(width);
  }
  std::vector<bool> shown(columns_.size(), true);
  fit(widths, shown, terminal.columns);
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!shown[i]) continue;
      Cell cell = cell_of(i);
      cell.text = cut(std::move(cell.text), widths[i]);
      const std::string padding(widths[i] - width_of(cell.text), ' ');
      if (i > 0) text += "  ";
      if (columns_[i].align == Align::right) text += padding;
      text += coloured(cell, terminal);
      if (columns_[i].align == Align::left) text += padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  if (header) line([&](std::size_t i) { return Cell{.text = std::string(columns_[i].title), .colour = Colour::bold}; });
  for (const auto& row : rows_) line([&](std::size_t i) { return row[i]; });
  return out;
}

// Columns leave, and texts become narrower, until a line has no more than so many characters, or no more can be done.
void Table::fit(std::vector<std::size_t>& widths, std::vector<bool>& shown, std::size_t most) const {
  constexpr std::size_t kGap = 2;
  constexpr std::size_t kNarrowest = 8;
  const auto total = [&] {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) sum += shown[i] ? widths[i] + (i > 0 ? kGap : 0) : 0;
    return sum;
  };
  while (most > 0 && total() > most) {
    std::size_t leaving = 0;
    for (std::size_t i = 1; i < columns_.size(); ++i) {
      if (shown[i] && columns_[i].leaves > 0 && (columns_[leaving].leaves < columns_[i].leaves || !shown[leaving])) leaving = i;
    }
    if (shown[leaving] && columns_[leaving].leaves > 0) {
      shown[leaving] = false;
      continue;
    }
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!shown[i] || columns_[i].align != Align::left || widths[i] <= kNarrowest) continue;
      if (widest == columns_.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == columns_.size()) return;
    --widths[widest];
  }
}

unsigned bar_width(const Terminal& terminal) {
  constexpr unsigned kWide = 110;
  return terminal.columns == 0 || terminal.columns >= kWide ? 20 : 8;
}

std::string bar(double share, unsigned width, const Terminal& terminal) {
  constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  share = std::clamp(share, 0.0, 1.0);
  const auto eighths = static_cast<unsigned>(std::lround(share * width * 8));
  std::string out;
  if (!terminal.utf8) {
    const unsigned full = (eighths + 4) / 8;
    return fmt::format("[{}{}]", std::string(full, '#'), std::string(width - full, '.'));
  }
  for (unsigned i = 0; i < eighths / 8; ++i) out += "█";
  out += kEighths[eighths % 8];
  out.append(width - width_of(out), ' ');
  return fmt::format("▕{}▏", out);
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace iez::cli
