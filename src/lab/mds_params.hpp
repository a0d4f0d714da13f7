// What the metadata server counts, and its parameter tree: names and texts as Lustre 2.17 has them.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "lab/config.hpp"
#include "lab/job_counters.hpp"
#include "lab/object_allocator.hpp"
#include "lab/param_files.hpp"
#include "lab/wire.hpp"
#include "model/job.hpp"

namespace iez::lab {

class MdsParams {
 public:
  MdsParams(const Config& config, WallTime start);

  // One request, as Lustre counts it: opening a new file is an open and a mknod, a lookup is a getattr.
  template <typename Message>
  void count(Op op, const Message& message, Duration took, WallTime now) {
    std::string_view job;
    if constexpr (requires { message.caller.job; }) job = message.caller.job;
    if constexpr (requires { message.target; }) {  // make
      count_make(message, job, took, now);
    } else {
      count_plain(op, job, took, now);
    }
    if constexpr (requires { message.new_parent; }) {  // rename
      const bool stays = message.parent == message.new_parent;
      count_one(stays ? model::Operation::samedir_rename : model::Operation::crossdir_rename, job, took, now);
    }
  }

  // Every second or so.
  [[nodiscard]] Result<void> write(std::span<const ObjectAllocator::Ost> osts, std::size_t clients, WallTime now);

 private:
  void count_make(const MakeRequest& request, std::string_view job, Duration took, WallTime now);
  void count_plain(Op op, std::string_view job, Duration took, WallTime now);
  void count_one(model::Operation operation, std::string_view job, Duration took, WallTime now);
  [[nodiscard]] Result<void> write_ost(const ObjectAllocator::Ost& ost);

  Config config_;
  ParamFiles files_;
  WallTime start_;
  OperationCounters all_;
  JobCounters jobs_;
};

}  // namespace iez::lab
