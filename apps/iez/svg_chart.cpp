#include "svg_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/result.hpp"
#include "markup.hpp"

namespace iez::cli {

namespace {

// Told apart with every kind of colour blindness; the first is for what is compared with.
struct Colour {
  std::string_view fill;
  int series;  // of the page's
};
constexpr std::array<Colour, 8> kColours{{{"#7f7f7f", 6},
                                          {"#0072b2", 0},
                                          {"#d55e00", 1},
                                          {"#e69f00", 4},
                                          {"#56b4e9", 5},
                                          {"#009e73", 2},
                                          {"#cc79a7", 3},
                                          {"#8c564b", 7}}};
constexpr double kWidth = 960;
constexpr double kHeight = 460;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 104;
constexpr double kBottom = 50;
constexpr double kNarrow = 21;      // bars below this width carry no number
constexpr double kCharacter = 6.8;  // mean width of one at 12 px
constexpr double kLegendMark = 18;
constexpr double kLegendGap = 22;

// Steps of 1, 2 or 5 times a power of ten, some five of them.
double tick_step(double largest) {
  const double rough = largest / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough) return step * power;
  }
  return 10 * power;
}

double largest_of(const SvgChart& chart) {
  double largest = 0;
  for (const SvgSeries& series : chart.series) {
    for (const auto& bar : series.bars) {
      if (bar) largest = std::max({largest, bar->value, bar->high});
    }
  }
  return largest > 0 ? largest : 1;
}

std::string text_at(double x, double y, std::string_view attributes, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y, attributes.empty() ? "" : " ", attributes,
                     markup_escaped(text));
}

class Drawing {
 public:
  // One series by itself is coloured as the second, the one a reader looks for.
  Drawing(const SvgChart& chart, SvgUse use)
      : chart_(chart),
        use_(use),
        step_(tick_step(largest_of(chart))),
        top_value_(std::ceil(largest_of(chart) * 1.02 / step_) * step_),
        first_colour_(chart.series.size() == 1 ? 1 : 0) {
    for (const SvgSeries& series : chart_.series) IEZ_ASSERT(series.bars.size() == chart_.categories.size());
  }

  std::string draw() {
    out_ = fmt::format(
        "<svg class=\"chart large\"{3} viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "role=\"img\" "
        "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"12\" fill=\"#222222\">\n"
        "<title>{2}</title>\n"
        "<rect class=\"paper\" width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        kWidth, kHeight, markup_escaped(chart_.title), use_ == SvgUse::file ? " xmlns=\"http://www.w3.org/2000/svg\"" : "");
    out_ += text_at(kLeft, 30, "class=\"title\" font-size=\"18\" font-weight=\"bold\"", chart_.title);
    out_ += text_at(kLeft, 50, "class=\"soft\" fill=\"#555555\"", chart_.subtitle);
    if (chart_.series.size() > 1) legend();
    axis();
    bars();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  double y_of(double value) const { return kHeight - kBottom - value / top_value_ * (kHeight - kTop - kBottom); }

  const Colour& colour(std::size_t series) const { return kColours[(series + first_colour_) % kColours.size()]; }

  void legend() {
    double x = kLeft;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      out_ += fmt::format("<rect class=\"f{}\" x=\"{:.1f}\" y=\"66\" width=\"12\" height=\"12\" fill=\"{}\"/>\n",
                          colour(i).series, x, colour(i).fill);
      out_ += text_at(x + kLegendMark, 76, "", chart_.series[i].name);
      x += kLegendMark + kCharacter * static_cast<double>(chart_.series[i].name.size()) + kLegendGap;
    }
  }

  void axis() {
    const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step_) - 1e-9)));
    const auto ticks = static_cast<int>(std::lround(top_value_ / step_));
    for (int tick = 0; tick <= ticks; ++tick) {
      const double y = y_of(tick * step_);
      out_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n",
                          tick == 0 ? "axis" : "grid", kLeft, y, kWidth - kRight, y, tick == 0 ? "#222222" : "#dddddd");
      out_ += text_at(kLeft - 8, y + 4, "text-anchor=\"end\"", fmt::format("{:.{}f}", tick * step_, decimals));
    }
    const double middle = (kTop + kHeight - kBottom) / 2;
    out_ += text_at(18, middle, fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 18 {:.1f})\"", middle), chart_.axis);
  }

  void bars() {
    if (chart_.categories.empty() || chart_.series.empty()) return;
    const double group = (kWidth - kLeft - kRight) / static_cast<double>(chart_.categories.size());
    const double width = group * 0.84 / static_cast<double>(chart_.series.size());
    std::size_t longest = 1;
    for (const std::string& category : chart_.categories) longest = std::max(longest, category.size());
    const auto label_every =
        static_cast<std::size_t>(std::max(1.0, std::ceil(kCharacter * (static_cast<double>(longest) + 1) / group)));
    for (std::size_t i = 0; i < chart_.categories.size(); ++i) {
      const double left = kLeft + group * static_cast<double>(i);
      for (std::size_t k = 0; k < chart_.series.size(); ++k) {
        const auto& bar = chart_.series[k].bars[i];
        const double x = left + group * 0.08 + width * static_cast<double>(k);
        if (bar) draw_bar(*bar, x, width, k, chart_.series[k].name, chart_.categories[i]);
      }
      if (i % label_every == 0) {
        out_ += text_at(left + group / 2, kHeight - kBottom + 20, "text-anchor=\"middle\"", chart_.categories[i]);
      }
    }
  }

  void draw_bar(const SvgBar& bar, double x, double width, std::size_t series, std::string_view name, std::string_view category) {
    const std::string number = fmt::format("{:.{}f}", bar.value, chart_.decimals);
    const double shown = width > 4 ? width - 2 : width;
    const double middle = x + shown / 2;
    out_ += fmt::format("<rect class=\"f{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\">",
                        colour(series).series, x, y_of(bar.value), shown, y_of(0) - y_of(bar.value), colour(series).fill);
    out_ += fmt::format("<title>{}{}{}: {}</title></rect>\n", markup_escaped(category), name.empty() ? "" : ", ",
                        markup_escaped(name), number);
    double label = y_of(bar.value) - 4;
    if (bar.high > bar.low) {
      out_ += fmt::format(
          "<path class=\"whisker\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h6M{3:.1f} {2:.1f}h6\" stroke=\"#222222\" "
          "fill=\"none\"/>\n",
          middle, y_of(bar.low), y_of(bar.high), middle - 3);
      label = std::min(label, y_of(bar.high) - 4);
    }
    if (width >= kNarrow) out_ += text_at(middle, label, "class=\"small\" text-anchor=\"middle\" font-size=\"10\"", number);
  }

  const SvgChart& chart_;
  SvgUse use_;
  double step_;
  double top_value_;
  std::size_t first_colour_;
  std::string out_;
};

}  // namespace

std::string to_svg(const SvgChart& chart, SvgUse use) { return Drawing(chart, use).draw(); }

}  // namespace iez::cli
