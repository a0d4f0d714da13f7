// Makes the slowest target of a phase faster, by moving one of its objects or exchanging it for a smaller one.
//
// Every step brings both targets it touches, and their servers where those count, below the time that the slowest had, so it
// ends. When no step helps, a few objects are moved at random and the search goes on from there; the best placement seen is kept.
// Where there are many targets, each step looks at a sample of them: the fastest, and some at random. Deterministic: the random
// numbers have a fixed seed.
//
// An object may count in a second phase, too (its file is read together with others later): it goes only where that phase gets no
// slower than its limit.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.hpp"

namespace iez::planning {

struct Item;

// Another phase that items of this one belong to.
struct SecondPhase {
  std::vector<double> load;  // by target
  double limit = 0;          // its time, which must not grow
};

class ExchangeSearch {
 public:
  static constexpr std::uint32_t kNoSecond = ~std::uint32_t{0};

  struct Phase {
    std::span<const std::uint32_t> targets;  // that may be used
    std::span<const double> speed;           // by target
    std::vector<double> load;                // by target, with all objects of the placement
    std::vector<std::uint64_t> room;         // left, likewise
    std::span<const Item> items;
    // Where servers are slower than their targets together; else empty.
    std::vector<std::uint32_t> server_of;  // by target
    std::vector<double> server_speed;
    std::vector<double> server_load;
    // Where items belong to other phases as well; else empty.
    std::span<const std::uint32_t> second_of;  // by item: in `seconds`, or kNoSecond
    std::span<SecondPhase> seconds;            // their loads are kept up to date
  };

  explicit ExchangeSearch(Phase phase);

  // first, placed: as Solution has them. Stops at `bound`, or after so many looks.
  void improve(std::span<const std::uint32_t> first, std::vector<std::uint32_t>& placed, double bound, std::uint64_t effort);

 private:
  struct Object {
    std::uint32_t item = 0;
    std::uint32_t at = 0;  // place in `placed`
  };
  struct Step {
    double after = 0;            // time of the slower of both targets
    std::uint32_t object = 0;    // on the slowest target
    std::uint32_t target = 0;    // that it goes to
    std::int64_t returned = -1;  // object of that target that comes back; -1: none
  };

  double time(std::uint32_t target) const;
  // Of the slower of both targets, and their servers, when so many bytes more go from the one to the other.
  double after_move(std::uint32_t from, std::uint32_t to, double bytes) const;
  bool second_allows(const Item& item, std::uint32_t number, std::uint32_t to, double returned) const;
  bool holds(std::uint32_t target, std::uint32_t item) const;
  std::uint32_t slowest() const;
  bool find_step(std::uint32_t from, Step& best);
  void look_at(std::uint32_t from, std::uint32_t object, std::uint32_t to, Step& best);
  void apply(std::uint32_t from, const Step& step, std::vector<std::uint32_t>& placed);
  void move(std::uint32_t from, std::size_t object, std::uint32_t to, std::vector<std::uint32_t>& placed);
  void shake(std::vector<std::uint32_t>& placed);

  Phase phase_;
  std::vector<std::vector<Object>> objects_;  // by target
  std::vector<std::uint32_t> sample_;
  std::uint64_t left_ = 0;
  Rng rng_;
};

}  // namespace iez::planning
