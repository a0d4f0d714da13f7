#include "collective/explain.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "collective/data_map.hpp"

namespace iez::collective {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kMostTouches = 16 << 20;  // of stripes by calls; about a second
constexpr std::int64_t kLargestFile = std::int64_t{1} << 60U;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a / b) + (a % b == 0 ? 0 : 1); }

// Who holds the lock of which object.
class Locks {
 public:
  explicit Locks(const FileLayout& layout) : layout_(layout) {
    for (const StripedRange& range : layout.ranges) {
      first_.push_back(objects_.size());
      objects_.resize(objects_.size() + range.osts.size());
    }
  }

  // Bytes [begin, end) of the file by a client.
  void touch(std::int64_t begin, std::int64_t end, std::uint32_t client) {
    std::size_t r = 0;
    while (begin < end) {
      while (begin >= layout_.ranges[r].end) ++r;
      const StripedRange& range = layout_.ranges[r];
      const std::int64_t stripe = begin / range.stripe_size;
      take(objects_[first_[r] + (static_cast<std::size_t>(stripe) % range.osts.size())], client);
      begin = std::min((stripe + 1) * range.stripe_size, range.end);
    }
  }

  void finish(Figures& figures) const {
    for (const Object& object : objects_) {
      figures.hand_overs += object.hand_overs;
      figures.clients_per_object = std::max(figures.clients_per_object, static_cast<std::uint32_t>(object.clients.size()));
    }
  }

 private:
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  struct Object {
    std::uint32_t holder = kNobody;
    std::int64_t hand_overs = 0;
    std::set<std::uint32_t> clients;
  };

  static void take(Object& object, std::uint32_t client) {
    if (object.holder == client) return;
    if (object.holder != kNobody) ++object.hand_overs;
    object.holder = client;
    object.clients.insert(client);
  }

  const FileLayout& layout_;
  std::vector<std::size_t> first_;
  std::vector<Object> objects_;
};

struct Case {
  const FileLayout& layout;
  const Machine& machine;
  const Pattern& pattern;
  std::int64_t blocks = 0;  // of a rank
  std::int64_t begin = 0;
  std::int64_t end = 0;
  DataMap data;  // of all ranks

  std::int64_t stride() const { return pattern.block + pattern.hole; }

  std::int64_t block_at(std::int64_t rank, std::int64_t number) const {
    const std::int64_t index = pattern.interleaved ? (number * machine.ranks) + rank : (rank * blocks) + number;
    return begin + (index * stride());
  }

  std::uint32_t node_of_rank(std::uint32_t rank) const { return rank / divide_up_ranks(); }

  std::uint32_t divide_up_ranks() const { return (machine.ranks + machine.nodes - 1) / machine.nodes; }
};

std::unexpected<Error> too_much(const Pattern& pattern) {
  return fail(Errc::invalid_argument,
              fmt::format("bytes of a rank: {}, too many blocks, stripes or windows to work out; a smaller part tells the same",
                          pattern.bytes));
}

Result<Case> make_case(const FileLayout& layout, const Machine& machine, const Pattern& pattern) {
  if (machine.ranks == 0) return fail(Errc::invalid_argument, "ranks: 0, expected 1 or more");
  if (machine.nodes == 0 || machine.nodes > machine.ranks) {
    return fail(Errc::invalid_argument, fmt::format("nodes: {}, expected 1 to {}, a rank each", machine.nodes, machine.ranks));
  }
  if (pattern.block <= 0) return fail(Errc::invalid_argument, fmt::format("block: {}, expected 1 or more bytes", pattern.block));
  if (pattern.hole < 0 || pattern.begin < 0) return fail(Errc::invalid_argument, "hole or offset: below 0");
  if (pattern.bytes <= 0 || pattern.bytes % pattern.block != 0) {
    return fail(Errc::invalid_argument,
                fmt::format("bytes of a rank: {}, expected a multiple of the block, {}", pattern.bytes, pattern.block));
  }
  const std::int64_t blocks = pattern.bytes / pattern.block;
  const Wide all = Wide{machine.ranks} * blocks;
  const Wide end = (all * (Wide{pattern.block} + pattern.hole)) + pattern.begin;
  if (end > kLargestFile) return fail(Errc::invalid_argument, "bytes, hole and offset: a file of more than 1 EiB");
  const auto file_end = static_cast<std::int64_t>(end - pattern.hole);

  std::int64_t stripe = layout.ranges.back().stripe_size;
  for (const StripedRange& range : layout.ranges) stripe = std::min(stripe, range.stripe_size);
  const Wide touches = std::max(all * (1 + (pattern.block / stripe)), Wide{(file_end - pattern.begin) / stripe});
  if (touches > kMostTouches) return too_much(pattern);
  const std::int64_t stride = pattern.block + pattern.hole;
  const auto data = DataMap::tiled(pattern.begin, {.runs = {{0, pattern.block}}, .extent = stride});
  IEZ_ASSERT(data.has_value());
  return Case{.layout = layout,
              .machine = machine,
              .pattern = pattern,
              .blocks = blocks,
              .begin = pattern.begin,
              .end = file_end,
              .data = *data};
}

Requests requests_of(const Case& c) {
  const Pattern& pattern = c.pattern;
  const bool alone = !pattern.interleaved || c.machine.ranks == 1;
  const std::int64_t piece = alone && pattern.hole == 0 ? pattern.bytes : pattern.block;
  return {.write = pattern.write,
          .interleaved = pattern.interleaved && c.machine.ranks > 1 && c.blocks > 1,
          .ranks_with_data = c.machine.ranks,
          .bytes = pattern.bytes * c.machine.ranks,
          .shortest_piece = piece,
          .longest_piece = piece,
          .begin = c.begin,
          .end = c.end};
}

// Calls that bytes [begin, end) of the file take: one for each piece of data in them.
std::int64_t calls_in(const Case& c, std::int64_t begin, std::int64_t end, std::int64_t* bytes) {
  const std::int64_t last = c.data.position_at(c.end);
  const std::int64_t from = std::min(c.data.position_at(begin), last);
  const std::int64_t to = std::min(c.data.position_at(end), last);
  if (bytes != nullptr) *bytes += to - from;
  if (from >= to) return 0;
  if (c.data.is_contiguous()) return 1;
  return ((to - 1) / c.pattern.block) - (from / c.pattern.block) + 1;
}

Figures figures_independent(const Case& c, const Requests& requests) {
  Figures figures;
  Locks locks(c.layout);
  const bool one_piece = requests.shortest_piece != c.pattern.block;
  figures.calls = one_piece ? c.machine.ranks : c.blocks * c.machine.ranks;
  figures.steps = c.blocks;
  for (std::int64_t number = 0; number < c.blocks; ++number) {
    for (std::uint32_t rank = 0; rank < c.machine.ranks; ++rank) {
      const std::int64_t at = c.block_at(rank, number);
      locks.touch(at, at + c.pattern.block, c.node_of_rank(rank));
    }
  }
  locks.finish(figures);
  return figures;
}

// As many parts as aggregators, each of whole stripes; in a round, cb_buffer_size of each.
Figures figures_contiguous(const Case& c, const Hints& hints, std::uint32_t aggregators) {
  Figures figures;
  Locks locks(c.layout);
  const std::int64_t stripe = c.layout.ranges.back().stripe_size;
  const std::int64_t first = c.begin / stripe * stripe;
  const std::int64_t part = divide_up(divide_up(c.end - first, aggregators), stripe) * stripe;
  const std::int64_t round = std::max<std::int64_t>(hints.buffer_bytes, 8 << 10);
  figures.steps = divide_up(std::min(part, c.end - first), round);
  for (std::int64_t step = 0; step < figures.steps; ++step) {
    for (std::uint32_t a = 0; a < aggregators; ++a) {
      const std::int64_t part_end = std::min(first + ((a + 1) * part), c.end);
      const std::int64_t from = std::max(first + (a * part) + (step * round), c.begin);
      const std::int64_t to = std::min(first + (a * part) + std::min((step + 1) * round, part), part_end);
      if (from >= to) continue;
      figures.calls += calls_in(c, from, to, nullptr);
      locks.touch(from, to, a % c.machine.nodes);
    }
  }
  locks.finish(figures);
  return figures;
}

void work_of_windows(const Case& c, const Windows& windows, Explanation& explanation) {
  Locks locks(c.layout);
  explanation.work.resize(windows.aggregators());
  for (std::uint32_t a = 0; a < windows.aggregators(); ++a) {
    std::set<std::uint32_t> osts;
    for (std::size_t range = 0; range < c.layout.ranges.size(); ++range) {
      for (const std::uint32_t ost : windows.osts_of(range, a)) osts.insert(ost);
    }
    explanation.work[a].osts.assign(osts.begin(), osts.end());
  }
  const PortionSpan span = windows.portions(c.begin, c.end);
  std::vector<Chunk> chunks;
  for (std::int64_t portion = span.first; portion <= span.last; ++portion) {
    bool used = false;
    for (std::uint32_t a = 0; a < windows.aggregators(); ++a) {
      Work& work = explanation.work[a];
      windows.chunks(portion, a, chunks);
      std::int64_t calls = 0;
      for (const Chunk& chunk : chunks) {
        const std::int64_t in_chunk = calls_in(c, chunk.offset, chunk.offset + chunk.length, &work.bytes);
        calls += in_chunk;
        if (in_chunk == 0) continue;
        locks.touch(std::max(chunk.offset, c.begin), std::min(chunk.offset + chunk.length, c.end), a % c.machine.nodes);
      }
      work.calls += calls;
      explanation.stripes.calls += calls;
      if (calls > 0) ++work.windows;
      used = used || calls > 0;
    }
    if (used) ++explanation.portions;
  }
  explanation.stripes.steps = explanation.portions;
  locks.finish(explanation.stripes);
}

}  // namespace

Pattern nearest_pattern(const Requests& requests) {
  const std::int64_t ranks = std::max<std::uint32_t>(requests.ranks_with_data, 1);
  const std::int64_t each = std::max<std::int64_t>(requests.bytes / ranks, 1);
  Pattern pattern{.block = std::clamp<std::int64_t>(requests.shortest_piece, 1, each),
                  .begin = requests.begin,
                  .interleaved = requests.interleaved,
                  .write = requests.write};
  pattern.bytes = each / pattern.block * pattern.block;
  const std::int64_t blocks = pattern.bytes / pattern.block * ranks;
  const std::int64_t free = requests.end - requests.begin - (blocks * pattern.block);
  if (blocks > 1 && free > 0) pattern.hole = free / (blocks - 1);
  return pattern;
}

Result<Explanation> explain(const Hints& hints, const FileLayout& layout, const Machine& machine, const Pattern& pattern) {
  IEZ_TRY(const Case c, make_case(layout, machine, pattern));
  Explanation explanation;
  explanation.requests = requests_of(c);
  explanation.way = choose_way(hints, layout, explanation.requests);
  explanation.choices = choose_for_file(hints, layout, machine);
  if ((c.end - c.begin) / explanation.choices.window_bytes.value > kMostTouches) return too_much(pattern);
  explanation.independent = figures_independent(c, explanation.requests);
  explanation.contiguous = figures_contiguous(c, hints, explanation.choices.aggregators.value);
  work_of_windows(c, Windows(layout, explanation.choices.windows()), explanation);
  return explanation;
}

}  // namespace iez::collective
