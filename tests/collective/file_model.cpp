#include "file_model.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace iez::collective_test {

namespace {

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

void fill(std::span<std::uint8_t> data, std::uint64_t key, std::int64_t offset) {
  std::size_t done = 0;
  while (done < data.size()) {
    const auto at = static_cast<std::uint64_t>(offset) + done;
    const std::uint64_t word = mixed(key ^ mixed(at / 8));
    std::array<std::uint8_t, 8> bytes{};
    std::memcpy(bytes.data(), &word, bytes.size());
    const std::size_t length = std::min<std::size_t>(8 - (at % 8), data.size() - done);
    std::memcpy(data.data() + done, bytes.data() + (at % 8), length);
    done += length;
  }
}

void FileModel::write(std::uint64_t key, std::int64_t offset, std::int64_t length) {
  if (length == 0) return;
  size_ = std::max(size_, offset + length);
  while (length > 0) {
    Chunk& chunk = chunks_[offset / kChunk];
    const std::int64_t take = std::min(length, kChunk - (offset % kChunk));
    const auto at = static_cast<std::size_t>(offset % kChunk);
    fill(std::span(chunk.bytes).subspan(at, static_cast<std::size_t>(take)), key, offset);
    std::memset(chunk.known.data() + at, 1, static_cast<std::size_t>(take));
    offset += take;
    length -= take;
  }
}

void FileModel::read(std::int64_t offset, std::span<std::uint8_t> data) const {
  std::vector<std::uint8_t> known(data.size());
  read(offset, data, known);
}

void FileModel::read(std::int64_t offset, std::span<std::uint8_t> data, std::span<std::uint8_t> known) const {
  while (!data.empty()) {
    const auto take =
        static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(data.size()), kChunk - (offset % kChunk)));
    const auto chunk = chunks_.find(offset / kChunk);
    if (chunk == chunks_.end()) {
      std::memset(data.data(), 0, take);
      std::memset(known.data(), 0, take);
    } else {
      std::memcpy(data.data(), chunk->second.bytes.data() + (offset % kChunk), take);
      std::memcpy(known.data(), chunk->second.known.data() + (offset % kChunk), take);
    }
    if (zeros_) std::memset(known.data(), 1, take);
    offset += static_cast<std::int64_t>(take);
    data = data.subspan(take);
    known = known.subspan(take);
  }
}

void FileModel::set_size(std::int64_t size) {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
    const std::int64_t start = chunk->first * kChunk;
    if (start >= size) {
      chunk = chunks_.erase(chunk);
      continue;
    }
    if (start + kChunk > size) {
      for (auto* const bytes : {&chunk->second.bytes, &chunk->second.known}) {
        std::fill(bytes->begin() + (size - start), bytes->end(), std::uint8_t{0});
      }
    }
    ++chunk;
  }
  size_ = size;
}

std::string FileModel::difference(const std::string& path) const {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fmt::format("{}: {}", path, std::strerror(errno));
  struct stat status{};
  std::string wrong;
  if (::fstat(fd, &status) != 0 || status.st_size != size_)
    wrong = fmt::format("{} has {} bytes, expected {}", path, status.st_size, size_);

  // All chunks that either side knows: those of the model, and what the file does not have as a hole.
  std::map<std::int64_t, bool> numbers;
  for (const auto& [number, chunk] : chunks_) numbers[number] = true;
  for (off_t data = ::lseek(fd, 0, SEEK_DATA); data >= 0 && data < size_;) {
    const off_t hole = ::lseek(fd, data, SEEK_HOLE);
    for (std::int64_t number = data / kChunk; number * kChunk < hole; ++number) numbers[number] = true;
    data = ::lseek(fd, hole, SEEK_DATA);
  }
  std::vector<std::uint8_t> expected(kChunk);
  std::vector<std::uint8_t> known(kChunk);
  std::vector<std::uint8_t> found(kChunk);
  for (const auto& [number, ignored] : numbers) {
    if (!wrong.empty()) break;
    const std::int64_t start = number * kChunk;
    const auto length = static_cast<std::size_t>(std::clamp<std::int64_t>(size_ - start, 0, kChunk));
    read(start, std::span(expected).first(length), known);
    const ssize_t got = ::pread(fd, found.data(), length, start);
    if (got != static_cast<ssize_t>(length)) wrong = fmt::format("{}: {} of {} bytes at {}", path, got, length, start);
    for (std::size_t i = 0; i < length; ++i) {
      if (known[i] == 0) found[i] = expected[i];
    }
    if (!wrong.empty() || std::memcmp(expected.data(), found.data(), length) == 0) continue;
    std::size_t at = 0;
    while (expected[at] == found[at]) ++at;
    std::size_t last = length;
    while (expected[last - 1] == found[last - 1]) --last;
    wrong = fmt::format("{}: byte {} of {} is 0x{:02x}, expected 0x{:02x}; the last wrong one of this chunk is {}", path,
                        start + static_cast<std::int64_t>(at), size_, found[at], expected[at],
                        start + static_cast<std::int64_t>(last) - 1);
  }
  ::close(fd);
  return wrong;
}

std::int64_t View::offset_of(std::int64_t from) const {
  std::int64_t offset = 0;
  each_run(from, 1, [&offset](std::int64_t at, std::int64_t) { offset = at; });
  return offset;
}

std::int64_t View::bytes_before(std::int64_t from, std::int64_t length, std::int64_t end) const {
  std::int64_t before = 0;
  each_run(from, length,
           [&before, end](std::int64_t at, std::int64_t bytes) { before += std::clamp<std::int64_t>(end - at, 0, bytes); });
  return before;
}

}  // namespace iez::collective_test
