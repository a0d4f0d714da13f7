#include "contention/equations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "base/rng.hpp"

namespace iez::contention {
namespace {

using testing::HasSubstr;

std::string two_digits(double value) { return fmt::format("{:.2f}", value); }

// Rows as printed in the source: compared as text, to the printed digit.
struct PrintedRow {
  const char* in_use;
  int requested;
  const char* load;
};

void expect_table(std::uint32_t osts, std::uint32_t stripes, const std::array<PrintedRow, 10>& rows) {
  std::vector<std::uint32_t> requests;
  for (std::size_t n = 1; n <= rows.size(); ++n) {
    SCOPED_TRACE(fmt::format("{} OSTs, {} jobs of {}", osts, n, stripes));
    const PrintedRow& row = rows[n - 1];
    requests.push_back(stripes);
    const auto closed = expected_usage(osts, stripes, n);
    const auto summed = expected_usage(osts, requests);
    ASSERT_TRUE(closed);
    ASSERT_TRUE(summed);
    EXPECT_EQ(two_digits(closed->in_use), row.in_use);
    EXPECT_EQ(two_digits(closed->load), row.load);
    EXPECT_EQ(closed->requested, row.requested);
    EXPECT_EQ(two_digits(summed->in_use), row.in_use);
    EXPECT_EQ(two_digits(summed->load), row.load);
    EXPECT_EQ(summed->requested, row.requested);
  }
}

TEST(Equations, TableOf160Stripes) {
  expect_table(480, 160,
               {{{"160.00", 160, "1.00"},
                 {"266.67", 320, "1.20"},
                 {"337.78", 480, "1.42"},
                 {"385.19", 640, "1.66"},
                 {"416.79", 800, "1.92"},
                 {"437.86", 960, "2.19"},
                 {"451.91", 1120, "2.48"},
                 {"461.27", 1280, "2.77"},  // the source prints 2.78; 1280 / 461.2711 is 2.7749
                 {"467.51", 1440, "3.08"},
                 {"471.68", 1600, "3.39"}}});
}

TEST(Equations, TableOf64Stripes) {
  expect_table(480, 64,
               {{{"64.00", 64, "1.00"},
                 {"119.47", 128, "1.07"},
                 {"167.54", 192, "1.15"},
                 {"209.20", 256, "1.22"},
                 {"245.31", 320, "1.30"},
                 {"276.60", 384, "1.39"},
                 {"303.72", 448, "1.48"},
                 {"327.22", 512, "1.56"},  // the source prints 1.57; 512 / 327.2230 is 1.5647
                 {"347.59", 576, "1.66"},
                 {"365.25", 640, "1.75"}}});
}

TEST(Equations, TableOfStampede) {
  expect_table(160, 128,
               {{{"128.00", 128, "1.00"},
                 {"153.60", 256, "1.67"},
                 {"158.72", 384, "2.42"},
                 {"159.74", 512, "3.21"},
                 {"159.95", 640, "4.00"},
                 {"159.99", 768, "4.80"},
                 {"160.00", 896, "5.60"},
                 {"160.00", 1024, "6.40"},
                 {"160.00", 1152, "7.20"},
                 {"160.00", 1280, "8.00"}}});
}

TEST(Equations, LogStructuredRuns) {
  EXPECT_EQ(fmt::format("{:.1f}", log_structured_usage(480, 512)->load), "2.4");
  EXPECT_EQ(fmt::format("{:.0f}", log_structured_usage(480, 688)->load), "3");
  EXPECT_EQ(two_digits(log_structured_usage(480, 2048)->load), "8.53");
  // The source's text cuts this to 17.06; its table, as the equation, has 17.07.
  EXPECT_EQ(two_digits(log_structured_usage(480, 4096)->load), "17.07");
  EXPECT_EQ(log_structured_usage(480, 4096)->requested, 8192);
}

// The four jobs of the source, mean of five runs: what was predicted and what was seen.
struct FourJobs {
  std::uint32_t stripes;
  std::array<double, 4> seen_sharing;  // OSTs used by exactly 1, 2, 3, 4 jobs
  const char* predicted_in_use;
  const char* predicted_load;
  double seen_in_use;
  const char* seen_load;  // D_req over the D_inuse that was seen
};

constexpr std::array<FourJobs, 5> kFourJobs{{{32, {103.2, 11.2, 0.8, 0.0}, "115.76", "1.11", 115.2, "1.11"},
                                             {64, {172.6, 35.8, 3.4, 0.4}, "209.20", "1.22", 212.2, "1.21"},
                                             {96, {199.4, 76.4, 9.8, 0.6}, "283.39", "1.36", 286.2, "1.34"},
                                             {128, {211.6, 111.4, 22.4, 2.6}, "341.18", "1.50", 348.0, "1.47"},
                                             {160, {191.8, 147.0, 41.8, 7.2}, "385.19", "1.66", 387.8, "1.65"}}};

TEST(Equations, FourJobsPredictedAndSeen) {
  for (const FourJobs& row : kFourJobs) {
    SCOPED_TRACE(row.stripes);
    const auto predicted = expected_usage(480, row.stripes, 4);
    ASSERT_TRUE(predicted);
    EXPECT_EQ(two_digits(predicted->in_use), row.predicted_in_use);
    EXPECT_EQ(two_digits(predicted->load), row.predicted_load);
    EXPECT_EQ(two_digits(predicted->requested / row.seen_in_use), row.seen_load);

    std::vector<double> seen{480 - row.seen_in_use};
    seen.insert(seen.end(), row.seen_sharing.begin(), row.seen_sharing.end());
    const Usage measured = usage_of_sharing(seen);
    EXPECT_NEAR(measured.in_use, row.seen_in_use, 0.01);
    EXPECT_NEAR(measured.requested, predicted->requested, 1.0);
  }
}

// Five runs are few, so the seen counts scatter: within 9 OSTs of the exact law in the worst case (211.6 against 201.9).
TEST(Equations, SharingOfFourJobsIsNearWhatWasSeen) {
  for (const FourJobs& row : kFourJobs) {
    const auto sharing = expected_sharing(480, row.stripes, 4);
    ASSERT_TRUE(sharing);
    ASSERT_EQ(sharing->size(), 5U);
    for (std::size_t k = 1; k <= 4; ++k) {
      EXPECT_NEAR((*sharing)[k], row.seen_sharing[k - 1], 10.0) << row.stripes << " stripes, k " << k;
    }
  }
}

TEST(Sharing, ByHand) {
  // Two jobs of 1 and 2 stripes on 4 OSTs: chances 1/4 and 1/2.
  const auto sharing = expected_sharing(4, std::array<std::uint32_t, 2>{1, 2});
  ASSERT_TRUE(sharing);
  ASSERT_EQ(sharing->size(), 3U);
  EXPECT_DOUBLE_EQ((*sharing)[0], 4 * 0.75 * 0.5);
  EXPECT_DOUBLE_EQ((*sharing)[1], 4 * (0.25 * 0.5 + 0.75 * 0.5));
  EXPECT_DOUBLE_EQ((*sharing)[2], 4 * 0.25 * 0.5);
}

TEST(Sharing, WithoutJobsAndWithFullRequests) {
  EXPECT_EQ(*expected_sharing(7, 3, 0), std::vector<double>{7.0});
  EXPECT_EQ(*expected_sharing(7, std::span<const std::uint32_t>{}), std::vector<double>{7.0});
  EXPECT_EQ(*expected_sharing(7, 7, 3), (std::vector<double>{0, 0, 0, 7}));
}

TEST(Sharing, AgreesWithTheEquations) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto osts = static_cast<std::uint32_t>(rng.between(1, 600));
    std::vector<std::uint32_t> requests(rng.between(1, 60));
    for (std::uint32_t& request : requests) request = static_cast<std::uint32_t>(rng.between(1, osts));
    const auto usage = expected_usage(osts, requests);
    const auto sharing = expected_sharing(osts, requests);
    ASSERT_TRUE(usage);
    ASSERT_TRUE(sharing);
    EXPECT_NEAR(std::accumulate(sharing->begin(), sharing->end(), 0.0), osts, 1e-9 * osts);
    const Usage summed = usage_of_sharing(*sharing);
    EXPECT_NEAR(summed.in_use, usage->in_use, 1e-9 * osts);
    EXPECT_NEAR(summed.requested, usage->requested, 1e-9 * usage->requested);
    std::ranges::reverse(requests);
    EXPECT_NEAR(expected_usage(osts, requests)->in_use, usage->in_use, 1e-9 * osts);
  }
}

TEST(Sharing, AgreesWithDrawing) {
  constexpr std::uint64_t kSeed = 20;
  constexpr int kRuns = 4000;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  const std::array<std::uint32_t, 5> requests{3, 7, 12, 1, 20};
  constexpr std::uint32_t kOsts = 30;
  std::vector<double> drawn(requests.size() + 1, 0.0);
  std::vector<std::uint32_t> deck(kOsts);
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::size_t> users(kOsts, 0);
    std::iota(deck.begin(), deck.end(), 0U);
    for (const std::uint32_t request : requests) {
      for (std::uint32_t i = 0; i < request; ++i) {
        std::swap(deck[i], deck[rng.between(i, kOsts - 1)]);
        ++users[deck[i]];
      }
    }
    for (const std::size_t k : users) drawn[k] += 1.0 / kRuns;
  }
  const auto expected = expected_sharing(kOsts, requests);
  ASSERT_TRUE(expected);
  for (std::size_t k = 0; k < expected->size(); ++k) EXPECT_NEAR((*expected)[k], drawn[k], 0.15) << k;
}

TEST(Sharing, OfEqualRequestsIsThatOfTheList) {
  for (const std::uint32_t stripes : {1U, 2U, 17U, 40U}) {
    for (const std::size_t jobs : {1U, 2U, 7U, 90U}) {
      SCOPED_TRACE(fmt::format("{} jobs of {}", jobs, stripes));
      const auto listed = expected_sharing(40, std::vector<std::uint32_t>(jobs, stripes));
      const auto closed = expected_sharing(40, stripes, jobs);
      ASSERT_TRUE(listed);
      ASSERT_TRUE(closed);
      for (std::size_t k = 0; k < std::max(listed->size(), closed->size()); ++k) {
        const double a = k < listed->size() ? (*listed)[k] : 0;
        const double b = k < closed->size() ? (*closed)[k] : 0;
        EXPECT_NEAR(a, b, 1e-11) << k;
      }
    }
  }
}

TEST(Sharing, ManyJobsGiveAShortList) {
  const auto sharing = expected_sharing(1000, 4, 25'000);  // mean 100 jobs an OST
  ASSERT_TRUE(sharing);
  EXPECT_LT(sharing->size(), 250U);
  EXPECT_NEAR(std::accumulate(sharing->begin(), sharing->end(), 0.0), 1000, 1e-6);
  EXPECT_NEAR(usage_of_sharing(*sharing).requested, 100'000, 1e-3);
}

TEST(Equations, NothingRequested) {
  EXPECT_EQ(*expected_usage(480, std::span<const std::uint32_t>{}), Usage{});
  EXPECT_EQ(*expected_usage(480, 8, 0), Usage{});
  EXPECT_EQ(usage_of_sharing({}), Usage{});
}

TEST(Equations, KeepTheirDigitsOnHugeMachines) {
  const auto usage = expected_usage(4'000'000'000U, 1, 2);
  ASSERT_TRUE(usage);
  EXPECT_NEAR(usage->in_use, 2 - 1.0 / 4e9, 1e-12);
}

TEST(Equations, RefuseWrongRequests) {
  EXPECT_THAT(expected_usage(0, 1, 1).error().message, HasSubstr("osts: 0"));
  EXPECT_THAT(expected_usage(480, 481, 1).error().message, HasSubstr("481 stripes on distinct OSTs, but there are 480 OSTs"));
  EXPECT_THAT(expected_usage(480, std::array<std::uint32_t, 2>{5, 0}).error().message, HasSubstr("request 1: 0 stripes"));
  EXPECT_FALSE(expected_sharing(3, std::array<std::uint32_t, 1>{4}));
  EXPECT_FALSE(expected_sharing(3, 0, 2));
  EXPECT_FALSE(expected_sharing(0, 1, 2));
  EXPECT_FALSE(log_structured_usage(1, 4));
  EXPECT_EQ(expected_usage(480, 0, 1).error().code, Errc::invalid_argument);
}

TEST(Buying, FindsTheFewestOsts) {
  for (const std::uint32_t stripes : {1U, 2U, 64U, 160U}) {
    for (const std::uint64_t jobs : {1U, 2U, 4U, 10U, 1000U}) {
      for (const double load : {1.001, 1.2, 1.66, 3.0, 8.0}) {
        SCOPED_TRACE(fmt::format("{} jobs of {}, load {}", jobs, stripes, load));
        const auto osts = osts_for_load(stripes, jobs, load);
        ASSERT_TRUE(osts);
        const std::uint32_t count = osts->value_or(0);
        ASSERT_GE(count, stripes);
        EXPECT_LE(expected_usage(count, stripes, jobs)->load, load);
        if (count > stripes) {
          EXPECT_GT(expected_usage(count - 1, stripes, jobs)->load, load);
        }
      }
    }
  }
  // Ten jobs of 160 see 3.392 on 480 OSTs, and 3.398 on 479.
  EXPECT_EQ(*osts_for_load(160, 10, 3.40), std::optional(479U));
  EXPECT_EQ(*osts_for_load(160, 1, 1.0), std::optional(160U));
}

TEST(Buying, SaysWhenNoNumberIsEnough) {
  EXPECT_EQ(*osts_for_load(160, 2, 1.0), std::nullopt);
  EXPECT_EQ(*osts_for_load(4'000'000'000U, 1'000'000, 1.0001), std::nullopt);
  EXPECT_THAT(osts_for_load(160, 2, 0.99).error().message, HasSubstr("load: 0.99; expected 1"));
  EXPECT_FALSE(osts_for_load(160, 2, std::nan("")));
  EXPECT_FALSE(osts_for_load(0, 2, 2));
  EXPECT_FALSE(osts_for_load(1, 0, 2));
}

TEST(JobsToPassLoad, IsTheFirstOne) {
  EXPECT_EQ(*jobs_to_pass_load(480, 160, 3.0), 9U);  // 2.78, then 3.08
  EXPECT_EQ(*jobs_to_pass_load(480, 160, 1.0), 2U);
  EXPECT_EQ(*jobs_to_pass_load(160, 128, 2.0), 3U);
  EXPECT_EQ(*jobs_to_pass_load(480, 480, 5.0), 6U);  // all share all: n jobs, load n
  EXPECT_EQ(*jobs_to_pass_load(480, 2, 3.0), 678U);  // the source says "by 688 cores"; the load there is 3.04
  for (const double load : {1.0, 1.5, 2.0, 17.0, 1e9}) {
    const auto jobs = jobs_to_pass_load(480, 7, load);
    ASSERT_TRUE(jobs);
    EXPECT_GT(expected_usage(480, 7, *jobs)->load, load);
    EXPECT_LE(expected_usage(480, 7, *jobs - 1)->load, load + 1e-12);
  }
  EXPECT_FALSE(jobs_to_pass_load(480, 7, 2e9));
  EXPECT_FALSE(jobs_to_pass_load(480, 481, 2));
}

}  // namespace
}  // namespace iez::contention
