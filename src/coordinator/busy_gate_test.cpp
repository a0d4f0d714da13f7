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

TEST(BusyGate, WhyItIsClosedNamesTheSetting) {
  EXPECT_EQ(why_closed({.cpu = 0.98, .memory = 0.06}, {.cpu = 0.7, .memory = 0.5}), "CPU 98 % (serve.cpu_limit 0.7)");
  EXPECT_EQ(why_closed({.cpu = 0.65, .memory = 0.06}, {.cpu = 0.7, .memory = 0.5}), "CPU 65 % (serve.cpu_limit 0.7)")
      << "it opens below nine tenths of the limit";
  EXPECT_EQ(why_closed({.cpu = 0.2, .memory = 0.51}, {.cpu = 0.7, .memory = 0.5}), "memory 51 % (serve.memory_limit 0.5)");
  EXPECT_EQ(why_closed({.cpu = 1, .memory = 0.46}, {.cpu = 1, .memory = 0.5}), "memory 46 % (serve.memory_limit 0.5)")
      << "a limit of 1 is none";
  EXPECT_EQ(why_closed({.cpu = 0.9, .memory = 0.6}, {.cpu = 0.7, .memory = 0.5}), "CPU 90 % (serve.cpu_limit 0.7)");
}

}  // namespace
}  // namespace iez::coordinator
