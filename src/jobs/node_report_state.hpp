// What a node keeps between the prolog and the epilog of a job: a folder of small files, for root alone.
//
//     STATE/CLUSTER-ID.before       the job and the reading before it, written by the prolog
//     STATE/CLUSTER-ID.unsent       a report that the spool did not take; the next prolog or epilog tries again
//
// (names are made safe by kSafe letters and %HH). Files appear whole, by renaming. A prolog that runs twice, as after a requeue,
// replaces what the first one left. What an epilog never came for is told of by the next prolog, and removed after kForgotten.
//
// Thread safety: none; several processes may use one folder, each for jobs of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "jobs/llite_reading.hpp"
#include "jobs/node_report.hpp"

namespace iez::jobs {

inline constexpr std::int64_t kForgotten = std::int64_t{30} * 24 * 3600;  // seconds

struct BeforeJob {
  JobOnNode job;
  std::uint32_t others = 0;  // jobs that were on the node already
  NodeReading reading;

  bool operator==(const BeforeJob&) const = default;
};

std::string to_text(const BeforeJob& before);
[[nodiscard]] Result<BeforeJob> parse_before(std::string_view text, std::string_view origin);

class NodeState {
 public:
  // Makes the folder, mode 0700. Refuses one that others could write to.
  [[nodiscard]] static Result<NodeState> open(const std::string& folder);

  [[nodiscard]] Result<void> keep(const BeforeJob& before);
  // Errc::not_found: no prolog ran here.
  [[nodiscard]] Result<BeforeJob> find(std::string_view cluster, std::string_view id) const;
  void forget(std::string_view cluster, std::string_view id);

  // Jobs of this life of the node whose epilog has not come, but for this one.
  std::uint32_t others(std::string_view cluster, std::string_view id) const;

  // Frames that the spool did not take (spool_codec.hpp), one file each.
  [[nodiscard]] Result<void> keep_unsent(std::string_view cluster, std::string_view id, std::string_view frames);
  std::vector<std::string> unsent() const;  // paths
  [[nodiscard]] Result<std::string> read(const std::string& path) const;
  void remove(const std::string& path);

  // Readings older than kForgotten: how many were removed.
  std::uint32_t remove_forgotten(std::int64_t now);

 private:
  explicit NodeState(std::string folder) : folder_(std::move(folder)) {}

  std::string path_of(std::string_view cluster, std::string_view id, std::string_view suffix) const;
  [[nodiscard]] Result<void> write(const std::string& path, std::string_view text) const;
  std::vector<std::string> files(std::string_view suffix) const;

  std::string folder_;
};

}  // namespace iez::jobs
