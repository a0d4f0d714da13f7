#include "runs/client_counters.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace iez::runs {
namespace {

namespace fs = std::filesystem;

constexpr Duration kMinute{60'000'000'000};
constexpr Bytes kMib{1U << 20U};

TEST(ClientCounters, OfAllMountsOfOneFileSystem) {
  std::string root = (fs::temp_directory_path() / "iez-counters-XXXXXX").string();
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  EXPECT_FALSE(client_written({root}, "one"));
  const auto put = [&root](const std::string& device, std::uint64_t bytes) {
    const std::string folder = root + "/sys/kernel/debug/lustre/llite/" + device;
    fs::create_directories(folder);
    std::ofstream(folder + "/stats") << "snapshot_time             1794728864.962408475 secs.nsecs\n"
                                     << "write_bytes               9 samples [bytes] 1 4194304 " << bytes << " 158329674399744\n";
  };
  put("one-ffff888111310800", 100);
  put("one-ffff888111310900", 20);
  put("onerous-ffff888111311000", 3);
  const auto written = client_written({root}, "one");
  ASSERT_TRUE(written);
  EXPECT_EQ(written->count, 120U);
  EXPECT_FALSE(client_written({root}, "two"));
  fs::remove_all(root);
}

TEST(ClientCounters, WhatIsNotInTheTraceIsToldWhereItIsMuch) {
  const std::string told = unseen_text(Bytes{100 * kMib.count}, Bytes{25 * kMib.count}, kMinute);
  EXPECT_NE(told.find("(25 %)"), std::string::npos) << told;
  EXPECT_EQ(unseen_text(Bytes{100 * kMib.count}, Bytes{95 * kMib.count}, kMinute), "") << "a little";
  EXPECT_EQ(unseen_text(Bytes{3 * kMib.count}, Bytes{0}, kMinute), "") << "little in all";
  EXPECT_EQ(unseen_text(Bytes{100 * kMib.count}, Bytes{200 * kMib.count}, kMinute), "") << "of other nodes";
  EXPECT_EQ(unseen_text(Bytes{100 * kMib.count}, Bytes{25 * kMib.count}, Duration{1'500'000'000}), "") << "counters are late";
  EXPECT_EQ(unseen_text(Bytes{0}, Bytes{0}, Duration{0}), "");
}

}  // namespace
}  // namespace iez::runs
