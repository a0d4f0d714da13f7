// A pass of our own over rows, inside the scan of DuckDB: where one look at each row answers many questions, for each of which
// SQL would scan again.
//
// Duck::fold() gives each of its threads a part, which sees blocks of rows by column as DuckDB has them, without a copy; the
// parts are joined into the fold that was given.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace iez::jobs {

// A text as DuckDB keeps it. One of up to 12 bytes is in the value itself, with zeros behind it.
class DuckText {
 public:
  static constexpr std::size_t kShort = 12;

  bool is_short() const { return size_ <= kShort; }
  std::string_view view() const {
    if (is_short()) return {bytes_.data(), size_};
    const char* data = nullptr;
    std::memcpy(static_cast<void*>(&data), bytes_.data() + kShort - sizeof data, sizeof data);
    return {data, size_};
  }
  // All of a short text.
  std::array<std::uint64_t, 2> bits() const { return std::bit_cast<std::array<std::uint64_t, 2>>(*this); }

  friend bool operator==(const DuckText& a, const DuckText& b) {
    return a.is_short() && b.is_short() ? a.bits() == b.bits() : a.view() == b.view();
  }

 private:
  std::uint32_t size_ = 0;
  std::array<char, kShort> bytes_{};  // of a longer one: four of its bytes, and where it is
};

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
  std::span<const DuckText> texts(std::size_t column) const { return {static_cast<const DuckText*>(columns_[column]), rows_}; }

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
