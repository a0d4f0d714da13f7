// From files to layouts: the plan that is stored, shown and carried out.
//
// plan_files() checks the requests, sizes their stripes, cuts counts that cannot be had, lets a policy choose the targets, and
// gives every choice a reason. It either plans all files or changes nothing and says which file cannot be planned and why.
//
// Degradations, each told in the reason: a count above the usable targets of the pool, or above what Lustre allows, is cut; a
// file too small for its count gets fewer objects; where space is short on too many targets, the count is lessened until it fits.
//
// Space is counted as if all objects of a file were as large as its largest, which is more by less than a stripe each.
//
// Thread safety: pure functions. Units: bytes; utilisations are 0 to 1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/layout.hpp"
#include "placement/policy.hpp"
#include "placement/request.hpp"
#include "placement/targets.hpp"

namespace iez::placement {

// Why a file has fewer stripes than asked.
enum class CountCut : std::uint8_t {
  none,
  usable_targets,  // the pool has no more that take objects
  lustre_limit,    // 2000
  small_file,      // further objects would stay empty
  space,           // not enough targets have room for objects of that size
  policy,          // the file system that the policy models gave fewer
};

struct Reason {
  std::uint32_t asked = 0;  // stripes; 0: all
  CountCut cut = CountCut::none;
  std::uint32_t usable = 0;         // targets to choose from
  std::uint32_t second_choice = 0;  // of the chosen: degraded, or on a busy server
  std::uint32_t moved = 0;          // objects that an earlier plan had on a target that failed or filled up
  double lowest = 0;                // utilisation of the chosen targets when all is written
  double highest = 0;
};

// One planned file, or one component of a progressive one.
struct Planned {
  std::uint32_t request = 0;  // position among the requests
  model::Extent extent;
  Bytes bytes;  // that fall into it
  Bytes stripe_size;
  Bytes object_bytes;  // of the largest object
  std::uint32_t pool = kAnyPool;
  bool overstriped = false;
  std::uint64_t first = 0;    // in Plan::osts
  std::uint32_t stripes = 0;  // 0: beyond the predicted end of the file; the file system will choose
  std::uint32_t wanted = 0;   // stripe count to set where stripes is 0
  Reason reason;
};

struct Plan {
  std::string policy;
  std::vector<Planned> files;  // in the order of the requests; components of one file side by side
  std::vector<OstIndex> osts;  // of all files, in stripe order
  std::vector<Bytes> added;    // per target of the table
  Balance before;
  Balance after;
  double bound = 0;               // no placement has a smaller largest utilisation; 0 if it was not asked for
  std::vector<OstIndex> over;     // targets that would run out of space; only policies that do not heed it
  std::vector<OstIndex> avoided;  // targets left out, with why in the table

  std::span<const OstIndex> osts_of(const Planned& file) const { return std::span(osts).subspan(file.first, file.stripes); }
};

// Plan::bound takes many times the time of the plan itself where sizes differ: who plans a thousand times a second does without.
enum class BoundWish : std::uint8_t { wanted, none };

// REQUIRES: policy is used by nobody else meanwhile.
[[nodiscard]] Result<Plan> plan_files(const TargetTable& table, std::span<const Request> requests, Policy& policy,
                                      BoundWish bound = BoundWish::wanted);

// For sizes that are guessed: those of the requests, which are expected, decide where files go, and room[i], which file i seldom
// exceeds, must fit there; else the larger sizes decide. REQUIRES: room has as many members as requests, and those have no
// components.
[[nodiscard]] Result<Plan> plan_with_room(const TargetTable& table, std::span<const Request> requests,
                                          std::span<const Bytes> room, Policy& policy, BoundWish bound = BoundWish::wanted);

// "8 of 15 usable OSTs, which end between 41.2 % and 43.8 % full; asked for 20 stripes, but ..."
std::string to_string(const Reason& reason, std::uint32_t stripes);

// What the reasons say of utilisations, from the plan's added bytes and the table.
void refresh_reasons(Plan& plan, const TargetTable& table);

// The layout to set on the file, all its components together. REQUIRES: files are the components of one request.
model::Layout layout_of(const Plan& plan, std::span<const Planned> files, const TargetTable& table);

}  // namespace iez::placement
