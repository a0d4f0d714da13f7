// Random rows for tests of analyses, and a store of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "jobs/analysis.hpp"
#include "jobs/jobs_test_support.hpp"

namespace iez::jobs {

inline constexpr std::int64_t kStart = 1528329600;  // 2018-06-07, a Thursday
inline constexpr std::int64_t kDay = 86400;

class AnalysisTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    seed_ = std::random_device{}();
    RecordProperty("seed", fmt::format("{}", seed_));
  }

  // Rows as jobs and servers make them, with zeros, ties and large numbers.
  void make_rows(Rng& rng) {
    for (int i = 0; i < 80; ++i) {
      JobRow job = job_row(fmt::format("{}", i), kStart + static_cast<std::int64_t>(rng.below(5 * kDay)));
      job.cluster = rng.chance(0.6) ? "a" : "b";
      job.user = fmt::format("{}", 1000 + rng.below(6));
      // No two of the same duration: which job is the longest would be a matter of taste.
      job.ended = job.started + 100 + std::int64_t{611} * i + (i % 7 == 0 ? kDay : 0);
      job.nodes = static_cast<std::uint32_t>(1 + rng.below(200));
      if (rng.chance(0.8)) job.memory = 1000000 * (1 + rng.below(50));
      if (rng.chance(0.7)) job.data.write_bytes = std::uint64_t{1} << rng.below(40);
      if (rng.chance(0.6)) job.data.read_bytes = rng.below(1000000000);
      job.data.write_calls = job.data.write_bytes > 0 ? 1 + rng.below(job.data.write_bytes) : 0;
      job.metadata.open = rng.below(1000);
      job.metadata.close = rng.below(1000);
      job.metadata.mkdir = rng.below(10);
      job.metadata.mknod = rng.below(1U << rng.below(12));
      job.metadata.unlink = rng.below(3);
      if (rng.chance(0.6)) add_series(rng, job);
      jobs_.push_back(job);
    }
  }

  void add_series(Rng& rng, const JobRow& job) {
    const std::int64_t minutes = std::min<std::int64_t>(30, (job.ended - job.started) / 60);
    for (std::int64_t minute = 1; minute <= minutes; ++minute) {
      for (const char* const target : {"fs-OST0000", "fs-OST0001", "fs-MDT0000", "fs-MDT0001"}) {
        if (!rng.chance(0.4)) continue;
        SeriesRow row = series_row(job.id, job.started + minute * 60, 0, target);
        row.cluster = job.cluster;
        row.user = job.user;
        const bool data = row.target.contains("OST");
        if (data && rng.chance(0.6)) row.data.write_bytes = std::uint64_t{1} << rng.below(24);
        if (data && rng.chance(0.4)) row.data.read_bytes = rng.below(100000);
        if (!data) row.metadata = {.open = rng.below(50), .close = rng.below(50)};
        series_.push_back(row);
      }
    }
  }

  void keep() {
    JobStore open_store = must(JobStore::open({.path = store(), .threads = 2}));
    EXPECT_EQ(must(open_store.add(jobs_)).added, jobs_.size());
    EXPECT_EQ(must(open_store.add(series_)).added, series_.size());
  }

  Answer answer(std::string_view name, const AnalysisOptions& options = {}) {
    JobReader reader = must(JobReader::open({.path = store(), .threads = 2}));
    must(prepare(reader.duck(), options));
    return must(ask(reader.duck(), name));
  }

  void random() {
    Rng rng(seed_);
    make_rows(rng);
    keep();
  }

  std::uint64_t seed_ = 0;
  std::vector<JobRow> jobs_;
  std::vector<SeriesRow> series_;
};

inline double bytes_of(const JobRow& job) {
  return static_cast<double>(job.data.read_bytes) + static_cast<double>(job.data.write_bytes);
}

inline double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

inline double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

#define IEZ_EXPECT_CLOSE(a, b) EXPECT_NEAR(a, b, 1e-9 * std::max(1.0, std::abs(b)))

// Rows of a table by two of its columns.
inline std::size_t row_of(const ResultTable& table, std::string_view a, const std::string& a_is, std::string_view b,
                          const std::string& b_is) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto text = [&](std::string_view column) {
      const Value& value = table.rows[row][table.column(column)];
      return std::holds_alternative<std::string>(value) ? table.text(row, column) : fmt::format("{}", table.integer(row, column));
    };
    if (text(a) == a_is && text(b) == b_is) return row;
  }
  ADD_FAILURE() << "no row with " << a_is << ", " << b_is;
  return 0;
}

}  // namespace iez::jobs
