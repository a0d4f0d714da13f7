// One rank of a program that logs: writes as a seed says, and prints each write when the log has it. The test plays the same
// seed.
//
// usage: rank_log_writer FOLDER RANK SEED SEQUENCE CALLS ROOM BLOCK
//   SEQUENCE of the first call; offsets are below ROOM, blocks at most BLOCK bytes
//
// prints "write SEQUENCE OFFSET BLOCK STRIDE COUNT TAKEN ERRNO" or "size SEQUENCE SIZE ERRNO"; ends with status 1 after the first
// errno.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "rank_log/log_writer.hpp"

namespace {

using iez::rank_log::LogWriter;
using iez::rank_log::Pattern;

std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

// The upper bits of a linear congruential generator: a line of any language.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33U) % bound;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  const auto rank = static_cast<std::uint32_t>(number(argv[2]));
  Draw draw(number(argv[3]));
  const std::uint64_t first = number(argv[4]);
  const std::uint64_t calls = number(argv[5]);
  const std::uint64_t room = number(argv[6]);
  const std::uint64_t most = number(argv[7]);
  LogWriter writer;
  if (const int error = writer.open(argv[1], rank, {})) {
    (void)std::printf("open %d\n", error);
    return 1;
  }
  (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<unsigned char> bytes;
  for (std::uint64_t sequence = first; sequence < first + calls; ++sequence) {
    if (rank == 0 && draw.below(16) == 0) {
      const std::uint64_t size = draw.below(room * 2);
      const int error = writer.set_size(sequence, size);
      (void)std::printf("size %lu %lu %d\n", sequence, size, error);
      if (error != 0) return 1;
      continue;
    }
    Pattern pattern{.offset = draw.below(room), .block = 1 + draw.below(most)};
    pattern.count = 1 + draw.below(20);
    pattern.stride = pattern.block + 1 + draw.below(64);
    bytes.resize(pattern.block * pattern.count);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<unsigned char>(1 + (rank * std::uint64_t{37} + sequence * 101 + i * 7) % 251);
    }
    const iovec segment{.iov_base = bytes.data(), .iov_len = bytes.size()};
    const auto done = writer.append(sequence, {&pattern, 1}, {&segment, 1});
    (void)std::printf("write %lu %lu %lu %lu %lu %lu %d\n", sequence, pattern.offset, pattern.block, pattern.stride,
                      pattern.count, done.bytes, done.error);
    if (done.error != 0) return 1;
  }
  return writer.close() == 0 ? 0 : 1;
}
