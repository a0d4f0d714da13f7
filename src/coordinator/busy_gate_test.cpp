#include "coordinator/busy_gate.hpp"

#include <gtest/gtest.h>

namespace iez::coordinator {
namespace {

TEST(BusyGate, ClosesAtALimitAndOpensClearlyBelow) {
  BusyGate gate(0.7, 0.5);
  EXPECT_FALSE(gate.look({.cpu = 0.69, .memory = 0.49}));
  EXPECT_TRUE(gate.look({.cpu = 0.7, .memory = 0}));
  EXPECT_TRUE(gate.look({.cpu = 0.65, .memory = 0})) << "about the limit";
  EXPECT_FALSE(gate.look({.cpu = 0.62, .memory = 0}));
  EXPECT_FALSE(gate.look({.cpu = 0.65, .memory = 0})) << "open as long as the limit is not reached";
  EXPECT_TRUE(gate.look({.cpu = 0, .memory = 0.5}));
  EXPECT_TRUE(gate.look({.cpu = 0.65, .memory = 0.1})) << "both are to be clearly below";
  EXPECT_FALSE(gate.look({}));
}

TEST(BusyGate, ALoadAboutTheLimitDoesNotMakeItFlap) {
  BusyGate gate(0.7, 1);
  int changes = 0;
  bool closed = false;
  for (int second = 0; second < 1000; ++second) {
    const bool now = gate.look({.cpu = second % 2 == 0 ? 0.72 : 0.67, .memory = 1});
    changes += now != closed ? 1 : 0;
    closed = now;
  }
  EXPECT_EQ(changes, 1);
}

TEST(BusyGate, NoLimitNeverCloses) {
  BusyGate gate(1, 1);
  EXPECT_FALSE(gate.look({.cpu = 1, .memory = 1}));
}

// "No request while anything else runs": a limit of 0 is reached by any load, and never left.
TEST(BusyGate, ALimitOfZeroIsAlwaysReached) {
  BusyGate gate(0, 1);
  EXPECT_TRUE(gate.look({}));
  EXPECT_TRUE(gate.look({}));
}

}  // namespace
}  // namespace iez::coordinator
