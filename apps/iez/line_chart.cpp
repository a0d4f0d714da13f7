#include "line_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/result.hpp"
#include "markup.hpp"

namespace iez::cli {

namespace {

constexpr double kWidth = 520;  // so narrow that it can be read on a telephone
constexpr double kHeight = 280;
constexpr double kLeft = 56;
constexpr double kRight = 16;
constexpr double kTop = 40;
constexpr double kTitle = 14;  // where titles begin
constexpr double kAxis = 44;   // below the frame, for the numbers and the name of x
constexpr double kLegendRow = 20;
constexpr double kLegendLeft = 14;
constexpr double kCharacter = 8.2;  // mean width of one at 14 px, which page.cpp has for telephones
constexpr double kLegendMark = 22;
constexpr double kLegendGap = 16;
constexpr std::size_t kMostLegend = 60;  // characters of a name

constexpr double kCap = 6;  // half of the end of a whisker: wider than a dot

bool drawable(const ChartPoint& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

bool drawable(const ChartRange& range) { return std::isfinite(range.x) && std::isfinite(range.low) && std::isfinite(range.high); }

bool has_whisker(const ChartPoint& point) {
  return drawable(point) && point.low < point.high && std::isfinite(point.low) && std::isfinite(point.high);
}

// Steps of 1, 2 or 5 times a power of ten, at most `most` of them.
double tick_step(double span, double most) {
  const double rough = span / most;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough * (1 - 1e-9)) return step * power;
  }
  return 10 * power;
}

std::string text_at(double x, double y, std::string_view attributes, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y, attributes.empty() ? "" : " ", attributes,
                     markup_escaped(text));
}

std::string legend_name(std::string_view name) {
  if (name.size() <= kMostLegend) return std::string(name);
  return fmt::format("{}...", name.substr(0, kMostLegend));
}

class Drawing {
 public:
  explicit Drawing(const LineChart& chart) : chart_(chart) {
    for (const ChartLine& line : chart_.lines) {
      for (const ChartPoint& point : line.points) {
        if (drawable(point)) include(point);
      }
      for (const ChartRange& range : line.band) {
        if (!drawable(range)) continue;
        include({.x = range.x, .y = range.low});
        include({.x = range.x, .y = range.high});
      }
    }
    if (chart_.categories.empty() && chart_.ticks.size() > 1) {
      left_ = chart_.ticks.front().first;
      right_ = chart_.ticks.back().first;
    } else if (chart_.categories.empty()) {
      if (!(left_ <= right_)) left_ = right_ = 0;
      left_ = std::min(left_, 0.0);
      if (!(left_ < right_)) right_ = left_ + 1;
    } else {
      left_ = -0.5;
      right_ = static_cast<double>(chart_.categories.size()) - 0.5;
    }
    if (!(bottom_ < top_)) top_ = bottom_ + 1;
    step_ = tick_step(top_ - bottom_, 5);
    bottom_ = std::floor(bottom_ / step_) * step_;
    top_ = std::ceil(top_ / step_ * (1 - 1e-9)) * step_;
    frame_bottom_ = kHeight - kAxis;
    lay_out_legend();
  }

  std::string draw() {
    out_ = fmt::format(
        "<svg class=\"chart\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n<title>{2}</title>\n", kWidth,
        kHeight + legend_height_, markup_escaped(chart_.title));
    out_ += text_at(kTitle, 22, "class=\"title\"", chart_.title);
    horizontal_lines();
    vertical_lines();
    out_ += text_at((kLeft + kWidth - kRight) / 2, kHeight - 8, "text-anchor=\"middle\"", chart_.x_axis);
    for (std::size_t i = 0; i < chart_.lines.size(); ++i) band(chart_.lines[i], colour(i));
    for (std::size_t i = 0; i < chart_.lines.size(); ++i) line(chart_.lines[i], colour(i));
    for (const LegendEntry& entry : legend_) legend(entry);
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  enum class LegendMark { line, band, whisker };

  struct LegendEntry {
    LegendMark mark = LegendMark::line;
    std::string colour;
    std::string text;
    double x = 0;
    double y = 0;
  };

  std::size_t colour(std::size_t line) const { return chart_.lines[line].colour.value_or(line) % kChartColours; }

  void include(const ChartPoint& point) {
    left_ = std::min(left_, point.x);
    right_ = std::max(right_, point.x);
    bottom_ = std::min(bottom_, point.y);
    top_ = std::max(top_, point.y);
    if (point.low < point.high) {
      if (std::isfinite(point.low)) bottom_ = std::min(bottom_, point.low);
      if (std::isfinite(point.high)) top_ = std::max(top_, point.high);
    }
  }

  void lay_out_legend() {
    const bool banded = std::ranges::any_of(chart_.lines, [](const ChartLine& line) { return !line.band.empty(); });
    const bool whiskered =
        std::ranges::any_of(chart_.lines, [](const ChartLine& line) { return std::ranges::any_of(line.points, has_whisker); });
    const bool bands_are_told = banded && !chart_.band_name.empty();
    const bool whiskers_are_told = whiskered && !chart_.whisker_name.empty();
    if (chart_.lines.size() > 1 || bands_are_told) {
      for (std::size_t i = 0; i < chart_.lines.size(); ++i) {
        legend_.push_back({.colour = fmt::to_string(colour(i)), .text = legend_name(chart_.lines[i].name)});
      }
    }
    // What belongs to several lines has the colour of none.
    const std::string shared = chart_.lines.size() > 1 ? "-all" : fmt::to_string(chart_.lines.empty() ? 0 : colour(0));
    if (bands_are_told) legend_.push_back({.mark = LegendMark::band, .colour = shared, .text = chart_.band_name});
    if (whiskers_are_told) legend_.push_back({.mark = LegendMark::whisker, .colour = shared, .text = chart_.whisker_name});
    if (legend_.empty()) return;
    double x = kLegendLeft;
    double y = kHeight + 10;
    for (LegendEntry& entry : legend_) {
      const double width = kLegendMark + kCharacter * static_cast<double>(entry.text.size()) + kLegendGap;
      if (x > kLegendLeft && x + width > kWidth) {
        x = kLegendLeft;
        y += kLegendRow;
      }
      entry.x = x;
      entry.y = y;
      x += width;
    }
    legend_height_ = y + 10 - kHeight;
  }

  void legend(const LegendEntry& entry) {
    const double middle = entry.y - 4;
    switch (entry.mark) {
      case LegendMark::line:
        out_ += fmt::format("<path class=\"line c{}\" d=\"M{:.1f} {:.1f}h16\"/>\n", entry.colour, entry.x, middle);
        break;
      case LegendMark::band:
        out_ += fmt::format("<path class=\"band f{}\" d=\"M{:.1f} {:.1f}h16v12h-16z\"/>\n", entry.colour, entry.x, middle - 6);
        break;
      case LegendMark::whisker:
        out_ += whisker(entry.colour, entry.x + 8, middle + 6, middle - 6);
        break;
    }
    out_ += text_at(entry.x + kLegendMark, entry.y, "", entry.text);
  }

  // From low to high, in pixels.
  static std::string whisker(std::string_view colour, double x, double low, double high) {
    return fmt::format("<path class=\"line c{0}\" d=\"M{1:.1f} {2:.1f}V{3:.1f}M{4:.1f} {2:.1f}h{5}M{4:.1f} {3:.1f}h{5}\"/>\n",
                       colour, x, low, high, x - kCap, 2 * kCap);
  }

  // Halves, so that a span of the largest numbers does not overflow.
  double x_of(double x) const { return kLeft + (x / 2 - left_ / 2) / (right_ / 2 - left_ / 2) * (kWidth - kLeft - kRight); }
  double y_of(double y) const {
    return frame_bottom_ - (y / 2 - bottom_ / 2) / (top_ / 2 - bottom_ / 2) * (frame_bottom_ - kTop);
  }

  void horizontal_lines() {
    const auto ticks = static_cast<int>(std::lround((top_ - bottom_) / step_));
    for (int tick = 0; tick <= ticks; ++tick) {
      const double value = bottom_ + tick * step_;
      const double y = y_of(value);
      out_ += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", tick == 0 ? "axis" : "grid", kLeft, y,
                          kWidth - kRight);
      out_ += text_at(kLeft - 8, y + 4, "text-anchor=\"end\"", short_number(std::abs(value) < step_ / 2 ? 0 : value));
    }
  }

  void x_tick(double x, std::string_view label) {
    out_ += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}v5\"/>\n", x_of(x), frame_bottom_);
    // What would be cut off at the right ends there.
    const bool inside = x_of(x) + kCharacter * static_cast<double>(label.size()) / 2 < kWidth;
    out_ += text_at(inside ? x_of(x) : kWidth - 2, frame_bottom_ + 18, inside ? "text-anchor=\"middle\"" : "text-anchor=\"end\"",
                    label);
  }

  void vertical_lines() {
    if (chart_.categories.empty() && chart_.ticks.size() > 1) {
      for (const auto& [x, label] : chart_.ticks) x_tick(x, label);
      return;
    }
    if (chart_.categories.empty()) {
      const double step = tick_step(right_ - left_, 8);
      const double first = std::ceil(left_ / step * (1 - 1e-9));
      const auto ticks = static_cast<int>(std::floor(right_ / step * (1 + 1e-9)) - first);
      for (int tick = 0; tick <= ticks; ++tick) {
        const double x = (first + tick) * step;
        x_tick(x, short_number(x));
      }
      return;
    }
    std::size_t longest = 1;
    for (const std::string& category : chart_.categories) longest = std::max(longest, category.size());
    const double room = (kWidth - kLeft - kRight) / static_cast<double>(chart_.categories.size());
    const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(kCharacter * (static_cast<double>(longest) + 1) / room)));
    for (std::size_t i = 0; i < chart_.categories.size(); i += every) x_tick(static_cast<double>(i), chart_.categories[i]);
  }

  // Along the upper edge and back along the lower one, once for each stretch without a gap.
  void band(const ChartLine& line, std::size_t colour) {
    std::string path;
    auto from = line.band.begin();
    while (from != line.band.end()) {
      const auto to = std::find_if_not(from, line.band.end(), [](const ChartRange& range) { return drawable(range); });
      for (auto at = from; at != to; ++at)
        path += fmt::format("{}{:.1f} {:.1f}", at == from ? 'M' : 'L', x_of(at->x), y_of(at->high));
      for (auto at = to; at != from;) {
        --at;
        path += fmt::format("L{:.1f} {:.1f}", x_of(at->x), y_of(at->low));
      }
      if (from != to) path += 'z';
      from = to == line.band.end() ? to : std::next(to);
    }
    if (!path.empty()) out_ += fmt::format("<path class=\"band f{}\" d=\"{}\"/>\n", colour, path);
  }

  void line(const ChartLine& line, std::size_t colour) {
    std::string path;
    bool joined = false;
    for (const ChartPoint& point : line.points) {
      const bool good = drawable(point);
      // A point between two gaps is drawn as a line of no length, which round ends make visible.
      if (good) path += fmt::format("{}{:.1f} {:.1f}", joined ? 'L' : 'M', x_of(point.x), y_of(point.y));
      if (good && !joined) path += "h0";
      joined = good;
    }
    if (path.empty()) return;
    out_ += fmt::format("<path class=\"line c{}\" stroke-linecap=\"round\" d=\"{}\"/>\n", colour, path);
    for (const ChartPoint& point : line.points) {
      if (drawable(point)) details(point, line, colour);
    }
  }

  void details(const ChartPoint& point, const ChartLine& line, std::size_t colour) {
    const double x = x_of(point.x);
    if (has_whisker(point)) out_ += whisker(fmt::to_string(colour), x, y_of(point.low), y_of(point.high));
    if (!chart_.marks) return;
    const auto category = static_cast<std::size_t>(std::max(0.0, point.x));
    const std::string where = category < chart_.categories.size() ? chart_.categories[category] : short_number(point.x);
    out_ += fmt::format("<circle class=\"dot c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}{}{}: {}</title></circle>\n",
                        colour, x, y_of(point.y), markup_escaped(line.name), line.name.empty() ? "" : ", ", markup_escaped(where),
                        short_number(point.y));
  }

  const LineChart& chart_;
  double left_ = std::numeric_limits<double>::infinity();
  double right_ = -std::numeric_limits<double>::infinity();
  double bottom_ = 0;
  double top_ = 0;
  double step_ = 1;
  double frame_bottom_ = 0;
  double legend_height_ = 0;
  std::vector<LegendEntry> legend_;
  std::string out_;
};

}  // namespace

std::string to_svg(const LineChart& chart) { return Drawing(chart).draw(); }

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most) {
  IEZ_ASSERT(most >= 4);
  if (points.size() <= most) return points;
  const std::size_t stretches = most / 2;
  std::vector<ChartPoint> kept;
  kept.reserve(2 * stretches);
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t from = points.size() * i / stretches;
    const std::size_t to = points.size() * (i + 1) / stretches;
    std::size_t low = from;
    std::size_t high = from;
    for (std::size_t at = from; at < to; ++at) {
      if (!drawable(points[at])) continue;
      if (!drawable(points[low]) || points[at].y < points[low].y) low = at;
      if (!drawable(points[high]) || points[at].y > points[high].y) high = at;
    }
    kept.push_back(points[std::min(low, high)]);
    if (low != high) kept.push_back(points[std::max(low, high)]);
  }
  return kept;
}

std::vector<ChartRange> thinned_band(const std::vector<ChartRange>& band, std::size_t most) {
  IEZ_ASSERT(most >= 4);
  if (band.size() <= most) return band;
  std::vector<ChartRange> kept;
  kept.reserve(most);
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t from = band.size() * i / most;
    const std::size_t to = band.size() * (i + 1) / most;
    ChartRange all = band[from];
    for (std::size_t at = from + 1; at < to; ++at) {
      if (!drawable(band[at])) continue;
      const bool first = !drawable(all);
      all.low = first ? band[at].low : std::min(all.low, band[at].low);
      all.high = first ? band[at].high : std::max(all.high, band[at].high);
    }
    kept.push_back(all);
  }
  kept.back().x = band.back().x;
  return kept;
}

std::string short_number(double value) {
  constexpr std::array<std::pair<double, std::string_view>, 6> kUnits{
      {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}}};
  for (const auto& [from, unit] : kUnits) {
    if (std::abs(value) >= from * (1 - 1e-9)) return fmt::format("{:.4g}{}", unit == "k" ? value / 1e3 : value / from, unit);
  }
  return fmt::format("{:.4g}", value);
}

}  // namespace iez::cli
