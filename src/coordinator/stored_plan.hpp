// A plan that is not written yet, as the coordinator keeps it: in memory, and as one blob of its ledger.
//
// Names are not kept: the client has them, in the same order. A plan never changes; what happens to it makes another one of the
// same id, so that whoever holds one holds a whole one.
//
// Thread safety: plain values. Units: bytes; times in nanoseconds since 1970. Memory: about 48 bytes a layout, 4 a stripe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/result.hpp"

namespace iez::coordinator {

struct StoredLayout {
  std::uint64_t bytes = 0;         // of the file that are reserved
  std::uint64_t expected = 0;      // of the file; not more than what is reserved
  std::uint64_t object_bytes = 0;  // reserved on each of its targets
  std::uint64_t stripe_size = 0;
  std::uint32_t first = 0;  // in StoredPlan::osts
  std::uint16_t stripes = 0;
  std::uint16_t pool = 0;  // in StoredPlan::pools
  std::uint32_t reason = 0;

  friend bool operator==(const StoredLayout&, const StoredLayout&) = default;
};

// One row of the request.
struct StoredEntry {
  std::uint32_t first = 0;    // in StoredPlan::layouts
  std::uint32_t layouts = 0;  // one; of a pattern one a file; none where Lustre places its files
  std::uint32_t created = 0;  // of them: the first so many are not reserved any more
  std::uint32_t phase = 0;    // in which its files are written
  std::int64_t read_phase = -1;

  friend bool operator==(const StoredEntry&, const StoredEntry&) = default;
};

struct StoredPlan {
  std::uint64_t id = 0;  // 0: there is no plan, and the verdict says why; such a one is answered, and not kept
  std::string user;
  std::string application;
  std::string file_system;
  std::string policy;
  std::string verdict;
  double gain = 1;
  std::string database;  // that its prediction was pulled from; empty: a client asked
  std::uint64_t revision = 1;
  std::int64_t made_ns = 0;
  std::int64_t expires_ns = 0;
  std::int64_t began_ns = 0;  // of the last run of its application, as far as it is known
  std::int64_t ended_ns = 0;
  bool weights = false;  // wanted for files that are not planned
  std::vector<StoredEntry> entries;
  std::vector<StoredLayout> layouts;
  std::vector<std::uint32_t> osts;
  std::vector<std::string> reasons;
  std::vector<std::string> pools;
  std::vector<api::FreedBytes> freed;
  std::vector<api::SlowOst> slow;       // that its request reckoned with
  std::vector<double> phase_seconds;    // as in its request
  std::vector<std::uint64_t> together;  // other plans that it was made together with
  std::vector<std::string> notes;
  api::Costs before;
  api::Costs after;

  std::span<const std::uint32_t> osts_of(const StoredLayout& layout) const {
    return std::span(osts).subspan(layout.first, layout.stripes);
  }
  std::uint64_t created() const;
  std::uint64_t reserved() const;  // bytes on all targets

  bool has_reads() const;  // of files together

  // What it takes to plan all of it anew, in objects. Files that are read together are searched for about ten times as long.
  std::size_t work() const;

  friend bool operator==(const StoredPlan&, const StoredPlan&) = default;
};

using PlanPointer = std::shared_ptr<const StoredPlan>;

// 16 hexadecimal digits, and back; 0: not such.
std::string id_text(std::uint64_t id);
std::uint64_t parse_id(std::string_view text);

// REQUIRES: it has an id.
std::vector<std::byte> encode(const StoredPlan& plan);

// Fails with Errc::parse for anything that encode() does not make, and never made: plans of 0.1 are of one phase.
[[nodiscard]] Result<StoredPlan> decode(std::span<const std::byte> bytes);

// Without weights: those are of the moment.
api::PlanAnswer answer_of(const StoredPlan& plan);

// The plan with so much of it created; null: nothing is left to reserve. Fails for an entry that the plan does not have.
[[nodiscard]] Result<PlanPointer> with_created(const StoredPlan& plan, const api::CreatedRequest& created);

}  // namespace iez::coordinator
