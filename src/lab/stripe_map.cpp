#include "lab/stripe_map.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace iez::lab {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kEnd / b ? kEnd : a * b; }

}  // namespace

Result<StripeMap> StripeMap::make(const model::Layout& layout) {
  if (layout.mirror_count > 1) return fail(Errc::unsupported, fmt::format("layout with {} mirrors", layout.mirror_count));
  StripeMap map;
  for (const model::Component& from : layout.components) {
    if (from.pattern != model::Pattern::raid0) return fail(Errc::unsupported, "layout with data on the MDT");
    if (from.released) return fail(Errc::unsupported, "layout of a released file");
    if (from.stripe_size.count == 0) return fail(Errc::parse, "layout with a stripe size of 0");
    if (!from.objects.empty() && from.objects.size() != from.stripe_count) {
      return fail(Errc::parse, fmt::format("layout with {} objects for {} stripes", from.objects.size(), from.stripe_count));
    }
    map.components_.push_back({.start = from.extent.start,
                               .end = from.extent.end,
                               .stripe_size = from.stripe_size.count,
                               .first = map.objects_.size(),
                               .count = from.objects.size()});
    for (const model::StripeObject& object : from.objects) {
      map.objects_.push_back({.ost = object.ost.value, .object = object.id.low});
    }
  }
  return map;
}

std::vector<Piece> StripeMap::pieces(std::uint64_t offset, std::uint64_t size) const {
  std::vector<Piece> found;
  const std::uint64_t end = saturating_add(offset, size);
  const auto add = [&found](const Piece& piece) {
    if (!found.empty() && found.back().object == piece.object && found.back().offset + found.back().size == piece.offset &&
        found.back().file_offset + found.back().size == piece.file_offset) {
      found.back().size += piece.size;
    } else {
      found.push_back(piece);
    }
  };
  std::uint64_t at = offset;
  for (const Component& component : components_) {
    const std::uint64_t stop = std::min(end, component.end);
    if (at < component.start && at < end) {
      const std::uint64_t gap = std::min(end, component.start) - at;
      add({.offset = at, .file_offset = at, .size = gap});
      at += gap;
    }
    while (at < stop) {
      if (component.count == 0) {
        add({.offset = at, .file_offset = at, .size = stop - at});
        at = stop;
        break;
      }
      const std::uint64_t stripe = at / component.stripe_size;
      const std::uint64_t within = at % component.stripe_size;
      const std::uint64_t length = std::min(stop - at, component.stripe_size - within);
      add({.object = component.first + static_cast<std::size_t>(stripe % component.count),
           .offset = stripe / component.count * component.stripe_size + within,
           .file_offset = at,
           .size = length});
      at += length;
    }
  }
  if (at < end) add({.offset = at, .file_offset = at, .size = end - at});
  return found;
}

StripeMap::Stripe StripeMap::stripe_of(std::size_t object) const {
  IEZ_ASSERT(object < objects_.size());
  for (const Component& component : components_) {
    if (object < component.first + component.count) return {.component = &component, .number = object - component.first};
  }
  IEZ_ASSERT(false);
  return {};
}

std::uint64_t StripeMap::file_size(std::span<const std::uint64_t> object_sizes) const {
  IEZ_ASSERT(object_sizes.size() == objects_.size());
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    if (object_sizes[i] != 0) size = std::max(size, file_range(i, object_sizes[i] - 1, object_sizes[i]).end);
  }
  return size;
}

StripeMap::ObjectSize StripeMap::object_size(std::size_t object, std::uint64_t size) const {
  const auto [component, number] = stripe_of(object);
  if (size <= component->start) return {.size = 0};
  if (size > component->end) return {.unchanged = true};
  const std::uint64_t width = saturating_multiply(component->stripe_size, component->count);
  IEZ_ASSERT(width > 0);
  const std::uint64_t before = number * component->stripe_size;
  const std::uint64_t rest = size % width;
  const std::uint64_t last = rest <= before ? 0 : std::min(rest - before, component->stripe_size);
  return {.size = size / width * component->stripe_size + last};
}

FileRange StripeMap::file_range(std::size_t object, std::uint64_t start, std::uint64_t end) const {
  const auto [component, number] = stripe_of(object);
  const std::uint64_t stripe_size = component->stripe_size;
  const std::uint64_t count = component->count;
  const auto in_file = [&](std::uint64_t at) {
    const std::uint64_t stripe = saturating_add(saturating_multiply(at / stripe_size, count), number);
    return saturating_add(saturating_multiply(stripe, stripe_size), at % stripe_size);
  };
  if (end <= start) return {.start = in_file(start), .end = in_file(start)};
  return {.start = in_file(start), .end = end == kEnd ? kEnd : saturating_add(in_file(end - 1), 1)};
}

}  // namespace iez::lab
