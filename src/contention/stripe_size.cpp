#include "contention/stripe_size.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/result.hpp"
#include "model/layout.hpp"

namespace iez::contention {

namespace {

constexpr std::uint64_t kUnit = model::kStripeAlignment.count;
constexpr std::uint64_t kMost = model::kMaxStripeSize.count;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  if (value > kMost) return kMost;
  return (value + unit - 1) / unit * unit;
}

// value x times, or the largest number: block sizes come from users.
std::uint64_t saturating_multiply(std::uint64_t value, std::uint64_t times) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(value, times, &product) ? ~std::uint64_t{0} : product;
}

// A divisor of block that is a multiple of 64 KiB, at least `least` and as near to it as halving comes; 0 if there is none.
std::uint64_t piece_of(std::uint64_t block, std::uint64_t least) {
  std::uint64_t piece = block;
  if (piece % kUnit != 0) return 0;
  while (piece % (2 * kUnit) == 0 && piece / 2 >= least) piece /= 2;
  return piece <= kMost ? piece : 0;
}

struct Wish {
  std::uint64_t size = 0;
  std::uint64_t whole = 0;  // stays a multiple of this if it must shrink; 0: need not
  std::string reason;
};

Wish wish(const WritePattern& pattern, std::uint32_t stripes, std::uint64_t least) {
  const std::uint64_t block = pattern.block.value_or(Bytes{0}).count;
  const std::uint64_t request = round_up(std::max(least, pattern.transfer.count), kUnit);
  if (stripes == 1) return {request, 0, "with one object it does not matter"};
  if (pattern.writers < stripes) {
    const std::uint64_t piece = piece_of(block, request);
    return {piece > 0 ? piece : request, 0,
            fmt::format("{} writer{} must keep {} OSTs busy: small stripes, one write at a time", pattern.writers,
                        pattern.writers == 1 ? "" : "s", stripes)};
  }
  if (block == 0) return {request, 0, "the contiguous bytes of a rank are not known: one transfer, at least one RPC"};
  const std::uint64_t whole = std::lcm(std::min(block, kMost), kUnit);
  const std::uint64_t node = saturating_multiply(block, pattern.ranks_per_node);
  if (node <= kMost && node % kUnit == 0 && node >= least) {
    return {
        node, whole,
        fmt::format("the {} that the ranks of a node write side by side: one client per stripe", to_binary_string(Bytes{node}))};
  }
  if (block <= kMost && whole <= kMost) {
    const std::uint64_t size = round_up(least, whole) <= kMost ? round_up(std::max(least, whole), whole) : whole;
    return {size, whole, fmt::format("whole blocks of {}: no block is cut by a stripe's end", to_binary_string(Bytes{block}))};
  }
  const std::uint64_t piece = piece_of(block, kMost / 2 + 1);
  if (piece > 0)
    return {piece, 0,
            fmt::format("an even part of the block of {}, which is above Lustre's limit", to_binary_string(Bytes{block}))};
  return {request, 0, "blocks that no multiple of 64 KiB fits: one transfer, at least one RPC"};
}

}  // namespace

std::uint32_t useful_stripes(Bytes file_size, Bytes rpc_size, std::uint32_t max_stripes) {
  const std::uint64_t least = round_up(std::max<std::uint64_t>(rpc_size.count, 1), kUnit);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(file_size.count / least, 1, std::max(max_stripes, 1U)));
}

StripeSize choose_stripe_size(const WritePattern& pattern, std::uint32_t stripes, Bytes rpc_size) {
  IEZ_ASSERT(stripes >= 1 && rpc_size.count > 0);
  const std::uint64_t least = round_up(rpc_size.count, kUnit);
  Wish wanted = wish(pattern, stripes, least);
  std::uint64_t size = std::clamp(round_up(wanted.size, kUnit), least, kMost);

  // Every object gets a stripe only if stripes x size fit into the file; one object needs nothing of the kind.
  const std::uint64_t most = std::max(least, pattern.file_size.count / stripes / kUnit * kUnit);
  if (stripes > 1 && size > most) {
    const bool blocks_fit = wanted.whole > 0 && most >= wanted.whole && most / wanted.whole * wanted.whole >= least;
    size = blocks_fit ? most / wanted.whole * wanted.whole : most;
    wanted.reason += fmt::format("; less, so that each of {} objects gets its part of {}", stripes, to_string(pattern.file_size));
  }
  return {Bytes{size}, std::move(wanted.reason)};
}

}  // namespace iez::contention
