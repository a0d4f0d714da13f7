#include "demo_cases.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/result.hpp"
#include "loop_results.hpp"

namespace iez::cli {

namespace {

using workload::Kind;
using workload::Pattern;
using workload::SizeLaw;

Pattern ior(std::uint32_t ranks, std::uint64_t mib) {
  return {.kind = Kind::ior,
          .ranks = ranks,
          .file_per_process = true,
          .block = Bytes::mib(mib),
          .transfer = Bytes::mib(1),
          .seed = 3};
}

// About so many MiB each: a header of a thirtieth, as in the benchmark's usual runs.
Pattern hacc(std::uint32_t ranks, std::uint64_t mib) {
  return {.kind = Kind::hacc,
          .ranks = ranks,
          .file_per_process = true,
          .particles = Bytes::mib(mib).count / 38,
          .header = Bytes::kib(mib * 32),
          .seed = 3};
}

Pattern varied(Pattern pattern, double deviation) {
  pattern.law = SizeLaw::lognormal;
  pattern.spread = deviation;
  if (pattern.kind == Kind::ior) pattern.transfer = Bytes::kib(256);
  return pattern;
}

Pattern shared(Pattern pattern, std::uint64_t segments) {
  pattern.file_per_process = false;
  pattern.block = pattern.transfer;
  pattern.segments = segments;
  return pattern;
}

}  // namespace

std::vector<DemoCase> demo_cases(bool quick) {
  // MiB of the files. Writing takes two seconds or more where files are of one size: to place them costs a hundredth of that,
  // which is what evenness is worth. Elsewhere there is more to gain, and less will do. All of it with three runs each way takes
  // about six minutes.
  const std::uint64_t size = quick ? 1 : 4;
  const std::uint64_t less = quick ? 1 : 2;
  const std::uint64_t hacc_size = quick ? 2 : 7;
  // Of the files that differ: all are large enough to be worth a plan.
  const std::uint64_t mean = 4;
  std::vector<DemoCase> cases;
  cases.push_back({.id = "ior-count8",
                   .title = "IOR, 64 processes, 8 stripes",
                   .applications = {{.name = "ior8", .pattern = ior(64, size), .stripe_count = 8}},
                   .published_default = 1.47,
                   .published_iez = 1.01});
  cases.push_back({.id = "ior-count4",
                   .title = "IOR, 64 processes, 4 stripes",
                   .applications = {{.name = "ior4", .pattern = ior(64, size), .stripe_count = 4}},
                   .published_default = 1.22,
                   .published_iez = 1.01});
  cases.push_back({.id = "hacc-count8",
                   .title = "HACC-IO, 32 processes, 8 stripes",
                   .applications = {{.name = "hacc8", .pattern = hacc(32, hacc_size), .stripe_count = 8}},
                   .published_default = 1.37,
                   .published_iez = 1.00});
  cases.push_back({.id = "hacc-and-ior",
                   .title = "HACC-IO and IOR at once",
                   .applications = {{.name = "hacc", .pattern = hacc(16, less), .stripe_count = 8, .client = 0},
                                    {.name = "ior", .pattern = ior(16, 4 * less), .stripe_count = 4, .client = 1}},
                   .published_default = 1.17,
                   .published_iez = 1.00});
  if (!quick) {
    cases.push_back(
        {.id = "shared",
         .title = "IOR and HACC-IO at once, one shared file each",
         .applications = {{.name = "iorshared", .pattern = shared(ior(16, 1), 4 * less), .stripe_count = 8, .client = 0},
                          {.name = "haccshared", .pattern = hacc(16, less), .stripe_count = 7, .client = 1}}});
    cases.back().applications[1].pattern.file_per_process = false;
  }
  cases.push_back({.id = "unequal",
                   .title = "IOR, 48 files of unequal sizes, 1 stripe",
                   .applications = {{.name = "uneven", .pattern = varied(ior(48, mean), 0.5), .stripe_count = 1}},
                   .unequal = true});
  // A program waits for the slowest OST of each step. Nobody has said how many stripes files get: iez may choose.
  cases.push_back({.id = "steps",
                   .title = "IOR, 15 processes, 4 steps, unequal sizes",
                   .applications = {{.name = "steps", .pattern = varied(ior(15, less), 0.5), .stripe_count = 0, .steps = 4}},
                   .unequal = true});
  cases.push_back({.id = "one-file",
                   .title = "IOR, 8 processes, one file, 1 stripe by default",
                   .applications = {{.name = "onefile", .pattern = shared(ior(8, 1), 2 * less), .stripe_count = 0}}});
  if (!quick) {
    cases.push_back(
        {.id = "unequal-two",
         .title = "HACC-IO and IOR at once, unequal sizes, 1 stripe",
         .applications = {{.name = "unevenhacc", .pattern = varied(hacc(24, size), 0.5), .stripe_count = 1, .client = 0},
                          {.name = "unevenior", .pattern = varied(ior(24, size), 0.5), .stripe_count = 1, .client = 1}},
         .unequal = true});
  }
  return cases;
}

double DemoRates::median() const {
  if (values_.empty()) return 0;
  std::vector<double> sorted = values_;
  std::ranges::sort(sorted);
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

double DemoRates::least() const { return values_.empty() ? 0 : std::ranges::min(values_); }

double DemoRates::most() const { return values_.empty() ? 0 : std::ranges::max(values_); }

DemoGain gain_of(const DemoRates& by_default, const DemoRates& by_iez) {
  const auto within = [](double value, const DemoRates& rates) { return value >= rates.least() && value <= rates.most(); };
  const double a = by_default.median();
  const double b = by_iez.median();
  const double factor = a > 0 ? b / a : 0;
  return {.factor = factor, .is_tie = within(a, by_iez) || within(b, by_default) || std::abs(factor - 1) < kDemoTie};
}

std::string demo_said(const std::vector<std::string>& talks) {
  bench::RunSaid all;
  for (const std::string& talk : talks) {
    const auto said = bench::run_said(talk);
    if (!said) continue;
    all.placed += said->placed;
    all.files += said->files;
    if (said->mode != "place" && all.why.empty()) all.why = said->why;
  }
  if (all.placed > 0) return fmt::format("placed {} of {}", all.placed, all.files);
  return all.why.empty() ? "not placed" : "not placed: " + all.why;
}

double largest_over_mean(const std::vector<std::uint64_t>& values) {
  const std::uint64_t sum = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  if (sum == 0) return 1;
  const std::uint64_t largest = *std::ranges::max_element(values);
  return static_cast<double>(largest) * static_cast<double>(values.size()) / static_cast<double>(sum);
}

std::vector<std::uint64_t> server_sums(const std::vector<std::uint64_t>& osts, std::size_t osts_per_server) {
  IEZ_ASSERT(osts_per_server > 0);
  std::vector<std::uint64_t> sums((osts.size() + osts_per_server - 1) / osts_per_server);
  for (std::size_t i = 0; i < osts.size(); ++i) sums[i / osts_per_server] += osts[i];
  return sums;
}

}  // namespace iez::cli
