// What a mount of a lab does, without FUSE: names and attributes at the metadata server, bytes at the object servers.
//
// Inodes are those of the metadata server. Sizes, blocks and times of regular files come from their objects. Writes are with the
// servers when write() returns; nothing is kept here but locks, for the pages that the kernel keeps.
//
// Failures are errnos. A server that is not there makes callers wait, until it is back or Who::interrupted says so (EINTR).
//
// Thread safety: all members may be called from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/channel.hpp"
#include "lab/config.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

template <typename T>
using Outcome = std::expected<T, int>;

// Complete: with the size and the times of the objects.
struct FileState {
  Attributes attributes;
  std::uint64_t blocks = 0;  // of 512 bytes
};

// On whose behalf.
struct Who {
  Caller caller;
  Channel::Interrupted interrupted;
};

struct Written {
  std::size_t size = 0;
  bool drop_pages = false;  // what the kernel keeps of this range may not be what was stored: to be dropped after the answer
  // Likewise of the pages that it fills in part: the rest of them may have changed while the write waited for its lock.
  bool drop_edges = false;
};

struct BytesRead {
  std::vector<std::byte> bytes;
  bool drop_pages = false;
};

struct FileSystemSpace {
  std::uint64_t total = 0;  // bytes
  std::uint64_t free = 0;
  std::uint64_t objects = 0;
  std::vector<OstSpace> osts;
};

// Requests of one kind to one OST.
struct Traffic {
  // By size, or by how many were on their way: place i counts those of more than 2^(i-1) and up to 2^i.
  using Histogram = std::array<std::uint64_t, 16>;

  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  std::uint32_t in_flight = 0;
  Histogram pages{};
  Histogram at_once{};
};

struct OstTraffic {
  Traffic reads;
  Traffic writes;
  std::uint32_t credits = 0;  // that the server gave last; 0: none yet
};

// Calls of programs of one kind, as llite counts them: read() and write(), each once, on however many OSTs its bytes are. What a
// mapping brings to the servers later is no call. The kernel hands a call of more than 1 MiB on in several, and a read that its
// page cache serves not at all.
struct CallTotals {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t smallest = 0;
  std::uint64_t largest = 0;
  double squares = 0;  // sum of the squared sizes
};

struct FileCalls {
  CallTotals reads;
  CallTotals writes;
};

class FsClient {
 public:
  struct Options {
    Config config;
    std::string node = "client0";
    std::uint64_t client = 0;   // of the mount, over its restarts
    std::uint64_t session = 0;  // of the process
    // The kernel must drop its pages of [offset, offset + size) of an inode; size 0: to the end. May block.
    std::function<void(std::uint64_t inode, std::uint64_t offset, std::uint64_t size)> drop_pages;
  };
  explicit FsClient(Options options);
  ~FsClient();
  FsClient(const FsClient&) = delete;
  FsClient& operator=(const FsClient&) = delete;

  // ---- Names. lookup, make, create and link count a reference to the inode, which forget() takes back.

  [[nodiscard]] Outcome<FileState> lookup(const Who& who, std::uint64_t parent, const std::string& name);
  // mode with the type; target: of a symbolic link.
  [[nodiscard]] Outcome<FileState> make(const Who& who, std::uint64_t parent, const std::string& name, std::uint32_t mode,
                                        std::uint64_t device, const std::string& target);
  [[nodiscard]] Outcome<FileState> create(const Who& who, std::uint64_t parent, const std::string& name, std::uint32_t mode);
  [[nodiscard]] Outcome<FileState> link(const Who& who, std::uint64_t inode, std::uint64_t parent, const std::string& name);
  [[nodiscard]] Outcome<void> unlink(const Who& who, std::uint64_t parent, const std::string& name);
  [[nodiscard]] Outcome<void> remove_directory(const Who& who, std::uint64_t parent, const std::string& name);
  [[nodiscard]] Outcome<void> rename(const Who& who, const RenameRequest& request);
  [[nodiscard]] Outcome<std::string> read_link(const Who& who, std::uint64_t inode);
  [[nodiscard]] Outcome<ListAnswer> list(const Who& who, std::uint64_t inode, std::uint64_t after, std::uint32_t most);
  void forget(std::uint64_t inode, std::uint64_t references);

  // ---- Attributes

  [[nodiscard]] Outcome<FileState> state(const Who& who, std::uint64_t inode);
  // mask: of kSet...; size: to truncate to.
  [[nodiscard]] Outcome<FileState> change(const Who& who, const Attributes& attributes, std::uint32_t mask,
                                          std::optional<std::uint64_t> size);
  [[nodiscard]] Outcome<std::vector<std::byte>> get_xattr(const Who& who, std::uint64_t inode, const std::string& name);
  [[nodiscard]] Outcome<std::vector<std::byte>> list_xattrs(const Who& who, std::uint64_t inode);
  [[nodiscard]] Outcome<void> set_xattr(const Who& who, std::uint64_t inode, const std::string& name,
                                        std::span<const std::byte> value, std::uint32_t flags);
  [[nodiscard]] Outcome<void> remove_xattr(const Who& who, std::uint64_t inode, const std::string& name);

  // ---- Bytes

  // As often as create() and open(), so often close().
  [[nodiscard]] Outcome<void> open(const Who& who, std::uint64_t inode);
  void close(const Who& who, std::uint64_t inode);

  enum class WriteKind : std::uint8_t {
    plain,
    append,    // at the end, wherever the caller believes that to be
    page_out,  // of a mapping
  };
  [[nodiscard]] Outcome<Written> write(const Who& who, std::uint64_t inode, std::uint64_t offset, std::span<const std::byte> data,
                                       WriteKind kind);
  // Less than asked for only at the end of the file. Holes are zeros.
  [[nodiscard]] Outcome<BytesRead> read(const Who& who, std::uint64_t inode, std::uint64_t offset, std::size_t size);
  [[nodiscard]] Outcome<void> sync(const Who& who, std::uint64_t inode);

  // ---- The file system

  // Of the servers that answer.
  [[nodiscard]] Outcome<FileSystemSpace> space(const Who& who);
  void set_limits(std::uint32_t ost, std::uint32_t rpcs_in_flight, std::uint64_t dirty_bytes);
  [[nodiscard]] OstTraffic traffic(std::uint32_t ost) const;
  [[nodiscard]] FileCalls calls() const;
  [[nodiscard]] bool connected(std::uint32_t oss) const;
  [[nodiscard]] bool mds_connected() const;
  [[nodiscard]] std::uint64_t reconnects(std::uint32_t oss) const;
  [[nodiscard]] std::size_t locks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iez::lab
