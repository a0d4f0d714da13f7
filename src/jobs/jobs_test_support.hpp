// What tests of jobs share: a folder that goes away, and rows.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "jobs/job_store.hpp"
#include "jobs/rows.hpp"

namespace iez::jobs {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "iez-jobs-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string store() const { return folder_ + "/store"; }

  std::string folder_;
};

inline JobRow job_row(std::string id, std::int64_t started, std::uint64_t written = 0) {
  JobRow row{.cluster = "c", .id = std::move(id), .user = "1000", .started = started, .ended = started + 60, .nodes = 1};
  row.data.write_bytes = written;
  row.data.write_calls = written > 0 ? 1 : 0;
  return row;
}

inline SeriesRow series_row(std::string id, std::int64_t time, std::uint64_t written, std::string target = "fs-OST0000") {
  SeriesRow row{.cluster = "c", .target = std::move(target), .id = std::move(id), .user = "1000", .time = time};
  row.data.write_bytes = written;
  row.data.write_calls = written > 0 ? 1 : 0;
  return row;
}

// The value of a result, or a failed test.
template <typename T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message;
    std::abort();
  }
  return *std::move(result);
}

inline void must(const Result<void>& result) { ASSERT_TRUE(result) << result.error().message; }

}  // namespace iez::jobs
