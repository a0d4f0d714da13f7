// Synthetic rows have the published figures, through the analyses that will be asked of real ones.
#include "jobs/synth.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/analysis.hpp"
#include "jobs/jobs_test_support.hpp"
#include "jobs/report.hpp"
#include "jobs/synth_draws.hpp"

namespace iez::jobs {
namespace {

struct Made {
  std::vector<JobRow> jobs;
  std::vector<SeriesRow> series;
  SynthTruth truth;
};

Made make(const SynthOptions& options) {
  Made made;
  made.truth = must(synthesise(options, {.job = [&](JobRow&& row) -> Result<void> {
                                           made.jobs.push_back(std::move(row));
                                           return {};
                                         },
                                         .series = [&](SeriesRow&& row) -> Result<void> {
                                           made.series.push_back(std::move(row));
                                           return {};
                                         }}));
  return made;
}

class SynthTest : public FolderTest {
 protected:
  Report report(const Made& made) {
    JobStore open_store = must(JobStore::open({.path = store()}));
    EXPECT_EQ(must(open_store.add(made.jobs)).added, made.jobs.size());
    if (!made.series.empty()) {
      EXPECT_EQ(must(open_store.add(made.series)).added, made.series.size());
    }
    JobReader reader = must(JobReader::open({.path = store()}));
    return must(make_report(reader, {.path = store()}, {}, [](std::string_view) {}));
  }
};

TEST(Shuffle, IsAPermutation) {
  for (const std::uint64_t size : {1U, 2U, 5U, 64U, 1000U}) {
    const Shuffle shuffle(size, 7);
    std::vector<bool> hit(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      ASSERT_LT(shuffle(i), size);
      EXPECT_FALSE(hit[shuffle(i)]);
      hit[shuffle(i)] = true;
    }
  }
}

TEST(Synth, TheSameSeedGivesTheSameRows) {
  const SynthOptions options{.jobs = 500, .seed = 5};
  EXPECT_EQ(make(options).jobs, make(options).jobs);
  EXPECT_NE(make(options).jobs, make({.jobs = 500, .seed = 6}).jobs);
  const SynthOptions series{.jobs = 100, .seed = 5, .series = true};
  EXPECT_EQ(make(series).series, make(series).series);
}

TEST(Synth, CabHasNoSeries) {
  const auto made = synthesise({.like = Like::cab, .series = true}, {});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("quartz alone"));
}

struct Published {
  Like like;
  double mean_hours, median_hours, least_nodes, most_nodes, mean_nodes, mean_bytes, mean_call, inefficient;
};

class PublishedTest : public SynthTest, public testing::WithParamInterface<Published> {};

TEST_P(PublishedTest, FiguresComeBack) {
  const Published& published = GetParam();
  const Made made = make({.like = published.like, .jobs = 60000, .seed = 3});
  const Report found = report(made);
  EXPECT_TRUE(found.synthetic);
  const ResultTable& summary = found.summary["summary"];
  EXPECT_EQ(summary.integer(0, "jobs"), 60000);
  EXPECT_EQ(summary.integer(0, "io_jobs"), 31800);  // 53 %
  EXPECT_EQ(summary.integer(0, "write_bytes"), static_cast<std::int64_t>(made.truth.write_bytes));
  EXPECT_EQ(summary.integer(0, "read_bytes"), static_cast<std::int64_t>(made.truth.read_bytes));
  EXPECT_NEAR(summary.number(0, "write_bytes") / 60000, published.mean_bytes, 0.05 * published.mean_bytes);
  const ResultTable& statistics = found.sections[0].answer["statistics"];
  EXPECT_NEAR(statistics.number(0, "mean"), published.mean_hours, 0.02 * published.mean_hours);
  EXPECT_NEAR(statistics.number(0, "median"), published.median_hours, 0.05 * published.median_hours);
  EXPECT_NEAR(statistics.number(0, "most"), 23.9, 0.1);
  EXPECT_GT(statistics.number(0, "below"), 0.9);
  EXPECT_EQ(statistics.number(1, "least"), published.least_nodes);
  EXPECT_NEAR(statistics.number(1, "most"), published.most_nodes, 0.02 * published.most_nodes);
  EXPECT_NEAR(statistics.number(1, "mean"), published.mean_nodes, 0.02 * published.mean_nodes);
  EXPECT_EQ(statistics.number(1, "median"), 8);
  EXPECT_GT(statistics.number(1, "below"), 0.9);
  const ResultTable& classes = found.sections[2].answer["classes"];
  EXPECT_NEAR(classes.number(0, "mean_call"), published.mean_call, 0.1 * published.mean_call);
  EXPECT_EQ(classes.integer(0, "inefficient"), static_cast<std::int64_t>(made.truth.heavy_inefficient));
  EXPECT_EQ(classes.integer(0, "efficient"), static_cast<std::int64_t>(made.truth.heavy_efficient));
  EXPECT_NEAR(classes.number(0, "inefficient") / classes.number(0, "heavy"), published.inefficient, 0.001);
  const ResultTable& correlations = found.sections[3].answer["correlations"];
  for (std::size_t row = 0; row < correlations.rows.size(); ++row) {
    const std::string operation = correlations.text(row, "operation");
    if (operation == "mkdir" || operation == "mknod") {
      EXPECT_NEAR(correlations.number(row, "r"), 0.93, 0.07) << operation;
    }
  }
  // The two busy hours.
  EXPECT_THAT(finding_text(found.sections[8].findings), testing::AllOf(testing::HasSubstr("05:00"), testing::HasSubstr("11:00")));
}

INSTANTIATE_TEST_SUITE_P(Machines, PublishedTest,
                         testing::Values(Published{Like::cab, 0.8, 0.003, 2, 758, 19.7, 14.4e9, 127e3, 0.646},
                                         Published{Like::quartz, 0.85, 0.03, 1, 1197, 19.8, 18.1e9, 219e3, 0.69}),
                         [](const auto& machine) { return std::string(to_string(machine.param.like)); });

// It takes many jobs until all who are heavy users have written enough. Of Cab, the published numbers do not add up.
TEST_F(SynthTest, HeavyUsersAreThePublishedOnes) {
  const Report found = report(make({.jobs = 400000, .seed = 3}));
  const ResultTable& classes = found.sections[2].answer["classes"];
  ASSERT_EQ(classes.text(1, "what"), "users");
  EXPECT_EQ(classes.integer(1, "heavy"), 168);
  EXPECT_EQ(classes.integer(1, "inefficient"), 111);
  EXPECT_EQ(classes.integer(1, "efficient"), 57);
}

TEST_F(SynthTest, SeriesHaveThePublishedShape) {
  const Made made = make({.jobs = 3359, .seed = 2, .series = true});  // a fifth of 16,795
  EXPECT_EQ(made.truth.io_jobs, 2285U);
  EXPECT_EQ(made.truth.writers, 2089U);
  const Report found = report(made);
  const ResultTable& series = found.summary["series"];
  EXPECT_EQ(series.integer(0, "rows"), static_cast<std::int64_t>(made.truth.series_rows));
  EXPECT_EQ(series.integer(0, "write_bytes"), static_cast<std::int64_t>(made.truth.write_bytes));
  EXPECT_EQ(found.summary["summary"].integer(0, "write_bytes"), static_cast<std::int64_t>(made.truth.write_bytes));
  const ResultTable& share = found.sections[6].answer["statistics"];
  EXPECT_NEAR(share.number(0, "mean_share"), 0.788, 0.03);
  EXPECT_NEAR(share.number(2, "mean_share"), 0.804, 0.03);
  const ResultTable& largest = found.sections[7].answer["largest"];
  EXPECT_NEAR(largest.number(0, "above_50_percent"), 170 / 5.0, 1);
  EXPECT_NEAR(largest.number(0, "below_15_percent"), 16485 / 5.0, 1);
  EXPECT_NEAR(largest.number(0, "below_5_percent"), 16173 / 5.0, 1);
  const ResultTable& sizes = found.sections[7].answer["size_classes"];
  for (std::size_t row = 0; row < sizes.rows.size(); ++row) {
    if (sizes.text(row, "size") == "1 kB to 1 MB") {
      EXPECT_NEAR(sizes.number(row, "jobs_mostly") / 2285, 0.73, 0.005);
    }
  }
  EXPECT_EQ(found.sections[4].answer["mdts"].rows.size(), 14U);
  // Files grow with bytes as in the jobs of a year, so that both may be in one store.
  const ResultTable& correlations = found.sections[3].answer["correlations"];
  for (std::size_t row = 0; row < correlations.rows.size(); ++row) {
    const std::string operation = correlations.text(row, "operation");
    if (operation == "mkdir" || operation == "mknod") {
      EXPECT_NEAR(correlations.number(row, "r"), 0.93, 0.07) << operation;
    }
  }
}

}  // namespace
}  // namespace iez::jobs
