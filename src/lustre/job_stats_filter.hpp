// Less of job_stats: of a text that lists every job, only the entries that changed, and of them only the rows that are asked for.
//
// A server lists each job of the last ten minutes with twenty rows; most did nothing since they were read last, and a collector
// of bytes and calls needs two rows of an OST. What is passed on is job_stats again, for parse_job_stats(), which tells what is
// wrong with it; line numbers are those of the shortened text. Looking at a line costs a search for its end.
//
// Thread safety: none. Memory: a block, a line and an entry; lines are cut at kMaxLine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"

namespace iez::lustre {

// Of bytes: for tables in memory, not for the disk. Whoever does not know the seed cannot make two texts of one digest.
std::uint64_t digest_of(std::string_view bytes, std::uint64_t seed);

class JobStatsFilter final : public input::ByteStream {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10U;

  // id: unescaped, as parse_job_stats() gives it; digest: of the rows that would be passed on. Whether they are.
  using Wanted = std::function<bool(std::string_view id, std::uint64_t digest)>;

  // rows: names of rows that are kept, such as "write_bytes"; start_time is always. `from` and `rows` must outlive the filter.
  JobStatsFilter(input::ByteStream& from, std::span<const std::string_view> rows, std::uint64_t seed, Wanted wanted);

  [[nodiscard]] Result<std::size_t> read(std::span<char> buffer) override;

  std::uint64_t entries() const { return entries_; }  // seen so far, whose id can be read

 private:
  [[nodiscard]] Result<void> fill();
  void take_block();
  void take_line(std::string_view line, bool ended);
  bool keeps(std::string_view line) const;
  void end_entry();

  input::ByteStream& from_;
  std::span<const std::string_view> rows_;
  std::uint64_t seed_;
  Wanted wanted_;
  std::vector<char> block_;
  std::size_t held_ = 0;   // bytes of a line at the front of block_ whose end has not come
  bool skipping_ = false;  // the rest of a line that is too long
  bool at_end_ = false;
  std::string entry_;
  std::string id_;
  bool in_entry_ = false;
  bool readable_ = false;  // its id
  std::string out_;
  std::size_t given_ = 0;  // of out_
  std::uint64_t entries_ = 0;
};

}  // namespace iez::lustre
