// What a run will write, and read, at the same time, and what it is written to: the problem that planning solves.
//
// A program waits, in each of its steps, for the slowest storage target of that step. So what counts is not how many bytes a
// target gets in a whole run but how many it gets in each *phase*: a set of files that are written (or, at a restart, read) at
// the same time.
//
// Notation
//   targets  j = 1..m, of relative speed s_j, with r_j bytes of room; server(j) is the server it hangs on
//   phases   p = 1..P; others move w_j bytes per second on target j meanwhile, and the phase lasts d_p seconds as last seen
//   files    i = 1..n, of b_i bytes; each is written in one phase and may be read together with others in a second one
//   layout   c_i stripes on c_i distinct targets; every object counts as large as the largest, o_i
//
// Goal. The load of target j in phase p is L_pj = w_j d_p + the sum of o_i over the objects that files of p have there, and the
// time of a phase
//
//     T_p = max( max_j L_pj / s_j ,  max_k sum of L_pj over the targets of server k / S_k ),
//
// where S_k is the server's bandwidth where it is known to be less than that of its targets together. Planning minimises the sum
// of T_p over all phases. Room is a constraint: no target gets more than it can hold. Among placements of equal time the more
// even one (OSTCost and OSSCost, the largest utilisation over the mean, of targets and servers) is better (evening.hpp).
//
// The seconds of this model are bytes over relative speeds: they compare placements of one problem with each other, and nothing
// else.
//
// Thread safety: plain values. Units: bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "placement/targets.hpp"

namespace iez::planning {

inline constexpr std::uint32_t kNoPhase = ~std::uint32_t{0};

struct File {
  Bytes bytes;  // expected
  Bytes room;   // seldom exceeded; must fit. Less than `bytes`: those
  std::uint32_t phase = 0;
  std::uint32_t read_phase = kNoPhase;  // in which it is read together with others
  std::uint32_t stripes = 0;            // 0: to be chosen
  Bytes stripe_size;                    // 0: to be chosen
  std::uint32_t default_stripes = 1;    // that it gets without a plan
  Bytes default_stripe_size = Bytes::mib(1);
  std::uint32_t pool = placement::kAnyPool;
  bool shared = false;      // several processes write it, or read it
  bool left_alone = false;  // not to be planned: Lustre places it, anywhere
};

struct Phase {
  double seconds = 0;  // that it lasted when it was last seen; 0: not known, and what others move does not count
};

struct Problem {
  const placement::TargetTable& table;
  std::span<const File> files;  // in the order of creation, as far as that is known
  std::vector<Phase> phases;
  std::vector<double> speed;  // of each target, above 0; empty: all alike
  std::vector<double> load;   // bytes per second that others move on each target now; empty: none

  // The same targets as Lustre sees them, without what others have reserved; null: as above.
  const placement::TargetTable* seen = nullptr;
};

// Where one file goes.
struct Placed {
  std::uint32_t stripes = 0;  // 0: Lustre places it
  Bytes stripe_size;
  Bytes object_bytes;       // of the largest object
  std::uint64_t first = 0;  // in Placement::targets
};

struct Placement {
  std::vector<Placed> files;           // as Problem::files
  std::vector<std::uint32_t> targets;  // positions in the table, in stripe order

  std::span<const std::uint32_t> of(const Placed& file) const {
    return std::span(targets).subspan(static_cast<std::size_t>(file.first), file.stripes);
  }
};

// What a placement comes to.
struct Score {
  std::vector<double> phases;  // T_p of each
  double seconds = 0;          // their sum
  std::vector<Bytes> added;    // on each target
  placement::Balance balance;  // afterwards
};

// The files that a placement leaves to Lustre count for nothing. REQUIRES: the placement is one of this problem.
Score score(const Problem& problem, const Placement& placement);

// The phase with which a file is placed: the one in which it is written; of a file that is only read, that.
std::uint32_t home_of(const Problem& problem, const File& file);

// The phase in which a file is used once more, after the one in which it is written; kNoPhase: none.
std::uint32_t second_of(const Problem& problem, const File& file);

// Files of each phase: those written in it, then those of other phases that are read in it.
class PhaseFiles {
 public:
  explicit PhaseFiles(const Problem& problem);

  std::span<const std::uint32_t> of(std::uint32_t phase) const {
    return std::span(files_).subspan(first_[phase], first_[phase + 1] - first_[phase]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> files_;
};

// The loads of the targets in one phase, and the time that they make of it.
class PhaseLoad {
 public:
  explicit PhaseLoad(const Problem& problem);

  // Nothing but what others move meanwhile.
  void begin(const Phase& phase);

  void add(std::uint32_t target, double bytes) {
    target_[target] += bytes;
    server_[problem_.table.targets[target].server] += bytes;
  }

  // Makes a target look slower, but not its server.
  void delay(std::uint32_t target, double bytes) { target_[target] += bytes; }

  double of(std::uint32_t target) const { return target_[target]; }
  double time_of(std::uint32_t target) const { return target_[target] / speed_[target]; }
  double speed_of(std::uint32_t target) const { return speed_[target]; }
  double of_server(std::uint32_t server) const { return server_[server]; }
  double speed_of_server(std::uint32_t server) const { return server_speed_[server]; }
  std::uint32_t server_of(std::uint32_t target) const { return problem_.table.targets[target].server; }
  std::size_t servers() const { return server_.size(); }
  double time_of_server(std::uint32_t server) const { return server_[server] / server_speed_[server]; }
  bool has_fast_servers() const { return fast_servers_; }  // no server is slower than its targets together

  // T_p, less what others alone would take on targets that get nothing. `touched`: targets that have objects of the phase.
  double time(std::span<const std::uint32_t> touched) const;

 private:
  const Problem& problem_;
  std::vector<double> target_;
  std::vector<double> speed_;
  std::vector<double> server_;
  std::vector<double> server_speed_;
  bool fast_servers_ = true;
};

}  // namespace iez::planning
