// The life of one run: what is asked before the command starts, and what is learnt when it is over.
//
//   prepare()  which mode; the folder for traces; the plan, mended if a target of it died or filled up; the variables
//   finish()   segments -> files -> the store; how good the last prediction was; the next prediction; a plan for it, by the
//              coordinator or here; the plan file
//
// Nothing here fails the command: what cannot be done is told in notes() and left out. The store is the truth, and each of its
// changes is a transaction; the plan file is made from it and made anew where they differ. So a run that is killed at any moment
// leaves what there was before, or all of what it learnt up to some step.
//
// Thread safety: none. Several runs of one application may live at once: planning is done by one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"
#include "runs/child_process.hpp"
#include "runs/phase.hpp"
#include "runs/run_environment.hpp"

namespace iez::runs {

struct RunOptions {
  config::Settings settings;
  std::string state;  // folder; empty: there is none
  std::string owner;  // user name
  std::string application;
  std::string fingerprint;
  std::vector<std::string> command;
  std::vector<std::string> under;      // only files below these count; empty: those on Lustre and labs
  std::vector<std::string> libraries;  // to preload; empty: none was found
  std::string plan_file;               // in place of the application's own plan
  std::string trace_parent;            // empty: STATE/runs
  std::string keep_trace;              // where the merged run goes, beside the store; empty: nowhere
  std::string host;
  std::uint32_t uid = 0;
  bool learn_only = false;  // no placing this time
  bool no_place = false;    // nor a plan afterwards
  bool dry_run = false;     // prepare() changes nothing
};

// What came of it, for people and for JSON.
struct RunReport {
  Mode mode = Mode::plain;
  std::string why;   // of the mode
  std::string plan;  // that it ran with; empty: none
  std::uint64_t files = 0;
  std::uint64_t written = 0;    // bytes
  std::uint64_t planned = 0;    // files that the plan had
  std::uint64_t unplanned = 0;  // and those it had not
  std::uint64_t placed = 0;     // layouts applied
  std::optional<double> accuracy;
  bool recorded = false;
  bool given_up = false;  // the plan
  std::string next_plan;  // for the next run; empty: none
  std::string planner;    // of it: "local", or the coordinator; "pull": the coordinator will fetch the prediction
  std::uint64_t next_files = 0;
  double ost_cost_after = 0;  // of the next plan
  std::vector<std::string> notes;
};

class RunLife {
 public:
  RunLife(RunOptions options, Clock& clock);
  ~RunLife();
  RunLife(const RunLife&) = delete;
  RunLife& operator=(const RunLife&) = delete;

  void prepare();
  const Variables& variables() const;
  void finish(const Ending& ending);
  void release();  // the folder: before the process ends without its destructors

  const RunReport& report() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Where the plan file of an application is.
std::string plan_path(const std::string& state, const std::string& application);

}  // namespace iez::runs
