// The job that a process belongs to, as Lustre's jobid_var gives it: the value of an environment variable, or the program's name
// and the user's number ("dd.1000").
//
// Thread safety: all members may be called from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/units.hpp"

namespace iez::lab {

class JobOf {
 public:
  // variable: empty: name and user. proc: where /proc is.
  explicit JobOf(std::string variable, std::string proc = "/proc") : variable_(std::move(variable)), proc_(std::move(proc)) {}

  // A process without the variable is named by program and user, as is one that cannot be asked. At most 31 bytes, without
  // spaces, as on Lustre.
  std::string operator()(std::int32_t pid, std::uint32_t uid);

 private:
  struct Known {
    std::string program;
    std::string job;
    Duration until{};
  };

  const std::string variable_;
  const std::string proc_;
  std::mutex mutex_;
  std::map<std::int32_t, Known> known_;  // environments are long to read
};

}  // namespace iez::lab
