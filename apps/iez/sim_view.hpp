// What `iez sim` says about simulated runs: tables, JSON, and CSV over time. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "config/scenario_override.hpp"
#include "json.hpp"
#include "sim/result.hpp"
#include "sim/scenario.hpp"
#include "sim_figures.hpp"

namespace iez::cli {

struct SimRun {
  std::vector<config::Override> set;  // by the sweeps
  sim::RunResult result;
};

// All runs of one command: for each combination of the sweeps, all seeds.
struct SimReport {
  std::string file;
  sim::Scenario scenario;  // of the first run
  std::vector<config::Sweep> sweeps;
  std::uint64_t seeds = 1;
  std::vector<SimRun> runs;
};

// A table for a terminal or a page.
struct Grid {
  struct Column {
    std::string title;
    bool right = true;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

std::string to_text(const Grid& grid, bool header, const Terminal& terminal);

Grid run_grid(const SimReport& report);     // a row for each run
Grid spread_grid(const SimReport& report);  // a row for each combination: means over the seeds. REQUIRES: seeds > 1
Grid job_grid(const SimReport& report);     // a row for each job of each run
Grid stable_grid(const SimReport& report);  // a row for each run that has a stable phase

// "congestion.fixed=4, job.0.processes=8"
std::string set_text(std::span<const config::Override> set);

// What a scenario consists of: what, and how much.
std::vector<std::pair<std::string, std::string>> scenario_facts(const sim::Scenario& scenario);

// Sentences about what did not go well: jobs without an end, files without space, requests that were given up.
std::vector<std::string> run_notes(const SimReport& report);

std::string report_text(const SimReport& report, bool header, bool plot, const Terminal& terminal);

ordered_json scenario_json(const std::string& file, const sim::Scenario& scenario);

std::string report_json(const SimReport& report, bool samples);

// The trace over time. Runs are counted from 1.
std::string csv_title();
std::string csv_rows(std::size_t run, std::span<const sim::Sample> samples);

// Bytes of a sample over the time since the one before it; before: 0 for the first.
double sample_bandwidth(const sim::Sample& sample, Duration before);

}  // namespace iez::cli
