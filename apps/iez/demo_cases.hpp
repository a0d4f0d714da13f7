// The cases of `iez demo`: which applications write what, and what was published for cases like them. And what came of them.
//
// Thread safety: plain values and pure functions. Times are seconds, rates MB/s (10^6).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "workload/pattern.hpp"

namespace iez::cli {

// Of an OST. So slow that the machine does not decide: a lab moves some 300 MB/s on two cores, its fifteen OSTs 120 MB/s.
inline constexpr BytesPerSecond kDemoOstRate{8e6};

struct DemoApplication {
  std::string name;  // also that of its folder
  workload::Pattern pattern;
  std::uint16_t stripe_count = 1;  // default of its folder; 0: the folder has none, and iez may choose
  std::uint32_t client = 0;
  std::uint32_t steps = 1;  // each with files of its own
};

struct DemoCase {
  std::string id;
  std::string title;
  std::vector<DemoApplication> applications;  // at once
  std::optional<double> published_default;    // OSTCost
  std::optional<double> published_iez;
  bool unequal = false;  // files of different sizes
};

// Patterns have no file names yet.
std::vector<DemoCase> demo_cases(bool quick);

// Of one way: a value for each run, in their order.
class DemoRates {
 public:
  void add(double mb_s) { values_.push_back(mb_s); }

  [[nodiscard]] double median() const;  // 0: there was no run
  [[nodiscard]] double least() const;
  [[nodiscard]] double most() const;

 private:
  std::vector<double> values_;
};

// One way, by default or placed.
struct DemoWay {
  DemoRates write_mb_s;
  DemoRates read_mb_s;
  double ost_cost = 0;  // of its last run, as all below
  double oss_cost = 0;
  std::vector<std::uint64_t> used;  // bytes of each OST
  std::string said;                 // by iez, of this run: "placed 64 of 64"
};

// The ratio of two medians, or that nobody can tell them apart: one of them lies within the spread of the other's runs, or they
// are so near that a machine with other work decides.
inline constexpr double kDemoTie = 0.02;
struct DemoGain {
  double factor = 0;
  bool is_tie = false;

  [[nodiscard]] double told() const { return is_tie ? 1 : factor; }
};
DemoGain gain_of(const DemoRates& by_default, const DemoRates& by_iez);

struct DemoOutcome {
  DemoCase about;
  DemoWay by_default;
  DemoWay by_iez;
  std::optional<double> optimum;  // the least OSTCost there is for these files; none: it depends on stripes that iez may choose
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] DemoGain write_gain() const { return gain_of(by_default.write_mb_s, by_iez.write_mb_s); }
  [[nodiscard]] DemoGain read_gain() const { return gain_of(by_default.read_mb_s, by_iez.read_mb_s); }
};

// What iez said of a run, from the standard error of `iez run --json` of each application: "placed 64 of 64", or "not placed",
// and why if it says so.
std::string demo_said(const std::vector<std::string>& talks);

// Largest over mean; 1 where nothing is used.
double largest_over_mean(const std::vector<std::uint64_t>& values);
// Sums of so many OSTs each.
std::vector<std::uint64_t> server_sums(const std::vector<std::uint64_t>& osts, std::size_t osts_per_server);

}  // namespace iez::cli
