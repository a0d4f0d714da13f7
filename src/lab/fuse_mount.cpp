#include "lab/fuse_mount.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fstream>
#include <limits>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <fuse3/fuse_lowlevel.h>

#include "lab/job_of.hpp"
#include "lab/mounts.hpp"

namespace iez::lab {
namespace {

constexpr unsigned kMaxTransfer = 1U << 20U;
constexpr unsigned kMaxThreads = 256;  // each may wait for a server
constexpr unsigned kIdleThreads = 16;
constexpr std::uint32_t kListAtOnce = 256;
constexpr std::uint64_t kBlock = 4096;
constexpr std::int64_t kSecond = 1'000'000'000;

timespec to_timespec(std::int64_t ns) {
  timespec time{.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond};
  if (time.tv_nsec < 0) {
    time.tv_nsec += kSecond;
    --time.tv_sec;
  }
  return time;
}
std::int64_t to_ns(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }
std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return to_ns(time);
}

struct stat to_stat(const FileState& state) {
  const Attributes& from = state.attributes;
  struct stat to{};
  to.st_ino = from.inode;
  to.st_mode = from.mode;
  to.st_nlink = from.links;
  to.st_uid = from.uid;
  to.st_gid = from.gid;
  to.st_rdev = from.device;
  to.st_size = static_cast<off_t>(from.size);
  to.st_blocks = static_cast<blkcnt_t>(state.blocks);
  to.st_blksize = kBlock;
  to.st_atim = to_timespec(from.access_ns);
  to.st_mtim = to_timespec(from.modify_ns);
  to.st_ctim = to_timespec(from.change_ns);
  return to;
}

// Names and attributes may change elsewhere at any time: nothing is valid longer than the call.
fuse_entry_param to_entry(const FileState& state) {
  fuse_entry_param entry{};
  entry.ino = state.attributes.inode;
  entry.attr = to_stat(state);
  return entry;
}

// Answers calls of the kernel. The session's user data.
class Answerer {
 public:
  Answerer(const Config& config, FsClient::Options options)
      : client_(with_drop(std::move(options))), job_of_(config.job_variable), dropper_([this] { drop_what_is_queued(); }) {}
  ~Answerer() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    dropper_.join();
  }
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  FsClient& client() { return client_; }
  void set_session(fuse_session* session) { session_ = session; }

  Who who(fuse_req_t request) {
    const fuse_ctx* const context = fuse_req_ctx(request);
    return {.caller = {.uid = context->uid, .gid = context->gid, .job = job_of_(context->pid, context->uid)},
            .interrupted = [request] { return fuse_req_interrupted(request) != 0; }};
  }

  // After the answer: the kernel may hold the very pages until then.
  void drop_soon(std::uint64_t inode, std::uint64_t offset, std::uint64_t size) {
    {
      const std::scoped_lock lock(mutex_);
      queue_.push_back({.inode = inode, .offset = offset, .size = size});
    }
    changed_.notify_all();
  }

 private:
  struct Range {
    std::uint64_t inode = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };

  FsClient::Options with_drop(FsClient::Options options) {
    options.drop_pages = [this](std::uint64_t inode, std::uint64_t offset, std::uint64_t size) { drop(inode, offset, size); };
    return options;
  }

  // An inode that the kernel does not know has no pages: every error is a success.
  void drop(std::uint64_t inode, std::uint64_t offset, std::uint64_t size) {
    fuse_session* const session = session_;
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
    if (session == nullptr || offset > kMost) return;
    fuse_lowlevel_notify_inval_inode(session, inode, static_cast<off_t>(offset),
                                     size > kMost - offset ? 0 : static_cast<off_t>(size));
  }

  void drop_what_is_queued() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      const Range range = queue_.front();
      queue_.pop_front();
      lock.unlock();
      drop(range.inode, range.offset, range.size);
      lock.lock();
    }
  }

  std::atomic<fuse_session*> session_ = nullptr;
  FsClient client_;
  JobOf job_of_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Range> queue_;
  bool stop_ = false;
  std::thread dropper_;
};

Answerer& answerer(fuse_req_t request) { return *static_cast<Answerer*>(fuse_req_userdata(request)); }
FsClient& client_of(fuse_req_t request) { return answerer(request).client(); }
Who who(fuse_req_t request) { return answerer(request).who(request); }

void reply(fuse_req_t request, const Outcome<void>& outcome) { fuse_reply_err(request, outcome ? 0 : outcome.error()); }
void reply_attributes(fuse_req_t request, const Outcome<FileState>& outcome) {
  if (!outcome) {
    fuse_reply_err(request, outcome.error());
    return;
  }
  const struct stat attributes = to_stat(*outcome);
  fuse_reply_attr(request, &attributes, 0);
}
// If the kernel has gone away meanwhile, it took no reference.
void reply_entry(fuse_req_t request, const Outcome<FileState>& outcome) {
  if (!outcome) {
    fuse_reply_err(request, outcome.error());
    return;
  }
  FsClient& client = client_of(request);
  const fuse_entry_param entry = to_entry(*outcome);
  if (fuse_reply_entry(request, &entry) != 0) client.forget(outcome->attributes.inode, 1);
}

// ---- Names ------------------------------------------------------------------------------------------------------------------

void do_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply_entry(request, client_of(request).lookup(who(request), parent, name));
}

void do_forget(fuse_req_t request, fuse_ino_t inode, std::uint64_t references) {
  client_of(request).forget(inode, references);
  fuse_reply_none(request);
}

void do_forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) {
  for (std::size_t i = 0; i < count; ++i) client_of(request).forget(forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(request);
}

void do_mknod(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  reply_entry(request, client_of(request).make(who(request), parent, name, mode, device, ""));
}

void do_mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  reply_entry(request, client_of(request).make(who(request), parent, name, (mode & 07777U) | S_IFDIR, 0, ""));
}

void do_symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  reply_entry(request, client_of(request).make(who(request), parent, name, S_IFLNK | 0777U, 0, target));
}

void do_link(fuse_req_t request, fuse_ino_t inode, fuse_ino_t parent, const char* name) {
  reply_entry(request, client_of(request).link(who(request), inode, parent, name));
}

void do_unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply(request, client_of(request).unlink(who(request), parent, name));
}

void do_rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply(request, client_of(request).remove_directory(who(request), parent, name));
}

void do_rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
               unsigned flags) {
  const Who by = who(request);
  reply(
      request,
      client_of(request).rename(
          by,
          {.caller = by.caller, .parent = parent, .name = name, .new_parent = new_parent, .new_name = new_name, .flags = flags}));
}

void do_readlink(fuse_req_t request, fuse_ino_t inode) {
  const auto target = client_of(request).read_link(who(request), inode);
  if (target) {
    fuse_reply_readlink(request, target->c_str());
  } else {
    fuse_reply_err(request, target.error());
  }
}

// "." and ".." have the places 1 and 2; those of the entries begin behind.
void do_readdir(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info* /*file*/) {
  const Who by = who(request);
  FsClient& client = client_of(request);
  std::vector<char> buffer(size);
  std::size_t used = 0;
  const auto add = [&](const std::string& name, std::uint64_t number, std::uint32_t mode, std::uint64_t place) {
    struct stat attributes{};
    attributes.st_ino = number;
    attributes.st_mode = mode;
    const std::size_t need = fuse_add_direntry(request, buffer.data() + used, buffer.size() - used, name.c_str(), &attributes,
                                               static_cast<off_t>(place));
    if (need > buffer.size() - used) return false;
    used += need;
    return true;
  };
  auto place = static_cast<std::uint64_t>(offset);
  bool room = true;
  for (bool more = true; more && room;) {
    const auto listed = client.list(by, inode, place <= 2 ? 0 : place, kListAtOnce);
    if (!listed) {
      fuse_reply_err(request, listed.error());
      return;
    }
    if (place == 0) room = add(".", inode, S_IFDIR, place = 1);
    if (room && place == 1) room = add("..", listed->parent, S_IFDIR, place = 2);
    for (const Listed& entry : listed->entries) {
      room = room && add(entry.name, entry.inode, entry.mode, entry.cookie);
      if (!room) break;
      place = entry.cookie;
    }
    more = listed->entries.size() == kListAtOnce;
  }
  fuse_reply_buf(request, buffer.data(), used);
}

// ---- Attributes -------------------------------------------------------------------------------------------------------------

void do_getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info* /*file*/) {
  reply_attributes(request, client_of(request).state(who(request), inode));
}

void do_setattr(fuse_req_t request, fuse_ino_t inode, struct stat* given, int what, fuse_file_info* /*file*/) {
  const auto asked = static_cast<unsigned>(what);
  const auto wants = [asked](unsigned flag) { return (asked & flag) != 0; };
  Attributes attributes{.inode = inode, .mode = given->st_mode, .uid = given->st_uid, .gid = given->st_gid};
  std::uint32_t mask = 0;
  if (wants(FUSE_SET_ATTR_MODE)) mask |= kSetMode;
  if (wants(FUSE_SET_ATTR_UID)) mask |= kSetUid;
  if (wants(FUSE_SET_ATTR_GID)) mask |= kSetGid;
  if (wants(FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW)) {
    mask |= kSetAccess;
    attributes.access_ns = wants(FUSE_SET_ATTR_ATIME_NOW) ? now_ns() : to_ns(given->st_atim);
  }
  if (wants(FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) {
    mask |= kSetModify;
    attributes.modify_ns = wants(FUSE_SET_ATTR_MTIME_NOW) ? now_ns() : to_ns(given->st_mtim);
  }
  std::optional<std::uint64_t> size;
  if (wants(FUSE_SET_ATTR_SIZE)) size = static_cast<std::uint64_t>(given->st_size);
  reply_attributes(request, client_of(request).change(who(request), attributes, mask, size));
}

void do_statfs(fuse_req_t request, fuse_ino_t /*inode*/) {
  const auto space = client_of(request).space(who(request));
  if (!space) {
    fuse_reply_err(request, space.error());
    return;
  }
  struct statvfs to{};
  to.f_bsize = kBlock;
  to.f_frsize = kBlock;
  to.f_blocks = space->total / kBlock;
  to.f_bfree = space->free / kBlock;
  to.f_bavail = to.f_bfree;
  // Objects are host files: there are as many as there is room for at a block each.
  to.f_ffree = to.f_bfree;
  to.f_files = to.f_ffree + space->objects;
  to.f_namemax = 255;
  fuse_reply_statfs(request, &to);
}

// The kernel asks for this at every write, to take privileges from a changed program. The lab keeps none.
bool is_capability(const char* name) { return std::strcmp(name, "security.capability") == 0; }

void reply_bytes(fuse_req_t request, const Outcome<std::vector<std::byte>>& bytes, std::size_t room) {
  if (!bytes) {
    fuse_reply_err(request, bytes.error());
  } else if (room == 0) {
    fuse_reply_xattr(request, bytes->size());
  } else if (bytes->size() > room) {
    fuse_reply_err(request, ERANGE);
  } else {
    fuse_reply_buf(request, reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
}

void do_getxattr(fuse_req_t request, fuse_ino_t inode, const char* name, std::size_t size) {
  if (is_capability(name)) {
    fuse_reply_err(request, ENODATA);
    return;
  }
  reply_bytes(request, client_of(request).get_xattr(who(request), inode, name), size);
}

void do_listxattr(fuse_req_t request, fuse_ino_t inode, std::size_t size) {
  reply_bytes(request, client_of(request).list_xattrs(who(request), inode), size);
}

void do_setxattr(fuse_req_t request, fuse_ino_t inode, const char* name, const char* value, std::size_t size, int flags) {
  if (is_capability(name)) {
    fuse_reply_err(request, EOPNOTSUPP);
    return;
  }
  reply(request, client_of(request).set_xattr(who(request), inode, name, std::as_bytes(std::span(value, size)),
                                              static_cast<std::uint32_t>(flags)));
}

void do_removexattr(fuse_req_t request, fuse_ino_t inode, const char* name) {
  reply(request, client_of(request).remove_xattr(who(request), inode, name));
}

// ---- Bytes ------------------------------------------------------------------------------------------------------------------

void do_open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file) {
  FsClient& client = client_of(request);
  const Who by = who(request);
  const auto opened = client.open(by, inode);
  if (!opened) {
    fuse_reply_err(request, opened.error());
    return;
  }
  file->keep_cache = 1;
  if (fuse_reply_open(request, file) != 0) client.close(by, inode);
}

void do_create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* file) {
  FsClient& client = client_of(request);
  const Who by = who(request);
  auto made = client.create(by, parent, name, (mode & 07777U) | S_IFREG);
  // Another mount was faster: only O_EXCL minds.
  if (!made && made.error() == EEXIST && (file->flags & O_EXCL) == 0) {
    made = client.lookup(by, parent, name);
    if (made && !S_ISREG(made->attributes.mode)) {
      client.forget(made->attributes.inode, 1);
      made = std::unexpected(ESTALE);  // the kernel looks again
    } else if (made) {
      const auto opened = client.open(by, made->attributes.inode);
      if (!opened) {
        client.forget(made->attributes.inode, 1);
        made = std::unexpected(opened.error());
      }
    }
  }
  if (!made) {
    fuse_reply_err(request, made.error());
    return;
  }
  file->keep_cache = 1;
  const fuse_entry_param entry = to_entry(*made);
  if (fuse_reply_create(request, &entry, file) != 0) {
    client.close(by, made->attributes.inode);
    client.forget(made->attributes.inode, 1);
  }
}

void do_release(fuse_req_t request, fuse_ino_t inode, fuse_file_info* /*file*/) {
  client_of(request).close(who(request), inode);
  fuse_reply_err(request, 0);
}

void do_read(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info* /*file*/) {
  Answerer& from = answerer(request);
  const auto read = from.client().read(who(request), inode, static_cast<std::uint64_t>(offset), size);
  if (!read) {
    fuse_reply_err(request, read.error());
    return;
  }
  fuse_reply_buf(request, reinterpret_cast<const char*>(read->bytes.data()), read->bytes.size());
  if (read->drop_pages) from.drop_soon(inode, static_cast<std::uint64_t>(offset), size);
}

// The first and the last page of a range, if it does not fill them.
void drop_edges(Answerer& from, fuse_ino_t inode, std::uint64_t offset, std::uint64_t size) {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t end = offset + size;
  if (offset % page != 0) from.drop_soon(inode, offset, 1);
  if (end % page != 0) from.drop_soon(inode, end - 1, 1);
}

void do_write(fuse_req_t request, fuse_ino_t inode, const char* data, std::size_t size, off_t offset, fuse_file_info* file) {
  Answerer& from = answerer(request);
  const bool appends = (file->flags & O_APPEND) != 0 && file->writepage == 0;
  const FsClient::WriteKind kind = file->writepage != 0 ? FsClient::WriteKind::page_out
                                   : appends            ? FsClient::WriteKind::append
                                                        : FsClient::WriteKind::plain;
  const auto written =
      from.client().write(who(request), inode, static_cast<std::uint64_t>(offset), std::as_bytes(std::span(data, size)), kind);
  if (!written) {
    fuse_reply_err(request, written.error());
    return;
  }
  fuse_reply_write(request, written->size);
  if (written->drop_pages || (written->drop_edges && appends)) {
    from.drop_soon(inode, appends ? 0 : static_cast<std::uint64_t>(offset), appends ? 0 : size);
  } else if (written->drop_edges) {
    drop_edges(from, inode, static_cast<std::uint64_t>(offset), size);
  }
}

void do_fsync(fuse_req_t request, fuse_ino_t inode, int /*only_data*/, fuse_file_info* /*file*/) {
  reply(request, client_of(request).sync(who(request), inode));
}

void do_init(void* /*data*/, fuse_conn_info* connection) {
  connection->max_write = kMaxTransfer;
  connection->max_read = kMaxTransfer;
  connection->max_readahead = kMaxTransfer;
  connection->max_background = 64;
  connection->congestion_threshold = 48;
  // Pages go when a lock goes, not when a time stamp changes; truncation and privileges are the kernel's own requests.
  connection->want &=
      ~static_cast<unsigned>(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_HANDLE_KILLPRIV |
                             FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_SPLICE_READ);
  if ((connection->capable & FUSE_CAP_EXPLICIT_INVAL_DATA) != 0) connection->want |= FUSE_CAP_EXPLICIT_INVAL_DATA;
}

constexpr fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.init = do_init;
  ops.lookup = do_lookup;
  ops.forget = do_forget;
  ops.forget_multi = do_forget_multi;
  ops.getattr = do_getattr;
  ops.setattr = do_setattr;
  ops.readlink = do_readlink;
  ops.mknod = do_mknod;
  ops.mkdir = do_mkdir;
  ops.unlink = do_unlink;
  ops.rmdir = do_rmdir;
  ops.symlink = do_symlink;
  ops.rename = do_rename;
  ops.link = do_link;
  ops.open = do_open;
  ops.create = do_create;
  ops.release = do_release;
  ops.read = do_read;
  ops.write = do_write;
  ops.fsync = do_fsync;
  ops.readdir = do_readdir;
  ops.statfs = do_statfs;
  ops.getxattr = do_getxattr;
  ops.setxattr = do_setxattr;
  ops.listxattr = do_listxattr;
  ops.removexattr = do_removexattr;
  return ops;
}
constexpr fuse_lowlevel_ops kOperations = operations();

}  // namespace

struct FuseMount::State {
  std::string where;
  std::unique_ptr<Answerer> answers;
  fuse_session* session = nullptr;
};

FuseMount::FuseMount() : state_(std::make_unique<State>()) {}

Result<std::unique_ptr<FuseMount>> FuseMount::mount(const Config& config, const std::string& where, FsClient::Options options) {
  std::unique_ptr<FuseMount> made(new FuseMount);
  State& state = *made->state_;
  state.where = where;
  const bool root = ::geteuid() == 0;
  std::string given = fmt::format("fsname=iez-lab-{},subtype=iez,default_permissions,max_read={}{}", config.name, kMaxTransfer,
                                  root ? ",allow_other" : "");
  std::string program = "iez";
  std::string flag = "-o";
  std::array<char*, 4> arguments{program.data(), flag.data(), given.data(), nullptr};
  fuse_args args{.argc = 3, .argv = arguments.data(), .allocated = 0};
  state.answers = std::make_unique<Answerer>(config, std::move(options));
  state.session = fuse_session_new(&args, &kOperations, sizeof kOperations, state.answers.get());
  fuse_opt_free_args(&args);
  if (state.session == nullptr) return fail(Errc::io, "FUSE refused the options of the mount");
  state.answers->set_session(state.session);
  if (fuse_session_mount(state.session, where.c_str()) != 0) {
    fuse_session_destroy(state.session);
    state.session = nullptr;
    state.answers->set_session(nullptr);
    return fail(Errc::io, fmt::format("{}: cannot mount; is the package fuse3 installed, and /dev/fuse there?", where));
  }
  return made;
}

FuseMount::~FuseMount() {
  if (state_->session == nullptr) return;
  fuse_session_unmount(state_->session);
  state_->answers->set_session(nullptr);
  state_->answers.reset();
  fuse_session_destroy(state_->session);
}

bool FuseMount::run() {
  fuse_loop_config* const config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 0);
  fuse_loop_cfg_set_max_threads(config, kMaxThreads);
  fuse_loop_cfg_set_idle_threads(config, kIdleThreads);
  const int status = fuse_session_loop_mt(state_->session, config);
  fuse_loop_cfg_destroy(config);
  return status == 0;
}

void FuseMount::end() {
  fuse_session_exit(state_->session);
  unmount(state_->where, true);
}

FsClient& FuseMount::client() { return state_->answers->client(); }

}  // namespace iez::lab
