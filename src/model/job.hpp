// What one job did to one target, as its counters tell; and who the job is.
//
// Thread safety: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace iez::model {

// Every operation a Lustre server counts per job, once. Order: data, then objects, then names, then the rest.
// clang-format off: it never settles on this list
#define IEZ_JOB_OPERATIONS(X)                                                                                                   \
  X(read_bytes)                                                                                                                 \
  X(write_bytes)                                                                                                                \
  X(read)                                                                                                                       \
  X(write)                                                                                                                      \
  X(punch)                                                                                                                      \
  X(sync) X(fallocate) X(create) X(destroy) X(prealloc) X(getattr) X(setattr) X(statfs) X(open) X(close) X(mknod) X(link)       \
      X(unlink) X(mkdir) X(rmdir) X(rename) X(samedir_rename) X(crossdir_rename) X(parallel_rename_file) X(parallel_rename_dir) \
          X(rename_trylocks) X(getxattr) X(setxattr) X(migrate) X(get_info) X(set_info) X(quotactl)
// clang-format on

enum class Operation : std::uint8_t {
#define IEZ_ENUMERATE(name) name,
  IEZ_JOB_OPERATIONS(IEZ_ENUMERATE)
#undef IEZ_ENUMERATE
};

#define IEZ_COUNT(name) +1
inline constexpr std::size_t kOperationCount = 0 IEZ_JOB_OPERATIONS(IEZ_COUNT);
#undef IEZ_COUNT

std::string_view to_string(Operation operation);
std::optional<Operation> parse_operation(std::string_view name);

struct JobCounters {
  Bytes read_bytes;
  Bytes write_bytes;
  // Calls per operation. For read_bytes and write_bytes: the calls that moved the bytes.
  std::array<std::uint64_t, kOperationCount> calls{};

  std::uint64_t& operator[](Operation operation) { return calls[static_cast<std::size_t>(operation)]; }
  std::uint64_t operator[](Operation operation) const { return calls[static_cast<std::size_t>(operation)]; }

  JobCounters& operator+=(const JobCounters& other);
  friend bool operator==(const JobCounters&, const JobCounters&) = default;
};

// Requests served: every operation once. The timing rows read and write describe the same calls as read_bytes and write_bytes,
// and the *_rename rows detail rename; neither is counted again.
std::uint64_t operations(const JobCounters& counters);

struct JobIdentity {
  std::string id;                  // as Lustre shows it, unescaped
  std::optional<std::string> job;  // the scheduler's number
  std::optional<std::string> program;
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::optional<std::string> host;
};

}  // namespace iez::model
