// A lock file: held by flock() as long as a process lives, with the process's number in it.
//
// Thread safety: safe from any thread.
#pragma once

#include <string>

#include "base/result.hpp"
#include "input/byte_stream.hpp"

namespace iez::lab {

class NodeLock {
 public:
  // Errc::exists if somebody holds it.
  [[nodiscard]] static Result<NodeLock> take(const std::string& path);

  // The process that holds it; 0: nobody.
  [[nodiscard]] static int holder(const std::string& path);

 private:
  explicit NodeLock(input::UniqueFd fd) : fd_(std::move(fd)) {}
  input::UniqueFd fd_;
};

}  // namespace iez::lab
