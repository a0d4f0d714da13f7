#include "rank_log/log_view.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace iez::rank_log {

Problem LogView::open(std::size_t memory) {
  if (const Problem problem = survey_log(folder_, {}, survey_)) return problem;
  size_ = survey_.final_size;
  struct stat about{};
  if (file_ >= 0 && ::fstat(file_, &about) != 0) return {.error = errno, .place = Place::file, .action = Action::read};
  if (file_ >= 0 && survey_.sized == 0) size_ = std::max(size_, static_cast<std::uint64_t>(about.st_size));
  GrowingArray<std::uint32_t> ranks;
  std::uint64_t strangers = 0;
  if (const int error = list_ranks(folder_, ranks, strangers)) {
    return {.error = error, .place = Place::folder, .action = Action::read};
  }
  std::uint64_t end = kMaxOffset;
  if (const Problem problem = index_.load(folder_, {ranks.begin(), ranks.size()}, 0, end, memory)) return problem;
  if (end != kMaxOffset) return {.error = ENOMEM, .place = Place::folder, .action = Action::allocate};
  return {};
}

Problem LogView::read(std::uint64_t offset, void* buffer, std::size_t size, std::size_t& done) {
  done = 0;
  if (offset >= size_) return {};
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, size_ - offset));
  // Behind the least new size FILE has nothing of its own any more, even if it still has the bytes.
  const std::uint64_t own_end = survey_.sized != 0 ? survey_.least_size : kMaxOffset;
  std::size_t own = 0;
  if (file_ >= 0 && offset < own_end) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, own_end - offset));
    if (const int error = read_at(file_, buffer, most, offset, own)) {
      return {.error = error, .place = Place::file, .action = Action::read, .offset = offset};
    }
  }
  auto* const bytes = static_cast<unsigned char*>(buffer);
  std::memset(bytes + own, 0, wanted - own);
  std::uint64_t painted = 0;
  if (const Problem problem = painter_.paint(index_, offset, wanted, bytes, nullptr, painted)) return problem;
  done = wanted;
  return {};
}

}  // namespace iez::rank_log
