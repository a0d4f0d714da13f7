#include "advise.hpp"

#include <gtest/gtest.h>

namespace iez::cli {
namespace {

model::Cluster cluster() {
  model::Cluster made{.name = "testbed", .servers = {{.name = "a"}, {.name = "b"}, {.name = "idle"}}};
  for (std::uint32_t i = 0; i < 6; ++i) {
    made.osts.push_back(
        {.index = {i}, .name = "t", .oss = i % 2, .total = Bytes::gib(10), .free = Bytes::gib(5), .available = Bytes::gib(5)});
  }
  return made;
}

TEST(MachineOf, AssumesWhatNobodyTold) {
  const auto made = machine_of(cluster(), true, {});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->machine.osts, 6U);
  EXPECT_EQ(made->machine.servers, 2U);  // the third has no OST
  EXPECT_EQ(made->machine.ost_rate, kAssumedOstRate);
  EXPECT_DOUBLE_EQ(made->machine.server_rate.value, 3 * kAssumedOstRate.value);
  EXPECT_EQ(made->assumed,
            "OST rate 500 MB/s (--ost-rate), a server is as fast as its OSTs (--server-rate), node rate 1.00 GB/s (--node-rate)");
}

TEST(MachineOf, BandwidthsAndOptions) {
  auto described = cluster();
  described.servers[0].bandwidth = BytesPerSecond{1e9};
  described.servers[1].bandwidth = BytesPerSecond{3e9};
  described.servers[2].bandwidth = BytesPerSecond{100e9};  // not used
  auto made = machine_of(described, true, {});
  ASSERT_TRUE(made);
  EXPECT_DOUBLE_EQ(made->machine.server_rate.value, 2e9);
  EXPECT_EQ(made->assumed.find("server"), std::string::npos);
  made = machine_of(
      described, true,
      {.ost_rate = BytesPerSecond{1e8}, .server_rate = BytesPerSecond{5e9}, .node_rate = BytesPerSecond{2e9}, .max_stripes = 4});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->assumed, "");
  EXPECT_EQ(made->machine.server_rate.value, 5e9);
  EXPECT_EQ(made->machine.node_rate_files.value, 2e9);
  EXPECT_EQ(made->machine.max_stripes, 4U);
}

TEST(MachineOf, LeavesOutOstsThatTakeNothing) {
  auto described = cluster();
  described.osts[0].state.active = false;
  described.osts[1].state.no_create = true;
  described.osts[2].state.read_only = true;
  described.osts[3].available = {0};
  EXPECT_EQ(machine_of(described, true, {})->machine.osts, 2U);
  described.osts[4].state.active = described.osts[5].state.active = false;
  EXPECT_EQ(machine_of(described, true, {}).error().message, "testbed: none of its 6 OSTs takes new objects");
}

TEST(MachineOf, UnknownServersDoNotLimit) {
  const auto made = machine_of(cluster(), false, {});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->machine.servers, 6U);
  EXPECT_EQ(made->machine.server_rate, kAssumedOstRate);
}

TEST(MachineNamed, OneIsKnown) {
  EXPECT_EQ(machine_named({.machine = "lscratchc"})->machine.osts, 480U);
  EXPECT_EQ(machine_named({.machine = "lscratchc", .max_stripes = 64})->machine.max_stripes, 64U);
  EXPECT_EQ(machine_named({.machine = "x"}).error().message,
            "--machine: found 'x'; expected lscratchc, or describe yours with --cluster");
}

}  // namespace
}  // namespace iez::cli
