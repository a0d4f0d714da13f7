#include "model/job.hpp"

#include <gtest/gtest.h>

namespace iez::model {
namespace {

TEST(Job, EveryOperationHasItsName) {
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    EXPECT_EQ(parse_operation(to_string(operation)), operation);
  }
  EXPECT_EQ(to_string(Operation::write_bytes), "write_bytes");
  EXPECT_FALSE(parse_operation("no_such"));
  EXPECT_FALSE(parse_operation(""));
}

TEST(Job, OperationsAreCountedOnce) {
  JobCounters counters;
  counters[Operation::write_bytes] = 10;  // ten writes ...
  counters[Operation::write] = 10;        // ... and the time they took
  counters[Operation::open] = 3;
  counters[Operation::rename] = 2;
  counters[Operation::samedir_rename] = 2;
  EXPECT_EQ(operations(counters), 15U);
}

TEST(Job, SumsDoNotWrap) {
  JobCounters sum{.write_bytes = Bytes{~std::uint64_t{0} - 1}};
  sum[Operation::open] = ~std::uint64_t{0};
  JobCounters more = sum;
  more[Operation::close] = 5;
  sum += more;
  EXPECT_EQ(sum.write_bytes, Bytes{~std::uint64_t{0}});
  EXPECT_EQ(operations(sum), ~std::uint64_t{0});
}

TEST(Job, CountersAdd) {
  JobCounters sum{.read_bytes = Bytes{1}};
  JobCounters more{.read_bytes = Bytes{2}, .write_bytes = Bytes{5}};
  more[Operation::statfs] = 4;
  sum += more;
  sum += more;
  EXPECT_EQ(sum.read_bytes, Bytes{5});
  EXPECT_EQ(sum.write_bytes, Bytes{10});
  EXPECT_EQ(sum[Operation::statfs], 8U);
}

}  // namespace
}  // namespace iez::model
