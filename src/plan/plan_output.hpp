// A file that appears whole or not at all: written front to back without a name, or under another one beside it, then renamed.
//
// Thread safety: none. Errors name the path; after one nothing is left behind.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"

namespace iez::plan {

class PlanOutput {
 public:
  [[nodiscard]] static Result<PlanOutput> create(const std::string& path, mode_t mode);
  ~PlanOutput();
  PlanOutput(PlanOutput&& other) noexcept;
  PlanOutput& operator=(PlanOutput&&) = delete;
  PlanOutput(const PlanOutput&) = delete;
  PlanOutput& operator=(const PlanOutput&) = delete;

  std::uint64_t size() const { return flushed_ + buffer_.size(); }
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);

  // Goes back to a size that it had: what was behind is gone.
  [[nodiscard]] Result<void> rewind(std::uint64_t size);

  // `front` replaces the first bytes, then the file takes its name.
  [[nodiscard]] Result<void> finish(std::span<const std::byte> front);

 private:
  PlanOutput() = default;
  [[nodiscard]] Result<void> flush();
  [[nodiscard]] Result<void> name_it();
  [[nodiscard]] Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

  std::string path_;
  std::string temporary_;  // empty: it has no name yet, or its own
  input::UniqueFd fd_;
  std::vector<std::byte> buffer_;
  std::uint64_t flushed_ = 0;
};

}  // namespace iez::plan
