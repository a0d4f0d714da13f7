// From counters to rates: what each job did between two samples.
//
// A JobSample holds, for each (job, target) pair, the few counters a rate needs, and for each job the sum of all its counters.
// Memory: 80 bytes a pair; a site's 25,000 jobs on 20 targets take 40 MB. At most Options::max_jobs distinct ids are kept, the
// rest are counted.
//
// The law of one pair. Lustre's counters only grow, except that an entry idle for 600 s is dropped and starts again at zero, an
// administrator may clear it, and a target may restart. So:
//   - every counter grew, and the entry is not younger than the first sample: the difference;
//   - any counter fell, or the entry's start_time moved: it restarted, and what it shows now happened since: the new value;
//   - the pair is only in the second sample: all of it happened since;
//   - the pair is only in the first: what it did before it was dropped is unknown: nothing, and the pair is counted as ended.
// A restart loses what was done between the first sample and the drop, so a rate may be low, never negative and never too high.
// That needs whole samples with a time: a target that was read in part, or whose time is not known, in either, has no rates.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "lustre/job_stats.hpp"
#include "model/job.hpp"

namespace iez::lustre {

struct JobTraffic {
  Bytes read;
  Bytes written;
  std::uint64_t read_calls = 0;
  std::uint64_t write_calls = 0;
  std::uint64_t operations = 0;

  JobTraffic& operator+=(const JobTraffic& other);
  friend bool operator==(const JobTraffic&, const JobTraffic&) = default;
};

JobTraffic traffic(const model::JobCounters& counters);

// The law above for one pair.
struct TrafficChange {
  JobTraffic change;
  bool restarted = false;
};
TrafficChange change(const JobTraffic& before, const JobTraffic& after, bool start_moved);

struct JobTarget {
  std::string name;  // "lustre-OST0003"
  std::string server;
  std::optional<WallTime> sampled;  // when its counters were read; none: not known
  bool whole = true;                // false: rows were skipped, or reading failed half way
};

class JobSample {
 public:
  struct Options {
    std::size_t max_jobs = 1'000'000;
  };
  struct Pair {
    std::uint32_t job = 0;     // index into ids()
    std::uint32_t target = 0;  // index into targets()
    JobTraffic traffic;
    std::optional<WallTime> start;
    std::optional<Duration> lifetime;  // from the entry's first operation to its last, where Lustre tells (from 2.14 on)
  };

  JobSample() = default;
  explicit JobSample(Options options) : options_(options) {}

  // The index to pass to add().
  std::uint32_t add_target(JobTarget target);
  void add(std::uint32_t target, const JobEntry& entry);

  const std::vector<std::string>& ids() const { return ids_; }
  const std::vector<JobTarget>& targets() const { return targets_; }
  JobTarget& target(std::uint32_t index) { return targets_[index]; }
  const std::vector<Pair>& pairs() const { return pairs_; }
  const model::JobCounters& totals(std::uint32_t job) const { return totals_[job]; }
  std::optional<std::uint32_t> find(std::string_view id) const;
  std::uint64_t dropped() const { return dropped_; }  // entries beyond max_jobs

 private:
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  Options options_;
  std::vector<std::string> ids_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> index_;
  std::vector<model::JobCounters> totals_;
  std::vector<JobTarget> targets_;
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> last_pair_;  // of each job: where a second entry of the same target is added
  std::uint64_t dropped_ = 0;
};

struct PairRate {
  JobTraffic change;
  Duration interval{0};  // 0: no time passed between the samples of this target; no rate
  bool restarted = false;
};

struct JobChanges {
  std::vector<PairRate> pairs;  // one for each of after.pairs()
  std::uint64_t restarted = 0;
  std::uint64_t ended = 0;            // pairs that are gone
  std::uint64_t backward_clocks = 0;  // targets whose second sample is older than the first: without a rate
  std::uint64_t untimed = 0;          // targets whose time is not known
  std::uint64_t partial = 0;          // targets read in part
};

// Targets are matched by name, jobs by id.
JobChanges changes(const JobSample& before, const JobSample& after);

}  // namespace iez::lustre
