// Whether this node has room for planning: requests wait while it is busy.
//
// The gate closes when a share reaches its limit, and opens again only when all are clearly below (kOpens of their limits). A
// load that stays about a limit would otherwise open and close it each second, with a line in the log each time.
//
// Thread safety: none.
#pragma once

#include <string>

namespace iez::coordinator {

struct NodeLoad {
  double cpu = 0;  // shares
  double memory = 0;
};

class BusyGate {
 public:
  static constexpr double kOpens = 0.9;

  // A limit of 1 is none.
  BusyGate(double cpu_limit, double memory_limit) : limit_{.cpu = cpu_limit, .memory = memory_limit} {}

  // Whether it is closed with this load.
  bool look(const NodeLoad& load) {
    const double part = closed_ ? kOpens : 1;
    const auto over = [part](double share, double limit) { return limit < 1 && share >= part * limit; };
    closed_ = over(load.cpu, limit_.cpu) || over(load.memory, limit_.memory);
    return closed_;
  }

 private:
  NodeLoad limit_;
  bool closed_ = false;
};

// For people: what keeps a gate of these limits closed, and the setting that decides it.
std::string why_closed(const NodeLoad& load, const NodeLoad& limit);

}  // namespace iez::coordinator
