#include "plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::cli {

namespace {

constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr std::array<std::string_view, 6> kMarks{"●", "○", "▲", "△", "■", "□"};
constexpr std::string_view kAsciiMarks = "*o+x#@";

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string filled(double share, unsigned width, const Terminal& terminal) {
  const auto eighths = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * width * 8));
  if (!terminal.utf8) return std::string((eighths + 4) / 8, '#');
  return repeat("█", eighths / 8) + std::string(kEighths[eighths % 8]);
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t has = text_width(text);
  if (has < width) text.append(width - has, ' ');
  return text;
}

bool drawable(const Point& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

// The smallest frame around all points.
struct Frame {
  double left = std::numeric_limits<double>::infinity();
  double right = -std::numeric_limits<double>::infinity();
  double bottom = std::numeric_limits<double>::infinity();
  double top = -std::numeric_limits<double>::infinity();

  bool empty() const { return left > right; }

  void include(const Point& point) {
    left = std::min(left, point.x);
    right = std::max(right, point.x);
    bottom = std::min(bottom, point.y);
    top = std::max(top, point.y);
  }
};

// Where a value falls on a scale of `cells`, the first being 0.
std::size_t cell_of(double value, double low, double high, std::size_t cells) {
  // Halves: the difference of two doubles may not be one.
  const double span = high / 2 - low / 2;
  const double share = span > 0 ? (value / 2 - low / 2) / span : 0.5;
  return static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(cells - 1)));
}

class Canvas {
 public:
  Canvas(unsigned width, unsigned height) : width_(width), height_(height), cells_(std::size_t{width} * height, kEmpty) {}

  void draw(const Line& line, std::size_t mark, const Frame& frame) {
    Place last;
    bool joined = false;
    for (const Point& point : line.points) {
      if (drawable(point)) {
        const Place here{cell_of(point.x, frame.left, frame.right, width_), cell_of(point.y, frame.bottom, frame.top, height_)};
        join(joined ? last : here, here, mark);
        last = here;
      }
      joined = drawable(point);
    }
  }

  std::string row(std::size_t row, const Terminal& terminal) const {
    std::string out;
    for (std::size_t column = 0; column < width_; ++column) {
      const std::size_t mark = cells_[row * width_ + column];
      if (mark == kEmpty) {
        out += ' ';
      } else {
        out += mark_text(mark, terminal);
      }
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }

  static std::string mark_text(std::size_t mark, const Terminal& terminal) {
    return terminal.utf8 ? std::string(kMarks[mark % kMarks.size()]) : std::string(1, kAsciiMarks[mark % kAsciiMarks.size()]);
  }

 private:
  static constexpr std::size_t kEmpty = ~std::size_t{0};

  struct Place {
    std::size_t column = 0;
    std::size_t row = 0;  // from below
  };

  void join(const Place& from, const Place& to, std::size_t mark) {
    const auto across = static_cast<double>(to.column) - static_cast<double>(from.column);
    const auto up = static_cast<double>(to.row) - static_cast<double>(from.row);
    const auto steps = static_cast<std::size_t>(std::max({std::abs(across), std::abs(up), 1.0}));
    for (std::size_t step = 0; step <= steps; ++step) {
      const double share = static_cast<double>(step) / static_cast<double>(steps);
      const auto column = static_cast<std::size_t>(std::lround(static_cast<double>(from.column) + across * share));
      const auto row = static_cast<std::size_t>(std::lround(static_cast<double>(from.row) + up * share));
      cells_[(height_ - 1 - row) * width_ + column] = mark;
    }
  }

  std::size_t width_;
  std::size_t height_;
  std::vector<std::size_t> cells_;
};

}  // namespace

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

std::string bar_chart(std::span<const Bar> bars, unsigned width, const Terminal& terminal) {
  std::size_t label_width = 0;
  double largest = 0;
  for (const Bar& bar : bars) {
    label_width = std::max(label_width, text_width(text::printable(bar.label)));
    if (std::isfinite(bar.value)) largest = std::max(largest, bar.value);
  }
  std::string out;
  for (const Bar& bar : bars) {
    const double share = std::isfinite(bar.value) && largest > 0 ? bar.value / largest : 0;
    const std::string blocks = filled(share, width, terminal);
    std::string line = padded(text::printable(bar.label), label_width) + "  " + blocks;
    if (!bar.note.empty() && !blocks.empty()) line += ' ';
    line += text::printable(bar.note);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string two_part_bar(double before, double after, unsigned width, const Terminal& terminal) {
  const auto cells = [width](double share) {
    return static_cast<std::size_t>(std::lround((std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0) * width));
  };
  const std::size_t first = cells(before);
  const std::size_t second = std::max(first, cells(after));
  return terminal.utf8
             ? fmt::format("▕{}{}{}▏", repeat("█", first), repeat("▒", second - first), std::string(width - second, ' '))
             : fmt::format("[{}{}{}]", std::string(first, '#'), std::string(second - first, '+'),
                           std::string(width - second, '.'));
}

std::string line_chart(std::span<const Line> lines, unsigned width, unsigned height, const Terminal& terminal) {
  Frame frame;
  for (const Line& line : lines) {
    for (const Point& point : line.points) {
      if (drawable(point)) frame.include(point);
    }
  }
  if (frame.empty()) return "";
  Canvas canvas(width, height);
  for (std::size_t i = 0; i < lines.size(); ++i) canvas.draw(lines[i], i, frame);

  const std::string top = fmt::format("{:.4g}", frame.top);
  const std::string bottom = fmt::format("{:.4g}", frame.bottom);
  const std::size_t margin = std::max(top.size(), bottom.size());
  const std::string_view side = terminal.utf8 ? "│" : "|";
  std::string out;
  for (std::size_t row = 0; row < height; ++row) {
    const std::string& label = row == 0 ? top : (row + 1 == height ? bottom : std::string());
    out += fmt::format("{:>{}} {}{}\n", label, margin, side, canvas.row(row, terminal));
  }
  out += fmt::format("{} {}{}\n", std::string(margin, ' '), terminal.utf8 ? "└" : "+", repeat(terminal.utf8 ? "─" : "-", width));
  const std::string left = fmt::format("{:.4g}", frame.left);
  const std::string right = fmt::format("{:.4g}", frame.right);
  const std::size_t gap = std::max<std::size_t>(left.size() + right.size() + 1, width) - left.size() - right.size();
  out += fmt::format("{}  {}{}{}\n", std::string(margin, ' '), left, std::string(gap, ' '), right);
  std::string legend;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].name.empty()) continue;
    legend += fmt::format("{}{} {}", legend.empty() ? "" : "   ", Canvas::mark_text(i, terminal), text::printable(lines[i].name));
  }
  if (!legend.empty()) out += fmt::format("{}  {}\n", std::string(margin, ' '), legend);
  return out;
}

}  // namespace iez::cli
