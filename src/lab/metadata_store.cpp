#include "lab/metadata_store.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "lustre/layout_codec.hpp"

namespace iez::lab {

using sql::Query;

namespace {

constexpr std::uint64_t kDirectorySize = 4096;
constexpr std::uint64_t kSchemaVersion = 1;
constexpr std::uint32_t kPruneEvery = 1024;

constexpr const char* kSchema = R"(
CREATE TABLE inodes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  mode INTEGER NOT NULL, links INTEGER NOT NULL, uid INTEGER NOT NULL, gid INTEGER NOT NULL, device INTEGER NOT NULL,
  access_ns INTEGER NOT NULL, modify_ns INTEGER NOT NULL, change_ns INTEGER NOT NULL,
  parent INTEGER NOT NULL,  -- of a directory; where others were made
  target BLOB,              -- of a symbolic link
  layout BLOB);
CREATE TABLE names (cookie INTEGER PRIMARY KEY AUTOINCREMENT, parent INTEGER NOT NULL, name BLOB NOT NULL, inode INTEGER NOT NULL);
CREATE UNIQUE INDEX names_by_name ON names (parent, name);
CREATE INDEX names_in_order ON names (parent, cookie);
CREATE TABLE xattrs (inode INTEGER NOT NULL, name BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (inode, name)) WITHOUT ROWID;
CREATE TABLE open (inode INTEGER NOT NULL, client INTEGER NOT NULL, PRIMARY KEY (inode, client)) WITHOUT ROWID;
CREATE INDEX open_by_client ON open (client);
CREATE TABLE objects (ost INTEGER PRIMARY KEY, last INTEGER NOT NULL);
CREATE TABLE doomed (ost INTEGER NOT NULL, object INTEGER NOT NULL, PRIMARY KEY (ost, object)) WITHOUT ROWID;
CREATE TABLE sessions (client INTEGER PRIMARY KEY, session INTEGER NOT NULL);
CREATE TABLE answers (client INTEGER NOT NULL, number INTEGER NOT NULL, frame BLOB NOT NULL, PRIMARY KEY (client, number))
  WITHOUT ROWID;
PRAGMA user_version = 1;
)";

Attributes row_attributes(const Query& row) {
  Attributes result{.inode = row.number(0),
                    .mode = static_cast<std::uint32_t>(row.number(1)),
                    .links = static_cast<std::uint32_t>(row.number(2)),
                    .uid = static_cast<std::uint32_t>(row.number(3)),
                    .gid = static_cast<std::uint32_t>(row.number(4)),
                    .device = row.number(5),
                    .access_ns = row.signed_number(6),
                    .modify_ns = row.signed_number(7),
                    .change_ns = row.signed_number(8)};
  result.size = S_ISDIR(result.mode) ? kDirectorySize : row.number(9);
  return result;
}

}  // namespace

int name_error(std::string_view name) {
  if (name.empty()) return ENOENT;
  if (name.size() > kMaxNameBytes) return ENAMETOOLONG;
  if (name == "." || name == ".." || name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos) {
    return EINVAL;
  }
  return 0;
}

Result<std::unique_ptr<MetadataStore>> MetadataStore::open(const std::string& folder, std::uint32_t uid, std::uint32_t gid,
                                                           std::int64_t now, const StoreOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_errno(error.value(), folder);
  const std::string path = folder + "/metadata.sqlite";
  IEZ_TRY(auto database, sql::Database::open(path, sql::Durability::process));
  std::uint64_t version = 0;
  if (Query query(*database, "PRAGMA user_version"); query.next()) version = query.number(0);
  if (version != 0 && version != kSchemaVersion) {
    return fail(Errc::unsupported, fmt::format("{}: version {} of the tables, expected {}", path, version, kSchemaVersion));
  }
  if (version == 0) {
    database->begin();
    database->run(kSchema);
    Query(*database, "INSERT INTO inodes VALUES (?, ?, 2, ?, ?, 0, ?, ?, ?, 1, NULL, NULL)", kRootInode,
          std::uint32_t{S_IFDIR | 0755U}, uid, gid, now, now, now)
        .run();
    Query(*database, "INSERT INTO sqlite_sequence VALUES ('names', ?)", kFirstCookie - 1).run();
    database->commit();
  }
  if (std::string failure = database->take_failure(); !failure.empty()) {
    return fail(Errc::io, fmt::format("{}: {}", path, failure));
  }
  return std::unique_ptr<MetadataStore>(new MetadataStore(std::move(database), options));
}

// ---- Reading ------------------------------------------------------------------------------------------------------------------

std::optional<Attributes> MetadataStore::find(std::uint64_t inode) {
  Query query(
      *database_,
      "SELECT id, mode, links, uid, gid, device, access_ns, modify_ns, change_ns, coalesce(length(target), 0) FROM inodes "
      "WHERE id = ?",
      inode);
  if (!query.next()) return std::nullopt;
  return row_attributes(query);
}

Answer<Attributes> MetadataStore::attributes(std::uint64_t inode) {
  const auto found = find(inode);
  if (!found) return std::unexpected(ESTALE);
  return *found;
}

Answer<Attributes> MetadataStore::directory(std::uint64_t inode) {
  auto found = attributes(inode);
  if (found && !S_ISDIR(found->mode)) return std::unexpected(ENOTDIR);
  return found;
}

Answer<Attributes> MetadataStore::living_directory(std::uint64_t inode) {
  auto found = directory(inode);
  if (found && found->links == 0) return std::unexpected(ENOENT);
  return found;
}

std::optional<MetadataStore::Name> MetadataStore::find_name(std::uint64_t parent, const std::string& name) {
  Query query(*database_, "SELECT cookie, inode FROM names WHERE parent = ? AND name = ?", parent, name);
  if (!query.next()) return std::nullopt;
  return Name{.cookie = query.number(0), .inode = query.number(1)};
}

Answer<Entry> MetadataStore::lookup(std::uint64_t parent, const std::string& name) {
  const auto in = directory(parent);
  if (!in) return std::unexpected(in.error());
  if (const int wrong = name_error(name); wrong != 0) return std::unexpected(wrong);
  const auto found = find_name(parent, name);
  if (!found) return std::unexpected(ENOENT);
  return entry(found->inode);
}

Answer<Entry> MetadataStore::entry(std::uint64_t inode) {
  const auto found = find(inode);
  if (!found) return std::unexpected(ESTALE);
  Entry result{.attributes = *found, .layout = {}};
  if (S_ISREG(found->mode)) {
    auto bytes = layout(inode);
    if (!bytes) return std::unexpected(bytes.error());
    result.layout = *std::move(bytes);
  }
  return result;
}

Answer<std::string> MetadataStore::link_target(std::uint64_t inode) {
  Query query(*database_, "SELECT target FROM inodes WHERE id = ?", inode);
  if (!query.next()) return std::unexpected(ESTALE);
  if (query.is_null(0)) return std::unexpected(EINVAL);
  return query.text(0);
}

Answer<ListAnswer> MetadataStore::list(std::uint64_t inode, std::uint64_t after, std::uint32_t most) {
  const auto in = directory(inode);
  if (!in) return std::unexpected(in.error());
  ListAnswer answer;
  answer.parent = parent_of(inode);
  const std::uint32_t limit = std::min(most, kMostListed);
  Query query(*database_,
              "SELECT names.name, names.cookie, names.inode, inodes.mode FROM names JOIN inodes ON inodes.id = names.inode "
              "WHERE names.parent = ? AND names.cookie > ? ORDER BY names.cookie LIMIT ?",
              inode, after, limit);
  while (query.next()) {
    answer.entries.push_back({.name = query.text(0),
                              .cookie = query.number(1),
                              .inode = query.number(2),
                              .mode = static_cast<std::uint32_t>(query.number(3))});
  }
  return answer;
}

Answer<std::vector<std::byte>> MetadataStore::xattr(std::uint64_t inode, const std::string& name) {
  if (!find(inode)) return std::unexpected(ESTALE);
  Query query(*database_, "SELECT value FROM xattrs WHERE inode = ? AND name = ?", inode, name);
  if (!query.next()) return std::unexpected(ENODATA);
  return query.bytes(0);
}

Answer<std::vector<std::string>> MetadataStore::xattr_names(std::uint64_t inode) {
  if (!find(inode)) return std::unexpected(ESTALE);
  std::vector<std::string> names;
  Query query(*database_, "SELECT name FROM xattrs WHERE inode = ? ORDER BY name", inode);
  while (query.next()) names.push_back(query.text(0));
  return names;
}

Answer<std::vector<std::byte>> MetadataStore::layout(std::uint64_t inode) {
  Query query(*database_, "SELECT layout FROM inodes WHERE id = ?", inode);
  if (!query.next()) return std::unexpected(ESTALE);
  return query.bytes(0);
}

std::uint64_t MetadataStore::parent_of(std::uint64_t inode) {
  Query query(*database_, "SELECT parent FROM inodes WHERE id = ?", inode);
  return query.next() ? query.number(0) : 0;
}

bool MetadataStore::is_empty(std::uint64_t directory) {
  Query query(*database_, "SELECT 1 FROM names WHERE parent = ? LIMIT 1", directory);
  return !query.next();
}

bool MetadataStore::is_within(std::uint64_t directory, std::uint64_t ancestor) {
  while (directory != ancestor) {
    if (directory == kRootInode || directory == 0) return false;
    directory = parent_of(directory);
  }
  return true;
}

StoreCounts MetadataStore::counts() {
  StoreCounts result;
  Query query(*database_, "SELECT (SELECT count(*) FROM inodes), (SELECT count(*) FROM doomed), (SELECT count(*) FROM open)");
  if (query.next()) result = {.inodes = query.number(0), .doomed = query.number(1), .open = query.number(2)};
  return result;
}

// ---- Open files
// -----------------------------------------------------------------------------------------------------------------

Answer<Attributes> MetadataStore::open(std::uint64_t client, std::uint64_t inode) {
  auto found = attributes(inode);
  if (found) Query(*database_, "INSERT OR IGNORE INTO open VALUES (?, ?)", inode, client).run();
  return found;
}

void MetadataStore::close(std::uint64_t client, std::uint64_t inode) {
  Query(*database_, "DELETE FROM open WHERE inode = ? AND client = ?", inode, client).run();
  reap(inode);
}

void MetadataStore::close_all(std::uint64_t client) {
  std::vector<std::uint64_t> inodes;
  {
    Query query(*database_, "DELETE FROM open WHERE client = ? RETURNING inode", client);
    while (query.next()) inodes.push_back(query.number(0));
  }
  for (const std::uint64_t inode : inodes) reap(inode);
}

std::vector<std::uint64_t> MetadataStore::clients_with_open_files() {
  std::vector<std::uint64_t> clients;
  Query query(*database_, "SELECT DISTINCT client FROM open");
  while (query.next()) clients.push_back(query.number(0));
  return clients;
}

void MetadataStore::reap(std::uint64_t inode) {
  const auto found = find(inode);
  if (!found || found->links > 0) return;
  if (Query query(*database_, "SELECT 1 FROM open WHERE inode = ? LIMIT 1", inode); query.next()) return;
  const auto bytes = layout(inode);
  if (S_ISREG(found->mode) && bytes && !bytes->empty()) {
    const auto decoded = lustre::decode_layout(*bytes);
    IEZ_ASSERT(decoded.has_value());  // only what encode_layout() made is kept
    for (const model::Component& component : decoded->components) {
      for (const model::StripeObject& object : component.objects) {
        Query(*database_, "INSERT OR IGNORE INTO doomed VALUES (?, ?)", object.ost.value, object.id.low).run();
      }
    }
  }
  Query(*database_, "DELETE FROM xattrs WHERE inode = ?", inode).run();
  Query(*database_, "DELETE FROM inodes WHERE id = ?", inode).run();
}

// ---- Clients ------------------------------------------------------------------------------------------------------------------

void MetadataStore::begin_session(std::uint64_t client, std::uint64_t session) {
  {
    Query query(*database_, "SELECT session FROM sessions WHERE client = ?", client);
    if (query.next() && query.number(0) == session) return;
  }
  close_all(client);
  Query(*database_, "DELETE FROM answers WHERE client = ?", client).run();
  Query(*database_, "INSERT OR REPLACE INTO sessions VALUES (?, ?)", client, session).run();
}

std::optional<std::vector<std::byte>> MetadataStore::kept_answer(std::uint64_t client, std::uint64_t number) {
  Query query(*database_, "SELECT frame FROM answers WHERE client = ? AND number = ?", client, number);
  if (!query.next()) return std::nullopt;
  return query.bytes(0);
}

void MetadataStore::keep_answer(std::uint64_t client, std::uint64_t number, std::span<const std::byte> frame) {
  Query(*database_, "INSERT INTO answers VALUES (?, ?, ?)", client, number, frame).run();
  if (++kept_since_pruned_ < kPruneEvery) return;
  kept_since_pruned_ = 0;
  Query(*database_,
        "DELETE FROM answers WHERE client = ?1 AND number <= "
        "(SELECT number FROM answers WHERE client = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
        client, std::uint64_t{kKeptAnswers})
      .run();
}

// ---- Objects ------------------------------------------------------------------------------------------------------------------

std::uint64_t MetadataStore::take_object(std::uint32_t ost) {
  Query query(*database_, "INSERT INTO objects VALUES (?, 1) ON CONFLICT (ost) DO UPDATE SET last = last + 1 RETURNING last",
              ost);
  return query.next() ? query.number(0) : 0;
}

std::vector<ObjectName> MetadataStore::doomed(std::uint32_t first_ost, std::uint32_t ost_count, std::uint32_t most) {
  std::vector<ObjectName> names;
  const std::uint64_t end = std::uint64_t{first_ost} + ost_count;
  Query query(*database_, "SELECT ost, object FROM doomed WHERE ost >= ? AND ost < ? LIMIT ?", first_ost, end, most);
  while (query.next()) names.push_back({.ost = static_cast<std::uint32_t>(query.number(0)), .object = query.number(1)});
  return names;
}

void MetadataStore::forget_doomed(std::span<const ObjectName> names) {
  for (const ObjectName& name : names) {
    Query(*database_, "DELETE FROM doomed WHERE ost = ? AND object = ?", name.ost, name.object).run();
  }
}

}  // namespace iez::lab
