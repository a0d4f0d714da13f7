// What a file must hold, byte by byte; and a view of it: where consecutive bytes of data lie.
//
// Only what was written takes memory, so that offsets may be large. Units: bytes. Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "type_tree.hpp"

namespace iez::collective_test {

// Bytes that follow from the key and the offset alone.
void fill(std::span<std::uint8_t> data, std::uint64_t key, std::int64_t offset);

class FileModel {
 public:
  // Where bytes that nobody wrote are not known to be 0, nothing is said about them.
  explicit FileModel(bool zeros = true) : zeros_(zeros) {}
  [[nodiscard]] std::int64_t size() const { return size_; }
  // Bytes of fill() with this key.
  void write(std::uint64_t key, std::int64_t offset, std::int64_t length);
  // REQUIRES: all of it is before the end.
  void read(std::int64_t offset, std::span<std::uint8_t> data) const;
  // The same, and 1 for each byte that is known.
  void read(std::int64_t offset, std::span<std::uint8_t> data, std::span<std::uint8_t> known) const;
  void set_size(std::int64_t size);
  // What is wrong with the file of this name; empty: nothing. Reads it by POSIX calls, its holes not.
  [[nodiscard]] std::string difference(const std::string& path) const;

 private:
  static constexpr std::int64_t kChunk = 1 << 16;
  struct Chunk {
    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(kChunk);
    std::vector<std::uint8_t> known = std::vector<std::uint8_t>(kChunk);
  };

  std::map<std::int64_t, Chunk> chunks_;  // by number; what is missing is 0
  std::int64_t size_ = 0;
  bool zeros_;
};

struct View {
  std::int64_t displacement = 0;
  TypePtr etype;
  TypePtr file_type;

  // visit(offset in the file, length) for each run of bytes `from` to `from + length` of the data.
  template <typename Visit>
  void each_run(std::int64_t from, std::int64_t length, const Visit& visit) const;
  // Where byte `from` of the data lies. REQUIRES: the file type is not empty.
  [[nodiscard]] std::int64_t offset_of(std::int64_t from) const;
  // How many of the bytes from `from` on lie before `end` of the file, up to `length`.
  [[nodiscard]] std::int64_t bytes_before(std::int64_t from, std::int64_t length, std::int64_t end) const;
};

template <typename Visit>
void View::each_run(std::int64_t from, std::int64_t length, const Visit& visit) const {
  if (length == 0) return;
  std::int64_t tile = from / file_type->size;
  std::int64_t skip = from % file_type->size;
  while (length > 0) {
    for (const Run& run : file_type->runs) {
      if (skip >= run.length) {
        skip -= run.length;
        continue;
      }
      const std::int64_t take = run.length - skip < length ? run.length - skip : length;
      visit(displacement + (tile * file_type->extent()) + run.at + skip, take);
      skip = 0;
      length -= take;
      if (length == 0) return;
    }
    ++tile;
  }
}

}  // namespace iez::collective_test
