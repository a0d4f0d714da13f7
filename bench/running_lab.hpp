// A lab that is gone when its owner is.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

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

 private:
  RunningLab(std::string program, std::string folder) : program_(std::move(program)), folder_(std::move(folder)) {}
  std::string program_;
  std::string folder_;
};

}  // namespace iez::bench
