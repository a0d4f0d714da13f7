#include "lustre/job_stats_filter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "lustre/job_stats.hpp"

namespace iez::lustre {

namespace {

constexpr std::size_t kBlock = std::size_t{256} << 10U;
constexpr std::string_view kJob = "- job_id:";

std::uint64_t load(const char* at, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, size);
  return value;
}

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 32U;
  value *= 0xD6E8FEB86659FD93U;
  value ^= value >> 32U;
  value *= 0xD6E8FEB86659FD93U;
  return value ^ value >> 32U;
}

}  // namespace

std::uint64_t digest_of(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t digest = seed ^ mixed(bytes.size() + 1);
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) digest = std::rotl(digest ^ load(at, 8) * 0x9E3779B97F4A7C15U, 29) * 0xBF58476D1CE4E5B9U;
  if (left > 0) digest = std::rotl(digest ^ load(at, left) * 0x9E3779B97F4A7C15U, 29) * 0xBF58476D1CE4E5B9U;
  return mixed(digest);
}

JobStatsFilter::JobStatsFilter(input::ByteStream& from, std::span<const std::string_view> rows, std::uint64_t seed, Wanted wanted)
    : from_(from), rows_(rows), seed_(seed), wanted_(std::move(wanted)), block_(kBlock) {}

Result<std::size_t> JobStatsFilter::read(std::span<char> buffer) {
  while (given_ == out_.size()) {
    out_.clear();
    given_ = 0;
    if (at_end_) return 0;
    IEZ_CHECK(fill());
  }
  const std::size_t size = std::min(buffer.size(), out_.size() - given_);
  std::memcpy(buffer.data(), out_.data() + given_, size);
  given_ += size;
  return size;
}

Result<void> JobStatsFilter::fill() {
  IEZ_TRY(const std::size_t got, from_.read(std::span(block_).subspan(held_)));
  if (got > 0) {
    held_ += got;
    take_block();
    return {};
  }
  at_end_ = true;
  if (held_ > 0 && !skipping_) take_line({block_.data(), held_}, false);
  end_entry();
  return {};
}

// All lines of the block that are whole; what is behind them moves to its front.
void JobStatsFilter::take_block() {
  const char* at = block_.data();
  const char* const end = at + held_;
  while (at != end) {
    const auto* const newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (newline == nullptr) break;
    if (!std::exchange(skipping_, false)) take_line({at, static_cast<std::size_t>(newline - at)}, true);
    at = newline + 1;
  }
  held_ = static_cast<std::size_t>(end - at);
  if (held_ > kMaxLine) {
    // It is told of by whoever reads what is passed on: no row is that long.
    if (!std::exchange(skipping_, true)) take_line({at, kMaxLine}, true);
    held_ = 0;
  }
  std::memmove(block_.data(), at, held_);
}

bool JobStatsFilter::keeps(std::string_view line) const {
  const std::size_t name = line.find_first_not_of(' ');
  if (name == std::string_view::npos) return false;
  line.remove_prefix(name);
  const auto is = [line](std::string_view row) {
    return line.size() > row.size() && line[row.size()] == ':' && line.starts_with(row);
  };
  return std::ranges::any_of(rows_, is) || is("start_time");
}

void JobStatsFilter::take_line(std::string_view line, bool ended) {
  const bool indented = line.starts_with(' ');
  if (indented && in_entry_ && !keeps(line)) return;
  if (!indented) {
    end_entry();
    in_entry_ = line.starts_with(kJob);
    if (in_entry_) readable_ = decode_job_id(line.substr(kJob.size()), id_);
  }
  std::string& to = in_entry_ ? entry_ : out_;
  to.append(line);
  if (ended) to.push_back('\n');
}

void JobStatsFilter::end_entry() {
  if (!std::exchange(in_entry_, false)) return;
  if (readable_) ++entries_;
  // One whose id cannot be read is passed on, to be told of.
  if (!readable_ || wanted_(id_, digest_of(entry_, seed_))) out_.append(entry_);
  entry_.clear();
}

}  // namespace iez::lustre
