#include "congestion/import_credits.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::congestion {
namespace {

TEST(ImportCredits, SendsWhileItMay) {
  ImportCredits import(256, 2);
  EXPECT_FALSE(import.may_send());  // nothing to send
  import.add_pages(1000);
  EXPECT_EQ(import.cnr(), 4U);
  ASSERT_TRUE(import.may_send());
  const ImportCredits::Rpc first = import.send();
  EXPECT_EQ(first.pages, 256U);
  EXPECT_EQ(first.cnr, 3U);  // 744 pages left
  EXPECT_TRUE(import.may_send());
  EXPECT_EQ(import.send().cnr, 2U);
  EXPECT_FALSE(import.may_send());  // both credits used
  EXPECT_EQ(import.used(), 2U);
  EXPECT_EQ(import.pages(), 488U);
}

TEST(ImportCredits, AReplyFreesACreditAndSetsTheirNumber) {
  ImportCredits import(256);
  import.add_pages(256 * 10);
  (void)import.send();
  EXPECT_FALSE(import.may_send());
  import.reply(3);
  EXPECT_EQ(import.used(), 0U);
  EXPECT_EQ(import.rcc(), 3U);
  for (int i = 0; i < 3; ++i) (void)import.send();
  EXPECT_FALSE(import.may_send());
  import.reply(1);  // fewer than are used
  EXPECT_EQ(import.used(), 2U);
  EXPECT_FALSE(import.may_send());
  import.reply(1);
  EXPECT_FALSE(import.may_send());
  import.reply(1);
  EXPECT_TRUE(import.may_send());
}

TEST(ImportCredits, TheLastRpcTakesTheRest) {
  ImportCredits import(256, 8);
  import.add_pages(300);
  EXPECT_EQ(import.send().cnr, 1U);
  const ImportCredits::Rpc last = import.send();
  EXPECT_EQ(last.pages, 44U);
  EXPECT_EQ(last.cnr, 0U);
  EXPECT_FALSE(import.may_send());
}

TEST(ImportCredits, SparesItselfFromBadNumbers) {
  ImportCredits import(0, 0);
  EXPECT_EQ(import.rcc(), 1U);
  import.add_pages(1);
  EXPECT_EQ(import.send().pages, 1U);
  import.reply(0);
  EXPECT_EQ(import.rcc(), 1U);
  import.reply(5);  // nothing in flight
  EXPECT_EQ(import.used(), 0U);
  EXPECT_EQ(import.rcc(), 5U);
  ImportCredits huge(1);
  huge.add_pages(~std::uint64_t{0});
  EXPECT_EQ(huge.cnr(), ~0U);
}

TEST(ImportCredits, NeverHasMoreInFlightThanItWasEverGiven) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    ImportCredits import(16);
    std::uint64_t added = 0;
    std::uint64_t sent = 0;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t pages = rng.below(40);
      import.add_pages(pages);
      added += pages;
      while (import.may_send()) {
        sent += import.send().pages;
        ASSERT_LE(import.used(), import.rcc());
      }
      if (import.used() > 0 && rng.chance(0.7)) import.reply(static_cast<unsigned>(rng.below(9)));
      ASSERT_LE(import.used(), 8U);
      ASSERT_EQ(sent + import.pages(), added);
    }
  }
}

}  // namespace
}  // namespace iez::congestion
