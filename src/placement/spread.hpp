// How many objects of each class every target holds, while a batch is being placed.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/classes.hpp"
#include "placement/deal.hpp"
#include "placement/levels.hpp"

namespace iez::placement {

// Of one class. A class of many objects keeps a number for every target, one of few keeps a short list.
class Spread {
 public:
  std::uint32_t operator[](std::uint32_t at) const;
  void add(std::uint32_t at, std::uint32_t objects);
  void remove_one(std::uint32_t at);

  // Turns the list into a table of so many targets.
  void make_dense(std::size_t targets);

  // Targets that hold objects, ascending.
  std::vector<TargetCount> counts() const;

 private:
  std::vector<std::uint32_t> dense_;
  std::vector<TargetCount> few_;  // used while dense_ is empty; ascending by target
};

struct Spreads {
  std::vector<Spread> classes;
  std::vector<bool> second_choice;   // per class: the sound targets were not enough
  std::optional<Shortage> shortage;  // levels and spreads are void
};

// Places every class, the largest objects first. Per class the largest utilisation is as small as it can be after the classes
// before; within that, objects go where they cost least (levels.hpp). Sound targets are used up before any second choice.
//
// Two ways lead there. A class with many objects, or alone, is levelled at once by flow::water_fill, in time O(M log M) however
// many there are. A class of few objects takes them one by one from an ordered index of the targets, O(log M) each; it heeds the
// largest utilisation only through the cost, and local_search() mends what that leaves.
Spreads spread_classes(std::span<const DemandClass> classes, Levels& levels);

// Where room is so scarce that spread_classes() finds none for some class: every object goes to the target with the least room
// that holds it, classes with the smallest choice of targets first. Even use is left to local_search().
Spreads squeeze_classes(std::span<const DemandClass> classes, Levels& levels);

}  // namespace iez::placement
