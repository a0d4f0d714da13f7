// Where collected and imported rows go: the store, or a spool that is read into it later.
//
// The same row may be put twice, after a crash or because a source was read again, and a job again when one more of its nodes has
// told what it did: whoever keeps rows keeps one for each key (rows.hpp), that of a job which most nodes told of.
//
// Thread safety: none.
#pragma once

#include <span>

#include "base/result.hpp"
#include "jobs/rows.hpp"

namespace iez::jobs {

class RowSink {
 public:
  virtual ~RowSink() = default;

  // All of them or none. What was put is safe once this returns.
  [[nodiscard]] virtual Result<void> put(std::span<const JobRow> rows) = 0;
  [[nodiscard]] virtual Result<void> put(std::span<const SeriesRow> rows) = 0;
};

}  // namespace iez::jobs
