#include "sim/access_cursor.hpp"

#include <algorithm>

namespace iez::sim {

AccessCursor::AccessCursor(const Shape& shape, std::uint32_t rank) : rank_(rank) {
  if (offset(shape) >= shape.file_bytes) file_ = shape.pattern.files;
}

std::uint64_t AccessCursor::offset(const Shape& shape) const {
  const bool shared = shape.pattern.mode == FileMode::shared;
  const std::uint64_t before = shared ? segment_ * shape.writers + rank_ : segment_;  // blocks
  return before * shape.pattern.block.count + within_;
}

Piece AccessCursor::next(const Shape& shape) {
  const std::uint64_t block = shape.pattern.block.count;
  const std::uint64_t stripe_size = shape.striping.size.count;
  const std::uint64_t at = offset(shape);
  const std::uint64_t stripe = at / stripe_size;
  const std::uint64_t in_stripe = at % stripe_size;
  Piece piece{.file = file_, .offset = at};
  piece.bytes = std::min({block - within_, shape.request_bytes, stripe_size - in_stripe, shape.file_bytes - at});
  piece.stripe = static_cast<std::uint32_t>(stripe % shape.striping.count);
  piece.place = stripe / shape.striping.count * stripe_size + in_stripe;

  within_ += piece.bytes;
  if (within_ == block) {
    within_ = 0;
    ++segment_;
  }
  if (segment_ == shape.pattern.segments || offset(shape) >= shape.file_bytes) {
    within_ = 0;
    segment_ = 0;
    ++file_;
  }
  return piece;
}

std::uint64_t object_bytes(std::uint64_t size, const Striping& striping, std::uint32_t stripe) {
  const std::uint64_t round = striping.size.count * striping.count;
  const std::uint64_t rest = size % round;
  const std::uint64_t before = striping.size.count * stripe;
  return size / round * striping.size.count + (rest > before ? std::min(rest - before, striping.size.count) : 0);
}

}  // namespace iez::sim
