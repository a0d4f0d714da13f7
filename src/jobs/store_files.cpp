#include "jobs/store_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "base/text.hpp"
#include "jobs/duck.hpp"
#include "jobs/store_schema.hpp"

namespace iez::jobs {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMonthPrefix = "month=";
constexpr std::string_view kParquet = ".parquet";
constexpr std::string_view kMagic = "PAR1";

struct Journal {
  std::string output;
  std::vector<std::string> inputs;
};

// Nothing: there is none, or it is not whole, which is a compaction that did not begin.
std::optional<Journal> read_journal(const fs::path& folder) {
  std::ifstream file(folder / kJournalName);
  Journal journal;
  std::string line;
  bool whole = false;
  while (std::getline(file, line)) {
    if (line == "end") {
      whole = true;
    } else if (journal.output.empty()) {
      journal.output = line;
    } else {
      journal.inputs.push_back(line);
    }
  }
  if (!whole || journal.output.empty()) return std::nullopt;
  return journal;
}

// FIRST-LAST-DIGEST.parquet
std::optional<StoreFile> parse_name(std::string_view name) {
  if (!name.ends_with(kParquet)) return std::nullopt;
  name.remove_suffix(kParquet.size());
  const std::size_t first_end = name.find('-');
  const std::size_t last_end = first_end == std::string_view::npos ? first_end : name.find('-', first_end + 1);
  if (last_end == std::string_view::npos) return std::nullopt;
  const auto first = text::parse_u64(name.substr(0, first_end));
  const auto last = text::parse_u64(name.substr(first_end + 1, last_end - first_end - 1));
  if (!first || !last) return std::nullopt;
  return StoreFile{.first = static_cast<std::int64_t>(*first), .last = static_cast<std::int64_t>(*last)};
}

Result<void> add_month(const fs::path& folder, const std::string& month, std::vector<StoreFile>& files) {
  const auto journal = read_journal(folder);
  std::error_code error;
  std::vector<std::string> joined;
  if (journal && fs::exists(folder / journal->output, error)) joined = journal->inputs;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    auto file = parse_name(name);
    if (!file || std::ranges::find(joined, name) != joined.end()) continue;
    file->path = entry->path().string();
    file->month = month;
    std::error_code gone;
    file->bytes = entry->file_size(gone);
    if (!gone) files.push_back(*std::move(file));
  }
  if (error) return fail_errno(error.value(), folder.string());
  return {};
}

Result<void> recover_month(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().ends_with(kTemporaryEnd)) (void)::unlink(entry->path().c_str());
  }
  if (error) return fail_errno(error.value(), folder.string());
  return complete_journal(folder.string());
}

}  // namespace

Result<input::UniqueFd> lock_file(const std::string& path, Lock how, bool create) {
  input::UniqueFd fd(create ? ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)
                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path);
  const int kind = how == Lock::shared ? LOCK_SH : how == Lock::exclusive ? LOCK_EX : LOCK_EX | LOCK_NB;
  while (::flock(fd.get(), kind) != 0) {
    if (errno == EWOULDBLOCK) return input::UniqueFd{};
    if (errno != EINTR) return fail_errno(errno, fmt::format("{}: cannot lock", path));
  }
  return fd;
}

std::string file_name(std::int64_t first, std::int64_t last, std::uint64_t digest) {
  return fmt::format("{}-{}-{:016x}{}", first, last, digest, kParquet);
}

std::string month_folder(const std::string& store, Table table, std::int64_t month) {
  return fmt::format("{}/{}/{}{}", store, to_string(table), kMonthPrefix, month_name(month));
}

Result<std::vector<StoreFile>> all_files(const std::string& store, Table table) {
  std::vector<StoreFile> files;
  const fs::path folder = fs::path(store) / to_string(table);
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kMonthPrefix)) continue;
    const std::string month = name.substr(kMonthPrefix.size());
    if (!parse_month(month)) continue;
    IEZ_CHECK(add_month(entry->path(), month, files));
  }
  if (error && error != std::errc::no_such_file_or_directory) return fail_errno(error.value(), folder.string());
  std::ranges::sort(files, {}, [](const StoreFile& file) { return std::tie(file.month, file.first, file.last, file.path); });
  return files;
}

namespace {

std::string sql_list(const std::vector<StoreFile>& files) {
  std::string list;
  for (const StoreFile& file : files) list += fmt::format("{}{}", list.empty() ? "" : ", ", sql_text(file.path));
  return list;
}

}  // namespace

std::string sql_rows(const std::vector<StoreFile>& files) {
  return fmt::format("read_parquet([{}], hive_partitioning=false)", sql_list(files));
}

Result<void> check_version(Duck& duck, const std::vector<StoreFile>& files) {
  if (files.empty()) return {};
  const auto other =
      duck.query(fmt::format("SELECT file_name, decode(value) AS version FROM parquet_kv_metadata([{}]) WHERE decode(key) = "
                             "'iez_version' AND decode(value) <> '{}' LIMIT 1",
                             sql_list(files), kFormatVersion));
  if (!other) return with_context(other.error(), files.size() == 1 ? files[0].path : fmt::format("{} and others", files[0].path));
  if (other->rows.empty()) return {};
  return fail(Errc::unsupported,
              fmt::format("{}: written in version {} of the format; expected {}. Remedy: make a store anew from the rows, by "
                          "`iez jobs ingest --store`",
                          other->text(0, "file_name"), other->text(0, "version"), kFormatVersion));
}

Result<void> check_ends(const std::string& path) {
  const auto broken = [&](std::string_view what) {
    return fail(Errc::parse,
                fmt::format("{}: {}; expected a whole Parquet file. Remedy: move it away and ingest its rows again", path, what));
  };
  const input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, path);
  constexpr off_t kLeast = 12;
  if (status.st_size < kLeast) return broken(fmt::format("it has {} bytes", status.st_size));
  std::array<char, 4> head{};
  std::array<char, 8> tail{};
  const bool read = ::pread(fd.get(), head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()) &&
                    ::pread(fd.get(), tail.data(), tail.size(), status.st_size - static_cast<off_t>(tail.size())) ==
                        static_cast<ssize_t>(tail.size());
  if (!read) return fail_errno(errno, path);
  if (std::string_view(head.data(), head.size()) != kMagic) return broken("it does not begin as one");
  std::uint32_t footer = 0;
  std::memcpy(&footer, tail.data(), sizeof footer);
  if (std::string_view(&tail[4], kMagic.size()) != kMagic || footer > status.st_size - kLeast) return broken("it is cut short");
  return {};
}

Result<void> sync_folder(const std::string& path) {
  const input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail_errno(errno, path);
  return {};
}

Result<void> make_folder(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {};
  const fs::path above = fs::path(path).parent_path();
  if (!above.empty() && above != path) IEZ_CHECK(make_folder(above.string()));
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return fail_errno(errno, path);
  return above.empty() ? Result<void>{} : sync_folder(above.string());
}

Result<void> publish(const std::string& temporary, const std::string& path) {
  const input::UniqueFd fd(::open(temporary.c_str(), O_RDONLY | O_CLOEXEC));
  const bool done = fd && ::fsync(fd.get()) == 0 && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!done) {
    const int reason = errno;
    (void)::unlink(temporary.c_str());
    return fail_errno(reason, path);
  }
  return sync_folder(fs::path(path).parent_path().string());
}

Result<void> write_journal(const std::string& folder, const std::string& output, const std::vector<std::string>& inputs) {
  const std::string path = fmt::format("{}/{}", folder, kJournalName);
  const std::string temporary = path + std::string(kTemporaryEnd);
  {
    std::ofstream file(temporary, std::ios::trunc);
    file << output << '\n';
    for (const std::string& input : inputs) file << input << '\n';
    file << "end\n";
    file.close();
    if (!file) {
      (void)::unlink(temporary.c_str());
      return fail(Errc::io, fmt::format("{}: cannot be written", temporary));
    }
  }
  return publish(temporary, path);
}

Result<void> complete_journal(const std::string& folder) {
  const fs::path path = fs::path(folder) / kJournalName;
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const auto journal = read_journal(folder);
  if (journal && fs::exists(fs::path(folder) / journal->output, error)) {
    for (const std::string& input : journal->inputs) {
      if (::unlink((fs::path(folder) / input).c_str()) != 0 && errno != ENOENT) return fail_errno(errno, input);
    }
    IEZ_CHECK(sync_folder(folder));
  }
  if (::unlink(path.c_str()) != 0) return fail_errno(errno, path.string());
  return sync_folder(folder);
}

Result<void> recover(const std::string& store) {
  for (const Table table : {Table::jobs, Table::series}) {
    const fs::path folder = fs::path(store) / to_string(table);
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().filename().string().starts_with(kMonthPrefix)) IEZ_CHECK(recover_month(entry->path()));
    }
    if (error && error != std::errc::no_such_file_or_directory) return fail_errno(error.value(), folder.string());
  }
  return {};
}

std::string_view to_string(Table table) { return table == Table::jobs ? "jobs" : "series"; }

Result<std::vector<StoreFile>> files_of(const std::string& store, Table table, const TimeRange& range) {
  IEZ_TRY(std::vector<StoreFile> files, all_files(store, table));
  std::erase_if(files, [&](const StoreFile& file) {
    return (range.from && file.last < *range.from) || (range.to && file.first >= *range.to);
  });
  for (const StoreFile& file : files) IEZ_CHECK(check_ends(file.path));
  return files;
}

}  // namespace iez::jobs
