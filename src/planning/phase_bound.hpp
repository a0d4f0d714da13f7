// What no placement of the files of one phase can do better than.
//
// A time t leaves target j room for k_j(t) = min(t s_j - load_j, room_j) bytes, and a server room for t S - load, which is a
// limit to each of its targets, too. No placement has a time of t or less if, at t, one of these fails:
//   bytes     what all objects have fits: sum of k_j, of each server at most what the server can do, >= bytes; and so it is for
//             the objects of at least tau, of targets that can hold one
//   numbers   objects of at least tau fit: sum of floor(k_j / tau) >= how many there are. For objects of one size this is exact
//   alone     an object above K - tau, where K is the largest k_j, leaves no room for another of at least tau: each takes a
//             target that can hold it, and those between tau and K - tau must fit onto what remains, by bytes and by number
//   pairs     of objects above K / 3 at most two meet: the largest with the smallest, and so on, must fit into K
//   weights   an object of at least tau counts u, a smaller one of at least tau' counts 1: what a target holds counts at most the
//             most of u n + floor((k_j - n tau) / tau') over n, and all targets together hold what all objects count. Tried for
//             some tau, tau' and u, where targets are few
//   distinct  of the c_i objects of a file at most m - k avoid the k smallest rooms, for every k: those must hold the rest
// The conditions are tried for some sizes tau of the objects; that bounds the cost, and never makes the bound wrong.
//
// The bound is the largest t that is excluded. It heeds pools no more than that an object may go to any of the targets given.
//
// Complexity: O(n log n) once, then O(m log m) for each t and tau.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "planning/problem.hpp"

namespace iez::planning {

struct Item;

class PhaseBound {
 public:
  // room: by position in the table. load: what the phase has already; kept by reference.
  PhaseBound(const PhaseLoad& load, std::span<const Item> items, std::span<const std::uint32_t> targets,
             std::span<const std::uint64_t> room);

  // No placement of the items has this time, or a smaller one.
  bool excludes(double time);

  // The largest time that is excluded, within a millionth. REQUIRES: `most` is a time that can be reached.
  double value(double most);

  // Of a placement of that time on these targets and others, at least so many bytes are on others.
  double left_over(double time);

 private:
  struct Target {
    double load = 0;
    double speed = 1;
    double room = 0;
    std::uint32_t server = 0;
  };
  struct Space {
    double bytes = 0;
    double number = 0;  // of objects
  };
  void open(double time);
  void sort();
  Space space(double tau) const;
  bool bytes_fit() const;
  bool fits(std::size_t end, double tau) const;
  bool alone_fits(std::size_t end, double tau) const;
  bool pairs_fit(std::size_t end, double tau) const;
  bool weights_fit(std::size_t large_end, std::size_t small_end, double weight) const;
  bool weighted_fit() const;
  bool distinct_fit() const;

  const PhaseLoad& load_;
  std::vector<Target> targets_;
  std::vector<double> sizes_;      // of the objects, descending
  std::vector<double> sums_;       // of the first i of them
  std::vector<std::size_t> ends_;  // for each tau that is tried: objects of at least tau
  std::vector<double> forced_;     // bytes that the k smallest rooms must take
  std::uint32_t most_stripes_ = 1;
  bool servers_count_ = false;
  // For the time at hand.
  std::vector<double> capacity_;   // of each target
  std::vector<double> ascending_;  // the same, sorted; made when it is needed
  std::vector<double> tails_;      // sum of the i largest
  std::vector<double> server_capacity_;
  mutable std::vector<double> on_server_;
};

}  // namespace iez::planning
