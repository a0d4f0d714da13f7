#include "collective/contest.hpp"

#include <algorithm>
#include <bit>

namespace iez::collective {
namespace {

constexpr std::array kTrial{Way::collect, Way::pass, Way::pass, Way::collect, Way::collect, Way::pass};
static_assert(kTrial.size() == Contest::kTrialCalls);
constexpr std::uint32_t kMostPause = 1U << 20U;

std::uint8_t log_of(std::int64_t number) {
  return static_cast<std::uint8_t>(number > 0 ? std::bit_width(static_cast<std::uint64_t>(number)) - 1 : 0);
}

// Of `most` calls of `each` nanoseconds, those that end within `all`.
std::uint32_t fewer(std::uint32_t most, std::uint64_t all, std::uint64_t each) {
  return each == 0 ? most : static_cast<std::uint32_t>(std::min<std::uint64_t>(most, all / each));
}

Way other(Way way) { return way == Way::collect ? Way::pass : Way::collect; }

// Whether `a` is at least `percent` / 100 times `b`. Costs are at most kMostCost, so that nothing overflows.
constexpr std::uint64_t kMostCost = 1ULL << 50U;
bool exceeds(std::uint64_t a, std::uint64_t b, std::uint64_t percent) { return a * 100 >= b * percent; }

}  // namespace

CallKind kind_of(const Requests& requests) {
  return {.write = requests.write,
          .interleaved = requests.interleaved,
          .piece = log_of(requests.shortest_piece),
          .bytes = log_of(requests.bytes)};
}

void Contest::Costs::add(std::uint64_t cost) { latest[count++ % kCosts] = cost; }

std::uint64_t Contest::Costs::median() const {
  auto sorted = latest;
  const auto size = std::min<std::size_t>(count, kCosts);
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(size));
  return sorted[(size - 1) / 2];
}

const Contest::Standing* Contest::find(const CallKind& kind) const {
  const auto all = standings();
  const auto found = std::ranges::find(all, kind, &Standing::kind);
  return found == all.end() ? nullptr : &*found;
}

// The one that was not used for longest makes room.
Contest::Standing& Contest::get(const CallKind& kind) {
  const std::span all(standings_.data(), count_);
  auto found = std::ranges::find(all, kind, &Standing::kind);
  if (found != all.end()) return *found;
  Standing& fresh = count_ < kKinds ? standings_[count_++] : *std::ranges::min_element(all, {}, &Standing::used);
  fresh = {.kind = kind};
  return fresh;
}

bool Contest::writes_are_collected() const {
  const Standing* latest = nullptr;
  for (const Standing& one : standings()) {
    if (one.kind.write && (latest == nullptr || one.used > latest->used)) latest = &one;
  }
  return latest != nullptr && latest->kept == Way::collect;
}

bool Contest::waits(const CallKind& kind, const Standing* one) const {
  if (kind.bytes >= kSmall && !mpi_is_first(kind)) return false;
  if (!kind.write && writes_are_collected()) return false;
  if (one == nullptr || one->aside) return true;
  return !one->kept && one->trial == 0 && one->waited < patience();
}

Way Contest::trial_way(const CallKind& kind, std::uint32_t trial) const {
  const Way way = kTrial[trial % kTrial.size()];
  return mpi_is_first(kind) ? other(way) : way;
}

Way Contest::next(const CallKind& kind) const {
  const Standing* const one = find(kind);
  if (waits(kind, one)) return Way::pass;
  if (one == nullptr || one->aside) return trial_way(kind, 0);
  if (one->kept) return one->rest > 0 ? *one->kept : other(*one->kept);
  return trial_way(kind, one->trial);
}

Way Contest::settled(const CallKind& kind) const {
  const Standing* const one = find(kind);
  return one != nullptr && one->kept && !one->aside ? *one->kept : trial_way(kind, 0);
}

std::uint32_t Contest::unasked(const CallKind& kind) const {
  const std::optional<CallKind>& last = last_[kind.write ? 1 : 0];
  if (last && *last != kind) return 0;
  const Standing* const one = find(kind);
  const std::uint32_t most = std::min((one == nullptr ? 0 : one->lease) * 4 + 3, kMostUnasked);
  if (one != nullptr && one->aside) return most;
  if (waits(kind, one)) {
    if (one == nullptr || one->pace == 0) return kind.bytes < kSmall ? most : 0;
    // A large call may take as long as all that is waited for, so that not many go by unseen.
    return fewer(most, std::min(kUnseen, patience() - one->waited), one->pace);
  }
  if (one == nullptr) return most;
  if (one->kept != Way::pass || one->rest == 0) return 0;
  return fewer(std::min(most, one->rest - 1), kUnseen, one->passed_ns);
}

void Contest::begin(const CallKind& kind, Way way, std::uint32_t unasked) {
  Standing& one = get(kind);
  if (one.aside) one = {.kind = kind};  // nothing was learnt of it
  const bool waiting = way == Way::pass && waits(kind, &one);
  one.used = ++calls_;
  one.lease = unasked;
  last_[kind.write ? 1 : 0] = kind;
  if (waiting) return;
  if (!one.kept) {
    ++one.trial;
  } else if (way == *one.kept) {
    one.rest -= std::min(one.rest, unasked + 1);
  } else {
    one.rest = one.pause;  // once, whether or not its cost will be known
  }
}

void Contest::step_aside(const CallKind& kind, std::uint32_t unasked) {
  Standing& one = get(kind);
  one.used = ++calls_;
  one.aside = true;
  one.kept = Way::pass;
  one.lease = unasked;
  last_[kind.write ? 1 : 0] = kind;
}

void Contest::keep(Standing& one, Way way) {
  one.kept = way;
  ++one.dropped;
  const std::uint64_t fast = std::max<std::uint64_t>((way == Way::collect ? one.collected : one.passed).median(), 1);
  const std::uint64_t slow = (way == Way::collect ? one.passed : one.collected).median();
  const std::uint64_t times = std::min<std::uint64_t>(slow / fast, kMostPause / kPause);
  one.pause = static_cast<std::uint32_t>(kPause * std::max<std::uint64_t>(times, 1));
  one.rest = one.pause;
}

// Whether the trial is over.
void Contest::judge(Standing& one) const {
  const std::uint32_t calls = std::min(one.collected.count, one.passed.count);
  if (calls == 0) return;
  const bool prefers_collecting = !one.kind.write && writes_are_collected();
  const Way preferred = prefers_collecting ? Way::collect : Way::pass;
  const std::uint64_t mine = (prefers_collecting ? one.collected : one.passed).median();
  const std::uint64_t others = (prefers_collecting ? one.passed : one.collected).median();
  if (exceeds(mine, others, calls == 1 ? 400 : calls == 2 ? 150 : 103)) {
    keep(one, other(preferred));
  } else if (calls >= 3 || exceeds(others, mine, calls == 1 ? 300 : 115)) {
    keep(one, preferred);
  }
}

void Contest::took(const CallKind& kind, Way way, std::int64_t bytes, std::uint64_t ns) {
  if (bytes <= 0 || ns == 0) return;
  Standing& one = get(kind);
  if (one.aside) return;
  __extension__ using Wide = unsigned __int128;
  const auto cost = static_cast<std::uint64_t>(std::min<Wide>(Wide{ns} * 1024 / static_cast<std::uint64_t>(bytes), kMostCost));
  if (way == Way::pass && !one.kept && one.trial == 0) {  // it waits
    one.waited += std::min(ns, patience()) * (one.lease + 1);
    one.pace = ns;
    return;
  }
  if (way == Way::pass) one.passed_ns = ns;
  Costs& mine = way == Way::collect ? one.collected : one.passed;
  const Costs& others = way == Way::collect ? one.passed : one.collected;
  mine.add(cost);
  if (!one.kept) return judge(one);
  const auto again = [&one] { one = {.kind = one.kind, .dropped = one.dropped, .used = one.used}; };
  if (way == *one.kept) {
    if (others.count > 0 && exceeds(mine.median(), others.median(), 150)) again();
  } else if (exceeds(others.median(), cost, 100)) {
    again();
  } else {
    one.pause = std::min(one.pause * 2, kMostPause);
    one.rest = one.pause;
  }
}

}  // namespace iez::collective
