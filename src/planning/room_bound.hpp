// What no placement can do better than, where phases share the room of nearly full targets.
//
// Problem. Each phase by itself may use all the room there is; all of them together may not. Which phases should have it?
//
// Notation. G is a set of targets and R the room that they have together. In phase p, y_p(t) is the least room that a placement
// of time t takes on G: what the targets outside of G cannot hold within t (PhaseBound::left_over). Then
//
//     sum of T_p  >=  min { sum of t_p : t_p >= l_p, sum of y_p(t_p) <= R },
//
// where l_p is the bound of the phase by itself.
//
// Algorithm. Lagrange relaxation: room of G has a price mu, in time per byte. For every mu >= 0 the right side is at least
//
//     sum over p of min over t of (t + mu y_p(t))  -  mu R,
//
// which is concave in mu, so its maximum is found by golden section. y_p does not grow with t: where it is known at the ends of
// cells of time, a cell costs at least its beginning plus mu times y_p at its end. Any G gives a bound; those tried are the
// targets that could hold less than a share of what they would be given if room were no matter.
//
// Complexity: O(P m) times the number of cells and of sizes that PhaseBound tries, for each G.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace iez::planning {

class PhaseBound;

// The prices of one G.
class RoomBound {
 public:
  explicit RoomBound(double room) : room_(room) {}

  // A phase takes at least `least`. outside: of the objects that are placed with it, on the targets outside of G; with each byte
  // that is left over goes at least so much room.
  void add_phase(PhaseBound& outside, double least, double room_per_byte);

  // How much longer all phases take than the sum of what each takes at least.
  double value() const;

 private:
  struct Cell {
    double longer = 0;  // than `least`, at its beginning
    double room = 0;    // that is taken at its end
  };
  // The bound at a price.
  double at(double price) const;

  double room_;
  double most_room_ = 0;                  // that is taken where no phase waits for it
  double most_time_ = 0;                  // that all phases wait where none takes any
  std::vector<std::vector<Cell>> cells_;  // of each phase that may take any
};

}  // namespace iez::planning
