#include "placement/stripe_size.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "model/layout.hpp"

namespace iez::placement {

namespace {

constexpr std::uint64_t kUnit = model::kStripeAlignment.count;
constexpr std::uint64_t kMib = Bytes::mib(1).count;
// Two units: the published methods keep to even multiples.
constexpr std::uint64_t kPublishedUnit = 2 * kUnit;
// A stripe is worth a request of its own from 1 MiB on; past 8 MiB a front-to-back writer stays on one target too long.
constexpr std::uint64_t kSmallest = kMib;
constexpr std::uint64_t kLargest = 8 * kMib;
constexpr std::uint64_t kPreferred = 4 * kMib;
constexpr std::uint64_t kPreferredShared = kMib;

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

Stripes with_size(Bytes bytes, std::uint32_t count, Bytes size) {
  Stripes stripes{.size = size};
  stripes.count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(count, std::max<std::uint64_t>(1, divide_up(bytes.count, size.count))));
  stripes.object_bytes = largest_object(bytes, size, stripes.count);
  return stripes;
}

}  // namespace

Bytes largest_object(Bytes bytes, Bytes stripe_size, std::uint32_t count) {
  const std::uint64_t stripes = bytes.count / stripe_size.count;
  const std::uint64_t rest = bytes.count % stripe_size.count;
  const std::uint64_t rounds = stripes / count;
  // Object 0 has one stripe more than the full rounds if any is left, else what is left of the last.
  if (stripes % count > 0) return {(rounds + 1) * stripe_size.count};
  return {rounds * stripe_size.count + rest};
}

std::uint32_t usual_stripe_count(Bytes bytes, bool shared) {
  if (bytes > Bytes::gib(1)) return 4;
  if (bytes > Bytes::mib(256) || (shared && bytes >= Bytes::mib(64))) return 2;
  return 1;
}

Stripes choose_stripes(Bytes bytes, std::uint32_t count, bool shared, Bytes end) {
  const std::uint64_t each = divide_up(bytes.count, count);
  Stripes best;
  const auto preferred = static_cast<double>(shared ? kPreferredShared : kPreferred);
  const auto rank = [preferred](const Stripes& stripes) {
    const double ratio = static_cast<double>(stripes.size.count) / preferred;
    return std::tuple(stripes.object_bytes.count, stripes.size.count % kMib != 0, std::max(ratio, 1 / ratio));
  };
  for (std::uint64_t size = each <= kSmallest ? kUnit : kSmallest; size <= std::min(kLargest, divide_up(each, kUnit) * kUnit);
       size += kUnit) {
    if (end.count % size != 0) continue;
    const Stripes stripes = with_size(bytes, count, {size});
    if (stripes.count < count) break;
    if (best.size.count == 0 || rank(stripes) < rank(best)) best = stripes;
  }
  return best.size.count > 0 ? best : with_size(bytes, count, {kUnit});
}

Result<Stripes> fixed_stripes(Bytes bytes, std::uint32_t count, Bytes stripe_size) {
  if (stripe_size.count == 0 || stripe_size.count % kUnit != 0 || stripe_size > model::kMaxStripeSize) {
    return fail(Errc::invalid_argument,
                fmt::format("stripe size {}: Lustre takes multiples of 64 KiB below 4 GiB", stripe_size.count));
  }
  return with_size(bytes, count, stripe_size);
}

UnequalStripes method_one(Bytes bytes, std::uint32_t count) {
  const std::uint64_t first = bytes.count / (kPublishedUnit * (count - 1)) * kPublishedUnit;
  const std::uint64_t rest = bytes.count - first * (count - 1);
  return {{first}, {divide_up(rest, kPublishedUnit) * kPublishedUnit}};
}

Bytes method_two(Bytes bytes, std::uint32_t count) { return {divide_up(bytes.count, kPublishedUnit * count) * kPublishedUnit}; }

}  // namespace iez::placement
