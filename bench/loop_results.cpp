#include "loop_results.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "measure.hpp"

namespace iez::bench {

namespace {

using nlohmann::json;

template <typename Take>
void each_object(std::string_view text, const Take& take) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const json object = json::parse(line, nullptr, false);
    if (object.is_object()) take(object);
  }
}

}  // namespace

Result<std::vector<double>> phase_seconds(std::string_view output) {
  std::vector<double> seconds;
  each_object(output, [&seconds](const json& told) {
    if (!told.contains("phases") || !told["phases"].is_array()) return;
    for (const json& phase : told["phases"]) {
      if (phase.is_object() && phase.contains("total_s") && phase["total_s"].is_number()) {
        seconds.push_back(phase["total_s"].get<double>());
      }
    }
  });
  if (seconds.empty()) {
    return fail(Errc::parse, fmt::format("a program of a case says '{}': expected the times of its phases",
                                         text::printable(output.substr(0, 200))));
  }
  return seconds;
}

double seconds_together(std::span<const std::vector<double>> programs) {
  double sum = 0;
  for (std::size_t phase = 0;; ++phase) {
    double slowest = -1;
    for (const std::vector<double>& seconds : programs) {
      if (phase < seconds.size()) slowest = std::max(slowest, seconds[phase]);
    }
    if (slowest < 0) return sum;
    sum += slowest;
  }
}

std::optional<RunSaid> run_said(std::string_view talk) {
  std::optional<RunSaid> said;
  each_object(talk, [&said](const json& told) {
    if (!told.contains("application")) return;
    const auto text = [&told](const char* key) {
      return told.contains(key) && told[key].is_string() ? told[key].get<std::string>() : std::string();
    };
    const auto count = [&told](const char* key) {
      return told.contains(key) && told[key].is_number_unsigned() ? told[key].get<std::uint64_t>() : 0;
    };
    const char* const files = told.contains("created") ? "created" : "files";
    said = RunSaid{.mode = text("mode"), .placed = count("placed"), .files = count(files), .why = text("why")};
  });
  return said;
}

std::string in_words(const RunSaid& said) {
  if (said.mode == "place") return fmt::format("placed {} of {}", said.placed, said.files);
  return said.why.empty() ? said.mode : said.why;
}

std::string words_of(std::string_view talk) {
  const auto said = run_said(talk);
  return said ? in_words(*said) : "iez said nothing";
}

std::string summed_up(std::span<const std::string> said) {
  std::vector<std::pair<std::string, std::size_t>> counted;
  for (const std::string& words : said) {
    const auto known = std::ranges::find(counted, words, &std::pair<std::string, std::size_t>::first);
    if (known != counted.end()) {
      ++known->second;
    } else {
      counted.emplace_back(words, 1);
    }
  }
  std::ranges::stable_sort(counted, std::ranges::greater(), &std::pair<std::string, std::size_t>::second);
  std::string out;
  for (const auto& [words, times] : counted) out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", words, times);
  return out;
}

Spread spread_of(std::span<const double> seconds) {
  IEZ_ASSERT(!seconds.empty());
  const auto [least, most] = std::ranges::minmax(seconds);
  return {.median = median({seconds.begin(), seconds.end()}), .least = least, .most = most, .runs = seconds.size()};
}

namespace {

// The square of the standard error of the median, relative, from the scatter of the logarithms.
double squared_error_of_median(std::span<const double> values) {
  IEZ_ASSERT(values.size() > 1);
  constexpr double kMedian = 1.2533;  // its error over that of a mean, of a normal distribution
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double one : values) mean += std::log(one) / n;
  double squares = 0;
  for (const double one : values) squares += (std::log(one) - mean) * (std::log(one) - mean);
  return kMedian * kMedian * squares / (n - 1) / n;
}

bool is_settled(double error, double ratio, double target) {
  return error <= kPrecise || std::abs(std::log(ratio / target)) > kClear * error;
}

}  // namespace

double error_of_ratio(std::span<const double> by_default, std::span<const double> placed) {
  return std::sqrt(squared_error_of_median(by_default) + squared_error_of_median(placed));
}

bool is_settled(std::span<const double> by_default, std::span<const double> placed, double target) {
  return is_settled(error_of_ratio(by_default, placed), spread_of(by_default).median / spread_of(placed).median, target);
}

bool is_settled(std::span<const double> ratios, double target) {
  return is_settled(std::sqrt(squared_error_of_median(ratios)), spread_of(ratios).median, target);
}

std::optional<std::size_t> runs_until_back(std::span<const double> by_default, std::span<const double> placed, double share) {
  if (by_default.empty()) return std::nullopt;
  const double enough = median({by_default.begin(), by_default.end()}) / share;  // seconds
  for (std::size_t first = 0; first < placed.size(); ++first) {
    const auto next = placed.subspan(first, std::min(kRunsBack, placed.size() - first));
    if (placed[first] <= enough && median({next.begin(), next.end()}) <= enough) return first;
  }
  return std::nullopt;
}

}  // namespace iez::bench
