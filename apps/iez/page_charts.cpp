#include "page_charts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "base/result.hpp"
#include "line_chart.hpp"
#include "markup.hpp"

namespace iez::cli {

namespace {

constexpr double kWidth = 520;  // as those of line_chart.cpp
constexpr double kHeight = 280;
constexpr double kLeft = 62;
constexpr double kRight = 16;
constexpr double kTop = 40;
constexpr double kTitle = 14;
constexpr double kAxis = 44;
constexpr double kLegendRow = 22;
// Mean width of a character: of text of 12 px, and of the 14 px that page.cpp has for telephones.
constexpr double kCharacter = 7;
constexpr double kLargeCharacter = 8.2;
constexpr double kLetterHeight = 15;
constexpr double kEdge = 4;  // that no label comes nearer to
constexpr std::size_t kColours = 8;
constexpr int kHeats = 6;

std::string text_at(double x, double y, std::string_view attributes, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y, attributes.empty() ? "" : " ", attributes,
                     markup_escaped(text));
}

std::string opening(double height, std::string_view title) {
  return fmt::format(
             "<svg class=\"chart\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n<title>{2}</title>\n",
             kWidth, height, markup_escaped(title)) +
         text_at(kTitle, 22, "class=\"title\"", title);
}

bool drawable(double value) { return std::isfinite(value) && value > 0; }

// Steps of 1, 2 or 5 times a power of ten, about five of them.
double tick_step(double largest) {
  const double rough = largest / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough * (1 - 1e-9)) return step * power;
  }
  return 10 * power;
}

double largest_of(const BarChart& chart) {
  double largest = 0;
  for (std::size_t i = 0; i < chart.categories.size(); ++i) {
    double sum = 0;
    for (const BarSeries& series : chart.series) {
      const double value = drawable(series.values[i]) ? series.values[i] : 0;
      sum = chart.stacked ? sum + value : std::max(sum, value);
    }
    largest = std::max(largest, sum);
  }
  return largest > 0 ? largest : 1;
}

struct ColumnLabel {
  double middle = 0;
  std::string_view text;
};

// Whether none of every `every`th label comes too near to the next, with characters of this width.
bool have_room(const std::vector<ColumnLabel>& labels, std::size_t every, double character) {
  constexpr double kGap = 5;
  for (std::size_t i = every; i < labels.size(); i += every) {
    const auto letters = static_cast<double>(labels[i - every].text.size() + labels[i].text.size());
    if (labels[i].middle - labels[i - every].middle < character * letters / 2 + kGap) return false;
  }
  return true;
}

// Labels of columns that have room between them. Those that have none where text is larger are marked: they are hidden there.
std::string column_labels(const std::vector<std::string>& labels, double y) {
  const double room = (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(1, labels.size()));
  std::vector<ColumnLabel> shown;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].empty()) continue;
    const double half = kLargeCharacter * static_cast<double>(labels[i].size()) / 2;
    shown.push_back(
        {.middle = std::min(kLeft + room * (static_cast<double>(i) + 0.5), kWidth - kEdge - half), .text = labels[i]});
    if (!have_room({shown.end() - std::min<std::ptrdiff_t>(2, std::ssize(shown)), shown.end()}, 1, kCharacter)) shown.pop_back();
  }
  std::size_t every = 1;
  while (!have_room(shown, every, kLargeCharacter)) ++every;
  std::string out;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool dense = i % every != 0;
    out +=
        text_at(shown[i].middle, y, dense ? "class=\"dense\" text-anchor=\"middle\"" : "text-anchor=\"middle\"", shown[i].text);
  }
  return out;
}

std::string bars(const BarChart& chart, double top_value) {
  std::string out;
  const double bottom = kHeight - kAxis;
  const double group = (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(1, chart.categories.size()));
  const double parts = chart.stacked ? 1 : static_cast<double>(std::max<std::size_t>(1, chart.series.size()));
  const double width = group * 0.84 / parts;
  for (std::size_t i = 0; i < chart.categories.size(); ++i) {
    double base = 0;
    for (std::size_t k = 0; k < chart.series.size(); ++k) {
      const double value = chart.series[k].values[i];
      if (!drawable(value)) continue;
      const double x = kLeft + group * (static_cast<double>(i) + 0.08) + (chart.stacked ? 0 : width * static_cast<double>(k));
      const double height = value / top_value * (bottom - kTop);
      const std::string name = chart.series[k].name.empty() ? "" : chart.series[k].name + ", ";
      out += fmt::format(
          "<rect class=\"f{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"><title>{}{}: {}</title></rect>\n",
          k % kColours, x, bottom - base - height, std::max(0.5, width - 1), std::max(0.5, height), markup_escaped(name),
          markup_escaped(chart.categories[i]), short_number(value));
      if (chart.stacked) base += height;
    }
  }
  return out;
}

// In rows below `y`, which moves to below the last of them.
std::string legend(const BarChart& chart, double& y) {
  std::string out;
  if (chart.series.size() < 2) return out;
  double x = kLeft;
  for (std::size_t k = 0; k < chart.series.size(); ++k) {
    const double width = 18 + kLargeCharacter * static_cast<double>(chart.series[k].name.size()) + 18;
    if (x > kLeft && x + width > kWidth) {
      x = kLeft;
      y += kLegendRow;
    }
    out += fmt::format("<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\"/>\n", k % kColours, x, y);
    out += text_at(x + 18, y + 11, "", chart.series[k].name);
    x += width;
  }
  y += kLegendRow;
  return out;
}

static_assert(kHeats == kHeatColours);

int heat_of(double share) { return std::clamp(static_cast<int>(share * kHeats), 0, kHeats - 1); }

// In rows below `y`, which moves to below the last of them.
std::string legend(const HeatMap& map, double& y) {
  if (map.legend.empty()) return {};
  const auto width_of = [](std::string_view label) { return 18 + kLargeCharacter * static_cast<double>(label.size()) + 14; };
  std::string out = text_at(kLeft, y + 11, "", map.legend_title);
  double x = kLeft + kLargeCharacter * static_cast<double>(map.legend_title.size()) + 10;
  for (const HeatKey& key : map.legend) {
    if (x + width_of(key.label) > kWidth) {
      x = kLeft;
      y += kLegendRow;
    }
    out += fmt::format("<rect class=\"h{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\"/>\n", heat_of(key.heat), x, y);
    out += text_at(x + 18, y + 11, "", key.label);
    x += width_of(key.label);
  }
  y += kLegendRow;
  return out;
}

}  // namespace

std::string to_svg(const BarChart& chart) {
  for (const BarSeries& series : chart.series) IEZ_ASSERT(series.values.size() == chart.categories.size());
  const double largest = largest_of(chart);
  const double step = tick_step(largest);
  const double top_value = std::ceil(largest / step * (1 - 1e-9)) * step;
  const double bottom = kHeight - kAxis;
  double height = kHeight;
  const std::string key = legend(chart, height);
  std::string out = opening(height, chart.title);
  const auto ticks = static_cast<int>(std::lround(top_value / step));
  for (int tick = 0; tick <= ticks; ++tick) {
    const double y = bottom - tick * step / top_value * (bottom - kTop);
    out +=
        fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", tick == 0 ? "axis" : "grid", kLeft, y, kWidth - kRight);
    out += text_at(kLeft - 8, y + 4, "text-anchor=\"end\"", short_number(tick * step));
  }
  out += bars(chart, top_value);
  out += column_labels(chart.categories, bottom + 18);
  out += text_at((kLeft + kWidth - kRight) / 2, kHeight - 8, "text-anchor=\"middle\"", chart.x_axis);
  return out + key + "</svg>\n";
}

std::string to_svg(const HeatMap& map) {
  IEZ_ASSERT(map.cells.size() == map.rows.size());
  const double row_height = std::clamp(220.0 / static_cast<double>(std::max<std::size_t>(1, map.rows.size())), 10.0, 26.0);
  const double bottom = kTop + row_height * static_cast<double>(map.rows.size());
  double height = bottom + kAxis;
  const std::string key = legend(map, height);
  std::string out = opening(height, map.title);
  const double width = (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(1, map.columns.size()));
  const double gap = width > 5 ? 1 : 0.2;
  double free_from = 0;  // for the label of a row
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    IEZ_ASSERT(map.cells[row].size() == map.columns.size());
    const double y = kTop + row_height * static_cast<double>(row);
    if (!map.rows[row].empty() && y >= free_from) {
      out += text_at(kLeft - 8, y + row_height / 2 + 4, "text-anchor=\"end\"", map.rows[row]);
      free_from = y + kLetterHeight;
    }
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const auto& cell = map.cells[row][column];
      if (!cell) continue;
      const bool noted = row < map.notes.size() && column < map.notes[row].size();
      out += fmt::format("<rect class=\"h{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\">{}</rect>\n",
                         heat_of(*cell), kLeft + width * static_cast<double>(column), y, width - gap, row_height - 1,
                         noted ? fmt::format("<title>{}</title>", markup_escaped(map.notes[row][column])) : "");
    }
  }
  out += column_labels(map.columns, bottom + 16);
  out += text_at((kLeft + kWidth - kRight) / 2, bottom + kAxis - 8, "text-anchor=\"middle\"", map.x_axis);
  return out + key + "</svg>\n";
}

}  // namespace iez::cli
