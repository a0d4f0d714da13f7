#include "jobs/job_store.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "jobs/jobs_test_support.hpp"
#include "jobs/row_text.hpp"
#include "jobs/store_files.hpp"

namespace iez::jobs {
namespace {

using testing::HasSubstr;

class JobStoreTest : public FolderTest {
 protected:
  Added add(const std::vector<JobRow>& rows) { return must(must(JobStore::open({.path = store()})).add(rows)); }
  Added add(const std::vector<SeriesRow>& rows) { return must(must(JobStore::open({.path = store()})).add(rows)); }

  // As on a full disk: no file may grow beyond some bytes.
  Result<Added> add_where_files_end_at(rlim_t bytes, const std::vector<JobRow>& rows) {
    JobStore full = must(JobStore::open({.path = store()}));
    rlimit limit{};
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlimit tight{.rlim_cur = bytes, .rlim_max = limit.rlim_max};
    const auto before = ::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
    Result<Added> added = full.add(rows);
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    ::signal(SIGXFSZ, before);
    return added;
  }

  // Of each key of jobs: the bytes written.
  std::map<std::string, std::int64_t> kept() {
    JobReader reader = must(JobReader::open({.path = store()}));
    const ResultTable table = must(
        reader.duck().query("SELECT job, CAST(epoch(started) AS BIGINT) AS began, write_bytes FROM jobs ORDER BY job, began"));
    std::map<std::string, std::int64_t> rows;
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      const auto [entry, fresh] = rows.emplace(fmt::format("{} {}", table.text(row, "job"), table.integer(row, "began")),
                                               table.integer(row, "write_bytes"));
      EXPECT_TRUE(fresh) << entry->first << " is there twice";
    }
    return rows;
  }

  std::vector<std::string> files(Table table = Table::jobs) {
    std::vector<std::string> paths;
    for (const StoreFile& file : must(all_files(store(), table))) paths.push_back(file.path);
    return paths;
  }
};

TEST_F(JobStoreTest, TheSameRowsTwiceChangeNothing) {
  std::vector<JobRow> rows;
  for (int i = 0; i < 100; ++i) rows.push_back(job_row(fmt::format("{}", i), 1500000000 + i * 86400, 10));  // four months
  EXPECT_EQ(add(rows).added, 100U);
  const auto before = files();
  EXPECT_EQ(before.size(), 4U);
  EXPECT_EQ(add(rows).known, 100U);
  std::ranges::reverse(rows);
  EXPECT_EQ(add(rows).known, 100U);
  rows.resize(50);  // another batch of known rows
  rows.push_back(job_row("new", 1500000000, 10));
  const Added added = add(rows);
  EXPECT_EQ(added.added, 1U);
  EXPECT_EQ(added.known, 50U);
  EXPECT_EQ(kept().size(), 101U);
  EXPECT_EQ(files().size(), before.size() + 1);
}

TEST_F(JobStoreTest, RandomBatchesKeepTheFirstOfThoseThatTellMost) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  constexpr std::uint32_t kNodes = 3;
  std::map<std::string, std::pair<std::uint32_t, std::int64_t>> expected;  // nodes that told, bytes
  Added sum;
  for (int round = 0; round < 12; ++round) {
    std::vector<JobRow> rows;
    for (std::uint64_t n = rng.below(60); n > 0; --n) {
      const auto started = static_cast<std::int64_t>(1500000000 + rng.below(6) * 1000000);
      JobRow row = job_row(fmt::format("{}", rng.below(30)), started, 1 + rng.below(1000));
      row.nodes = kNodes;
      row.silent_nodes = rng.chance(0.8) ? kNodes : static_cast<std::uint32_t>(rng.below(kNodes));
      const std::pair told(kNodes - row.silent_nodes, static_cast<std::int64_t>(row.data.write_bytes));
      const auto [entry, fresh] = expected.emplace(fmt::format("{} {}", row.id, started), told);
      if (!fresh && entry->second.first < told.first) entry->second = told;
      rows.push_back(std::move(row));
    }
    sum.merge(add(rows));
    if (rng.chance(0.25)) (void)must(must(JobStore::open({.path = store()})).compact());
  }
  EXPECT_EQ(sum.added, expected.size());
  EXPECT_EQ(sum.given, sum.added + sum.amended + sum.known);
  const auto found = kept();
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [key, told] : expected) EXPECT_EQ(found.at(key), told.second) << key;
  EXPECT_TRUE(must(check_store(store())).problems.empty());
}

// A node that reports late; then the spool of before is read once more.
TEST_F(JobStoreTest, ARowThatMoreNodesToldOfAmends) {
  JobRow early = job_row("1", 1500000000, 10);
  early.nodes = 2;
  early.silent_nodes = 1;
  JobRow late = early;
  late.silent_nodes = 0;
  late.data.write_bytes = 25;
  EXPECT_EQ(add(std::vector{early, job_row("2", 1500000007, 4)}).added, 2U);
  EXPECT_EQ(add(std::vector{job_row("3", 1500000500, 5)}).added, 1U);
  const Added added = add(std::vector{late, job_row("4", 1500000600, 6)});
  EXPECT_EQ(added.added, 1U);
  EXPECT_EQ(added.amended, 1U);
  EXPECT_EQ(added.known, 0U);
  const std::map<std::string, std::int64_t> expected{
      {"1 1500000000", 25}, {"2 1500000007", 4}, {"3 1500000500", 5}, {"4 1500000600", 6}};
  EXPECT_EQ(kept(), expected);
  EXPECT_EQ(add(std::vector{early}).known, 1U);
  EXPECT_EQ(add(std::vector{early, late}).known, 2U);
  EXPECT_EQ(kept(), expected);
  EXPECT_TRUE(must(check_store(store())).problems.empty());
}

TEST_F(JobStoreTest, AFullDiskWhileARowIsAmendedChangesNothing) {
  std::vector<JobRow> rows;
  for (int i = 0; i < 5000; ++i) {
    rows.push_back(job_row(fmt::format("{}", i), 1500000000 + i, static_cast<std::uint64_t>(i) * 7919));
    rows.back().nodes = 2;
    rows.back().silent_nodes = 1;
  }
  add(rows);
  const auto before = kept();
  for (JobRow& row : rows) row.silent_nodes = 0;
  ASSERT_FALSE(add_where_files_end_at(5000, rows));
  EXPECT_EQ(kept(), before);
  EXPECT_EQ(add(rows).amended, rows.size());
}

TEST_F(JobStoreTest, EveryIdComesBack) {
  const std::vector<std::string> ids{
      "it's",     "\"quoted\"", "two\nlines",          "\xF0\x9F\x9A\x80",    std::string("nul\0byte", 8),
      "\xFF\xFE", "\\xff",      "a,b;DROP TABLE jobs", std::string(5000, 'x')};
  std::vector<JobRow> rows;
  std::vector<SeriesRow> series;
  for (const std::string& id : ids) {
    rows.push_back(job_row(id, 1500000000));
    series.push_back(series_row(id, 1500000060, 5));
  }
  EXPECT_EQ(add(rows).added, ids.size());
  EXPECT_EQ(add(series).added, ids.size());
  JobReader reader = must(JobReader::open({.path = store()}));
  for (const char* const table : {"jobs", "series"}) {
    const ResultTable found = must(reader.duck().query(fmt::format("SELECT job FROM {}", table)));
    std::set<std::string> back;
    for (std::size_t row = 0; row < found.rows.size(); ++row) back.insert(from_storable(found.text(row, "job")));
    EXPECT_EQ(back, std::set<std::string>(ids.begin(), ids.end()));
  }
}

TEST_F(JobStoreTest, DuplicateAndLateSamplesAreKeptOnce) {
  EXPECT_EQ(add(std::vector{series_row("1", 1500000120, 7), series_row("1", 1500000120, 9)}).added, 1U);
  EXPECT_EQ(add(std::vector{series_row("1", 1500000060, 3)}).added, 1U);  // late
  EXPECT_EQ(add(std::vector{series_row("1", 1500000120, 8)}).known, 1U);
  JobReader reader = must(JobReader::open({.path = store()}));
  const ResultTable rows = must(reader.duck().query("SELECT write_bytes FROM series ORDER BY sampled"));
  ASSERT_EQ(rows.rows.size(), 2U);
  EXPECT_EQ(rows.integer(0, "write_bytes"), 3);
  EXPECT_EQ(rows.integer(1, "write_bytes"), 7);
}

TEST_F(JobStoreTest, RowsThatNoStoreCanKeepAreRejectedWithTheReason) {
  JobRow backwards = job_row("1", 1500000000);
  backwards.ended = 1;
  JobRow large = job_row("2", 1500000000);
  large.data.read_bytes = ~std::uint64_t{0};
  const Added added = add(std::vector{backwards, large, job_row("", 5), job_row("3", -1), job_row("4", 5)});
  EXPECT_EQ(added.added, 1U);
  EXPECT_EQ(added.rejected.skipped, 4U);
  EXPECT_THAT(added.rejected.problems[0].message, HasSubstr("before it started"));
  EXPECT_THAT(added.rejected.problems[1].message, HasSubstr("2^63-1"));
}

TEST_F(JobStoreTest, ATruncatedFileIsNamed) {
  add(std::vector{job_row("1", 1500000000), job_row("2", 1500000001)});
  add(std::vector{job_row("3", 1510000000)});
  const std::string path = files()[0];
  const auto size = std::filesystem::file_size(path);
  for (const std::uintmax_t left : {size - 1, size / 2, std::uintmax_t{3}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path, left);
    const auto reader = JobReader::open({.path = store()});
    ASSERT_FALSE(reader);
    EXPECT_THAT(reader.error().message, HasSubstr(path));
    EXPECT_THAT(reader.error().message, HasSubstr("ingest its rows again"));
    const CheckReport report = must(check_store(store()));
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_THAT(report.problems[0], HasSubstr(path));
    EXPECT_EQ(report.job_rows, 1U);
  }
  // The remedy works.
  std::filesystem::remove(path);
  EXPECT_EQ(add(std::vector{job_row("1", 1500000000), job_row("2", 1500000001)}).added, 2U);
  EXPECT_EQ(kept().size(), 3U);
}

TEST_F(JobStoreTest, DamageInTheMiddleIsFoundByCheck) {
  std::vector<JobRow> rows;
  for (int i = 0; i < 5000; ++i)
    rows.push_back(job_row(fmt::format("job {}", i), 1500000000 + i, static_cast<std::uint64_t>(i) * 12345));
  add(rows);
  const std::string path = files()[0];
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path) / 3));
    file << std::string(2000, '\xA5');
  }
  const CheckReport report = must(check_store(store()));
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_THAT(report.problems[0], HasSubstr(path));
}

TEST_F(JobStoreTest, AFileOfAnotherVersionIsNamed) {
  add(std::vector{job_row("1", 1500000000)});
  const std::string path = files()[0];
  const std::string moved = folder_ + "/moved.parquet";
  std::filesystem::rename(path, moved);
  must(must(Duck::open({}))
           .run(fmt::format("COPY (FROM {}) TO {} (FORMAT parquet, KV_METADATA {{iez_version: '1'}})", sql_text(moved),
                            sql_text(path))));
  const auto names_it = [&](const std::string& message) {
    EXPECT_THAT(message, testing::StartsWith(path + ": written in version 1 of the format; expected 2"));
  };
  const auto reader = JobReader::open({.path = store()});
  ASSERT_FALSE(reader);
  names_it(reader.error().message);
  const CheckReport report = must(check_store(store()));
  ASSERT_EQ(report.problems.size(), 1U);
  names_it(report.problems[0]);
  add(std::vector{job_row("2", 1500000001)});
  const auto compacted = must(JobStore::open({.path = store()})).compact();
  ASSERT_FALSE(compacted);
  names_it(compacted.error().message);
  EXPECT_EQ(files().size(), 2U);
}

// A value that changed is no error of the format where nothing is compressed: the sums tell.
TEST_F(JobStoreTest, AValueThatChangedIsFoundByCheck) {
  constexpr std::uint64_t kOpens = 0x1122334455667788;
  std::vector<JobRow> rows;
  for (int i = 0; i < 1000; ++i) rows.push_back(job_row(fmt::format("{}", i), 1500000000));
  for (JobRow& row : rows) row.metadata.open = row.id.ends_with('7') ? kOpens : 1;  // a dictionary of two
  add(rows);
  const std::string path = files()[0];
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t at = bytes.find("\x88\x77\x66\x55\x44\x33\x22\x11");
  ASSERT_NE(at, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(at));
  file << '\x89' << std::flush;
  ASSERT_EQ(kept().size(), rows.size());  // readable, and wrong
  const CheckReport report = must(check_store(store()));
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_THAT(report.problems[0], HasSubstr(path));
  EXPECT_THAT(report.problems[0], HasSubstr("damaged"));
}

TEST_F(JobStoreTest, SumsAreKeptWithTheirRow) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  JobRow row = job_row("1", 1500000000, 30);
  row.ended = row.started + 3661;
  row.data.read_bytes = 12;
  row.metadata = {1, 2, 4, 8, 16, 32, 64, 128};
  JobRow most = job_row("2", 1500000001, kMost);
  most.data.read_bytes = 1;
  most.metadata = {kMost, kMost, kMost, kMost, kMost, kMost, kMost, kMost};
  const auto sums = [&] {
    JobReader reader = must(JobReader::open({.path = store()}));
    return must(reader.duck().query("SELECT job, seconds, bytes, metadata_calls FROM jobs ORDER BY job")).rows;
  };
  const std::vector<std::vector<Value>> expected{
      {"1", std::int64_t{3661}, std::int64_t{42}, std::int64_t{255}},
      {"2", std::int64_t{60}, static_cast<std::int64_t>(kMost), static_cast<std::int64_t>(kMost)}};
  JobRow few = row;
  few.silent_nodes = 1;
  few.data.read_bytes = 5;
  add(std::vector{few, most});
  EXPECT_EQ(add(std::vector{row}).amended, 1U);
  EXPECT_EQ(sums(), expected);
  add(std::vector{job_row("3", 1500000000 + 86400)});
  EXPECT_GT(must(must(JobStore::open({.path = store()})).compact()), 0U);
  auto joined = sums();
  joined.pop_back();
  EXPECT_EQ(joined, expected);
}

TEST_F(JobStoreTest, AFullDiskLosesNothingAndDoublesNothing) {
  std::vector<JobRow> rows;
  for (int i = 0; i < 20000; ++i)
    rows.push_back(job_row(fmt::format("{}", i), 1500000000 + i * 300, static_cast<std::uint64_t>(i) * 7919));
  add(std::vector<JobRow>(rows.begin(), rows.begin() + 10));
  const auto before = kept();
  const auto added = add_where_files_end_at(10000, rows);
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr(store()));
  for (const auto& [key, bytes] : kept()) EXPECT_TRUE(before.contains(key) || bytes % 7919 == 0);
  EXPECT_EQ(add(rows).given, rows.size());
  EXPECT_EQ(kept().size(), rows.size());
  EXPECT_TRUE(must(check_store(store())).problems.empty());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store())) {
    EXPECT_FALSE(entry.path().string().ends_with(kTemporaryEnd)) << entry.path();
  }
}

TEST_F(JobStoreTest, AnInterruptedCompactionIsCompletedOrUndone) {
  add(std::vector{job_row("1", 1500000000)});
  add(std::vector{job_row("2", 1500000001)});
  const auto inputs = files();
  ASSERT_EQ(inputs.size(), 2U);
  const std::filesystem::path folder = std::filesystem::path(inputs[0]).parent_path();
  std::vector<std::string> names;
  for (const std::string& input : inputs) names.push_back(std::filesystem::path(input).filename());
  // Killed before the joined file had its name.
  const std::string output = file_name(1500000000, 1500000001, 42);
  must(write_journal(folder, output, names));
  EXPECT_EQ(kept().size(), 2U);
  // Killed after it: a copy of both rows under the name of the joined file.
  (void)must(must(JobStore::open({.path = store()})).compact());
  const std::string joined = files()[0];
  add(std::vector{job_row("3", 1500000002)});
  const std::string late = files()[0] == joined ? files()[1] : files()[0];
  std::filesystem::copy(joined, folder / "copy");
  must(write_journal(folder, std::filesystem::path(joined).filename(), {"gone.parquet", std::filesystem::path(late).filename()}));
  EXPECT_EQ(kept().size(), 2U);  // the third counts as joined: it is in the journal
  (void)must(JobStore::open({.path = store()}));
  EXPECT_FALSE(std::filesystem::exists(late));
  EXPECT_FALSE(std::filesystem::exists(folder / kJournalName));
}

TEST_F(JobStoreTest, ManySmallBatchesAreJoined) {
  JobStore open_store = must(JobStore::open({.path = store()}));
  for (int i = 0; i < 120; ++i) (void)must(open_store.add(std::vector{series_row("1", 1500000000 + i * 60, 1)}));
  EXPECT_LT(files(Table::series).size(), 100U);
  EXPECT_EQ(must(check_store(store())).series_rows, 120U);
}

TEST_F(JobStoreTest, OldMonthsGo) {
  add(std::vector{job_row("1", 1491004800), job_row("2", 1493596800)});  // 1 April and 1 May 2017
  JobStore open_store = must(JobStore::open({.path = store()}));
  EXPECT_THAT(must(open_store.remove_before(1493596799)), testing::IsEmpty());  // April is not over
  EXPECT_THAT(must(open_store.remove_before(1493596800)), testing::ElementsAre("jobs/month=2017-04"));
  EXPECT_EQ(kept().size(), 1U);
}

TEST_F(JobStoreTest, UsersAsHashes) {
  JobRow row = job_row("dd.1000", 1500000000);
  {
    JobStore open_store = must(JobStore::open({.path = store(), .anonymous = true}));
    (void)must(open_store.add(std::vector{row, job_row("2", 1500000000)}));
  }
  struct stat status{};
  ASSERT_EQ(::stat((store() + "/key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  row.started += 1;
  EXPECT_EQ(add(std::vector{row}).added, 1U);  // not told again
  JobReader reader = must(JobReader::open({.path = store()}));
  const ResultTable users = must(reader.duck().query("SELECT DISTINCT uid FROM jobs"));
  ASSERT_EQ(users.rows.size(), 1U);
  EXPECT_THAT(users.text(0, "uid"), testing::MatchesRegex("u[0-9a-f]+"));
  EXPECT_EQ(reader.user_name("1000"), users.text(0, "uid"));
  EXPECT_EQ(must(reader.duck().query("SELECT count(*) AS n FROM jobs WHERE job LIKE '%.1000%'")).integer(0, "n"), 0);
  // A key that others may read is refused, and clear rows and hashes do not mix.
  ASSERT_EQ(::chmod((store() + "/key").c_str(), 0644), 0);
  EXPECT_THAT(JobStore::open({.path = store()}).error().message, HasSubstr("chmod 600"));
  const std::string clear = folder_ + "/clear";
  (void)must(must(JobStore::open({.path = clear})).add(std::vector{row}));
  EXPECT_THAT(JobStore::open({.path = clear, .anonymous = true}).error().message, HasSubstr("in the clear"));
}

TEST_F(JobStoreTest, OtherFoldersAreLeftAlone) {
  std::ofstream(folder_ + "/thesis.txt") << "hello";
  EXPECT_THAT(JobStore::open({.path = folder_}).error().message, HasSubstr("thesis.txt"));
  EXPECT_THAT(JobReader::open({.path = folder_ + "/nowhere"}).error().message, HasSubstr("there is no store"));
  EXPECT_THAT(JobReader::open({.path = folder_}).error().message, HasSubstr("no store of jobs"));
}

TEST_F(JobStoreTest, ARangeAndAClusterAreAllThatIsSeen) {
  JobRow other = job_row("2", 1500000000);
  other.cluster = "it's";
  add(std::vector{job_row("1", 1500000000), other, job_row("3", 1600000000)});
  const auto count = [&](const JobReader::Options& options) {
    return must(must(JobReader::open(options)).duck().query("SELECT count(*) AS n FROM jobs")).integer(0, "n");
  };
  EXPECT_EQ(count({.path = store()}), 3);
  EXPECT_EQ(count({.path = store(), .range = {.from = 1500000001}}), 1);
  EXPECT_EQ(count({.path = store(), .range = {.from = 1500000000, .to = 1600000000}}), 2);
  EXPECT_EQ(count({.path = store(), .range = {.to = 1500000000}}), 0);
  EXPECT_EQ(count({.path = store(), .cluster = "it's"}), 1);
  EXPECT_THAT(JobReader::open({.path = store(), .time_zone = "Mars/Olympus"}).error().message, HasSubstr("Mars/Olympus"));
  EXPECT_EQ(count({.path = store(), .time_zone = "Europe/Berlin"}), 3);
}

}  // namespace
}  // namespace iez::jobs
