#include "plan/file_stage.hpp"

#include <fcntl.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkostemp() is not in std
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "plan/plan_format.hpp"

namespace iez::plan {

namespace {

constexpr std::size_t kBufferSize = std::size_t{256} * 1024;

}  // namespace

Result<void> FileStage::add(std::uint64_t hash, std::span<const std::byte> record, std::uint64_t origin) {
  Part& part = parts_[hash >> 56U];
  if (part.buffer.size() + record.size() + sizeof(origin) > kBufferSize && !part.buffer.empty()) IEZ_CHECK(spill(part));
  const auto* const bytes = reinterpret_cast<const std::byte*>(&origin);
  part.buffer.insert(part.buffer.end(), record.begin(), record.end());
  part.buffer.insert(part.buffer.end(), bytes, bytes + sizeof(origin));
  return {};
}

Result<void> FileStage::spill(Part& part) {
  if (!fd_) {
    std::string path = directory_ + "/iez-plan-XXXXXX";
    fd_ = input::UniqueFd(::mkostemp(path.data(), O_CLOEXEC));
    if (!fd_) return fail_errno(errno, fmt::format("{}: cannot create a temporary file of the plan there", directory_));
    ::unlink(path.c_str());
  }
  std::size_t done = 0;
  while (done < part.buffer.size()) {
    const ssize_t put =
        ::pwrite(fd_.get(), part.buffer.data() + done, part.buffer.size() - done, static_cast<off_t>(written_ + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      return fail_errno(put < 0 ? errno : EIO, fmt::format("{}: cannot write a temporary file of the plan there", directory_));
    }
    done += static_cast<std::size_t>(put);
  }
  part.chunks.push_back({.at = written_, .size = done});
  part.spilled += done;
  written_ += done;
  part.buffer.clear();
  return {};
}

Result<std::vector<std::byte>> FileStage::part(std::size_t part) const {
  const Part& from = parts_[part];
  std::vector<std::byte> all(from.spilled + from.buffer.size());
  std::size_t at = 0;
  for (const Chunk& chunk : from.chunks) {
    std::size_t done = 0;
    while (done < chunk.size) {
      const ssize_t got = ::pread(fd_.get(), all.data() + at + done, chunk.size - done, static_cast<off_t>(chunk.at + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        return fail_errno(got < 0 ? errno : EIO, fmt::format("{}: cannot read a temporary file of the plan there", directory_));
      }
      done += static_cast<std::size_t>(got);
    }
    at += done;
  }
  std::copy(from.buffer.begin(), from.buffer.end(), all.begin() + static_cast<std::ptrdiff_t>(at));
  return all;
}

}  // namespace iez::plan
