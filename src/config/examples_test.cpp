// The files of examples/ are what they claim to be.
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "config/cluster_toml.hpp"
#include "config/request_csv.hpp"

namespace iez::config {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::string(IEZ_TEST_DATA) + "/../../examples/" + path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Totals {
  std::size_t files = 0;
  Bytes bytes;
};

Totals totals(const std::string& path) {
  const auto requests = parse_requests(read(path), path);
  EXPECT_TRUE(requests) << (requests ? "" : requests.error().message);
  Totals sum;
  if (!requests) return sum;
  sum.files = requests->size();
  for (const auto& request : *requests) sum.bytes += request.bytes;
  return sum;
}

TEST(Examples, Clusters) {
  const auto testbed = parse_cluster(read("clusters/iez-testbed.toml"), "testbed");
  ASSERT_TRUE(testbed) << testbed.error().message;
  EXPECT_EQ(testbed->servers.size(), 3U);
  EXPECT_EQ(testbed->osts.size(), 15U);
  EXPECT_EQ(usage(*testbed).available, Bytes::gib(150));
  const auto large = parse_cluster(read("clusters/lscratchc.toml"), "lscratchc");
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->servers.size(), 32U);
  EXPECT_EQ(large->osts.size(), 480U);
  EXPECT_EQ(large->servers[31].bandwidth.value_or(BytesPerSecond{}).value * 32, 30e9);
}

TEST(Examples, Requests) {
  EXPECT_EQ(totals("requests/ior-count8.csv").files, 64U);
  EXPECT_EQ(totals("requests/ior-count8.csv").bytes, Bytes::gib(64));
  EXPECT_EQ(totals("requests/ior-count4.csv").bytes, Bytes::gib(64));
  EXPECT_EQ(totals("requests/hacc-count8.csv").bytes, Bytes::mib(13'824));
  EXPECT_EQ(totals("requests/hacc-and-ior.csv").files, 32U);
  EXPECT_EQ(totals("requests/hacc-and-ior.csv").bytes, Bytes::mib(7888 + 32'768));
}

}  // namespace
}  // namespace iez::config
