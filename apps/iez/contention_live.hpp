// Who writes to which OST now, from job_stats: for `iez contention` and `iez advise`.
//
// A job uses an OST if it wrote to it: since the earlier of two samples, or else since Lustre's entry of the job began. Entries
// stay for a while after a job's last operation, so that one sample alone shows jobs that may have ended already.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "command.hpp"
#include "contention/live.hpp"
#include "job_view.hpp"
#include "lustre/job_rates.hpp"

namespace iez::cli {

inline constexpr Bytes kMinBytes = Bytes::mib(1);

struct LiveRequest {
  const lustre::JobSample* before = nullptr;    // none: a single sample
  std::string file_system;                      // empty: the only one there is
  Bytes min_bytes = kMinBytes;                  // jobs that wrote less, to all OSTs together, are left out
  std::optional<std::set<std::uint32_t>> osts;  // only these; none: all with job_stats
  std::optional<std::uint32_t> machine_osts;    // none: as many as have job_stats
};

struct LiveView {
  std::string file_system;
  std::uint32_t osts = 0;  // the machine's
  RateBasis basis = RateBasis::none;
  std::optional<Duration> interval;
  std::vector<std::string> jobs;  // names of LiveState's job numbers
  std::vector<Bytes> job_bytes;   // written by each
  std::vector<Bytes> ost_bytes;   // one for each of state.osts
  std::uint64_t jobs_seen = 0;    // that have an entry on an OST
  std::uint64_t jobs_small = 0;   // of these, wrote something, but less than min_bytes
  lustre::JobChanges changes;
  contention::LiveState state;
};

// Pure. Fails if targets of several file systems are there and none is named.
[[nodiscard]] Result<LiveView> make_live_view(const lustre::JobSample& after, const LiveRequest& request,
                                              const contention::LiveOptions& options);

struct LiveTables {
  std::size_t rows = 0;  // of each; 0: all
  bool header = true;
  bool by_rate = false;  // of jobs; else the most crowded first
};

std::string live_text(const LiveView& view, const LiveTables& tables, const Terminal& terminal);
std::string live_json(const LiveView& view, std::size_t rows, const input::ParseReport& report, std::optional<WallTime> now);

}  // namespace iez::cli
