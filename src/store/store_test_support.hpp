// Databases for tests: a SQLite file in a folder of its own, and MariaDB where IEZ_TEST_MARIADB names one that may be emptied.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "store/session.hpp"
#include "store/store.hpp"

namespace iez::store {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "iez-store-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::vector<std::string> engines() {
  std::vector<std::string> all{"sqlite"};
  if (std::getenv("IEZ_TEST_MARIADB") != nullptr) all.emplace_back("mariadb");  // NOLINT(concurrency-mt-unsafe)
  return all;
}

inline std::string mariadb_url() {
  const char* const url = std::getenv("IEZ_TEST_MARIADB");  // NOLINT(concurrency-mt-unsafe)
  return url == nullptr ? "" : url;
}

inline std::unique_ptr<Session> mariadb_session() {
  const auto url = parse_store_url(mariadb_url());
  EXPECT_TRUE(url);
  auto session = make_mariadb_session(*url);
  EXPECT_TRUE(session);
  const auto connected = (*session)->connect();
  EXPECT_TRUE(connected) << (connected ? "" : connected.error().error.message);
  return *std::move(session);
}

// Drops all that is in it.
inline void empty_mariadb() {
  const auto session = mariadb_session();
  const auto gone = [&](const std::string& sql) {
    const auto done = session->define(sql);
    EXPECT_TRUE(done) << (done ? "" : done.error().error.message);
  };
  gone("SET foreign_key_checks = 0");
  for (const char* const view : {"requests", "placements"}) gone(std::string("DROP VIEW IF EXISTS ") + view);
  for (const char* const table : {"operations", "allocated", "allocations", "predicted", "predictions", "models", "misses",
                                  "files", "runs", "applications", "iez_meta"}) {
    gone(std::string("DROP TABLE IF EXISTS ") + table);
  }
}

// One empty database for each test, of the kind that the parameter says.
class StoreTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "mariadb") {
      url_ = mariadb_url();
      empty_mariadb();
    } else {
      url_ = "sqlite:" + folder_.file("state/iez.db");
    }
    reopen();
  }

  void reopen(const OpenOptions& options = {}) {
    store_.reset();
    auto opened = Store::open(url_, clock_, options);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = *std::move(opened);
  }

  Id application(const std::string& name = "ior") {
    const auto made = store_->ensure_application("ann", name, "");
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made ? made->id : 0;
  }

  void expect_whole() {
    const auto wrong = store_->check();
    ASSERT_TRUE(wrong) << wrong.error().message;
    EXPECT_EQ(*wrong, std::vector<std::string>());
  }

  TemporaryFolder folder_;
  SystemClock clock_;
  std::string url_;
  std::unique_ptr<Store> store_;
};

inline Run run_at(Id application, std::int64_t when) {
  return {
      .application = application,
      .started_ns = when,
      .ended_ns = when + 5,
      .command = "ior -a POSIX",
      .host = "node1",
      .uid = 1000,
      .job = "77",
      .ranks = 4,
      .processes = 5,
      .mode = RunMode::place,
      .exit_status = 0,
      .plan = "p1",
      .planned = 3,
      .unplanned = 1,
      .accuracy = 98.5,
      .by_weight = std::nullopt,
      .foretold = 4,
      .met = 3,
      .phases = {{.seconds = 1.5, .bytes = Bytes{4096}, .files = 2, .osts = 2},
                 {.reads = true, .seconds = 0.25, .bytes = Bytes{7}, .files = 1}},
      .targets = {{.file_system = "scratch", .targets = {{.ost = OstIndex{4}, .speed = 0.125, .place = 2}, {.ost = OstIndex{7}}}},
                  {.file_system = "home", .targets = {}}}};
}

inline Prediction prediction_at(Id application, std::int64_t when, std::size_t rows) {
  Prediction prediction{.application = application,
                        .made_ns = when,
                        .ranks = 4,
                        .model = "{\"templates\": []}",
                        .accuracy = 97.0,
                        .phase_seconds = {0.5, 2}};
  for (std::size_t i = 0; i < rows; ++i) {
    prediction.rows.push_back({.name = "/scratch/out." + std::to_string(i),
                               .created_as = i % 2 == 0 ? "" : "/scratch/tmp." + std::to_string(i),
                               .bytes = Bytes{100 + i},
                               .high = Bytes{200 + i},
                               .stripe_count = 2,
                               .rank = static_cast<std::int32_t>(i),
                               .shared = i == 0,
                               .open = i == 1,
                               .files = i == 1 ? 8U : 1U,
                               .phase = static_cast<std::uint32_t>(i % 2),
                               .read_phase = i == 0 ? 2 : -1,
                               .left_alone = i == 2,
                               .default_stripes = 3,
                               .default_stripe_size = Bytes::mib(4)});
  }
  return prediction;
}

inline Allocation allocation_of(Id prediction, std::int64_t when, std::size_t rows) {
  Allocation allocation{.prediction = prediction,
                        .plan = "plan-" + std::to_string(when),
                        .made_ns = when,
                        .planner = "local",
                        .policy = "balanced",
                        .file_system = "lustre",
                        .details = "{}"};
  for (std::size_t i = 0; i < rows; ++i) {
    AllocationRow row{.row = static_cast<std::uint32_t>(i), .reason = "2 of 15 usable OSTs"};
    row.layouts.push_back({.stripe_size = Bytes::mib(1), .osts = {{3}, {static_cast<std::uint32_t>(i)}}});
    if (i == 1) row.layouts.push_back({.stripe_size = Bytes::mib(2), .osts = {{7}}});
    allocation.rows.push_back(std::move(row));
  }
  return allocation;
}

}  // namespace iez::store
