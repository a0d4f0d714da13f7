#include "rank_log/log_data.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace iez::rank_log {

LogData::~LogData() {
  for (const Chunk& chunk : chunks_) std::free(chunk.bytes);
}

Problem LogData::file_of(std::uint32_t rank, int& fd) {
  const std::size_t slot = rank % kFiles;
  if (!files_[slot] || owners_[slot] != rank) {
    // What was there was only read.
    (void)files_[slot].reset(::openat(folder_, data_name(rank).text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!files_[slot]) return {.error = errno, .place = Place::data, .action = Action::open, .rank = rank};
    struct stat about{};
    if (::fstat(files_[slot].get(), &about) == 0 && !S_ISREG(about.st_mode)) {
      (void)files_[slot].reset();  // as above
      return {.error = EBADMSG, .place = Place::data, .action = Action::open, .rank = rank};
    }
    owners_[slot] = rank;
  }
  fd = files_[slot].get();
  return {};
}

Problem LogData::read_file(std::uint32_t rank, std::uint64_t offset, void* buffer, std::size_t size, std::size_t& done) {
  int fd = -1;
  if (const Problem problem = file_of(rank, fd)) return problem;
  const int error = read_at(fd, buffer, size, offset, done);
  if (error == 0) return {};
  return {.error = error, .place = Place::data, .action = Action::read, .rank = rank, .offset = offset + done};
}

Problem LogData::read(std::uint32_t rank, std::uint64_t offset, void* buffer, std::size_t size) {
  auto* out = static_cast<unsigned char*>(buffer);
  if (size >= kSmall) {
    std::size_t done = 0;
    if (const Problem problem = read_file(rank, offset, out, size, done)) return problem;
    if (done == size) return {};
    return {.error = EBADMSG, .place = Place::data, .action = Action::read, .rank = rank, .offset = offset + done};
  }
  while (size > 0) {
    const std::uint64_t number = offset / kChunk;
    const std::size_t slot = (number + std::uint64_t{rank} * 7) % kChunks;
    Chunk& chunk = chunks_[slot];
    if (chunk.bytes == nullptr) chunk.bytes = static_cast<unsigned char*>(std::malloc(kChunk));
    if (chunk.bytes == nullptr) return {.error = ENOMEM, .place = Place::data, .action = Action::allocate, .rank = rank};
    const auto skip = static_cast<std::size_t>(offset - number * kChunk);
    const std::size_t wanted = std::min(size, kChunk - skip);
    if (chunk.rank != rank || chunk.number != number || chunk.size < skip + wanted) {
      chunk.rank = kNoRank;
      if (const Problem problem = read_file(rank, number * kChunk, chunk.bytes, kChunk, chunk.size)) return problem;
      chunk.rank = rank;
      chunk.number = number;
      if (chunk.size < skip + wanted) {
        return {
            .error = EBADMSG, .place = Place::data, .action = Action::read, .rank = rank, .offset = number * kChunk + chunk.size};
      }
    }
    std::memcpy(out, chunk.bytes + skip, wanted);
    out += wanted;
    offset += wanted;
    size -= wanted;
  }
  return {};
}

}  // namespace iez::rank_log
