// Charts for a terminal: bars and lines of characters, in blocks where the terminal takes UTF-8 and in ASCII elsewhere. Pure.
//
// A value that is not finite is not drawn.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace iez::cli {

struct Bar {
  std::string label;
  double value = 0;
  std::string note;  // behind the bar
};

// One line each, from 0; the largest value has `width` characters. Text from outside is made safe to show.
std::string bar_chart(std::span<const Bar> bars, unsigned width, const Terminal& terminal);

// "[####++....]" for shares of 0.4 and 0.6: what was, what was added, what is left.
std::string two_part_bar(double before, double after, unsigned width, const Terminal& terminal);

struct Point {
  double x = 0;
  double y = 0;
};

struct Line {
  std::string name;
  std::vector<Point> points;  // ascending x
};

// All lines in one frame of `width` by `height` characters that spans all points, with the ends of both axes in numbers and a
// legend below. Points of a line are joined; the later line is on top. Empty if there is nothing to draw.
// REQUIRES: width and height at least 2.
std::string line_chart(std::span<const Line> lines, unsigned width, unsigned height, const Terminal& terminal);

// Characters, not bytes.
std::size_t text_width(std::string_view text);

}  // namespace iez::cli
