#include "rank_log/log_check.hpp"

#include <algorithm>
#include <vector>

#include "rank_log/index_cursor.hpp"
#include "rank_log/log_data.hpp"
#include "rank_log/pattern.hpp"

namespace iez::rank_log {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20U;

}  // namespace

Result<DataCheck> check_data(int folder, const LogPaths& paths, const std::function<void(std::uint64_t)>& progress) {
  GrowingArray<std::uint32_t> ranks;
  std::uint64_t strangers = 0;
  if (const int error = list_ranks(folder, ranks, strangers)) {
    return std::unexpected(error_of({.error = error, .place = Place::folder, .action = Action::read}, paths));
  }
  DataCheck check;
  LogData data(folder);
  IndexCursor cursor;
  std::vector<unsigned char> buffer(kPiece);
  for (const std::uint32_t rank : ranks) {
    if (const Problem problem = cursor.open(folder, rank)) return std::unexpected(error_of(problem, paths));
    for (;;) {
      Record record{};
      std::uint64_t number = 0;
      bool more = false;
      if (const Problem problem = cursor.next(record, number, more)) return std::unexpected(error_of(problem, paths));
      if (!more) break;
      if (record.kind != kKindWrite) continue;
      if ((record.flags & kFlagDataSum) == 0) {
        ++check.unchecked;
        continue;
      }
      ByteHash hash;
      const std::uint64_t size = bytes_of(pattern_of(record));
      for (std::uint64_t at = 0; at < size;) {
        const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size - at));
        if (const Problem problem = data.read(rank, record.log_offset + at, buffer.data(), piece)) {
          return std::unexpected(error_of(problem, paths));
        }
        hash.add(buffer.data(), piece);
        at += piece;
        check.bytes += piece;
        progress(check.bytes);
      }
      ++check.records;
      if (hash.value() == record.data_sum) continue;
      if (check.wrong++ == 0) {
        check.first_rank = rank;
        check.first_record = number;
      }
    }
  }
  return check;
}

}  // namespace iez::rank_log
