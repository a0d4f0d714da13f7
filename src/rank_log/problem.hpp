// Why something could not be done to a log: an errno, and where. Small and plain, since it is made inside of other people's
// programs; log_report.hpp makes sentences of it. Freestanding.
#pragma once

#include <cstdint>

namespace iez::rank_log {

enum class Place : std::uint8_t { nowhere, folder, index, data, file };

enum class Action : std::uint8_t { nothing, open, read, write, lock, sync, resize, remove, allocate, understand, cancel };

struct Problem {
  int error = 0;  // an errno; 0: none
  Place place = Place::nowhere;
  Action action = Action::nothing;
  std::uint32_t rank = 0;    // of an index or data
  std::uint64_t offset = 0;  // in that file

  explicit operator bool() const { return error != 0; }
};

}  // namespace iez::rank_log
