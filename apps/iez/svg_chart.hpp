// Grouped bar charts as SVG, with nothing to load and no script. Pure.
//
// A file has colours for white paper. In a page the classes of page.hpp colour it as the page is.
// Deterministic: the same chart gives the same text. Text from outside is escaped.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace iez::cli {

struct SvgBar {
  double value = 0;  // finite, not negative
  double low = 0;    // a whisker from low to high, where they differ
  double high = 0;
};

struct SvgSeries {
  std::string name;
  std::vector<std::optional<SvgBar>> bars;  // one for each category; none: left out
};

struct SvgChart {
  std::string title;
  std::string subtitle;
  std::string axis;  // what the values are
  std::vector<std::string> categories;
  std::vector<SvgSeries> series;
  int decimals = 2;  // of the numbers on bars
};

// A file of its own says what it is; within a page that is known.
enum class SvgUse { file, page };

// REQUIRES: every series has as many bars as there are categories.
std::string to_svg(const SvgChart& chart, SvgUse use = SvgUse::file);

}  // namespace iez::cli
