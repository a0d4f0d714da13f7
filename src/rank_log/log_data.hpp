// Reads the bytes of logs, of any rank in any order, with few descriptors and few calls: small reads come from a cache, since
// what a rank wrote one after the other is mostly wanted so.
//
// Memory: up to 4 MiB for the cache. Thread safety: none. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rank_log/log_files.hpp"
#include "rank_log/problem.hpp"

namespace iez::rank_log {

class LogData {
 public:
  explicit LogData(int folder) : folder_(folder) {}  // stays open longer than this
  ~LogData();
  LogData(const LogData&) = delete;
  LogData& operator=(const LogData&) = delete;

  // EBADMSG: the data ends before.
  [[nodiscard]] Problem read(std::uint32_t rank, std::uint64_t offset, void* buffer, std::size_t size);

 private:
  static constexpr std::size_t kFiles = 64;  // open at a time
  static constexpr std::size_t kChunk = std::size_t{64} << 10U;
  static constexpr std::size_t kChunks = 64;
  static constexpr std::size_t kSmall = std::size_t{16} << 10U;
  static constexpr std::uint32_t kNoRank = ~0U;

  struct Chunk {
    std::uint32_t rank = kNoRank;
    std::uint64_t number = 0;
    std::size_t size = 0;
    unsigned char* bytes = nullptr;  // when first used
  };

  Problem file_of(std::uint32_t rank, int& fd);
  Problem read_file(std::uint32_t rank, std::uint64_t offset, void* buffer, std::size_t size, std::size_t& done);

  int folder_;
  Descriptor files_[kFiles];
  std::uint32_t owners_[kFiles];  // valid where there is a descriptor
  Chunk chunks_[kChunks];
};

}  // namespace iez::rank_log
