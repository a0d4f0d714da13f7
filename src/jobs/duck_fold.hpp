// A pass of our own over rows, inside the scan of DuckDB: where one look at each row answers many questions, for each of which
// SQL would scan again.
//
// Duck::fold() gives each of its threads a part, which sees blocks of rows by column as DuckDB has them, without a copy; the
// parts are joined into the fold that was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace iez::jobs {

// Some rows. Valid while add() runs.
class DuckBlock {
 public:
  DuckBlock(std::size_t rows, std::vector<const void*> columns) : rows_(rows), columns_(std::move(columns)) {}

  std::size_t rows() const { return rows_; }
  // REQUIRES: the column has whole numbers, or times: microseconds since 1970.
  std::span<const std::int64_t> integers(std::size_t column) const {
    return {static_cast<const std::int64_t*>(columns_[column]), rows_};
  }
  // REQUIRES: the column has texts.
  std::string_view text(std::size_t column, std::size_t row) const;

 private:
  std::size_t rows_;
  std::vector<const void*> columns_;
};

class DuckFold {
 public:
  DuckFold() = default;
  virtual ~DuckFold() = default;
  DuckFold(const DuckFold&) = delete;
  DuckFold& operator=(const DuckFold&) = delete;

  // An empty one of the same kind. Several threads ask at once.
  virtual std::unique_ptr<DuckFold> part() const = 0;
  // An error ends the pass, and is its error.
  [[nodiscard]] virtual Result<void> add(const DuckBlock& block) = 0;
  // REQUIRES: part() made it. What is left of it is destroyed.
  virtual void join(DuckFold& part) = 0;
};

}  // namespace iez::jobs
