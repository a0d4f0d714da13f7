#include "lab/lock_table.hpp"

#include <gtest/gtest.h>

namespace iez::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

LockRequest wanted(std::uint64_t object, LockMode mode, std::uint64_t start = 0, std::uint64_t end = 10) {
  return {.name = {.ost = 3, .object = object}, .mode = mode, .start = start, .end = end};
}

TEST(LockTable, GrantsAsksBackOnceAndGrantsAgain) {
  LockTable table;
  table.request(1, 100, wanted(5, LockMode::write), seconds(0));
  auto grants = table.take_grants();
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].client, 1U);
  EXPECT_EQ(grants[0].number, 100U);
  EXPECT_EQ(grants[0].lock.name, (ObjectName{.ost = 3, .object = 5}));
  EXPECT_EQ(grants[0].lock.end, ~std::uint64_t{0});

  table.request(2, 200, wanted(5, LockMode::read), seconds(1));
  table.request(2, 201, wanted(6, LockMode::read), seconds(1));  // another object: nobody's business
  grants = table.take_grants();
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].number, 201U);
  auto revokes = table.take_revokes();
  ASSERT_EQ(revokes.size(), 1U);
  EXPECT_EQ(revokes[0].client, 1U);
  EXPECT_EQ(revokes[0].lock.mode, LockMode::write);
  table.request(3, 300, wanted(5, LockMode::read), seconds(1));
  EXPECT_TRUE(table.take_revokes().empty());

  table.release(1, revokes[0].lock, seconds(2));
  EXPECT_EQ(table.take_grants().size(), 2U);
  EXPECT_TRUE(table.overdue().empty());
  EXPECT_EQ(table.locks(), 3U);
}

TEST(LockTable, RemindsAndNamesWhoIsOverdue) {
  LockTable table;
  table.request(1, 1, wanted(5, LockMode::write), seconds(0));
  table.request(2, 2, wanted(5, LockMode::write), seconds(10));
  (void)table.take_revokes();
  table.remind(seconds(10) + milliseconds(900));
  EXPECT_TRUE(table.take_revokes().empty());
  table.remind(seconds(11));
  EXPECT_EQ(table.take_revokes().size(), 1U);
  table.remind(seconds(11) + milliseconds(500));
  EXPECT_TRUE(table.take_revokes().empty());
  ASSERT_EQ(table.overdue().size(), 1U);
  EXPECT_EQ(table.overdue()[0].client, 1U);
  EXPECT_EQ(table.overdue()[0].since, seconds(10));
  table.evict(1, seconds(12));
  const auto grants = table.take_grants();
  ASSERT_EQ(grants.size(), 2U);  // client 1 had its own, then client 2
  EXPECT_EQ(grants[1].client, 2U);
  EXPECT_TRUE(table.overdue().empty());
  table.evict(2, seconds(13));
  EXPECT_EQ(table.objects(), 0U);
}

TEST(LockTable, AnEvictedClientsRequestsAreNotGrantedLater) {
  LockTable table;
  table.request(1, 1, wanted(5, LockMode::write), seconds(0));
  table.request(2, 2, wanted(5, LockMode::write), seconds(0));
  table.evict(2, seconds(1));
  table.release(1, wanted(5, LockMode::write, 0, ~std::uint64_t{0}), seconds(2));
  EXPECT_EQ(table.take_grants().size(), 1U);
  EXPECT_EQ(table.objects(), 0U);
}

}  // namespace
}  // namespace iez::lab
