// `iez sim compare`: two scenarios side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "sim_figures.hpp"
#include "sim_view.hpp"

namespace iez::cli {

struct SimCompareOptions {
  std::string a;
  std::string b;
  std::vector<std::string> set;  // "key=value", laid over both
  std::uint64_t seeds = 1;       // runs of each, with the seeds from the scenario's on
  std::string html;              // a file to write; "-": standard output
  std::optional<std::uint64_t> threads;
  bool json = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_sim_compare(const SimCompareOptions& options, Context& context);

// One figure of both; none where no run has it.
struct Compared {
  std::string name;
  std::string key;
  std::string job;  // empty: of all
  FigureUnit unit = FigureUnit::count;
  std::optional<Spread> a;
  std::optional<Spread> b;
};

// The figures that at least one of them has, then those of jobs that have the same name in both.
std::vector<Compared> compare_runs(const SimReport& a, const SimReport& b);

// (b - a) / a; none if either is missing, or a is 0 and b is not.
std::optional<double> change_of(const Compared& figure);

Grid compare_grid(const std::vector<Compared>& figures);

}  // namespace iez::cli
