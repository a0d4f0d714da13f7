#include "collective/engine.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <numeric>
#include <utility>

#include "collective/coverage.hpp"
#include "collective/stopwatch.hpp"

namespace iez::collective {

namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t kDistrust = 64;

constexpr std::array kFields{&Counters::calls,    &Counters::writes,    &Counters::reads,       &Counters::independent,
                             &Counters::aside,    &Counters::compared,  &Counters::unasked,     &Counters::guessed,
                             &Counters::portions, &Counters::written,   &Counters::bytes,       &Counters::shared,
                             &Counters::sent,     &Counters::transfers, &Counters::transferred, &Counters::whole,
                             &Counters::copy_ns,  &Counters::wait_ns,   &Counters::send_ns,     &Counters::file_ns};
static_assert(sizeof(Counters) == kFields.size() * sizeof(std::uint64_t));

FileRange range_of(const Part& part) {
  if (part.refusal != 0 || part.begin >= part.end) return {};
  return {.begin = part.view->offset_of(part.begin), .end = part.view->offset_of(part.end - 1) + 1};
}

}  // namespace

Counters& Counters::operator+=(const Counters& other) {
  for (const auto field : kFields) this->*field += other.*field;
  return *this;
}

Engine::Engine(NodeArena& arena, const Windows& windows, Team team, Links& links, Storage* storage, EngineOptions options)
    : arena_(arena), windows_(windows), team_(std::move(team)), links_(links), storage_(storage), options_(std::move(options)) {
  for (std::uint32_t window = 0; window < team_.aggregators.size(); ++window) {
    if (team_.aggregators[window].owner_here == team_.rank) owned_.push_back(window);
  }
  call_ = arena_.control().opened.load();  // the last one of the file that had the arena before
}

bool Engine::prepare() {
  if (ready_ || unable_) return ready_;
  int error = options_.open_file ? options_.open_file(storage_) : 0;
  if (error == 0 && team_.rank == 0) error = arena_.reserve();
  unable_ = agree(error) != 0;
  if (!unable_) arena_.populate();
  ready_ = !unable_;
  return ready_;
}

// Afterwards now_ is what all ranks ask for, and what is to be done about it.
void Engine::meet(const Part& part, bool write) {
  const std::uint64_t start = Stopwatch::now();
  ++call_;
  now_write_ = write;
  mine_ = range_of(part);
  post(part);
  const bool guessed = guess(part, write);
  before_ns_ = Stopwatch::now() - start;
  arrive();
  Control& control = arena_.control();
  const std::uint32_t call = call_;
  // Who guessed and has nothing to do but to wait waits for the end, not for the beginning.
  const bool sleeps = guessed && owned_.empty() && portions_of(now_).first == portions_of(now_).last;
  if (sleeps) {
    wait(control.epoch, [&control, call] {
      return control.done.load(std::memory_order_acquire) == call ||
             (control.opened.load() == call && control.asked.verdict != Verdict::continued);
    });
  } else {
    wait(control.opened, [&control, call] { return control.opened.load() == call; });
  }
  now_ = control.asked;
  learn(now_.spent_ns);
  if (now_.spoilt) clean();
  const bool misled = now_.spoilt && now_.verdict == Verdict::fresh;
  distrust_ = misled ? kDistrust : distrust_ - (distrust_ > 0 ? 1 : 0);
}

Outcome Engine::run(const Part& part, bool write) {
  ++counters_.calls;
  ++seen_;
  const auto collected = [this] { return now_.verdict == Verdict::fresh || now_.verdict == Verdict::continued; };
  meet(part, write);
  if (collected() && now_.bytes > 0 && !ready_) {
    prepare();
    meet(part, write);
  }
  Outcome outcome{.verdict = now_.verdict, .refusal = now_.refusal};
  last_known_ = collected();
  last_ = now_;
  last_mine_ = arena_.slot(team_.rank);
  last_write_ = write;
  first_ = false;
  begin_way();
  count(part);
  if (!last_known_ || now_.bytes == 0) return outcome;
  const bool continued = now_.verdict == Verdict::continued;
  if (write) {
    write_portions(part, continued);
    finish();
  } else {
    read_portions(part, continued);
  }
  for (std::uint32_t window = 0; window < team_.aggregators.size() && outcome.error == 0; ++window) {
    outcome.error = arena_.failure(window).error;
  }
  outcome.bytes = moved(part, write);
  if (timed_) spent_ns_ = before_ns_ + (Stopwatch::now() - arena_.control().opened_ns);
  return outcome;
}

// The way that was decided on is gone from here on, by all ranks alike.
void Engine::begin_way() {
  spent_ns_ = 0;
  free_[now_write_ ? 1 : 0] = now_.unasked;
  passing_ = now_.verdict == Verdict::passed;
  if (options_.contest == nullptr || now_.bytes == 0) return;
  if (options_.contest->clients_have_caches()) remember_read();
  const Requests requests = requests_of(now_);
  const CallKind kind = kind_of(requests);
  if (now_.compared) {
    const Way way = passing_ ? Way::pass : Way::collect;
    options_.contest->begin(kind, way, now_.unasked);
    timed_ = Timed{.kind = kind, .way = way, .bytes = now_.bytes};
  } else if (now_.aside) {
    options_.contest->step_aside(kind, now_.unasked);
  }
}

// Of a call that all know: what it reads will be in caches. A write takes what is cached of its range from all others.
void Engine::remember_read() {
  if (now_write_) return forget_reads();
  if (now_.verdict == Verdict::refused) return;
  const Way way = now_.verdict == Verdict::fresh || now_.verdict == Verdict::continued ? Way::collect : Way::pass;
  const std::int64_t length = now_.end - now_.begin;
  // Calls that went unasked since the last one are taken to lie between the two, if there is room for no more than these.
  const std::int64_t between = now_.begin - passed_to_;
  if (passed_calls_ > 0 && between > 0 && between / length <= passed_calls_) {
    reads_.add({.begin = passed_to_, .end = now_.begin, .way = Way::pass});
  }
  reads_.add({.begin = now_.begin, .end = now_.end, .way = way});
  passed_to_ = now_.end;
  passed_calls_ = now_.unasked;
}

void Engine::forget_reads() {
  reads_.clear();
  passed_calls_ = 0;
}

bool Engine::passes(bool write) {
  std::uint32_t& left = free_[write ? 1 : 0];
  if (left == 0) return false;
  --left;
  if (write) forget_reads();
  ++seen_;
  ++counters_.unasked;
  return true;
}

void Engine::passed_through() {
  if (passing_ && timed_) spent_ns_ = Stopwatch::now() - arena_.control().opened_ns;
  passing_ = false;
}

void Engine::settle() {
  if (timed_) agree(0);
}

// What the last call cost, as all ranks have told. Who publishes learns it first, since it decides by that.
void Engine::learn(std::uint64_t spent_ns) {
  if (!timed_) return;
  options_.contest->took(timed_->kind, timed_->way, timed_->bytes, spent_ns);
  timed_.reset();
}

void Engine::count(const Part& part) {
  if (now_.verdict == Verdict::independent) ++counters_.independent;
  if (now_.verdict == Verdict::passed) ++counters_.aside;
  if (now_.compared) ++counters_.compared;
  if (now_.verdict != Verdict::fresh && now_.verdict != Verdict::continued) return;
  if (now_.verdict == Verdict::continued) ++counters_.guessed;
  counters_.bytes += static_cast<std::uint64_t>(part.end - part.begin);
  if (!now_write_) {
    ++counters_.reads;
    return;
  }
  ++counters_.writes;
  counters_.written += static_cast<std::uint64_t>(now_.bytes);
  if (now_.bytes > largest_write_.bytes) largest_write_ = requests_of(now_);
}

std::int32_t Engine::agree(std::int32_t number) {
  ++call_;
  mine_ = {};
  Part nothing;
  nothing.refusal = number;
  post(nothing);
  arrive();
  Control& control = arena_.control();
  wait(control.opened, [&control, call = call_] { return control.opened.load() == call; });
  learn(control.asked.spent_ns);
  last_known_ = false;
  // A call without bytes has no windows to be through with.
  return control.asked.refusal;
}

// What this rank asks for.
void Engine::post(const Part& part) {
  Slot& slot = arena_.slot(team_.rank);
  slot = {};
  slot.refusal = part.refusal;
  slot.must_collect = part.must_collect ? 1 : 0;
  slot.timed = part.timed ? 1 : 0;
  slot.spent_ns = spent_ns_;
  if (mine_.begin == mine_.end) return;
  slot.begin = mine_.begin;
  slot.end = mine_.end;
  slot.bytes = part.end - part.begin;
  slot.granule = std::gcd(std::gcd(part.view->granule(), mine_.begin), mine_.end);
  slot.shortest = std::min(part.view->shortest_piece(), slot.bytes);
  slot.longest = std::min(part.view->longest_piece(), slot.bytes);
}

// What all ask for: as the program's hints say, or what they asked for last, moved as far as this rank has moved.
bool Engine::believe(const Slot& slot, bool write) {
  if (!ready_ || team_.nodes > 1 || slot.refusal != 0 || slot.bytes == 0 || distrust_ > 0) return false;
  const bool told = options_.hints != nullptr && options_.hints->same_io_size && options_.hints->contiguous_data;
  // After a read others may still take their part out of the windows.
  if (first_ ? !told : last_write_ != write) return false;
  if (told && slot.end - slot.begin == slot.bytes) {
    now_ = {};
    now_.begin = slot.begin - team_.rank * slot.bytes;
    now_.end = now_.begin + team_.ranks * slot.bytes;
    now_.granule = std::gcd(std::gcd(now_.begin, slot.bytes), options_.alignment);
    return now_.begin >= 0;
  }
  if (!last_known_ || slot.bytes != last_mine_.bytes || slot.granule != last_mine_.granule ||
      slot.end - slot.begin != last_mine_.end - last_mine_.begin) {
    return false;
  }
  const std::int64_t moved = slot.begin - last_mine_.begin;
  now_ = last_;
  now_.begin += moved;
  now_.end += moved;
  if (slot.must_collect == 0) route(now_, slot.timed != 0);
  if (now_.verdict == Verdict::passed || now_.verdict == Verdict::independent) return false;  // it is another way's turn
  return now_.begin >= 0 && now_.begin % now_.granule == 0 && now_.end % now_.granule == 0;
}

// True if there is a belief, and this rank put its part of the first portion where it should be by it.
bool Engine::guess(const Part& part, bool write) {
  Slot& slot = arena_.slot(team_.rank);
  if (!believe(slot, write)) return false;
  slot.guess_begin = now_.begin;
  slot.guess_end = now_.end;
  slot.guess_granule = now_.granule;
  Walk walk = fresh_walk();
  const std::int64_t portion = portions_of(now_).first;
  for (std::uint32_t window = 0; window < team_.aggregators.size(); ++window) {
    Use use;
    if (!next_use(walk, portion, window, use)) continue;
    if (write) {
      deposit(part, use);
    } else {
      ask(part, use);
    }
  }
  return true;
}

void Engine::arrive() {
  Control& control = arena_.control();
  const bool last = control.gate.add(1) == team_.ranks * call_;
  if (team_.nodes == 1) {
    if (!last) return;
    bool right = false;
    Asked asked = sum_up(right);
    decide(asked, right);
    publish(asked);
    return;
  }
  if (last) control.gate.wake_all();
  if (team_.rank != 0) return;
  wait(control.gate, [&control, target = team_.ranks * call_] { return control.gate.load() == target; });
  join_nodes();
}

// Of the ranks of this node, all of which have posted what they ask for. `right`: all who have data guessed, and all guessed
// right.
Asked Engine::sum_up(bool& right) const {
  Asked asked{.begin = kEnd, .end = 0, .granule = 0};
  bool all_guesses = true;
  std::int64_t reached = 0;
  for (std::uint32_t rank = 0; rank < team_.ranks; ++rank) {
    const Slot& slot = arena_.slot(rank);
    asked.refusal = std::max(asked.refusal, slot.refusal);
    asked.spent_ns = std::max(asked.spent_ns, slot.spent_ns);
    asked.spoilt = asked.spoilt || slot.guess_end != 0;
    if (slot.bytes == 0) continue;
    all_guesses = all_guesses && slot.guess_end != 0;
    asked.begin = std::min(asked.begin, slot.begin);
    asked.end = std::max(asked.end, slot.end);
    asked.granule = std::gcd(asked.granule, slot.granule);
    asked.shortest = asked.bytes == 0 ? slot.shortest : std::min(asked.shortest, slot.shortest);
    asked.longest = std::max(asked.longest, slot.longest);
    asked.interleaved = asked.interleaved || slot.begin < reached;
    reached = std::max(reached, slot.end);
    ++asked.with_data;
    asked.bytes += slot.bytes;
  }
  if (asked.bytes == 0) {
    return {.granule = 1, .refusal = asked.refusal, .spoilt = asked.spoilt, .spent_ns = asked.spent_ns};
  }
  asked.granule = std::gcd(asked.granule, options_.alignment);
  right = all_guesses;
  for (std::uint32_t rank = 0; rank < team_.ranks && right; ++rank) {
    const Slot& slot = arena_.slot(rank);
    if (slot.bytes == 0) continue;
    right = slot.guess_begin == asked.begin && slot.guess_end == asked.end && slot.guess_granule == asked.granule;
  }
  return asked;
}

// What becomes of the call; by one rank of each node, and the same on all of them.
void Engine::decide(Asked& asked, bool right) {
  learn(asked.spent_ns);
  const Slot& first = arena_.slot(0);
  if (asked.refusal != 0) {
    asked.verdict = Verdict::refused;
  } else if (asked.bytes > 0 && (first.must_collect == 0 || unable_)) {
    route(asked, first.timed != 0);
  }
  if (asked.verdict == Verdict::fresh && right) asked.verdict = Verdict::continued;
  asked.spoilt = asked.spoilt && asked.verdict != Verdict::continued;
}

// By the first rank of the node: what the ranks of all nodes ask for.
void Engine::join_nodes() {
  bool right = false;  // nobody guesses
  const Asked here = sum_up(right);
  std::vector<Asked> nodes(team_.nodes);
  const Stopwatch watch(counters_.send_ns);
  links_.gather(&here, nodes.data(), sizeof here);
  Asked all{.begin = kEnd, .end = 0, .granule = 0};
  std::int64_t reached = 0;
  for (std::uint32_t node = 0; node < team_.nodes; ++node) {
    const Asked& one = nodes[node];
    arena_.node_range(node) = {.begin = one.begin, .end = one.end};
    all.refusal = std::max(all.refusal, one.refusal);
    all.spent_ns = std::max(all.spent_ns, one.spent_ns);
    if (one.bytes == 0) continue;
    all.begin = std::min(all.begin, one.begin);
    all.end = std::max(all.end, one.end);
    all.granule = std::gcd(all.granule, one.granule);
    all.shortest = all.bytes == 0 ? one.shortest : std::min(all.shortest, one.shortest);
    all.longest = std::max(all.longest, one.longest);
    all.interleaved = all.interleaved || one.interleaved || one.begin < reached;
    reached = std::max(reached, one.end);
    all.with_data += one.with_data;
    all.bytes += one.bytes;
  }
  if (all.bytes == 0) all = {.granule = 1, .refusal = all.refusal, .spent_ns = all.spent_ns};
  decide(all, false);
  publish(all);
}

Requests Engine::requests_of(const Asked& asked) const {
  return {.write = now_write_,
          .interleaved = asked.interleaved,
          .ranks_with_data = asked.with_data,
          .bytes = asked.bytes,
          .shortest_piece = asked.shortest,
          .longest_piece = asked.longest,
          .begin = asked.begin,
          .end = asked.end};
}

// Verdict::fresh, independent or passed: by what the program says, else by what its calls have cost. `timed`: as in Part.
void Engine::route(Asked& asked, bool timed) const {
  asked.verdict = Verdict::fresh;
  asked.aside = asked.compared = false;
  asked.unasked = 0;
  if (options_.hints == nullptr || options_.layout == nullptr) return;
  const Hints& hints = *options_.hints;
  const Requests requests = requests_of(asked);
  const auto choice = choose_way(hints, *options_.layout, requests);
  if (choice.value == Way::independent) {
    asked.verdict = Verdict::independent;
    return;
  }
  Way way = unable_ ? Way::pass : choice.value;
  asked.aside = way == Way::pass;
  const CallKind kind = kind_of(requests);
  if (hints.switch_every > 0 && !unable_ && (asked.aside || may_compare(hints, choice))) {
    asked.aside = false;
    const std::uint64_t since = (seen_ - 1) % hints.switch_every;
    way = (seen_ - 1) / hints.switch_every % 2 == 0 ? Way::collect : Way::pass;
    if (way == Way::pass) asked.unasked = static_cast<std::uint32_t>((hints.switch_every - 1 - since) / 2);
  } else if (const auto before = now_write_ ? std::nullopt : reads_.find(asked.begin, asked.end);
             before && may_compare(hints, choice) && !unable_) {
    way = before->way;
    if (way == Way::pass) {  // as are those after it in what was read that way
      const std::int64_t rest = (before->end - asked.end) / (asked.end - asked.begin);
      asked.unasked = static_cast<std::uint32_t>(std::min<std::int64_t>(rest, Contest::kMostUnasked));
    }
  } else if (options_.contest != nullptr && may_compare(hints, choice) && !unable_) {
    asked.compared = timed;
    way = timed ? options_.contest->next(kind) : options_.contest->settled(kind);
  }
  if (way != Way::pass) return;
  asked.verdict = Verdict::passed;
  if (options_.contest != nullptr && (asked.compared || asked.aside)) asked.unasked = options_.contest->unasked(kind);
}

// All have arrived, so nobody looks at what is left of the last call any more.
void Engine::publish(const Asked& asked) {
  Control& control = arena_.control();
  for (std::uint32_t window = 0; window < team_.aggregators.size(); ++window) {
    arena_.failure(window) = {};
    for (std::uint32_t which = 0; which < kBuffers; ++which) {
      Buffer& buffer = arena_.buffer(window, which);
      buffer.arrived.store(0);
      buffer.served.store(0);
      buffer.taken.store(0);
    }
  }
  control.finished.store(0);
  control.cleaned.store(0);
  control.end_of_file.store(kEnd, std::memory_order_relaxed);
  if (team_.nodes == 1) arena_.node_range(0) = {.begin = asked.begin, .end = asked.end};
  control.asked = asked;
  control.opened_ns = Stopwatch::now();
  control.opened.store(call_);
  control.opened.wake_all();
  if (asked.verdict != Verdict::continued) {
    control.epoch.add(1);
    control.epoch.wake_all();
  }
}

// Somebody guessed wrong: windows are as before the call when this returns.
void Engine::clean() {
  Control& control = arena_.control();
  const auto all = static_cast<std::uint32_t>(team_.aggregators.size());
  for (const std::uint32_t window : owned_) {
    Coverage(arena_.coverage(window, 0), 1).clear(arena_.shape().window_bytes);
    if (control.cleaned.add(1) == all) control.cleaned.wake_all();
  }
  wait(control.cleaned, [&control, all] { return control.cleaned.load() == all; });
}

}  // namespace iez::collective
