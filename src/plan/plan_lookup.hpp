// Finds the layout of a file that is about to be created, in a plan file (plan_format.hpp).
//
// Freestanding: libc only, no allocation, no exceptions, no locks, nothing static that changes. The preload library calls it
// inside other people's processes. The file is read by pread(), not mapped: whoever cuts a file short that others have mapped
// ends those processes with SIGBUS; a short read is only an answer. So the bytes may change between two calls: every offset and
// count is compared with the size of the file before it is used, and a name is compared whole before its layout is believed.
//
// Cost: one read for the place of the bucket and one for the bucket with names and layouts, whatever the number of files. Names
// that are not listed go on to the rules: one read for each 4 KiB of the trie that the search touches, then three. The search
// branches by what the name has next, so that it grows with the length of the name, not with the number of rules; where fields
// leave a choice it tries both, at most abi::kMaxSteps times.
//
// Thread safety: safe from any thread; async-signal-safe when pread() is.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "plan/plan_format.hpp"

namespace iez::plan {

// The system as the lookup sees it: -1 and errno, as in libc.
struct LookupCalls {
  ssize_t (*pread)(int fd, void* to, std::size_t size, off_t offset);
};

enum class PlanState : std::uint8_t {
  ready,
  unreadable,     // pread failed
  not_a_plan,     // no magic, or too short for a header
  other_version,  // of the format, or of the byte order
  damaged,        // sizes that contradict each other, or a wrong checksum of the header
};

// What is remembered of an open plan file. The descriptor stays the caller's.
struct OpenPlan {
  int fd = -1;
  std::uint64_t size = 0;
  std::uint64_t id = 0;  // of this plan: goes into the trace, so that a run can be compared with what was planned
  std::uint64_t file_count = 0;
  std::uint64_t bucket_count = 0;
  std::uint64_t directory_at = 0;
  std::uint64_t layouts_at = 0;
  std::uint64_t layouts_size = 0;
  std::uint64_t rules_at = 0;
  std::uint64_t rules_size = 0;
  std::uint64_t trie_at = 0;
  std::uint64_t trie_size = 0;
  std::uint32_t rule_count = 0;
};

// Leaves errno as it was, as find_layout() does.
PlanState open_plan(const LookupCalls& calls, int fd, OpenPlan& plan);

enum class Found : std::uint8_t {
  nothing,
  file,     // by its name
  pattern,  // by a template such as /scratch/ckpt.{step}.{rank}
  spread,   // by the rule for files that nobody planned
  damaged,  // the file is not what open_plan() saw
};

inline constexpr std::size_t kMaxRequest = abi::kMaxRequest;  // an explicit list of 2000 OSTs

// The bytes to set the layout with, as lustre::encode_request() makes them. The search works in them, too, so that it needs
// little of the caller's stack.
struct FoundLayout {
  std::uint32_t size = 0;
  alignas(8) std::byte bytes[kMaxRequest];
};

// name: absolute, without a terminating zero; any bytes. Where several apply: the file, then what the search in the rules meets
// first. It tries literal text before fields; a pattern goes before spreads. `layout` holds something with file, pattern and
// spread only.
Found find_layout(const LookupCalls& calls, const OpenPlan& plan, const char* name, std::size_t name_size, FoundLayout& layout);

// What decided, for those who explain it.
struct FoundBy {
  std::uint64_t at = 0;     // offset of the record of the file or of the rule; 0: nothing decided
  std::uint64_t turn = 0;   // number of the layout among those of the rule
  bool left_alone = false;  // nothing was found because a rule says so
};
Found find_layout(const LookupCalls& calls, const OpenPlan& plan, const char* name, std::size_t name_size, FoundLayout& layout,
                  FoundBy& by);

}  // namespace iez::plan
