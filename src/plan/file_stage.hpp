// File records on their way into a plan: parted by the front of their hash, so that each part is a row of neighbouring buckets
// and can be sorted alone.
//
// What does not fit into memory goes to one temporary file without a name. Memory: kParts buffers, at most 64 MiB, and one part
// while it is taken out, which is the 256th of all records if the hash is any good.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"

namespace iez::plan {

class FileStage {
 public:
  static constexpr std::size_t kParts = 256;

  // `directory` is for the temporary file.
  explicit FileStage(std::string directory) : directory_(std::move(directory)) {}

  // A record as the plan has it, and behind it where it came from.
  [[nodiscard]] Result<void> add(std::uint64_t hash, std::span<const std::byte> record, std::uint64_t origin);

  // All records with hash / 2^56 == part, each followed by its origin of 8 bytes. Can be asked again.
  [[nodiscard]] Result<std::vector<std::byte>> part(std::size_t part) const;

 private:
  struct Chunk {
    std::uint64_t at;
    std::uint64_t size;
  };
  struct Part {
    std::vector<std::byte> buffer;
    std::vector<Chunk> chunks;  // in the file, before those in the buffer
    std::uint64_t spilled = 0;
  };

  [[nodiscard]] Result<void> spill(Part& part);

  std::string directory_;
  std::array<Part, kParts> parts_;
  input::UniqueFd fd_;
  std::uint64_t written_ = 0;
};

}  // namespace iez::plan
