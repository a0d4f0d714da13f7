#include "sim/access_cursor.hpp"

#include <algorithm>
#include <limits>

namespace iez::sim {

AccessCursor::AccessCursor(const Shape& shape, std::uint32_t rank) : rank_(rank) {
  if (shape.replay != nullptr) {
    file_ = shape.replay->first_turn(rank);
  } else if (offset(division(shape)) >= shape.file_bytes) {
    file_ = shape.pattern.files;
  }
}

AccessCursor::Division AccessCursor::division(const Shape& shape) const {
  const bool shared = shape.pattern.mode == FileMode::shared;
  return {.block = shape.pattern.block.count,
          .end = shape.file_bytes,
          .segments = shape.pattern.segments,
          .lane = shared ? rank_ : 0,
          .lanes = shared ? shape.writers : 1};
}

std::uint64_t AccessCursor::offset(const Division& division) const {
  return (segment_ * division.lanes + division.lane) * division.block + within_;
}

Piece AccessCursor::next(const Shape& shape) {
  if (shape.replay == nullptr) {
    Piece piece{.file = file_, .read = shape.pattern.access == Access::read};
    step(division(shape), shape.striping, shape.request_bytes, piece);
    return piece;
  }
  const Replay::Access& access = shape.replay->at(file_);
  Piece piece{.file = access.file, .read = access.read};
  step({.block = access.block,
        .end = access.bytes,
        .segments = std::numeric_limits<std::uint64_t>::max(),
        .lane = rank_ - access.first_rank,
        .lanes = access.ranks},
       access.striping, shape.request_bytes, piece);
  return piece;
}

// Fills in where the piece is, and goes on to the next block, or file.
inline void AccessCursor::step(const Division& division, const Striping& striping, std::uint64_t request_bytes, Piece& piece) {
  const std::uint64_t stripe_size = striping.size.count;
  const std::uint64_t at = offset(division);
  const std::uint64_t stripe = at / stripe_size;
  const std::uint64_t in_stripe = at % stripe_size;
  piece.offset = at;
  piece.bytes = std::min({division.block - within_, request_bytes, stripe_size - in_stripe, division.end - at});
  piece.stripe = static_cast<std::uint32_t>(stripe % striping.count);
  piece.place = stripe / striping.count * stripe_size + in_stripe;

  within_ += piece.bytes;
  if (within_ == division.block) {
    within_ = 0;
    ++segment_;
  }
  if (segment_ == division.segments || offset(division) >= division.end) {
    within_ = 0;
    segment_ = 0;
    ++file_;
  }
}

std::uint64_t object_bytes(std::uint64_t size, const Striping& striping, std::uint32_t stripe) {
  const std::uint64_t round = striping.size.count * striping.count;
  const std::uint64_t rest = size % round;
  const std::uint64_t before = striping.size.count * stripe;
  return size / round * striping.size.count + (rest > before ? std::min(rest - before, striping.size.count) : 0);
}

}  // namespace iez::sim
