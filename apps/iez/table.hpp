// Text tables for people: aligned columns, a header, and bars.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace iez::cli {

enum class Align { left, right };
enum class Colour { none, bold, red, yellow };

struct Cell {
  std::string text;
  Colour colour = Colour::none;
};

class Table {
 public:
  struct Column {
    std::string_view title;
    Align align = Align::left;
    unsigned leaves = 0;  // where a terminal is too narrow, columns of the largest number go first; 0: never
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns.
  void add(std::vector<Cell> row);

  // One line a row, two spaces between columns. Text from outside is made safe to show. On a terminal lines are no longer than it
  // is wide: columns leave, and if that does not do, the widest text is cut.
  std::string render(const Terminal& terminal, bool header) const;

 private:
  void fit(std::vector<std::size_t>& widths, std::vector<bool>& shown, std::size_t most) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// How wide a bar of a table may be.
unsigned bar_width(const Terminal& terminal);

// "[######....]" for 0.6; in eighths of a character on a UTF-8 terminal.
std::string bar(double share, unsigned width, const Terminal& terminal);

std::string percent(double share);  // "61.3 %"

std::string counted(std::size_t count, std::string_view what);  // "1 file", "2 files"

}  // namespace iez::cli
