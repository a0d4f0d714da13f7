#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "jobs/job_store.hpp"
#include "jobs/store_files.hpp"
#include "jobs/store_schema.hpp"

namespace iez::jobs {

namespace {

std::string condition(Table table, const JobReader::Options& options) {
  std::string out = "true";
  const std::string_view time = time_of(table);
  constexpr std::int64_t kMicroseconds = 1000000;
  if (options.range.from) out += fmt::format(" AND {} >= make_timestamp({})", time, *options.range.from * kMicroseconds);
  if (options.range.to) out += fmt::format(" AND {} < make_timestamp({})", time, *options.range.to * kMicroseconds);
  if (!options.cluster.empty()) out += fmt::format(" AND cluster = {}", sql_text(options.cluster));
  return out;
}

std::string local_time(Table table, const JobReader::Options& options) {
  const std::string_view time = time_of(table);
  if (options.time_zone.empty()) return std::string(time);
  return fmt::format("timezone({}, timezone('UTC', {}))", sql_text(options.time_zone), time);
}

Result<void> make_view(Duck& duck, std::string_view name, Table table, const std::vector<StoreFile>& files,
                       const JobReader::Options& options, std::string_view which) {
  const std::string local = fmt::format("local_{}", time_of(table));
  if (files.empty())
    return duck.run(fmt::format("CREATE TABLE {}({}{}, {} TIMESTAMP)", name, column_types(table), sum_types(table), local));
  return duck.run(fmt::format("CREATE VIEW {} AS SELECT *, {} AS {} FROM {} WHERE {}{}", name, local_time(table, options), local,
                              sql_rows(files), condition(table, options), which));
}

Result<void> check_zone(Duck& duck, const std::string& zone) {
  if (zone.empty()) return {};
  IEZ_TRY(const ResultTable known,
          duck.query(fmt::format("SELECT count(*) AS n FROM pg_timezone_names() WHERE name = {}", sql_text(zone))));
  if (known.integer(0, "n") > 0) return {};
  return fail(Errc::invalid_argument, fmt::format("time zone '{}' is not known; expected a name such as Europe/Berlin", zone));
}

}  // namespace

Result<JobReader> JobReader::open(const Options& options) {
  std::error_code error;
  if (!std::filesystem::is_directory(options.path, error)) {
    return fail(Errc::not_found, fmt::format("{}: there is no store of jobs; `iez jobs ingest` makes one", options.path));
  }
  auto lock = lock_file(fmt::format("{}/{}", options.path, kReadersName), Lock::shared, false);
  if (!lock) {
    return fail(Errc::not_found, fmt::format("{}: no store of jobs; expected a folder that `iez jobs ingest` made ({})",
                                             options.path, lock.error().message));
  }
  IEZ_TRY(Duck duck, Duck::open({.threads = options.threads}));
  JobReader reader(*std::move(lock), std::move(duck));
  IEZ_CHECK(reader.duck_.run("SET parquet_metadata_cache=true"));
  IEZ_CHECK(check_zone(reader.duck_, options.time_zone));
  // Whoever may not read the key asks for users by their hashes.
  if (auto hash = UserHash::load(fmt::format("{}/{}", options.path, kKeyName))) reader.hash_ = *std::move(hash);
  for (const Table table : {Table::jobs, Table::series}) {
    IEZ_TRY(const auto files, files_of(options.path, table, options.range));
    IEZ_CHECK(check_version(reader.duck_, files));
    if (table == Table::jobs) {
      IEZ_CHECK(make_view(reader.duck_, "jobs", table, files, options, ""));
    } else {
      IEZ_CHECK(make_view(reader.duck_, "series", table, files, options, " AND job <> ''"));
      IEZ_CHECK(make_view(reader.duck_, "totals", table, files, options, " AND job = ''"));
    }
    reader.files_ += files.size();
    for (const StoreFile& file : files) reader.bytes_ += file.bytes;
  }
  return reader;
}

namespace {

// Reads every value of a file; gives its rows.
Result<std::int64_t> read_all(Duck& duck, Table table, const std::string& path) {
  IEZ_CHECK(check_ends(path));
  IEZ_CHECK(check_version(duck, {{.path = path, .month = {}}}));
  const auto rows = duck.query(
      fmt::format("SELECT count(*) AS n, bit_xor(hash({}{})) % 2 = 0 AS read, count(CASE WHEN {} THEN 1 END) AS wrong FROM {}",
                  column_names(table), sum_names(table), sums_differ(table), sql_rows({{.path = path, .month = {}}})));
  if (!rows) return with_context(rows.error(), path);
  if (const std::int64_t wrong = rows->integer(0, "wrong"); wrong > 0) {
    return fail(Errc::io, fmt::format("{}: {} rows whose sums are not those of their columns: the file is damaged", path, wrong));
  }
  return rows->integer(0, "n");
}

Result<std::int64_t> repeated_keys(Duck& duck, Table table, const std::vector<StoreFile>& files) {
  if (files.empty()) return std::int64_t{0};
  IEZ_TRY(const ResultTable repeated,
          duck.query(fmt::format("SELECT count(*) AS n FROM (SELECT 1 FROM {} GROUP BY {} HAVING count(*) > 1)", sql_rows(files),
                                 key_of(table))));
  return repeated.integer(0, "n");
}

}  // namespace

Result<CheckReport> check_store(const std::string& path) {
  IEZ_TRY(JobReader reader, JobReader::open({.path = path, .range = {.from = 0, .to = 0}}));
  CheckReport report;
  for (const Table table : {Table::jobs, Table::series}) {
    IEZ_TRY(const auto files, all_files(path, table));
    std::vector<StoreFile> whole;
    whole.reserve(files.size());
    for (const StoreFile& file : files) {
      ++report.files;
      report.bytes += file.bytes;
      if (table == Table::series) report.series_bytes += file.bytes;
      if (const auto rows = read_all(reader.duck(), table, file.path); rows) {
        (table == Table::jobs ? report.job_rows : report.series_rows) += static_cast<std::uint64_t>(*rows);
        whole.push_back(file);
      } else {
        report.problems.push_back(rows.error().message);
      }
    }
    IEZ_TRY(const std::int64_t repeated, repeated_keys(reader.duck(), table, whole));
    if (repeated > 0)
      report.problems.push_back(fmt::format("{}/{}: {} keys are there more than once", path, to_string(table), repeated));
  }
  return report;
}

}  // namespace iez::jobs
