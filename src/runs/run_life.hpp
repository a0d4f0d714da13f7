// The life of one run: what is asked before the command starts, and what is learnt when it is over.
//
//   prepare()  which mode; the folder for traces; the plan, made anew if the run has another number of ranks than it is for, or a
//              target of it died or filled up; files moved aside where that is asked for; the variables
//   finish()   segments -> files -> the store; how good the last prediction was, and whether placed runs are faster; the next
//              prediction; a plan for it, by the coordinator or here, or why there is none; the plan file
//   not_started()  in place of finish(): the command could not be started; what was moved aside is put back
//
// Nothing here fails the command: what cannot be done is told in notes() and left out. The store is the truth, and each of its
// changes is a transaction; the plan file is made from it and made anew where they differ. So a run that is killed at any moment
// leaves what there was before, or all of what it learnt up to some step.
//
// Thread safety: none. Several runs of one application may live at once: planning is done by one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"
#include "runs/child_process.hpp"
#include "runs/mode.hpp"
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
  // What keeps a program from being traced, by its file ("NAME: static program"); empty: nothing that can be told from it. Asked
  // when nothing was traced; may be empty itself.
  std::function<std::string()> why_unseen;
  std::string host;
  std::uint32_t uid = 0;
  std::uint32_t ranks = 0;            // of this run, as far as its command tells (rank_count.hpp); 0: not known
  bool learn_only = false;            // no placing this time
  bool no_place = false;              // nor a plan afterwards
  bool replace = false;               // files that would be written over are moved aside before the run
  bool override_directories = false;  // directories with a layout of their own are planned, too
  bool dry_run = false;               // prepare() changes nothing
};

// What came of it, for people and for JSON.
struct RunReport {
  Mode mode = Mode::plain;
  std::string why;                 // of the mode
  std::string plan;                // that it ran with; empty: none
  std::uint64_t files = 0;         // created, or written
  std::uint64_t written = 0;       // bytes
  std::uint64_t created = 0;       // of the files: made by this run, and large enough to be planned
  std::uint64_t predicted = 0;     // of those
  std::uint64_t existing = 0;      // large enough, and written over in place
  std::uint64_t placed = 0;        // of those created, by the plan; where there was no prediction, all layouts applied
  std::uint64_t refused = 0;       // layouts that the file system did not take, or that others were faster with
  std::uint64_t respected = 0;     // files in directories with a layout of their own
  std::optional<double> accuracy;  // of sizes, 0 to 100
  std::optional<double> ost_cost;  // the fullest OST over the mean, by what this run wrote to large files
  bool recorded = false;
  bool traced = false;                // anything at all
  bool given_up = false;              // the plan
  std::string gain;                   // placed runs against those by default, in words; empty: nothing to compare yet
  std::optional<double> write_ratio;  // likewise, of the rates
  std::optional<double> read_ratio;
  std::string next_plan;  // for the next run; empty: none
  std::string verdict;    // what planning the next run came to
  std::string planner;    // of it: "local", or the coordinator; "pull": the coordinator will fetch the prediction
  std::uint64_t next_files = 0;
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
  void beat() const;  // once in kHeartbeat, while the command runs
  void finish(const Ending& ending);
  void not_started();
  void release();  // the folder: before the process ends without its destructors

  const RunReport& report() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Where the plan file of an application is.
std::string plan_path(const std::string& state, const std::string& application);

}  // namespace iez::runs
