// Files of a store: names, locks, and how one appears whole or not at all.
//
// Thread safety: none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "jobs/job_store.hpp"

namespace iez::jobs {

inline constexpr std::string_view kLockName = "lock";
inline constexpr std::string_view kReadersName = "readers";
inline constexpr std::string_view kKeyName = "key";
inline constexpr std::string_view kJournalName = "compacting";
inline constexpr std::string_view kTemporaryEnd = ".tmp";

enum class Lock : std::uint8_t { shared, exclusive, exclusive_if_free };

// Held until the descriptor is closed. `create`: the file is made if it is not there. An empty descriptor: exclusive_if_free, and
// not free.
[[nodiscard]] Result<input::UniqueFd> lock_file(const std::string& path, Lock how, bool create);

// "FIRST-LAST-DIGEST.parquet"
std::string file_name(std::int64_t first, std::int64_t last, std::uint64_t digest);

std::string month_folder(const std::string& store, Table table, std::int64_t month);

// Every file of a table, without a look into it, in order of months and times. Those that a compaction has joined already are
// left out.
[[nodiscard]] Result<std::vector<StoreFile>> all_files(const std::string& store, Table table);

// Their rows, as SQL names a table. REQUIRES: at least one.
std::string sql_rows(const std::vector<StoreFile>& files);

// Does each have the columns that this iez knows? Fails, naming one that another iez wrote. Files without a version are nobody's:
// their columns tell.
inline constexpr int kFormatVersion = 2;
[[nodiscard]] Result<void> check_version(Duck& duck, const std::vector<StoreFile>& files);

// Is there a whole Parquet file, as far as its two ends tell?
[[nodiscard]] Result<void> check_ends(const std::string& path);

// The file to the disk, and to its name. The temporary file is gone after a failure.
[[nodiscard]] Result<void> publish(const std::string& temporary, const std::string& path);

[[nodiscard]] Result<void> sync_folder(const std::string& path);
[[nodiscard]] Result<void> make_folder(const std::string& path);  // with those above it

// Ends what was interrupted: temporary files go, a compaction whose file is there is completed. REQUIRES: the writers' lock.
[[nodiscard]] Result<void> recover(const std::string& store);

// The journal of a compaction: the file that replaces the others.
[[nodiscard]] Result<void> write_journal(const std::string& folder, const std::string& output,
                                         const std::vector<std::string>& inputs);
// Removes its inputs and the journal.
[[nodiscard]] Result<void> complete_journal(const std::string& folder);

}  // namespace iez::jobs
