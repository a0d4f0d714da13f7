// What the coordinator is asked and what it answers: plain values. docs/openapi.json tells their JSON; plan_json.hpp makes it.
//
// The answer is in the order of the request and repeats no name. Fields that a peer does not know are passed over; fields that
// are missing have the values below: an older client works with a newer coordinator.
//
// Thread safety: plain values. Units: bytes; times in nanoseconds since 1970.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace iez::api {

inline constexpr std::size_t kMaxName = 4096;                 // bytes of a file's name
inline constexpr std::size_t kMaxWord = 256;                  // bytes of an application's, run's, pool's name
inline constexpr std::uint64_t kMaxPlannedFiles = 1'000'000;  // of one request, the files of patterns counted each
inline constexpr std::size_t kMaxRequestBytes = 16UL << 20U;  // of its JSON
inline constexpr std::uint64_t kMaxFileBytes = 1ULL << 62U;   // of a file
inline constexpr std::int64_t kAllTargets = -1;               // a stripe count: as many as there are
inline constexpr std::size_t kMaxPhaseSeconds = 4096;         // entries of PlanRequest::phase_seconds
inline constexpr std::size_t kMaxSlowOsts = 1024;             // entries of PlanRequest::slow
inline constexpr std::uint32_t kMaxPhase = 0xFFFFFFFE;        // the number of a phase; they need not follow each other

// One file, or a pattern that stands for several alike.
struct FileRequest {
  std::string name;  // absolute; or a pattern of docs/formats/plan.md. Any bytes but zero
  std::uint64_t bytes = 0;
  std::uint64_t high = 0;                 // what is reserved, if it is more than bytes
  std::uint64_t files = 1;                // of a pattern: how many files of this size; each gets a layout of its own
  std::int32_t stripe_count = 0;          // 0: chosen; kAllTargets: all
  std::uint64_t stripe_size = 0;          // 0: chosen
  std::string pool;                       // empty: all targets
  std::int64_t rank = -1;                 // that creates it; -1: unknown
  bool shared = false;                    // several ranks write it
  std::uint32_t phase = 0;                // in which it is written: together with the other files of that number
  std::int64_t read_phase = -1;           // in which it is read together with others; -1: in none
  bool left_alone = false;                // it gets no layout: it only takes its turn among the others where Lustre places files
  std::int32_t default_stripe_count = 1;  // that it gets without a plan; kAllTargets: all
  std::uint64_t default_stripe_size = 0;  // likewise; 0: not known

  friend bool operator==(const FileRequest&, const FileRequest&) = default;
};

// Bytes on a target that will be gone when the files are written: what these files replace.
struct FreedBytes {
  std::uint32_t ost = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const FreedBytes&, const FreedBytes&) = default;
};

// A target that recent runs found slower than the others.
struct SlowOst {
  std::uint32_t ost = 0;
  double speed = 1;  // of the others'; above 0, at most 1

  friend bool operator==(const SlowOst&, const SlowOst&) = default;
};

struct PlanRequest {
  std::string application;
  std::string file_system;    // empty: the only one that is known
  std::string run;            // the run that the prediction was made after; only for people
  std::string host;           // that asks; only for people
  std::string database;       // address of the database that it was pulled from; set by the coordinator alone
  std::uint64_t ttl_s = 0;    // seconds until the plan expires; 0: by gap_s
  double gap_s = 0;           // seconds between two runs of the application, usually; 0: not known
  double idle_s = 0;          // seconds for which the application has moved no data; 0: its run has just ended
  double ran_s = 0;           // seconds that its last run took, until idle_s ago; 0: not known
  bool keep_earlier = false;  // else earlier plans of this user, application and file system are taken back by this one
  bool always = false;        // plan though Lustre's default is predicted to be as good
  std::vector<FileRequest> files;
  std::vector<double> phase_seconds;  // that each phase lasted, by its number; 0, or missing: not known
  std::vector<std::string> spread;    // directories for whose other files weights are wanted: of clients before 0.2
  std::vector<FreedBytes> freed;      // at most one for each target
  std::vector<SlowOst> slow;          // likewise; this plan alone reckons with them: they are what its user has seen

  friend bool operator==(const PlanRequest&, const PlanRequest&) = default;
};

struct PlannedLayout {
  std::uint64_t stripe_size = 0;
  std::vector<std::uint32_t> osts;  // in stripe order; as many as there are stripes

  friend bool operator==(const PlannedLayout&, const PlannedLayout&) = default;
};

struct FileAnswer {
  std::vector<PlannedLayout> layouts;  // one; of a pattern one for each of its files; none where Lustre places them
  std::uint32_t reason = 0;            // of the first layout, in PlanAnswer::reasons

  friend bool operator==(const FileAnswer&, const FileAnswer&) = default;
};

struct OstWeight {
  std::uint32_t ost = 0;
  std::uint32_t weight = 1;  // 1 to 100

  friend bool operator==(const OstWeight&, const OstWeight&) = default;
};

struct Costs {
  double ost = 1;  // OSTCost
  double oss = 1;  // OSSCost

  friend bool operator==(const Costs&, const Costs&) = default;
};

// Where there is no plan, `plan` is empty, no file has a layout, and `verdict` says why: nothing is reserved, and the program
// runs as it would without iez.
struct PlanAnswer {
  std::string plan;            // its id: 16 hexadecimal digits; empty: there is none
  std::uint64_t revision = 1;  // grows when what was not created yet is planned anew
  std::int64_t made_ns = 0;
  std::int64_t expires_ns = 0;
  std::string application;
  std::string policy;
  std::string file_system;
  std::string verdict;               // a sentence: what the plan was compared with, and what came of it
  double gain = 1;                   // predicted: time by Lustre's default over time by plan
  std::vector<FileAnswer> files;     // as the request has them
  std::vector<std::string> reasons;  // each once
  std::vector<OstWeight> weights;    // of targets for unplanned files; empty unless the request has `spread`
  Costs before;                      // of telemetry and all pending plans
  Costs after;                       // with this plan written
  std::vector<std::string> notes;    // what a person may want to know, such as targets that are planned around

  friend bool operator==(const PlanAnswer&, const PlanAnswer&) = default;
};

// The coordinator's own node is too busy: the request is kept, and answered under this id.
struct Ticket {
  std::string plan;
  std::uint64_t retry_after_s = 1;
  std::string why;
  bool busy = false;  // nothing is planned before others' load is less: no answer comes soon

  friend bool operator==(const Ticket&, const Ticket&) = default;
};

// One of them.
struct Submitted {
  std::optional<PlanAnswer> answer;
  Ticket ticket;  // without an answer
};

// "So many files of entry `file` of the request exist by now"; 0: all of them.
struct CreatedFile {
  std::uint32_t file = 0;
  std::uint64_t files = 0;

  friend bool operator==(const CreatedFile&, const CreatedFile&) = default;
};

struct CreatedRequest {
  bool all = false;
  std::vector<CreatedFile> files;

  friend bool operator==(const CreatedRequest&, const CreatedRequest&) = default;
};

// A row of the list of plans that are not written yet, or wait.
struct PlanRow {
  std::string plan;
  std::string application;
  std::string user;
  std::string file_system;
  std::string state;     // "pending" or "queued"
  std::string database;  // that it was pulled from; empty: it was asked for
  std::uint64_t revision = 0;
  std::int64_t made_ns = 0;
  std::int64_t expires_ns = 0;
  std::uint64_t files = 0;    // planned
  std::uint64_t created = 0;  // of them
  std::uint64_t reserved = 0;

  friend bool operator==(const PlanRow&, const PlanRow&) = default;
};

// application/problem+json
struct Problem {
  std::uint32_t status = 0;
  std::string type;  // "about:blank", or a word after "urn:iez:"
  std::string title;
  std::string detail;

  friend bool operator==(const Problem&, const Problem&) = default;
};

}  // namespace iez::api
