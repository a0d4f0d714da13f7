// The store of job statistics: a folder of Parquet files that any engine can read.
//
//   STORE/jobs/month=2018-06/FIRST-LAST-DIGEST.parquet     one row a job, in the month of its start (UTC)
//   STORE/series/month=2018-06/FIRST-LAST-DIGEST.parquet   one row a job, target and interval, in the month of its end
//   STORE/key                                              present: users are kept as keyed hashes (anonymous.hpp)
//   STORE/lock, STORE/readers                              held while rows are added; shared by readers, against compaction
//
// FIRST and LAST are the times of its rows (seconds since 1970), DIGEST is of the rows that were given. A file has no name until
// it is whole and on the disk; none is ever changed. Keys are unique in the whole store: a row whose key is there already is not
// added, so that adding the same rows again, after whatever interruption, changes nothing. Of the rows of a job the one stays
// that more nodes told of, so that a node that reports late amends its job, in whatever order rows come; among equals, and of
// samples, the first.
//
// Docs: docs/formats/jobs.md. Thread safety: none; several processes may use one store. Durability: what add() reported is on the
// disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "jobs/anonymous.hpp"
#include "jobs/duck.hpp"
#include "jobs/rows.hpp"

namespace iez::jobs {

enum class Table : std::uint8_t { jobs, series };

std::string_view to_string(Table table);

// What became of rows that were given.
struct Added {
  std::uint64_t given = 0;
  std::uint64_t added = 0;
  std::uint64_t amended = 0;    // took the place of a row that fewer nodes had told of
  std::uint64_t known = 0;      // a row with that key was there
  input::ParseReport rejected;  // that no store can keep: no id, times or counters out of range

  void merge(const Added& other);
};

// Seconds since 1970, `to` excluded.
struct TimeRange {
  std::optional<std::int64_t> from;
  std::optional<std::int64_t> to;
};

struct StoreFile {
  std::string path;
  std::string month;  // "2018-06"
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint64_t bytes = 0;
};

// Parquet files with rows of a range, by the names of files and folders. Fails, naming it, if one of them is cut short.
[[nodiscard]] Result<std::vector<StoreFile>> files_of(const std::string& store, Table table, const TimeRange& range);

// For whoever adds rows, compacts, or removes old months.
class JobStore {
 public:
  struct Options {
    std::string path;
    bool anonymous =
        false;  // users as hashes from now on; a store that has a key does so anyway. Only a store without rows may begin
    unsigned threads = 0;  // 0: as many as there are processors
  };

  // The folder is made if it is not there; one with other things in it is refused. Waits for another writer.
  [[nodiscard]] static Result<JobStore> open(const Options& options);

  // All rows or, after a failure, some months of them: adding all of them again is always right.
  [[nodiscard]] Result<Added> add(std::span<const JobRow> rows);
  [[nodiscard]] Result<Added> add(std::span<const SeriesRow> rows);

  // Joins the files of each month to one, sorted. Gives how many files there are less. Waits for readers.
  [[nodiscard]] Result<std::uint64_t> compact();

  // Removes whole months that ended before `before` (seconds since 1970); gives their names, "jobs/month=2015-04".
  [[nodiscard]] Result<std::vector<std::string>> remove_before(std::int64_t before);

 private:
  struct Batch;
  struct Written;
  JobStore(Options options, Duck duck, std::optional<UserHash> hash);
  template <typename Row>
  Result<Added> add_rows(Table table, std::span<const Row> rows);
  Result<Written> write_month(Table table, const Batch& batch, std::int64_t month);
  Result<Written> amend_month(const Batch& batch, std::int64_t month, const std::vector<StoreFile>& files, std::uint64_t amended);
  Result<std::uint64_t> compact_month(Table table, const std::vector<StoreFile>& files);
  Result<std::uint64_t> replace(Table table, const std::vector<StoreFile>& files, StoreFile with, std::uint64_t digest,
                                const std::string& select);
  Result<std::uint64_t> compact_where(std::size_t more_than, bool wait);
  Result<std::uint64_t> copy(Table table, const std::string& select, const std::string& folder, const std::string& name);

  Options options_;
  Duck duck_;
  std::optional<UserHash> hash_;
};

// For whoever asks: SQL over views of a range: `jobs`, `series` of jobs, and `totals`, series of servers that tell no jobs apart.
// Holds off compaction while it lives.
class JobReader {
 public:
  struct Options {
    std::string path;
    TimeRange range;
    std::string cluster;    // empty: all
    std::string time_zone;  // of days and hours; empty: UTC. A name that DuckDB's ICU knows
    unsigned threads = 0;
  };

  // Fails if there is no store. One without rows of the range is no error: its views are empty.
  [[nodiscard]] static Result<JobReader> open(const Options& options);

  Duck& duck() { return duck_; }
  std::uint64_t files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }
  // A user as the store keeps it: hashed, if the store has a key that this process may read.
  std::string user_name(std::string_view user) const { return hash_ ? hash_->of(user) : std::string(user); }

 private:
  JobReader(input::UniqueFd lock, Duck duck) : lock_(std::move(lock)), duck_(std::move(duck)) {}
  input::UniqueFd lock_;
  Duck duck_;
  std::optional<UserHash> hash_;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

struct CheckReport {
  std::uint64_t files = 0;
  std::uint64_t job_rows = 0;
  std::uint64_t series_rows = 0;
  std::uint64_t bytes = 0;
  std::uint64_t series_bytes = 0;
  std::vector<std::string> problems;  // with the path of the file
};

// Reads everything: is each file whole, each key there once?
[[nodiscard]] Result<CheckReport> check_store(const std::string& path);

}  // namespace iez::jobs
