// The file, as an aggregator sees it.
//
// Thread safety: none; a storage belongs to one thread of one rank.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iez::collective {

// What became of a transfer.
struct Transferred {
  std::int64_t bytes = 0;  // from its start on; fewer than asked for: the end of the file, or an error
  int error = 0;           // errno
};

class Storage {
 public:
  Storage() = default;
  virtual ~Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  virtual Transferred write(std::int64_t offset, const std::byte* data, std::int64_t bytes) = 0;
  virtual Transferred read(std::int64_t offset, std::byte* data, std::int64_t bytes) = 0;
  // Bytes of the file; -1 if it cannot be known.
  virtual std::int64_t size() = 0;
};

// Descriptors, which it closes. Whole pages go by the direct one where there is one, everything else by the other.
class FileStorage final : public Storage {
 public:
  FileStorage(int fd, int direct_fd) : fd_(fd), direct_fd_(direct_fd) {}
  ~FileStorage() override;

  Transferred write(std::int64_t offset, const std::byte* data, std::int64_t bytes) override;
  Transferred read(std::int64_t offset, std::byte* data, std::int64_t bytes) override;
  std::int64_t size() override;

 private:
  int fd_;
  int direct_fd_;  // -1: none
};

}  // namespace iez::collective
