// A folder that goes away with its owner, and all that is in it. In TMPDIR or /tmp, unless another place is named.
#pragma once

#include <string>
#include <utility>

#include "base/result.hpp"

namespace iez::bench {

class TemporaryFolder {
 public:
  [[nodiscard]] static Result<TemporaryFolder> make(const std::string& place = {});
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace iez::bench
