#include "collective/windows.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace iez::collective {
namespace {

constexpr std::uint64_t kPage = 4 << 10;
constexpr std::uint32_t kMostAggregators = 1U << 16U;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// Objects by OST, in the order in which OSTs first appear.
std::vector<std::vector<std::uint32_t>> objects_by_ost(const std::vector<std::uint32_t>& osts) {
  std::vector<std::uint32_t> order(osts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return std::pair(osts[a], a) < std::pair(osts[b], b); });
  std::vector<std::vector<std::uint32_t>> groups;
  groups.reserve(osts.size());
  for (const std::uint32_t object : order) {
    if (groups.empty() || osts[groups.back()[0]] != osts[object]) groups.emplace_back();
    groups.back().push_back(object);
  }
  std::ranges::sort(groups, {}, [](const auto& group) { return group[0]; });
  return groups;
}

// OSTs to `shares` aggregators: the one with most objects first, each to who has least.
std::vector<std::vector<std::uint32_t>> deal(std::vector<std::vector<std::uint32_t>> groups, std::size_t shares) {
  const bool even = std::ranges::all_of(groups, [&](const auto& group) { return group.size() == groups[0].size(); });
  if (even) {
    shares =
        divide_up(groups.size(), divide_up(groups.size(), shares));  // no aggregator more than needed for the same longest share
  } else {
    std::ranges::sort(groups, {},
                      [](const auto& group) { return std::pair(-static_cast<std::int64_t>(group.size()), group[0]); });
  }
  std::vector<std::vector<std::uint32_t>> dealt(shares);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto& share = even ? dealt[i % shares] : *std::ranges::min_element(dealt, {}, [](const auto& one) { return one.size(); });
    share.insert(share.end(), groups[i].begin(), groups[i].end());
  }
  for (auto& share : dealt) std::ranges::sort(share);
  return dealt;
}

}  // namespace

std::uint64_t Windows::Part::block_of(std::int64_t offset) const {
  return static_cast<std::uint64_t>(offset) / stripe / (width * clients) / turns;
}

std::int64_t Windows::Part::portion_of(std::uint64_t block) const {
  return first_portion + static_cast<std::int64_t>((block - first_block) * in_turn);
}

std::int64_t Windows::Part::portion_in_turn(std::int64_t offset) const {
  const std::uint64_t inside = static_cast<std::uint64_t>(offset) % stripe;
  const std::uint64_t object = static_cast<std::uint64_t>(offset) / stripe % width;
  return static_cast<std::int64_t>((place[object] / group * pieces) + (inside / piece_bytes));
}

Windows::Windows(const FileLayout& layout, const WindowOptions& options)
    : window_bytes_(std::clamp<std::int64_t>(options.window_bytes, 4 << 10, 1 << 30)) {
  std::int64_t next = 0;
  parts_.reserve(layout.ranges.size());
  for (const StripedRange& range : layout.ranges) {
    if (range.begin >= range.end || range.osts.empty()) continue;
    Part part = make_part(range, options);
    part.first_portion = next;
    next = part.portion_of(part.block_of(part.end - 1) + 1);
    aggregators_ = std::max(aggregators_, static_cast<std::uint32_t>(part.shares.size() * part.clients));
    parts_.push_back(std::move(part));
  }
}

Windows::Part Windows::make_part(const StripedRange& range, const WindowOptions& options) const {
  const auto window = static_cast<std::uint64_t>(window_bytes_);
  const std::uint32_t aggregators = std::clamp(options.aggregators, 1U, kMostAggregators);
  Part part{.begin = range.begin, .end = range.end, .osts = range.osts};
  part.stripe = static_cast<std::uint64_t>(std::max<std::int64_t>(range.stripe_size, 1));
  part.width = range.osts.size();

  auto groups = objects_by_ost(range.osts);
  if (aggregators >= groups.size()) {
    part.clients = std::clamp<std::uint64_t>(aggregators / groups.size(), 1, std::max(options.clients_per_ost, 1U));
    part.shares = std::move(groups);
  } else {
    part.shares = deal(std::move(groups), aggregators);
  }
  std::uint64_t longest = 0;
  part.place.resize(part.width);
  for (const auto& share : part.shares) {
    longest = std::max<std::uint64_t>(longest, share.size());
    for (std::size_t i = 0; i < share.size(); ++i) part.place[share[i]] = static_cast<std::uint32_t>(i);
  }

  // With one object and one aggregator there is nothing between neighbouring stripes.
  if (part.width * part.clients == 1 && part.stripe < window) part.stripe *= window / part.stripe;
  part.piece_bytes = part.stripe;
  part.group = longest;
  if (part.stripe > window) {
    part.piece_bytes = divide_up(divide_up(part.stripe, divide_up(part.stripe, window)), kPage) * kPage;
    if (part.piece_bytes > window) part.piece_bytes = window;
    part.pieces = divide_up(part.stripe, part.piece_bytes);
    part.group = 1;
  } else if (longest > window / part.stripe) {
    part.group = window / part.stripe;
  } else {
    part.turns = window / part.stripe / longest;
  }
  part.in_turn = divide_up(longest, part.group) * part.pieces;
  part.first_block = part.block_of(part.begin);
  return part;
}

const Windows::Part& Windows::part_at(std::int64_t offset) const {
  const auto behind = std::ranges::upper_bound(parts_, offset, {}, &Part::begin);
  return behind == parts_.begin() ? parts_.front() : *(behind - 1);
}

std::int64_t Windows::first_portion(std::int64_t begin) const {
  const Part& part = part_at(begin);
  return part.portion_of(part.block_of(begin));
}

std::int64_t Windows::last_portion(std::int64_t end) const {
  const Part& part = part_at(end - 1);
  return part.portion_of(part.block_of(end - 1)) + static_cast<std::int64_t>(part.in_turn) - 1;
}

PortionSpan Windows::portions(std::int64_t begin, std::int64_t end) const {
  if (begin >= end) return {};
  const Part& part = part_at(begin);
  const std::uint64_t block = part.block_of(begin);
  const std::uint64_t stripe = static_cast<std::uint64_t>(begin) / part.stripe;
  if (end <= part.end && stripe == static_cast<std::uint64_t>(end - 1) / part.stripe) {
    const std::int64_t turn = part.portion_of(block);
    return {.first = turn + part.portion_in_turn(begin), .last = turn + part.portion_in_turn(end - 1)};
  }
  return {.first = part.portion_of(block), .last = last_portion(end)};
}

void Windows::chunks(std::int64_t portion, std::uint32_t aggregator, std::vector<Chunk>& chunks) const {
  chunks.clear();
  const auto behind = std::ranges::upper_bound(parts_, portion, {}, &Part::first_portion);
  if (behind == parts_.begin()) return;
  const Part& part = *(behind - 1);
  const std::uint64_t client = aggregator / part.shares.size();
  if (client >= part.clients) return;
  const auto& share = part.shares[aggregator % part.shares.size()];

  const auto since = static_cast<std::uint64_t>(portion - part.first_portion);
  const std::uint64_t turn = (part.first_block + (since / part.in_turn)) * part.turns;
  const std::uint64_t in_turn = since % part.in_turn;
  const std::uint64_t first = in_turn / part.pieces * part.group;
  const std::uint64_t last = std::min<std::uint64_t>(first + part.group, share.size());
  const std::uint64_t skip = in_turn % part.pieces * part.piece_bytes;
  const std::uint64_t length = std::min(part.piece_bytes, part.stripe - skip);
  const auto begin = static_cast<std::uint64_t>(part.begin);
  const auto end = static_cast<std::uint64_t>(part.end);
  const std::uint64_t last_stripe = (end - 1) / part.stripe;

  for (std::uint64_t row = (turn * part.clients) + client; row < (turn + part.turns) * part.clients; row += part.clients) {
    for (std::uint64_t i = first; i < last; ++i) {
      const std::uint64_t stripe = (row * part.width) + share[i];
      if (stripe > last_stripe) return;
      const std::uint64_t from = (stripe * part.stripe) + skip;
      const std::uint64_t chunk_begin = std::max(from, begin);
      const std::uint64_t chunk_end = std::min(from + length, end);
      if (chunk_begin >= chunk_end) continue;
      chunks.push_back(
          {.offset = static_cast<std::int64_t>(chunk_begin), .length = static_cast<std::int64_t>(chunk_end - chunk_begin)});
    }
  }
}

std::vector<std::uint32_t> Windows::osts_of(std::size_t range, std::uint32_t aggregator) const {
  std::vector<std::uint32_t> osts;
  if (range >= parts_.size()) return osts;
  const Part& part = parts_[range];
  if (aggregator / part.shares.size() >= part.clients) return osts;
  const auto& share = part.shares[aggregator % part.shares.size()];
  osts.reserve(share.size());
  for (const std::uint32_t object : share) osts.push_back(part.osts[object]);
  std::ranges::sort(osts);
  osts.erase(std::ranges::unique(osts).begin(), osts.end());
  return osts;
}

std::int64_t Windows::alignment() const {
  std::int64_t all = 0;
  for (const Part& part : parts_) {
    all = std::gcd(all, static_cast<std::int64_t>(part.stripe));
    all = std::gcd(all, part.begin);
    if (part.pieces > 1) all = std::gcd(all, static_cast<std::int64_t>(part.piece_bytes));
    if (part.end != std::numeric_limits<std::int64_t>::max()) all = std::gcd(all, part.end);
  }
  return all;
}

}  // namespace iez::collective
