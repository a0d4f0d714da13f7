// What a metadata server remembers: inodes, names, extended attributes, who has what open, the objects that are to be destroyed,
// and the answers it gave. One SQLite database; it outlives the process, not the host: a lab does not, either.
//
// Every change happens between begin() and commit(), together with the answer that tells of it: a request that comes again after
// a crash finds either nothing done, or its answer. Reads need no transaction.
//
// Names and inodes follow POSIX and Linux. Permissions are the kernel's business (default_permissions), so is the sticky bit.
//   - An inode number is never given twice. One that is gone is ESTALE; so the kernel walks the path again.
//   - Links of a directory: 2 and one for each directory in it. An inode without a name lives on while a client has it open; in a
//     directory of that kind nothing can be made (ENOENT).
//   - Cookies of list() grow in the order in which entries came to be; a renamed entry keeps its cookie, a replaced one passes it
//     on. So a listing gives each entry that was there all the time exactly once.
//   - The size and the data of regular files are with their objects.
//
// Failures: an errno is an answer. If the database itself fails, every answer since is void: take_failure() tells.
//
// Thread safety: none. Times: nanoseconds since 1970.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "lab/wire.hpp"
#include "sql/sqlite.hpp"

namespace iez::lab {

template <typename T>
using Answer = std::expected<T, int>;  // or an errno

inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxTargetBytes = 4095;                 // of a symbolic link
inline constexpr std::uint64_t kFirstCookie = 16;                    // those below are for "." and ".."
inline constexpr std::size_t kKeptAnswers = std::size_t{16} << 10U;  // of each client
inline constexpr std::uint32_t kMostListed = 4096;                   // entries of one answer

struct StoreOptions {
  std::uint32_t max_links = 65000;  // of a file, and of a directory
};

struct StoreCounts {
  std::uint64_t inodes = 0;
  std::uint64_t doomed = 0;  // objects
  std::uint64_t open = 0;    // files open at clients
};

class MetadataStore {
 public:
  // folder: DIR/mds, made if it is not there. A new store has an empty root that belongs to `uid` and `gid`.
  [[nodiscard]] static Result<std::unique_ptr<MetadataStore>> open(const std::string& folder, std::uint32_t uid,
                                                                   std::uint32_t gid, std::int64_t now,
                                                                   const StoreOptions& options = {});

  void begin() { database_->begin(); }
  bool commit() { return database_->commit(); }  // false: nothing happened
  void rollback() { database_->rollback(); }
  std::string take_failure() { return database_->take_failure(); }
  bool failed() const { return database_->failed(); }

  // ---- Reading ----
  [[nodiscard]] Answer<Entry> lookup(std::uint64_t parent, const std::string& name);
  [[nodiscard]] Answer<Entry> entry(std::uint64_t inode);
  [[nodiscard]] Answer<Attributes> attributes(std::uint64_t inode);
  [[nodiscard]] Answer<std::string> link_target(std::uint64_t inode);
  [[nodiscard]] Answer<ListAnswer> list(std::uint64_t inode, std::uint64_t after, std::uint32_t most);
  [[nodiscard]] Answer<std::vector<std::byte>> xattr(std::uint64_t inode, const std::string& name);
  [[nodiscard]] Answer<std::vector<std::string>> xattr_names(std::uint64_t inode);
  // The bytes of `lustre.lov`: what a file has, or the default of a directory. Empty: none.
  [[nodiscard]] Answer<std::vector<std::byte>> layout(std::uint64_t inode);
  std::uint64_t parent_of(std::uint64_t inode);  // of a directory; where anything else was made. 0: it is gone
  StoreCounts counts();

  // ---- Changing: between begin() and commit() ----
  [[nodiscard]] Answer<Attributes> set_attributes(const Attributes& wanted, std::uint32_t mask, std::int64_t now);
  // The new inode has no layout; a directory has the default of its parent, unless that is the root.
  [[nodiscard]] Answer<Attributes> make(const MakeRequest& request, std::int64_t now);
  [[nodiscard]] Answer<Attributes> link(const LinkRequest& request, std::int64_t now);
  [[nodiscard]] Answer<void> unlink(std::uint64_t parent, const std::string& name, std::int64_t now);
  [[nodiscard]] Answer<void> remove_directory(std::uint64_t parent, const std::string& name, std::int64_t now);
  [[nodiscard]] Answer<void> rename(const RenameRequest& request, std::int64_t now);
  [[nodiscard]] Answer<void> set_xattr(const XattrRequest& request, std::int64_t now);
  [[nodiscard]] Answer<void> remove_xattr(std::uint64_t inode, const std::string& name, std::int64_t now);
  [[nodiscard]] Answer<void> set_layout(std::uint64_t inode, std::span<const std::byte> layout);  // empty: none
  [[nodiscard]] Answer<Attributes> open(std::uint64_t client, std::uint64_t inode);
  void close(std::uint64_t client, std::uint64_t inode);

  std::uint64_t take_object(std::uint32_t ost);  // a number that no object of that OST had before

  // ---- Clients ----
  // A session that is not the last one known: what the client had open is closed, and its answers are forgotten.
  void begin_session(std::uint64_t client, std::uint64_t session);
  void close_all(std::uint64_t client);
  std::vector<std::uint64_t> clients_with_open_files();

  std::optional<std::vector<std::byte>> kept_answer(std::uint64_t client, std::uint64_t number);
  void keep_answer(std::uint64_t client, std::uint64_t number, std::span<const std::byte> frame);

  // ---- Objects of files that are gone ----
  std::vector<ObjectName> doomed(std::uint32_t first_ost, std::uint32_t ost_count, std::uint32_t most);
  void forget_doomed(std::span<const ObjectName> names);

 private:
  MetadataStore(std::unique_ptr<sql::Database> database, const StoreOptions& options)
      : database_(std::move(database)), options_(options) {}

  struct Name {
    std::uint64_t cookie = 0;
    std::uint64_t inode = 0;
  };

  std::optional<Attributes> find(std::uint64_t inode);
  Answer<Attributes> directory(std::uint64_t inode);         // ENOTDIR, ESTALE
  Answer<Attributes> living_directory(std::uint64_t inode);  // ENOENT, too: it was removed
  std::optional<Name> find_name(std::uint64_t parent, const std::string& name);
  bool is_empty(std::uint64_t directory);
  bool is_within(std::uint64_t directory, std::uint64_t ancestor);  // or is it

  void add_name(std::uint64_t parent, const std::string& name, std::uint64_t inode);
  void touch(std::uint64_t inode, std::int64_t now);  // a directory whose entries changed
  void add_links(std::uint64_t inode, std::int64_t change);
  void changed(std::uint64_t inode, std::int64_t now);        // its change time
  void lose_name(const Attributes& inode, std::int64_t now);  // one name less: may be the end of it
  void reap(std::uint64_t inode);                             // if it has no name and nobody has it open

  Answer<void> exchange(const RenameRequest& request, const Name& from, const Name& to, std::int64_t now);
  Answer<void> move(const RenameRequest& request, const Name& from, const std::optional<Name>& to, std::int64_t now);

  std::unique_ptr<sql::Database> database_;
  StoreOptions options_;
  std::uint32_t kept_since_pruned_ = 0;
};

// 0, or the errno for which no entry can have that name.
int name_error(std::string_view name);

}  // namespace iez::lab
