// What changes names and inodes. See metadata_store.hpp.
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <optional>
#include <string>

#include "lab/metadata_store.hpp"

namespace iez::lab {

using sql::Query;

namespace {

constexpr std::uint32_t kPermissions = 07777;

bool is_known_type(std::uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFLNK:
    case S_IFIFO:
    case S_IFSOCK:
    case S_IFCHR:
    case S_IFBLK:
      return true;
    default:
      return false;
  }
}

// Who owns what is made in a directory, and with which mode: a set-group-id directory passes its group on, and to directories the
// bit, too. A file that would run as a group its maker is not in loses the bit.
void inherit(const Attributes& parent, const Caller& caller, Attributes& made) {
  made.uid = caller.uid;
  made.gid = caller.gid;
  if ((parent.mode & S_ISGID) == 0) return;
  made.gid = parent.gid;
  if (S_ISDIR(made.mode)) {
    made.mode |= S_ISGID;
  } else if ((made.mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && caller.uid != 0 && caller.gid != parent.gid) {
    made.mode &= ~static_cast<std::uint32_t>(S_ISGID);
  }
}

}  // namespace

// ---- Parts
// ----------------------------------------------------------------------------------------------------------------------

void MetadataStore::add_name(std::uint64_t parent, const std::string& name, std::uint64_t inode) {
  Query(*database_, "INSERT INTO names (parent, name, inode) VALUES (?, ?, ?)", parent, name, inode).run();
}

void MetadataStore::touch(std::uint64_t inode, std::int64_t now) {
  Query(*database_, "UPDATE inodes SET modify_ns = ?1, change_ns = ?1 WHERE id = ?2", now, inode).run();
}

void MetadataStore::add_links(std::uint64_t inode, std::int64_t change) {
  Query(*database_, "UPDATE inodes SET links = links + ? WHERE id = ?", change, inode).run();
}

void MetadataStore::changed(std::uint64_t inode, std::int64_t now) {
  Query(*database_, "UPDATE inodes SET change_ns = ? WHERE id = ?", now, inode).run();
}

void MetadataStore::lose_name(const Attributes& inode, std::int64_t now) {
  add_links(inode.inode, S_ISDIR(inode.mode) ? -std::int64_t{inode.links} : -1);
  changed(inode.inode, now);
  reap(inode.inode);
}

// ---- Attributes
// -----------------------------------------------------------------------------------------------------------------

Answer<Attributes> MetadataStore::set_attributes(const Attributes& wanted, std::uint32_t mask, std::int64_t now) {
  auto found = attributes(wanted.inode);
  if (!found) return found;
  if ((mask & kSetMode) != 0) found->mode = (found->mode & S_IFMT) | (wanted.mode & kPermissions);
  if ((mask & kSetUid) != 0) found->uid = wanted.uid;
  if ((mask & kSetGid) != 0) found->gid = wanted.gid;
  if ((mask & kSetAccess) != 0) found->access_ns = wanted.access_ns;
  if ((mask & kSetChange) != 0) found->modify_ns = now;
  if ((mask & kSetModify) != 0) found->modify_ns = wanted.modify_ns;
  if (mask != 0) found->change_ns = now;
  Query(*database_, "UPDATE inodes SET mode = ?, uid = ?, gid = ?, access_ns = ?, modify_ns = ?, change_ns = ? WHERE id = ?",
        found->mode, found->uid, found->gid, found->access_ns, found->modify_ns, found->change_ns, wanted.inode)
      .run();
  return found;
}

Answer<void> MetadataStore::set_xattr(const XattrRequest& request, std::int64_t now) {
  if (!find(request.inode)) return std::unexpected(ESTALE);
  if (request.name.empty() || request.name.size() > XATTR_NAME_MAX) return std::unexpected(ERANGE);
  if (request.value.size() > XATTR_SIZE_MAX) return std::unexpected(E2BIG);
  const int found = xattr(request.inode, request.name) ? 1 : 0;
  if ((request.flags & XATTR_CREATE) != 0 && found == 1) return std::unexpected(EEXIST);
  if ((request.flags & XATTR_REPLACE) != 0 && found == 0) return std::unexpected(ENODATA);
  Query(*database_, "INSERT OR REPLACE INTO xattrs VALUES (?, ?, ?)", request.inode, request.name, request.value).run();
  changed(request.inode, now);
  return {};
}

Answer<void> MetadataStore::remove_xattr(std::uint64_t inode, const std::string& name, std::int64_t now) {
  if (!find(inode)) return std::unexpected(ESTALE);
  Query(*database_, "DELETE FROM xattrs WHERE inode = ? AND name = ?", inode, name).run();
  if (database_->changes() == 0) return std::unexpected(ENODATA);
  changed(inode, now);
  return {};
}

Answer<void> MetadataStore::set_layout(std::uint64_t inode, std::span<const std::byte> layout) {
  if (layout.empty()) {
    Query(*database_, "UPDATE inodes SET layout = NULL WHERE id = ?", inode).run();
  } else {
    Query(*database_, "UPDATE inodes SET layout = ? WHERE id = ?", layout, inode).run();
  }
  if (database_->changes() == 0) return std::unexpected(ESTALE);
  return {};
}

// ---- Names
// ----------------------------------------------------------------------------------------------------------------------

Answer<Attributes> MetadataStore::make(const MakeRequest& request, std::int64_t now) {
  const auto parent = living_directory(request.parent);
  if (!parent) return std::unexpected(parent.error());
  if (const int wrong = name_error(request.name); wrong != 0) return std::unexpected(wrong);
  if (!is_known_type(request.mode)) return std::unexpected(EINVAL);
  if (find_name(request.parent, request.name)) return std::unexpected(EEXIST);
  const bool is_directory = S_ISDIR(request.mode);
  const bool is_link = S_ISLNK(request.mode);
  if (is_directory && parent->links >= options_.max_links) return std::unexpected(EMLINK);
  if (is_link && request.target.empty()) return std::unexpected(ENOENT);
  if (is_link && request.target.size() > kMaxTargetBytes) return std::unexpected(ENAMETOOLONG);

  Attributes made{.mode = request.mode & (S_IFMT | kPermissions), .links = is_directory ? 2U : 1U};
  if (S_ISCHR(request.mode) || S_ISBLK(request.mode)) made.device = request.device;
  inherit(*parent, request.caller, made);
  {
    Query query(*database_,
                "INSERT INTO inodes (mode, links, uid, gid, device, access_ns, modify_ns, change_ns, parent) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6, ?7) RETURNING id",
                made.mode, made.links, made.uid, made.gid, made.device, now, request.parent);
    if (query.next()) made.inode = query.number(0);
  }
  if (is_link) Query(*database_, "UPDATE inodes SET target = ? WHERE id = ?", request.target, made.inode).run();
  if (is_directory) {
    add_links(request.parent, 1);
    // What the root has is the default of the whole file system; it is looked up when a file is made.
    if (request.parent != kRootInode) {
      Query(*database_, "UPDATE inodes SET layout = (SELECT layout FROM inodes WHERE id = ?) WHERE id = ?", request.parent,
            made.inode)
          .run();
    }
  }
  add_name(request.parent, request.name, made.inode);
  touch(request.parent, now);
  return attributes(made.inode);
}

Answer<Attributes> MetadataStore::link(const LinkRequest& request, std::int64_t now) {
  const auto parent = living_directory(request.parent);
  if (!parent) return std::unexpected(parent.error());
  if (const int wrong = name_error(request.name); wrong != 0) return std::unexpected(wrong);
  const auto inode = attributes(request.inode);
  if (!inode) return inode;
  if (S_ISDIR(inode->mode)) return std::unexpected(EPERM);
  if (inode->links == 0) return std::unexpected(ENOENT);
  if (find_name(request.parent, request.name)) return std::unexpected(EEXIST);
  if (inode->links >= options_.max_links) return std::unexpected(EMLINK);
  add_name(request.parent, request.name, request.inode);
  add_links(request.inode, 1);
  changed(request.inode, now);
  touch(request.parent, now);
  return attributes(request.inode);
}

Answer<void> MetadataStore::unlink(std::uint64_t parent, const std::string& name, std::int64_t now) {
  const auto in = directory(parent);
  if (!in) return std::unexpected(in.error());
  if (const int wrong = name_error(name); wrong != 0) return std::unexpected(wrong);
  const auto found = find_name(parent, name);
  if (!found) return std::unexpected(ENOENT);
  const auto inode = attributes(found->inode);
  if (!inode) return std::unexpected(inode.error());
  if (S_ISDIR(inode->mode)) return std::unexpected(EISDIR);
  Query(*database_, "DELETE FROM names WHERE cookie = ?", found->cookie).run();
  touch(parent, now);
  lose_name(*inode, now);
  return {};
}

Answer<void> MetadataStore::remove_directory(std::uint64_t parent, const std::string& name, std::int64_t now) {
  const auto in = directory(parent);
  if (!in) return std::unexpected(in.error());
  if (const int wrong = name_error(name); wrong != 0) return std::unexpected(name == ".." ? ENOTEMPTY : wrong);
  const auto found = find_name(parent, name);
  if (!found) return std::unexpected(ENOENT);
  const auto inode = attributes(found->inode);
  if (!inode) return std::unexpected(inode.error());
  if (!S_ISDIR(inode->mode)) return std::unexpected(ENOTDIR);
  if (!is_empty(found->inode)) return std::unexpected(ENOTEMPTY);
  Query(*database_, "DELETE FROM names WHERE cookie = ?", found->cookie).run();
  add_links(parent, -1);
  touch(parent, now);
  lose_name(*inode, now);
  return {};
}

Answer<void> MetadataStore::rename(const RenameRequest& request, std::int64_t now) {
  const bool exchanges = request.flags == RENAME_EXCHANGE;
  if (!exchanges && request.flags != 0 && request.flags != RENAME_NOREPLACE) return std::unexpected(EINVAL);
  if (const auto from = directory(request.parent); !from) return std::unexpected(from.error());
  if (const auto to = living_directory(request.new_parent); !to) return std::unexpected(to.error());
  for (const std::string& name : {request.name, request.new_name}) {
    if (const int wrong = name_error(name); wrong != 0) return std::unexpected(wrong);
  }
  const auto from = find_name(request.parent, request.name);
  if (!from) return std::unexpected(ENOENT);
  const auto to = find_name(request.new_parent, request.new_name);
  if (to && request.flags == RENAME_NOREPLACE) return std::unexpected(EEXIST);
  if (!to && exchanges) return std::unexpected(ENOENT);
  if (to && to->inode == from->inode) return {};  // two names of one file: POSIX wants nothing to happen
  if (to && exchanges) return exchange(request, *from, *to, now);
  return move(request, *from, to, now);
}

Answer<void> MetadataStore::exchange(const RenameRequest& request, const Name& from, const Name& to, std::int64_t now) {
  const auto moved = attributes(from.inode);
  const auto other = attributes(to.inode);
  if (!moved || !other) return std::unexpected(ESTALE);
  const bool moved_directory = S_ISDIR(moved->mode);
  const bool other_directory = S_ISDIR(other->mode);
  if (moved_directory && is_within(request.new_parent, from.inode)) return std::unexpected(EINVAL);
  if (other_directory && is_within(request.parent, to.inode)) return std::unexpected(EINVAL);
  if (request.parent != request.new_parent && moved_directory != other_directory) {
    const std::uint64_t gains = moved_directory ? request.new_parent : request.parent;
    const auto gaining = attributes(gains);
    if (gaining && gaining->links >= options_.max_links) return std::unexpected(EMLINK);
    add_links(gains, 1);
    add_links(moved_directory ? request.parent : request.new_parent, -1);
  }
  Query(*database_, "UPDATE names SET inode = ? WHERE cookie = ?", to.inode, from.cookie).run();
  Query(*database_, "UPDATE names SET inode = ? WHERE cookie = ?", from.inode, to.cookie).run();
  if (moved_directory) Query(*database_, "UPDATE inodes SET parent = ? WHERE id = ?", request.new_parent, from.inode).run();
  if (other_directory) Query(*database_, "UPDATE inodes SET parent = ? WHERE id = ?", request.parent, to.inode).run();
  changed(from.inode, now);
  changed(to.inode, now);
  touch(request.parent, now);
  touch(request.new_parent, now);
  return {};
}

Answer<void> MetadataStore::move(const RenameRequest& request, const Name& from, const std::optional<Name>& to,
                                 std::int64_t now) {
  const auto moved = attributes(from.inode);
  if (!moved) return std::unexpected(ESTALE);
  const bool is_directory = S_ISDIR(moved->mode);
  if (is_directory && is_within(request.new_parent, from.inode)) return std::unexpected(EINVAL);
  std::optional<Attributes> replaced;
  if (to) {
    replaced = find(to->inode);
    if (!replaced) return std::unexpected(ESTALE);
    if (is_directory && !S_ISDIR(replaced->mode)) return std::unexpected(ENOTDIR);
    if (!is_directory && S_ISDIR(replaced->mode)) return std::unexpected(EISDIR);
    if (is_directory && !is_empty(to->inode)) return std::unexpected(ENOTEMPTY);
  }
  if (is_directory && request.parent != request.new_parent && !replaced) {
    const auto gaining = attributes(request.new_parent);
    if (gaining && gaining->links >= options_.max_links) return std::unexpected(EMLINK);
  }

  if (to) {
    // The entry that was there keeps its place in listings, so that replacing a file never hides its name.
    Query(*database_, "DELETE FROM names WHERE cookie = ?", from.cookie).run();
    Query(*database_, "UPDATE names SET inode = ? WHERE cookie = ?", from.inode, to->cookie).run();
  } else {
    Query(*database_, "UPDATE names SET parent = ?, name = ? WHERE cookie = ?", request.new_parent, request.new_name, from.cookie)
        .run();
  }
  if (is_directory) {
    Query(*database_, "UPDATE inodes SET parent = ? WHERE id = ?", request.new_parent, from.inode).run();
    add_links(request.parent, -1);
    if (!replaced) add_links(request.new_parent, 1);
  }
  changed(from.inode, now);
  touch(request.parent, now);
  touch(request.new_parent, now);
  if (replaced) lose_name(*replaced, now);
  return {};
}

}  // namespace iez::lab
