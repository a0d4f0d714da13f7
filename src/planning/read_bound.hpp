// What no placement can do better than, where files of several phases are read together.
//
// Problem. Each phase in which files are written would put them anywhere as far as its own time is concerned, but what it puts on
// a target is there when all of them are read. Where others move data on some targets, or room is short, not every phase and the
// reading can be even.
//
// Notation. b_p are the bytes of phase p that are read in phase r, x_pj those on target j; l_p and l_r are the bounds of the
// phases by themselves; w_pj is what others move on j meanwhile. As T_p >= l_p, min(w_pj, l_p s_j) stands for w_pj: what a target
// can take, and what it does, are then linear in time. With fractions of objects allowed,
//
//     minimise  T_r + sum of T_p   where   T_p >= l_p,  T_r >= l_r,  sum over j of x_pj = b_p,
//                                          x_pj <= min(T_p s_j - w_pj, room_j),  w_rj + sum over p of x_pj <= T_r s_j.
//
// Algorithm. Lagrange relaxation of the last condition: a byte on target j costs z_j / s_j in the reading, z_j >= 0 and the sum
// of all z_j at most 1. For any such z the goal is at least
//
//     (1 - sum of z_j) l_r + sum of z_j w_rj / s_j + sum over p of min over T_p of (T_p + the cost of b_p bytes, cheapest first),
//
// where the minimum is of a convex function, and is bounded by its tangents. Projected subgradients make z good; whatever they
// come to is a bound.
//
// Complexity: kSteps times O(m log m + P m).
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace iez::planning {

class ReadBound {
 public:
  // What a phase has on each target beside the files at hand, and the time that it takes at least.
  struct Phase {
    std::vector<double> load;
    double least = 0;
  };

  // speed, room: by target, in the order of the loads.
  ReadBound(std::span<const double> speed, std::span<const double> room, const Phase& read);

  // A phase of which so many bytes are read.
  void add_written(const Phase& phase, double bytes);

  // Files that are read and of which nothing else is known.
  void add_read_only(double bytes) { read_only_ += bytes; }

  // How much longer all phases take than the sum of what each takes at least. most: a placement takes so much longer.
  double value(double most);

 private:
  struct Written {
    std::vector<double> taken;  // of what target j could take in a time, less this: nothing at `least`
    double least = 0;
    double bytes = 0;
  };
  struct Filling {
    double cost = 0;
    double slope = 0;     // of the cost, by time
    bool enough = false;  // all bytes find a place
  };

  double target_room(const Written& phase, std::size_t target, double time) const;
  Filling fill(const Written& phase, double time) const;
  // The least of time and cost, and at which time it is nearly so.
  double least(const Written& phase, double& time) const;
  void add_filled(const Written& phase, double time, std::vector<double>& filled) const;

  std::vector<double> speed_;
  std::vector<double> room_;
  std::vector<double> read_load_;
  double read_least_ = 0;
  double read_only_ = 0;
  std::vector<Written> written_;
  // For the prices at hand.
  std::vector<double> price_;       // of a byte
  std::vector<std::size_t> order_;  // of targets, the cheapest first
};

}  // namespace iez::planning
