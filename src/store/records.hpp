// What the interaction database holds, as plain values. docs/formats/store.md tells how they become tables.
//
// Names are bytes: absolute paths need not be UTF-8. Times are nanoseconds since 1970, sizes are bytes. Numbers of the database
// (`id`) are 1 or more; 0 stands for "none" or "not stored yet".
//
// A `key` is what a record is known by outside of its database: 32 hexadecimal digits. Storing the same key twice stores once,
// and gives the number that the first one got; empty: the store makes one.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace iez::store {

using Id = std::int64_t;

inline constexpr std::size_t kMaxName = 4096;       // bytes of a file's name
inline constexpr std::size_t kMaxAppName = 255;     // bytes of an application's name, and of its owner's
inline constexpr std::size_t kMaxShort = 255;       // bytes of hosts, jobs, plans, policies, planners, file systems, fingerprints
inline constexpr std::size_t kMaxText = 4U << 20U;  // bytes of commands, models, details, reasons

// A program as one user runs it. Owner and name together are unique.
struct Application {
  Id id = 0;
  std::string owner;        // user name; several users share a database of a site
  std::string name;         // as --app says, or made of the fingerprint
  std::string fingerprint;  // of its command; empty: not known
  std::int64_t created_ns = 0;

  friend bool operator==(const Application&, const Application&) = default;
};

enum class RunMode : std::uint8_t { learn, place };

// Files that a run wrote, or read, at the same time (planning/phases.hpp).
struct RunPhase {
  bool reads = false;
  double seconds = 0;  // from the first to the last of it
  Bytes bytes;
  std::uint64_t files = 0;
  std::uint32_t osts = 0;  // that they lie on; 0: not known

  friend bool operator==(const RunPhase&, const RunPhase&) = default;
};
// What a run saw of an OST that it wrote to (planning/target_speeds.hpp).
struct RunTarget {
  OstIndex ost;
  double speed = 1;         // of the others'
  std::uint32_t place = 0;  // of the file that says so, among those of its phase

  friend bool operator==(const RunTarget&, const RunTarget&) = default;
};
// The OSTs of one file system, in order; none: the run wrote there, and saw nothing of them.
struct RunTargets {
  std::string file_system;
  std::vector<RunTarget> targets;

  friend bool operator==(const RunTargets&, const RunTargets&) = default;
};
inline constexpr std::size_t kMaxTargets = 10'000;  // kept of a run and file system

inline constexpr std::size_t kMaxPhases = 256;  // kept of a run; the last one is the sum of those beyond

// One run of an application. The sums are kept when the files are not any more.
struct Run {
  Id id = 0;
  std::string key;
  Id application = 0;
  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;
  std::string command;  // arguments joined for people; never run again
  std::string host;
  std::uint32_t uid = 0;
  std::string job;
  std::uint32_t ranks = 0;      // of the program; 0: not known
  std::uint32_t processes = 0;  // that left a trace
  RunMode mode = RunMode::learn;
  std::int32_t exit_status = 0;  // of the command; 128 + signal
  std::string plan;              // the plan it ran with; empty: none

  // Set by the store from the rows given to record_run().
  std::uint64_t files = 0;
  Bytes written;
  Bytes read;
  std::uint64_t misses = 0;

  std::uint64_t planned = 0;    // files created by plan
  std::uint64_t unplanned = 0;  // files created that no plan had

  // How well the last prediction before it had foretold it; none: there was none.
  std::optional<double> accuracy;   // of the sizes of files met, in percent
  std::optional<double> by_weight;  // and by bytes, where a file not foretold counts as all error
  std::uint64_t foretold = 0;       // files that the prediction had
  std::uint64_t met = 0;            // of them, written

  std::uint64_t files_kept = 0;  // rows that files() still gives: all or none. Set by the store.

  std::vector<RunPhase> phases;     // of files that are large enough to be planned; in order, at most kMaxPhases
  std::vector<RunTargets> targets;  // by file system

  friend bool operator==(const Run&, const Run&) = default;
};

// What a run did to one file, in order of creation.
struct FileRow {
  std::string name;     // as it was opened
  std::string renamed;  // the name it had at the end, if another
  Bytes written;        // what was written over counts once
  Bytes read;
  std::uint32_t stripe_count = 0;  // 0: not known
  Bytes stripe_size;
  std::int32_t rank = -1;   // of the one that wrote it; -1: not known
  std::uint32_t ranks = 0;  // that wrote it, or, if none did, read it; 0: not known
  bool created = false;     // by this run
  std::int32_t phase = -1;  // in which it was written, from 0; -1: not known, or in none
  std::int32_t read_phase = -1;
  bool removed = false;     // it did not survive the run
  bool own_layout = false;  // the program, or who ran it, chose its stripes

  friend bool operator==(const FileRow&, const FileRow&) = default;
};

// A file that the plan did not have, or whose layout was not applied.
struct Miss {
  std::string name;
  std::string why;  // a word: unplanned, refused, existing, elsewhere, respected, taken

  friend bool operator==(const Miss&, const Miss&) = default;
};

// One file of the next run, or several whose names have a part that cannot be known.
struct PredictionRow {
  std::string name;                   // absolute; a pattern of docs/formats/plan.md where open
  std::string created_as;             // the name it is created by, where it is renamed later; empty: the same
  Bytes bytes;                        // of one
  Bytes high;                         // not exceeded with the probability asked for
  std::uint32_t stripe_count = 0;     // 0: to be chosen
  Bytes stripe_size;                  // 0: to be chosen
  std::int32_t rank = -1;             // -1: not known, or shared
  bool shared = false;                // several ranks write it, or will read it
  bool open = false;                  // the name is a pattern
  std::uint64_t files = 1;            // it stands for
  std::uint32_t phase = 0;            // in which it will be written
  std::int32_t read_phase = -1;       // in which it will be read together with others; -1: none
  bool left_alone = false;            // too small to be planned: it only takes its turn among the others
  std::uint32_t default_stripes = 1;  // that it gets without a plan
  Bytes default_stripe_size;          // likewise; 0: not known

  friend bool operator==(const PredictionRow&, const PredictionRow&) = default;
};

struct Prediction {
  Id id = 0;
  std::string key;
  Id application = 0;
  Id run = 0;  // the newest run it was made from; 0: none
  std::int64_t made_ns = 0;
  std::uint32_t ranks = 0;         // it is for; 0: not known
  std::string model;               // JSON: templates and laws, for people and for the next prediction
  std::optional<double> accuracy;  // in percent: how well the last run would have been foretold
  std::vector<PredictionRow> rows;
  std::vector<double> phase_seconds;  // of each phase of the rows, as last seen; 0: not known
  std::string verdict;                // what planning came to where there is no plan; empty: there is one, or it is to come

  // Set by the store, also where the rows are not asked for or not kept any more.
  std::uint64_t row_count = 0;
  Bytes bytes;
  Id allocation = 0;  // the newest one of it; 0: none yet

  friend bool operator==(const Prediction&, const Prediction&) = default;
};

struct StripeLayout {
  Bytes stripe_size;
  std::vector<OstIndex> osts;  // in stripe order; their number is the stripe count

  friend bool operator==(const StripeLayout&, const StripeLayout&) = default;
};

enum class PlanState : std::uint8_t {
  planned,  // not yet written: its space counts
  created,  // the file exists
  expired,  // will not be written
};

std::string_view to_string(RunMode mode);
std::string_view to_string(PlanState state);

// Where one row of the prediction goes, and why.
struct AllocationRow {
  std::uint32_t row = 0;              // of the prediction, from 0
  std::vector<StripeLayout> layouts;  // one; several are taken in turn by the files of a pattern
  std::string reason;
  PlanState state = PlanState::planned;

  // Of the prediction; set by the store when read, not looked at when written.
  std::string name;
  std::string created_as;
  Bytes bytes;
  std::uint64_t files = 1;

  friend bool operator==(const AllocationRow&, const AllocationRow&) = default;
};

struct Allocation {
  Id id = 0;
  std::string key;
  Id prediction = 0;
  Id application = 0;  // set by the store
  std::string plan;    // the plan's id, as whoever planned it names it
  std::int64_t made_ns = 0;
  std::string planner;  // URL of the coordinator, or "local"
  std::string policy;
  std::string file_system;
  std::string details;  // JSON: weights for unplanned files, balance, notes; not looked at by the store
  std::vector<AllocationRow> rows;

  // Set by the store, also where the rows are not asked for or not kept any more.
  std::uint64_t row_count = 0;
  std::uint64_t planned = 0;  // rows in this state
  std::uint64_t created = 0;
  std::uint64_t expired = 0;

  friend bool operator==(const Allocation&, const Allocation&) = default;
};

}  // namespace iez::store
