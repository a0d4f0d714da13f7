// The files of one phase to targets, so that the slowest target of the phase is as fast as can be.
//
// Problem. Give every file its objects on distinct targets that have room, so that the time of the phase (problem.hpp) is
// smallest; among equals use the targets that are least full. With mixed sizes this is multiprocessor scheduling, which is
// NP-hard.
//
// Algorithm
//   1. The largest objects first, each to the target that it delays least ("longest processing time first"). Equals are taken in
//      an order made once for each phase: targets by how full they are, those of different servers in turn. So servers come out
//      even, too, and phases one after the other use different targets.
//   2. Where sizes differ and the time is above the lower bound: objects move off the slowest target, or change places with
//      smaller ones of others, as long as that helps; when it does not, a few are moved at random and the search goes on from
//      there. `effort` bounds it, less for few objects and targets; the best placement is kept, and the random numbers have a
//      fixed seed.
//
// Quality. Exact for objects of one size and targets of one speed, which is the common case: ceil(objects / targets) objects on
// the slowest. Otherwise the first step ends within 4/3 of the optimum (Graham 1969) where room is no matter; what the second
// makes of it is measured by `iez bench plan`.
//
// Where a server is slower than its targets together, objects are placed by the slower of both, in time O(m) an object.
//
// What cannot be beaten is in phase_bound.hpp; a phase that reaches it is not searched.
//
// Complexity: O(m log m) a phase for m targets, O(log m) an object, and at most `effort` looks of the search.
//
// Thread safety: none; one solver, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "planning/problem.hpp"

namespace iez::planning {

// Equal objects of one file.
struct Item {
  double bytes = 0;        // that each object adds to the load
  std::uint64_t room = 0;  // that each object may come to need
  std::uint32_t count = 1;
  std::uint32_t pool = placement::kAnyPool;
};

struct SecondPhase;

struct Solution {
  std::vector<std::uint32_t> first;    // of each item, in targets; one more than items
  std::vector<std::uint32_t> targets;  // positions in the table
  double time = 0;                     // of the phase, with what was there before
  std::vector<std::size_t>
      short_of_room;  // all items that found no room, the largest first: where there are any, nothing else holds

  std::span<const std::uint32_t> of(std::size_t item) const {
    return std::span(targets).subspan(first[item], first[item + 1] - first[item]);
  }
};

class PhaseSolver {
 public:
  struct Options {
    std::uint64_t effort = 200'000;  // looks of the search in one phase
  };

  // `used` and `available` belong to the caller, who changes them between phases.
  PhaseSolver(const Problem& problem, const std::vector<std::uint64_t>& used, const std::vector<std::uint64_t>& available,
              const Options& options);

  // The order of equals, from how full targets are now. Before the first solve() of a phase. later: the load of another phase in
  // which the same files will be used together, by target; where there is one, it comes first.
  void refresh(std::span<const double> later = {});

  // load: what the phase has already; it is left as it was. search: with step 2.
  Solution solve(const PhaseLoad& load, std::span<const Item> items, bool search);

  // Step 2 for objects that are placed already, and have their room; see exchange_search.hpp. load: what the phase has beside
  // them.
  void search(const PhaseLoad& load, std::span<const Item> items, std::span<const std::uint32_t> first,
              std::vector<std::uint32_t>& placed, std::span<const std::uint32_t> second_of, std::span<SecondPhase> seconds);

  // Targets of a pool that take objects, the sound ones first; how many of them are sound.
  std::span<const std::uint32_t> members(std::uint32_t pool) const { return members_[pool]; }
  std::span<const std::uint32_t> sound_members(std::uint32_t pool) const { return members(pool).first(sound_[pool]); }

 private:
  struct Slot {
    double time = 0;  // of the target as it is
    std::uint32_t rank = 0;
    std::uint32_t target = 0;
    bool operator>(const Slot& other) const { return time != other.time ? time > other.time : rank > other.rank; }
  };

  struct Candidate {
    double after = 0;  // time of the target with the object
    std::uint32_t rank = 0;
    std::uint32_t target = 0;
    auto operator<=>(const Candidate&) const = default;
  };

  void take_from_heap(const Item& item, std::uint32_t wanted, std::vector<std::uint32_t>& taken);
  void take_from(std::span<const std::uint32_t> members, const Item& item, std::uint32_t wanted,
                 std::vector<std::uint32_t>& taken);
  void take_with_servers(const PhaseLoad& load, std::span<const std::uint32_t> members, const Item& item, std::uint32_t wanted,
                         std::vector<std::uint32_t>& taken);
  void enter(const Item& item, std::span<const std::uint32_t> targets);
  void leave(const Item& item, std::span<const std::uint32_t> targets);
  // Step 2 from load_, room_ and server_load_. room: without the objects. False: the bound is reached already.
  bool exchange(const PhaseLoad& load, std::span<const Item> items, std::span<const std::uint32_t> first,
                std::vector<std::uint32_t>& placed, std::span<const std::uint64_t> room, std::span<const std::uint32_t> second_of,
                std::span<SecondPhase> seconds);
  double time_of(const PhaseLoad& load, std::span<const Item> items, const Solution& solution) const;

  const Problem& problem_;
  const std::vector<std::uint64_t>& used_;
  const std::vector<std::uint64_t>& available_;
  Options options_;
  std::vector<std::vector<std::uint32_t>> members_;  // by pool
  std::vector<std::size_t> sound_;                   // by pool: so many of its members
  std::vector<std::uint32_t> rank_;                  // by target: its place among equals
  std::vector<double> speed_;                        // by target
  bool alike_ = true;                                // all speeds
  double fastest_ = 1;
  // Of the phase at hand.
  std::vector<double> load_;
  std::vector<std::uint64_t> room_;
  std::vector<double> server_load_;
  std::vector<Slot> heap_;    // sound members of the pool
  std::vector<Slot> parked_;  // those that had no room for an object, most room on top; not in heap_
  std::vector<Slot> aside_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint64_t> taken_in_;  // by target: the turn in which it was taken
  std::uint64_t turn_ = 0;               // one for each item
};

}  // namespace iez::planning
