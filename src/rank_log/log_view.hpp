// Reads FILE as it will be when its log is in it: the logs of all ranks over what FILE has, holes as zeros.
//
// Memory: 80 bytes a record, up to the limit given. Records of a million pieces are one.
//
// Thread safety: none. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rank_log/log_survey.hpp"
#include "rank_log/painter.hpp"

namespace iez::rank_log {

class LogView {
 public:
  // `file`: FILE, or -1 for none; neither is closed. What is in the log at this time is what is seen.
  LogView(int folder, int file) : folder_(folder), file_(file), painter_(folder) {}

  // ENOMEM: more records than fit. Damaged records are passed over: look at survey().
  [[nodiscard]] Problem open(std::size_t memory = std::size_t{256} << 20U);

  const LogSurvey& survey() const { return survey_; }
  std::uint64_t size() const { return size_; }  // of FILE as it is seen

  // Up to the end of FILE; `done` is less than `size` there only.
  [[nodiscard]] Problem read(std::uint64_t offset, void* buffer, std::size_t size, std::size_t& done);

 private:
  int folder_;
  int file_;
  LogSurvey survey_;
  LogIndex index_;
  Painter painter_;
  std::uint64_t size_ = 0;
};

}  // namespace iez::rank_log
