// The files of a log: names, whole reads and writes, descriptors, the list of ranks, the end of a log. Freestanding.
//
// Thread safety: functions may be called from any thread; a Descriptor has one owner. Functions that return an int return an
// errno, 0 if all went well.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "rank_log/growing_array.hpp"
#include "rank_log/problem.hpp"

namespace iez::rank_log {

// Which file it is, and not another one of the same name or of the same inode, made later. What is 0 is not known.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t born_ns = 0;  // since 1970, by the clock of the file system
};

// Nothing is known of a file that cannot be looked at.
FileStamp stamp_of(int fd);
// Unless what is known of both differs.
bool may_be_same(const FileStamp& a, const FileStamp& b);

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { (void)reset(); }  // who must know calls it himself
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int reset(int fd = -1);  // closes; an errno

 private:
  int fd_ = -1;
};

// "7.index" and "7.data".
struct RankName {
  char text[24];
};
RankName index_name(std::uint32_t rank);
RankName data_name(std::uint32_t rank);

// Nothing but what index_name() or data_name() makes has a rank.
bool parse_rank(const char* name, const char* suffix, std::uint32_t& rank);

// Reads until the end of the file or of the buffer.
int read_at(int fd, void* buffer, std::size_t size, std::uint64_t offset, std::size_t& done);

// Writes all, or says how far it came.
int write_at(int fd, const void* buffer, std::size_t size, std::uint64_t offset, std::size_t& done);

int open_folder(const char* folder, Descriptor& fd);

// Ranks that have an index, in order; how many names in the folder are no part of a log.
int list_ranks(int folder, GrowingArray<std::uint32_t>& ranks, std::uint64_t& strangers);

// exclusive: nobody else has it. Never waits: EBUSY. File systems without such locks give none, and that is no error.
int lock_file(int fd, bool exclusive);

// Adds `suffix` to the name of the folder, for good: the directory above reaches the disk. If something else has that name, it is
// removed as a log before, or, unless `replace`, this is EEXIST.
int retire_folder(const char* folder, const char* suffix, bool replace);

// Removes FOLDER with this suffix, and all files of a log in it. Not being there is no error; a stranger in it is: ENOTEMPTY.
int remove_folder(const char* folder, const char* suffix);

}  // namespace iez::rank_log
