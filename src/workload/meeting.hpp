// Where several workloads that were started by themselves meet before every phase, so that they write at the same time and read
// at the same time: what each of them measures is then what it got beside the others.
//
// They share a file, to which each appends a byte when it arrives; nobody needs to know who the others are.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace iez::workload {

class Meeting {
 public:
  Meeting(std::string file, std::uint32_t parties) : file_(std::move(file)), parties_(parties) {}

  // Returns when all have arrived as often as this one has. Fails when the file is of an earlier meeting, and when the others do
  // not come within ten minutes.
  [[nodiscard]] Result<void> meet();

 private:
  std::string file_;
  std::uint32_t parties_;
  std::uint64_t met_ = 0;
};

}  // namespace iez::workload
