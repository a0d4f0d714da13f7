#include "bench.hpp"

#include <array>

#include "collective.hpp"
#include "forecast.hpp"
#include "jobs.hpp"
#include "lab_disks.hpp"
#include "loop.hpp"
#include "loop_cases.hpp"
#include "lustre_parse.hpp"
#include "place.hpp"
#include "planning.hpp"
#include "preload.hpp"
#include "sim.hpp"

namespace iez::bench {

namespace {

constexpr std::array kBenches{
    Bench{"lustre-parse", "job_stats of 25,000 jobs against Python's C YAML loader, and memory at ten times the size",
          run_lustre_parse},
    Bench{"place", "placements against proven optima, bounds, Lustre's policies, LEMON and networkx", run_place},
    Bench{"plan", "plans by phases against lower bounds, and the time and memory of a large one", run_planning},
    Bench{"forecast", "forecasts against known likelihoods, laws, statsmodels and R; merging of traces, discovery of names",
          run_forecast},
    Bench{"sim", "simulated runs against SimGrid, and the time and memory of a machine of 100,000 nodes", run_sim},
    Bench{"preload", "what libiez.so adds to the calls of a program, against other tracers, and its memory", run_preload},
    Bench{"lab", "the disks of a lab, with files spread evenly over them and unevenly", run_lab},
    Bench{"loop", "the closed loop: balance and rates of the demo's cases against Lustre's default, and what its parts cost",
          run_loop},
    Bench{"collective",
          "collective MPI-IO of many processes, with libiez-mpi-*.so, against OMPIO, ROMIO, POSIX and a copy of memory",
          run_collective},
    Bench{"jobs", "statistics of millions of jobs: the report against pandas, the store's speed and size, what sampling costs",
          run_jobs}};

}  // namespace

std::optional<bool> reached(const Figure& figure) {
  if (!figure.value || !figure.target) return std::nullopt;
  return figure.higher_is_better ? *figure.value >= *figure.target : *figure.value <= *figure.target;
}

double ratio_of(const ComparedCase& compared) {
  return compared.placed.median > 0 ? compared.by_default.median / compared.placed.median : 0;
}

std::span<const Bench> benches() { return kBenches; }

std::vector<std::string_view> case_names() {
  std::vector<std::string_view> names;
  for (const LoopCase& known : loop_cases()) names.push_back(known.name);
  return names;
}

}  // namespace iez::bench
