// The interaction database: what applications did, what they will do, and where it goes.
//
// Two kinds behind one class: a SQLite file of one user (the default), or MariaDB/MySQL for a site. The logic and its SQL are
// written once; what differs is in dialect.cpp.
//
// Every operation is one transaction. When it returns without an error, what it stored outlives the process and the host; when
// it returns an error, nothing of it is there. Several processes may use one database at once. A server that went away is
// reached again for as long as `patience` says: a transaction that was cut off is repeated whole, and one whose answer was lost
// is looked up, so that it takes effect once.
//
// Units: nanoseconds since 1970, bytes. Thread safety: none; open one for each thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "store/records.hpp"

namespace iez::store {

class Core;

inline constexpr std::uint32_t kSchemaVersion = 4;

// What a database of an older version is opened for.
enum class Upgrade : std::uint8_t {
  own_file,  // a SQLite file is brought to the present version at once; a server's is refused, its administrator decides
  always,
  never,
};

struct OpenOptions {
  Upgrade upgrade = Upgrade::own_file;
  bool create = true;                 // false: one that is not there is an error
  std::uint32_t keep_runs = 20;       // of each application: runs whose files are kept
  std::uint32_t keep_plans = 3;       // predictions and allocations whose rows are kept
  Duration patience{30'000'000'000};  // for a busy database, or a server that went away
};

// Where a database is. "sqlite:PATH" or a path; "mysql://USER[:PASSWORD]@HOST[:PORT]/DATABASE" or mariadb://, with
// ?password_file=FILE&socket=FILE&ca=FILE&tls=on|off behind it; reserved characters as %HH. TLS is on unless the host is this
// one.
struct StoreUrl {
  bool server = false;
  std::string path;  // SQLite
  std::string host;
  std::uint16_t port = 3306;
  std::string user;
  std::string password;
  std::string password_file;
  std::string database;
  std::string socket;
  std::string ca_file;
  std::optional<bool> tls;
};
[[nodiscard]] Result<StoreUrl> parse_store_url(std::string_view text);
std::string to_string(const StoreUrl& url);  // without the password

struct ApplicationSummary {
  Application application;
  std::uint64_t runs = 0;
  std::int64_t last_run_ns = 0;  // 0: never ran
  std::uint64_t predictions = 0;
  std::uint64_t allocations = 0;
  std::uint64_t file_rows = 0;
  std::uint64_t waiting = 0;  // rows planned and not yet created

  friend bool operator==(const ApplicationSummary&, const ApplicationSummary&) = default;
};

struct StoreInfo {
  std::string url;     // without the password
  std::string engine;  // "SQLite 3.40.1", "10.11.6-MariaDB"
  std::uint32_t schema = 0;
  std::uint64_t revision = 0;
  std::uint64_t bytes = 0;  // that it takes, as far as known
  std::uint64_t applications = 0;
  std::uint64_t runs = 0;
  std::uint64_t files = 0;  // rows of runs
  std::uint64_t misses = 0;
  std::uint64_t models = 0;
  std::uint64_t predictions = 0;
  std::uint64_t predicted = 0;  // rows
  std::uint64_t allocations = 0;
  std::uint64_t allocated = 0;  // rows
};

// What forget() removed.
struct Forgotten {
  std::uint64_t runs = 0;
  std::uint64_t files = 0;
  std::uint64_t predictions = 0;
  std::uint64_t allocations = 0;

  friend bool operator==(const Forgotten&, const Forgotten&) = default;
};

// What import() added; what was there already is not counted.
struct Imported {
  std::uint64_t lines = 0;
  std::uint64_t applications = 0;
  std::uint64_t runs = 0;
  std::uint64_t predictions = 0;
  std::uint64_t allocations = 0;
  std::uint64_t present = 0;  // records that were there already

  friend bool operator==(const Imported&, const Imported&) = default;
};

// What migrate() did, or would do.
struct Migration {
  std::uint32_t from = 0;  // 0: there is no schema yet
  std::uint32_t to = 0;
  std::vector<std::string> steps;  // for people
};

class Store {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(std::string_view url, Clock& clock, const OpenOptions& options = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // ---- Applications ----

  // The one of this owner and name, made if it is not there. A fingerprint that is given replaces the one that was known.
  [[nodiscard]] Result<Application> ensure_application(std::string_view owner, std::string_view name,
                                                       std::string_view fingerprint);
  [[nodiscard]] Result<std::optional<Application>> find_application(std::string_view owner, std::string_view name);
  [[nodiscard]] Result<std::optional<Application>> find_by_fingerprint(std::string_view owner, std::string_view fingerprint);
  [[nodiscard]] Result<std::optional<Application>> application(Id id);
  // By owner and name; an empty owner: of all.
  [[nodiscard]] Result<std::vector<ApplicationSummary>> applications(std::string_view owner = {});
  // All of it is removed.
  [[nodiscard]] Result<Forgotten> forget(Id application);

  // ---- Runs ----

  // The number of the run. Files of runs before the last keep_runs are dropped; their sums stay.
  [[nodiscard]] Result<Id> record_run(const Run& run, std::span<const FileRow> files, std::span<const Miss> misses);
  // Newest first, at most `last`; 0: all.
  [[nodiscard]] Result<std::vector<Run>> runs(Id application, std::size_t last = 0);
  // Of all applications: runs that ended well after that time and wrote to a file system that takes layouts, newest first, at
  // most `last`. Looks only at the newest runs of the database, a few times as many.
  [[nodiscard]] Result<std::vector<Run>> runs_with_targets(std::int64_t after_ns, std::size_t last);
  [[nodiscard]] Result<std::vector<FileRow>> files(Id run);  // in the order they were given
  [[nodiscard]] Result<std::vector<Miss>> misses(Id run);

  // ---- Predictions ----

  // The number of the prediction. Rows of those before the last keep_plans are dropped.
  [[nodiscard]] Result<Id> put_prediction(const Prediction& prediction);
  [[nodiscard]] Result<std::optional<Prediction>> prediction(Id id);  // with rows
  [[nodiscard]] Result<std::optional<Prediction>> latest_prediction(Id application);
  // The newest of each application, where it has no allocation yet; without rows. Oldest first.
  [[nodiscard]] Result<std::vector<Prediction>> unallocated_predictions();
  // Of those, the ones with a number above `after`, by number, at most `most`.
  [[nodiscard]] Result<std::vector<Prediction>> unallocated_predictions(Id after, std::size_t most);
  [[nodiscard]] Result<std::optional<Prediction>> find_prediction(std::string_view key);  // with rows

  // ---- Allocations ----

  // The number of the allocation. Each of its rows names one row of the prediction, in ascending order; not all need be there.
  // Rows of earlier allocations of the same application that are still `planned` become `expired`: the new one replaces them.
  [[nodiscard]] Result<Id> put_allocation(const Allocation& allocation);
  // Likewise, for a plan that was made elsewhere and may come late, or twice. Errc::exists: its prediction is not the newest of
  // the application any more, or has another plan. The same plan planned anew replaces itself, but for rows that are not
  // `planned` any more; of keys that begin with the plan's id, a lower one comes too late and changes nothing. It is the newest
  // allocation then: its time is moved if clocks differ.
  [[nodiscard]] Result<Id> put_late_allocation(const Allocation& allocation);
  [[nodiscard]] Result<std::optional<Allocation>> allocation(Id id);  // with rows
  [[nodiscard]] Result<std::optional<Allocation>> find_allocation(std::string_view plan);
  [[nodiscard]] Result<std::optional<Allocation>> latest_allocation(Id application);
  // Newest first, without rows.
  [[nodiscard]] Result<std::vector<Allocation>> allocations(Id application);
  // The newest of each application, those with a number above `after`, by number, at most `most`; without rows.
  [[nodiscard]] Result<std::vector<Allocation>> newest_allocations(Id after, std::size_t most);
  // `rows` are numbers of rows of the prediction (AllocationRow::row); none: all. Gives how many changed.
  [[nodiscard]] Result<std::uint64_t> set_states(Id allocation, PlanState state, std::span<const std::uint32_t> rows = {});
  // Why there is no plan for a prediction. Of at most kMaxShort bytes; a longer one is cut.
  [[nodiscard]] Result<void> set_verdict(Id prediction, std::string_view verdict);
  // All rows of all allocations of the application become `expired`, whatever they were: the plan is given up.
  [[nodiscard]] Result<std::uint64_t> withdraw(Id application);
  // Rows that are `planned` in allocations made before the time become `expired`. 0: of all applications.
  [[nodiscard]] Result<std::uint64_t> expire(Id application, std::int64_t before_ns);

  // ---- The whole ----

  // Grows with every change, of whichever process.
  [[nodiscard]] Result<std::uint64_t> revision();
  [[nodiscard]] Result<StoreInfo> info();

  // JSON lines of docs/formats/store.md, as of one moment. Each call of `line` gets one, with its end.
  [[nodiscard]] Result<void> export_lines(const std::function<Result<void>(std::string_view line)>& line);
  // All or nothing; records that are there already stay as they are. `origin` names the stream in messages.
  [[nodiscard]] Result<Imported> import_lines(input::ByteStream& stream, std::string_view origin);

  // What is wrong, for people; empty: nothing. Reads everything.
  [[nodiscard]] Result<std::vector<std::string>> check();

 private:
  explicit Store(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

// Brings a database to the present schema; `dry_run` tells what would be done. Where there is none, fails with not_found.
[[nodiscard]] Result<Migration> migrate(std::string_view url, bool dry_run, Clock& clock);

// The file of the user's state folder: "sqlite:FOLDER/iez.db".
std::string default_store_url(std::string_view state_folder);

}  // namespace iez::store
