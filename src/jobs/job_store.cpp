#include "jobs/job_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "jobs/row_text.hpp"
#include "jobs/store_files.hpp"
#include "jobs/store_schema.hpp"

namespace iez::jobs {

namespace {

constexpr std::size_t kManyFiles = 96;  // of a month: they are joined while nobody reads

// k.cluster = batch.cluster AND ...
std::string same_key(Table table) {
  if (table == Table::jobs) return "k.cluster = batch.cluster AND k.job = batch.job AND k.started = batch.started";
  return "k.cluster = batch.cluster AND k.target = batch.target AND k.job = batch.job AND k.sampled = batch.sampled";
}

bool all_storable(const JobRow& row) { return is_storable(row.cluster) && is_storable(row.id) && is_storable(row.user); }
bool all_storable(const SeriesRow& row) {
  return is_storable(row.cluster) && is_storable(row.target) && is_storable(row.id) && is_storable(row.user);
}

template <typename Row>
Row as_kept(Row row, const std::optional<UserHash>& hash) {
  if (hash) {
    row.id = hash->job(row.id, row.user);
    row.user = hash->of(row.user);
  }
  row.cluster = storable(row.cluster);
  row.id = storable(row.id);
  row.user = storable(row.user);
  if constexpr (std::is_same_v<Row, SeriesRow>) row.target = storable(row.target);
  return row;
}

// A folder of other things is no store.
Result<void> check_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool ours = name == kLockName || name == kReadersName || name.starts_with(kKeyName) || name == to_string(Table::jobs) ||
                      name == to_string(Table::series);
    if (!ours) {
      return fail(Errc::invalid_argument,
                  fmt::format("{}: has '{}' in it; expected a store of jobs, or an empty folder", path, name));
    }
  }
  if (error) return fail_errno(error.value(), path);
  return {};
}

Result<std::optional<UserHash>> user_hash(const JobStore::Options& options) {
  const std::string path = fmt::format("{}/{}", options.path, kKeyName);
  IEZ_TRY(std::optional<UserHash> hash, UserHash::load(path));
  if (hash || !options.anonymous) return hash;
  for (const Table table : {Table::jobs, Table::series}) {
    IEZ_TRY(const auto files, all_files(options.path, table));
    if (!files.empty()) {
      return fail(Errc::invalid_argument,
                  fmt::format("{}: has rows with users in the clear; expected a new store for users as hashes", options.path));
    }
  }
  IEZ_TRY(hash, UserHash::create(path));
  return hash;
}

}  // namespace

void Added::merge(const Added& other) {
  given += other.given;
  added += other.added;
  amended += other.amended;
  known += other.known;
  rejected.merge(other.rejected);
}

// What one call of add() brings, month by month.
struct JobStore::Batch {
  struct Month {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::uint64_t digest = 0;  // a sum: rows in another order are the same rows
    std::uint64_t rows = 0;
  };
  std::map<std::int64_t, Month> months;
  bool repeats = false;  // a key may be in it twice

  Month& month_at(std::int64_t time) {
    if (cached_ == nullptr || time < from_ || time >= to_) {
      const std::int64_t month = month_of(time);
      from_ = month_start(month);
      to_ = month_start(month + 1);
      number_ = month;
      cached_ = &months.try_emplace(month, Month{.first = time, .last = time}).first->second;
    }
    return *cached_;
  }
  std::int64_t number() const { return number_; }  // of the last month_at()

 private:
  Month* cached_ = nullptr;
  std::int64_t number_ = 0;
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
};

// Of one month of a batch.
struct JobStore::Written {
  std::uint64_t added = 0;
  std::uint64_t amended = 0;
};

JobStore::JobStore(Options options, Duck duck, std::optional<UserHash> hash)
    : options_(std::move(options)), duck_(std::move(duck)), hash_(hash) {}

Result<JobStore> JobStore::open(const Options& options) {
  IEZ_CHECK(make_folder(options.path));
  IEZ_CHECK(check_folder(options.path));
  IEZ_TRY(const auto lock, lock_file(fmt::format("{}/{}", options.path, kLockName), Lock::exclusive, true));
  IEZ_TRY(const auto readers, lock_file(fmt::format("{}/{}", options.path, kReadersName), Lock::shared, true));
  IEZ_TRY(const std::optional<UserHash> hash, user_hash(options));
  IEZ_CHECK(recover(options.path));
  IEZ_TRY(Duck duck, Duck::open({.threads = options.threads}));
  return JobStore(options, std::move(duck), hash);
}

Result<std::uint64_t> JobStore::copy(Table table, const std::string& select, const std::string& folder, const std::string& name) {
  IEZ_CHECK(make_folder(folder));
  const std::string temporary = fmt::format("{}/.{}.{}{}", folder, name, ::getpid(), kTemporaryEnd);
  const auto copied = duck_.query(
      fmt::format("COPY ({}) TO {} (FORMAT parquet, {}, USE_TMP_FILE false, KV_METADATA {{iez_table: '{}', iez_version: '{}'}})",
                  select, sql_text(temporary), parquet_options(table), to_string(table), kFormatVersion));
  if (!copied) {
    (void)::unlink(temporary.c_str());
    return with_context(copied.error(), fmt::format("{}/{}", folder, name));
  }
  const std::int64_t rows = copied->rows.empty() ? 0 : std::get<std::int64_t>(copied->rows[0][0]);
  if (rows == 0) {
    (void)::unlink(temporary.c_str());
    return std::uint64_t{0};
  }
  IEZ_CHECK(publish(temporary, fmt::format("{}/{}", folder, name)));
  return static_cast<std::uint64_t>(rows);
}

Result<JobStore::Written> JobStore::write_month(Table table, const Batch& batch, std::int64_t month) {
  const Batch::Month& part = batch.months.at(month);
  const std::string folder = month_folder(options_.path, table, month);
  const std::string name = file_name(part.first, part.last, part.digest);
  std::error_code error;
  // The very rows were given before.
  if (std::filesystem::exists(fmt::format("{}/{}", folder, name), error)) return Written{};
  IEZ_TRY(std::vector<StoreFile> files, all_files(options_.path, table));
  std::erase_if(files, [&](const StoreFile& file) {
    return file.month != month_name(month) || file.last < part.first || file.first > part.last;
  });
  for (const StoreFile& file : files) IEZ_CHECK(check_ends(file.path));
  std::string where = fmt::format("WHERE month = {}", month);
  if (!files.empty()) {
    if (table == Table::jobs) {
      IEZ_TRY(
          const ResultTable less,
          duck_.query(fmt::format("SELECT count(*) AS n FROM {} k WHERE EXISTS (SELECT 1 FROM batch WHERE month = {} AND {} AND "
                                  "batch.nodes - batch.silent_nodes > k.nodes - k.silent_nodes)",
                                  sql_rows(files), month, same_key(table))));
      const auto amended = static_cast<std::uint64_t>(less.integer(0, "n"));
      if (amended > 0) return amend_month(batch, month, files, amended);
    }
    where += fmt::format(" AND NOT EXISTS (SELECT 1 FROM {} k WHERE {})", sql_rows(files), same_key(table));
  }
  if (batch.repeats) {
    where += fmt::format(" QUALIFY row_number() OVER (PARTITION BY {} ORDER BY {}rowid) = 1", key_of(table),
                         table == Table::jobs ? "nodes - silent_nodes DESC, " : "");
  }
  IEZ_TRY(const std::uint64_t added, copy(table,
                                          fmt::format("SELECT {}{} FROM batch {} ORDER BY {}", column_names(table),
                                                      sums_of_row(table), where, sort_of(table)),
                                          folder, name));
  return Written{.added = added};
}

// The files that the batch reaches into, and the batch, become one file.
Result<JobStore::Written> JobStore::amend_month(const Batch& batch, std::int64_t month, const std::vector<StoreFile>& files,
                                                std::uint64_t amended) {
  const Batch::Month& part = batch.months.at(month);
  IEZ_TRY(const ResultTable before, duck_.query(fmt::format("SELECT count(*) AS n FROM {}", sql_rows(files))));
  const std::string select = fmt::format(
      "SELECT {0}{5} FROM (SELECT {0}, -1 AS given FROM {1} UNION ALL SELECT {0}, rowid FROM batch WHERE month = {2}) "
      "QUALIFY row_number() OVER (PARTITION BY {3} ORDER BY nodes - silent_nodes DESC, given) = 1 ORDER BY {4}",
      column_names(Table::jobs), sql_rows(files), month, key_of(Table::jobs), sort_of(Table::jobs), sums_of_row(Table::jobs));
  IEZ_TRY(const auto readers, lock_file(fmt::format("{}/{}", options_.path, kReadersName), Lock::exclusive, true));
  IEZ_TRY(const std::uint64_t rows,
          replace(Table::jobs, files, {.path = {}, .month = {}, .first = part.first, .last = part.last}, part.digest, select));
  return Written{.added = rows - static_cast<std::uint64_t>(before.integer(0, "n")), .amended = amended};
}

template <typename Row>
Result<Added> JobStore::add_rows(Table table, std::span<const Row> rows) {
  Added added{.given = rows.size()};
  std::vector<DuckColumn> columns(columns_of(table).begin(), columns_of(table).end());
  columns.push_back({.name = "month"});
  IEZ_CHECK(duck_.run(fmt::format("CREATE OR REPLACE TEMP TABLE batch({}, month BIGINT)", column_types(table))));
  IEZ_TRY(DuckAppender appender, duck_.append_to("batch", columns));
  Batch batch;
  std::vector<std::uint64_t> keys;
  keys.reserve(rows.size());
  const auto put = [&](const Row& row) {
    Batch::Month& month = batch.month_at(time_of(row));
    month.first = std::min(month.first, time_of(row));
    month.last = std::max(month.last, time_of(row));
    month.digest += row_digest(row);
    ++month.rows;
    keys.push_back(key_digest(row));
    put_row(appender, row);
    appender.integer(batch.number());
    return appender.end_row();
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::string why = why_not(rows[i]); !why.empty()) {
      added.rejected.skip("row", i + 1, std::move(why));
    } else if (!hash_ && all_storable(rows[i])) {
      IEZ_CHECK(put(rows[i]));
    } else {
      IEZ_CHECK(put(as_kept(rows[i], hash_)));
    }
  }
  IEZ_CHECK(appender.finish());
  added.rejected.rows = keys.size();
  std::ranges::sort(keys);
  batch.repeats = std::ranges::adjacent_find(keys) != keys.end();

  IEZ_TRY(const auto lock, lock_file(fmt::format("{}/{}", options_.path, kLockName), Lock::exclusive, true));
  for (const auto& [month, part] : batch.months) {
    IEZ_TRY(const Written written, write_month(table, batch, month));
    added.added += written.added;
    added.amended += written.amended;
    added.known += part.rows - written.added - written.amended;
  }
  IEZ_CHECK(duck_.run("DROP TABLE batch"));
  IEZ_CHECK(compact_where(kManyFiles, false));
  return added;
}

Result<Added> JobStore::add(std::span<const JobRow> rows) { return add_rows(Table::jobs, rows); }

Result<Added> JobStore::add(std::span<const SeriesRow> rows) { return add_rows(Table::series, rows); }

Result<std::uint64_t> JobStore::compact() {
  IEZ_TRY(const auto lock, lock_file(fmt::format("{}/{}", options_.path, kLockName), Lock::exclusive, true));
  return compact_where(1, true);
}

Result<std::uint64_t> JobStore::compact_where(std::size_t more_than, bool wait) {
  std::map<std::pair<Table, std::string>, std::vector<StoreFile>> months;
  for (const Table table : {Table::jobs, Table::series}) {
    IEZ_TRY(const auto files, all_files(options_.path, table));
    for (const StoreFile& file : files) months[{table, file.month}].push_back(file);
  }
  std::erase_if(months, [&](const auto& month) { return month.second.size() <= more_than; });
  if (months.empty()) return std::uint64_t{0};
  IEZ_TRY(const auto readers,
          lock_file(fmt::format("{}/{}", options_.path, kReadersName), wait ? Lock::exclusive : Lock::exclusive_if_free, true));
  if (!readers) return std::uint64_t{0};
  std::uint64_t less = 0;
  for (const auto& [month, files] : months) {
    IEZ_CHECK(compact_month(month.first, files));
    less += files.size() - 1;
  }
  return less;
}

Result<std::uint64_t> JobStore::compact_month(Table table, const std::vector<StoreFile>& files) {
  return replace(table, files, files.front(), 0, fmt::format("SELECT * FROM {} ORDER BY {}", sql_rows(files), sort_of(table)));
}

// One file instead of others of a month: what `select` gives, of at least the times of `with`. Gives its rows. REQUIRES: the
// locks of writers and readers.
Result<std::uint64_t> JobStore::replace(Table table, const std::vector<StoreFile>& files, StoreFile with, std::uint64_t digest,
                                        const std::string& select) {
  IEZ_CHECK(check_version(duck_, files));
  const std::string folder = std::filesystem::path(files.front().path).parent_path().string();
  std::vector<std::string> inputs;
  inputs.reserve(files.size());
  for (const StoreFile& file : files) {
    IEZ_CHECK(check_ends(file.path));
    with.first = std::min(with.first, file.first);
    with.last = std::max(with.last, file.last);
    inputs.push_back(std::filesystem::path(file.path).filename().string());
    digest = digest * 31 + std::hash<std::string>{}(inputs.back());
  }
  const std::string output = file_name(with.first, with.last, digest);
  if (std::ranges::find(inputs, output) != inputs.end()) {
    return fail(Errc::exists, fmt::format("{}/{}: the name of the joined file is taken", folder, output));
  }
  // The journal first: once the joined file has its name, the others do not count, whatever happens.
  IEZ_CHECK(write_journal(folder, output, inputs));
  const auto rows = copy(table, select, folder, output);
  IEZ_CHECK(complete_journal(folder));
  return rows;
}

Result<std::vector<std::string>> JobStore::remove_before(std::int64_t before) {
  namespace fs = std::filesystem;
  IEZ_TRY(const auto lock, lock_file(fmt::format("{}/{}", options_.path, kLockName), Lock::exclusive, true));
  IEZ_TRY(const auto readers, lock_file(fmt::format("{}/{}", options_.path, kReadersName), Lock::exclusive, true));
  std::vector<std::string> removed;
  for (const Table table : {Table::jobs, Table::series}) {
    IEZ_TRY(const auto files, all_files(options_.path, table));
    for (const StoreFile& file : files) {
      const std::string name = fmt::format("{}/month={}", to_string(table), file.month);
      const auto month = parse_month(file.month);
      if (!month || month_start(*month + 1) > before) continue;
      if (removed.empty() || removed.back() != name) removed.push_back(name);
      std::error_code error;
      fs::remove(file.path, error);
      if (error) return fail_errno(error.value(), file.path);
    }
  }
  for (const std::string& name : removed) {
    std::error_code error;
    fs::remove(fs::path(options_.path) / name, error);  // stays if a stranger left something in it
  }
  return removed;
}

}  // namespace iez::jobs
