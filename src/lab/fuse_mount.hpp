// An FsClient as a mounted file system, by FUSE's low-level interface.
//
// No root is needed (fusermount3 mounts); only root lets other users in (allow_other). The kernel checks permissions, writes
// through (no writeback cache: write() returns when the servers have the bytes), and asks for names and attributes every time. It
// keeps pages as long as the client has locks for them.
//
// Local to the mount: flock() and POSIX locks. Not there: fallocate(), O_TMPFILE, SEEK_HOLE of real holes, ioctl(). Pages written
// through a mapping reach other mounts at msync(), close() or when the kernel writes them back.
//
// Thread safety: run() in one thread; end() and state() from any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "lab/config.hpp"
#include "lab/fs_client.hpp"

namespace iez::lab {

class FuseMount {
 public:
  // Mounts at `where`, which must be a folder.
  [[nodiscard]] static Result<std::unique_ptr<FuseMount>> mount(const Config& config, const std::string& where,
                                                                FsClient::Options options);
  ~FuseMount();
  FuseMount(const FuseMount&) = delete;
  FuseMount& operator=(const FuseMount&) = delete;

  // Answers the kernel until it is unmounted, by anybody. False: the loop failed.
  bool run();

  // Unmounts, without waiting for who still uses it.
  void end();

  [[nodiscard]] FsClient& client();

 private:
  FuseMount();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iez::lab
