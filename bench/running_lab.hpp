// A lab that is gone when its owner is.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "model/layout.hpp"

namespace iez::bench {

class RunningLab {
 public:
  // Starts it below the folder; `words` are further options of `iez lab up`.
  [[nodiscard]] static Result<RunningLab> up(const std::string& program, const std::string& folder,
                                             std::vector<std::string> words);
  ~RunningLab();
  RunningLab(RunningLab&& other) noexcept : program_(std::move(other.program_)), folder_(std::exchange(other.folder_, {})) {}
  RunningLab& operator=(RunningLab&&) = delete;
  RunningLab(const RunningLab&) = delete;
  RunningLab& operator=(const RunningLab&) = delete;

  [[nodiscard]] std::string mount(unsigned client) const;
  [[nodiscard]] std::string params(unsigned client) const;  // the tree of its parameters

  // The share of its rate that an OST has from now on, above 0 and at most 1. REQUIRES: the lab has a rate.
  [[nodiscard]] Result<void> set_speed(OstIndex ost, double share) const;

  // Bytes in use on each OST, as the servers say, and as the mount does, which is up to a second behind.
  [[nodiscard]] Result<std::vector<std::uint64_t>> used() const;
  [[nodiscard]] Result<std::vector<std::uint64_t>> used_as_seen_by(unsigned client) const;

  // Until the servers and the first mount say that this is used, or nearly: what was removed is gone, and everybody has noticed.
  // Fails (limit) if that takes longer.
  [[nodiscard]] Result<void> wait_until_used(const std::vector<std::uint64_t>& used, std::chrono::seconds limit) const;

 private:
  RunningLab(std::string program, std::string folder) : program_(std::move(program)), folder_(std::move(folder)) {}
  std::string program_;
  std::string folder_;
};

// The default of a folder from now on.
[[nodiscard]] Result<void> set_default_layout(const std::string& folder, const model::Layout& layout);

// Writes so many MiB to a file that exists, until they are on disk.
[[nodiscard]] Result<void> write_mib(const std::string& path, unsigned mib);

// A new file on one OST.
[[nodiscard]] Result<void> write_mib_on(const std::string& path, OstIndex ost, unsigned mib);

}  // namespace iez::bench
