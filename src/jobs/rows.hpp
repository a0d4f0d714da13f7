// What is kept of jobs: one row for each job, and one for each job, target and interval.
//
// Numbers that nobody measured are absent, not 0. All counters are differences, never readings of a server: what was done in the
// job, or in the interval.
//
// Thread safety: plain values. Units: bytes; times are seconds since 1970, UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace iez::jobs {

// Operations on metadata, as clients and MDTs count them.
struct MetadataCalls {
  std::uint64_t open = 0;
  std::uint64_t close = 0;
  std::uint64_t create = 0;
  std::uint64_t mkdir = 0;
  std::uint64_t mknod = 0;
  std::uint64_t rename = 0;
  std::uint64_t rmdir = 0;
  std::uint64_t unlink = 0;

  bool operator==(const MetadataCalls&) const = default;
};

struct DataCalls {
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  std::uint64_t read_calls = 0;
  std::uint64_t write_calls = 0;

  bool operator==(const DataCalls&) const = default;
};

struct NetworkCounts {
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received = 0;  // messages
  std::uint64_t sent = 0;

  bool operator==(const NetworkCounts&) const = default;
};

// A job as a whole. Its key is (cluster, id, started).
struct JobRow {
  std::string cluster;
  std::string id;    // any bytes
  std::string user;  // a uid in digits, or a keyed hash of it
  std::int64_t started = 0;
  std::int64_t ended = 0;
  std::uint32_t nodes = 0;
  std::optional<std::uint64_t> memory;  // of all its nodes
  MetadataCalls metadata;
  DataCalls data;
  std::optional<NetworkCounts> network;
  std::uint32_t silent_nodes = 0;  // that never told what they did: the sums are without them

  bool operator==(const JobRow&) const = default;
};

// What a job did to one target in the `seconds` before `time`. Its key is (cluster, target, id, time).
struct SeriesRow {
  std::string cluster;
  std::string target;  // "scratch-OST0003", "scratch-MDT0000"
  std::string id;      // empty: all jobs together, as the server counted them
  std::string user;    // empty: not known
  std::int64_t time = 0;
  std::uint32_t seconds = 60;
  MetadataCalls metadata;
  DataCalls data;

  bool operator==(const SeriesRow&) const = default;
};

}  // namespace iez::jobs
