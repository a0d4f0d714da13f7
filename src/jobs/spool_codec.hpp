// Rows as bytes: the payloads of the spool. docs/formats/job-spool.md tells every byte.
//
// Thread safety: pure functions. Memory: what the rows need; a payload of n bytes holds at most n rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "jobs/node_report.hpp"
#include "jobs/rows.hpp"

namespace iez::jobs {

inline constexpr std::string_view kFrameMagic = "iezS";
inline constexpr std::size_t kFrameHead = 12;
inline constexpr std::size_t kMaxPayload = std::size_t{4} << 20U;
inline constexpr std::size_t kMaxName = 4096;  // bytes of an id, a user, a cluster, a target, a node

// A job whose reports were summed and handed on; the row keeps its start, whichever nodes report later.
struct CollectedMark {
  std::string cluster;
  std::string id;
  std::int64_t started = 0;
  std::int64_t ended = 0;
  std::uint32_t reports = 0;  // that were in the sum

  bool operator==(const CollectedMark&) const = default;
};

struct SpoolPayload {
  std::vector<JobRow> jobs;
  std::vector<SeriesRow> series;
  std::vector<NodeReport> reports;
  std::vector<CollectedMark> marks;
  bool unknown = false;  // a kind of a later version

  bool operator==(const SpoolPayload&) const = default;
};

std::uint32_t crc32c(std::string_view bytes);

// Frames, one or more: each holds as many rows as fit. Names longer than kMaxName are cut.
std::string to_frames(std::span<const JobRow> rows);
std::string to_frames(std::span<const SeriesRow> rows);
std::string to_frames(std::span<const NodeReport> reports);
std::string to_frames(std::span<const CollectedMark> marks);

[[nodiscard]] Result<SpoolPayload> parse_payload(std::string_view payload);

}  // namespace iez::jobs
