// The part of a session that moves data.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "session.hpp"

namespace iez::collective_test {

namespace {

enum Purpose : std::uint64_t { amount_purpose = 102, memory_purpose };

}  // namespace

std::vector<Call> Session::possible_calls() const {
  std::vector<Call> calls;
  for (int i = 0; i < kCalls; ++i) {
    const auto call = static_cast<Call>(i);
    if (is_own(call) && !has(Kind::independent)) continue;
    if (!has(Kind::mixed) && is_own(call) != own_calls_) continue;
    if (is_ordered(call)) {
      if (!has(Kind::ordered) || !same_view_) continue;
    } else if (!has(is_at(call) ? Kind::at : Kind::pointer)) {
      continue;
    }
    if (is_split(call) && !has(Kind::split)) continue;
    if (is_nonblocking(call) && !has(is_own(call) ? Kind::own_nonblocking : Kind::nonblocking)) continue;
    calls.push_back(call);
  }
  return calls;
}

std::vector<Session::Amount> Session::drawn_amounts(Call call) {
  std::vector<Amount> amounts(static_cast<std::size_t>(ranks_));
  const std::int64_t most = std::max<std::int64_t>(1, setup_.most_bytes / ranks_ / views_.front().etype->size);
  const bool tiny = common_.chance(0.3);
  const auto drawn_length = [most, tiny](Rng& rng) {
    return static_cast<std::int64_t>(rng.between(1, static_cast<std::uint64_t>(tiny ? std::min<std::int64_t>(most, 10) : most)));
  };
  const std::int64_t equal = drawn_length(common_);
  const bool all_equal = common_.chance(0.4);
  const bool only_one = has(Kind::zero) && common_.chance(0.1);
  const auto the_one = static_cast<int>(common_.below(static_cast<std::uint64_t>(ranks_)));
  // Processes with the same view are kept apart where they may not overlap: one behind the other.
  const bool in_turn = is_at(call) && same_view_ && (!has(Kind::overlap) || common_.chance(0.5));
  std::int64_t next = static_cast<std::int64_t>(common_.below(100)) * views_.front().etype->size;
  for (int rank = 0; rank < ranks_; ++rank) {
    Rng rng = rank_rng(rank, amount_purpose);
    const View& view = views_[static_cast<std::size_t>(rank)];
    const std::int64_t element = view.etype->size;
    Amount& amount = amounts[static_cast<std::size_t>(rank)];
    amount.takes_part = !is_own(call) || rng.chance(0.6);
    amount.length = (all_equal ? equal : drawn_length(rng)) * element;
    if (has(Kind::zero) && (rng.chance(0.1) || (only_one && rank != the_one))) amount.length = 0;
    amount.from = positions_[static_cast<std::size_t>(rank)];
    if (is_at(call)) amount.from = in_turn ? next : static_cast<std::int64_t>(rng.below(200)) * element;
    if (is_ordered(call)) amount.from = rank == 0 ? shared_position_ : next;
    if (view.file_type->size == 0) amount.length = 0;
    while (amount.length > 0 && view.offset_of(amount.from + amount.length - 1) >= span_) {
      amount.length = amount.length / 2 / element * element;
    }
    if (!writing_ && !has(Kind::eof)) {
      amount.length = view.bytes_before(amount.from, amount.length, model_.size()) / element * element;
    }
    // Without overlaps nobody uses the same pointer of the same view as another.
    if (!has(Kind::overlap) && same_view_ && !is_at(call) && !is_ordered(call) && rank != the_one) amount.length = 0;
    if (!amount.takes_part) amount.length = 0;
    next = amount.from + amount.length;
  }
  return amounts;
}

std::unique_ptr<Transfer> Session::planned(Call call, const Amount& amount) {
  Rng rng = rank_rng(rank_, memory_purpose);
  const View& view = views_[static_cast<std::size_t>(rank_)];
  const TypePtr element = basic_type(basic_);
  Transfer::Plan plan{.call = call, .write = writing_, .offset = amount.from / view.etype->size, .requested = amount.length};
  plan.memory = random_memory(rng, element, amount.length / element->size, setup_.kinds);
  // Open MPI 4.1 packs some types with strides below zero in the wrong order: nobody can be blamed for those.
  if (!packs_as_described(*plan.memory.type, MpiType(*plan.memory.type).get())) {
    plan.memory = {.type = element, .count = amount.length / element->size};
  }
  plan.bottom = has(Kind::bottom) && plan.memory.type->size > 0 && plan.memory.count > 0 && rng.chance(0.1);
  plan.large = has(Kind::large) && rng.chance(0.3);
  plan.ignore_status = rng.chance(0.1);
  const std::uint64_t key = mixed(setup_.seed, epoch_);
  const std::int64_t known = writing_ ? amount.length : view.bytes_before(amount.from, amount.length, model_.size());
  plan.data.resize(static_cast<std::size_t>(known));
  plan.known.resize(plan.data.size());
  std::size_t done = 0;
  view.each_run(amount.from, known, [&](std::int64_t at, std::int64_t length) {
    const std::span piece = std::span(plan.data).subspan(done, static_cast<std::size_t>(length));
    if (writing_) {
      fill(piece, key, at);
    } else {
      model_.read(at, piece, std::span(plan.known).subspan(done, piece.size()));
    }
    done += piece.size();
  });
  return std::make_unique<Transfer>(std::move(plan));
}

// What the call does to the file and to the pointers of all processes.
void Session::note(Call call, const std::vector<Amount>& amounts) {
  const std::uint64_t key = mixed(setup_.seed, epoch_);
  for (std::size_t rank = 0; rank < amounts.size(); ++rank) {
    const Amount& amount = amounts[rank];
    if (writing_) {
      views_[rank].each_run(amount.from, amount.length,
                            [this, key](std::int64_t at, std::int64_t length) { model_.write(key, at, length); });
    }
    if (is_ordered(call)) {
      shared_position_ = amount.from + amount.length;
    } else if (!is_at(call)) {
      positions_[rank] = amount.from + amount.length;
    }
  }
}

void Session::run(Call call, const std::vector<Amount>& amounts) {
  const Amount& own = amounts[static_cast<std::size_t>(rank_)];
  if (!own.takes_part) return;
  std::unique_ptr<Transfer> transfer = planned(call, own);
  const std::string text = transfer->text();
  say(text);
  expect(transfer->start(file_), text);
  ++totals_.calls;
  totals_.bytes += own.length;
  if (is_split(call) || is_nonblocking(call)) {
    pending_.push_back(std::move(transfer));
  }
}

void Session::finish_pending() {
  for (const auto& transfer : pending_) expect(transfer->finish(file_), "end of " + transfer->text());
  pending_.clear();
}

void Session::transfer() {
  const std::vector<Call> calls = possible_calls();
  if (calls.empty()) return;
  const Call call = calls[common_.below(calls.size())];
  const std::vector<Amount> amounts = drawn_amounts(call);
  // Only one split collective may be under way, and only they together with other sorts where that is asked for.
  const bool waits = !has(Kind::mixed) || is_split(call) || common_.chance(0.5);
  if (waits) finish_pending();
  run(call, amounts);
  note(call, amounts);
  if (is_split(call)) {
    // Others may go on between its halves, but not by a collective call.
    if (has(Kind::mixed) && has(Kind::independent) && has(Kind::at) && common_.chance(0.5)) {
      ++steps_;
      const std::vector<Amount> between = drawn_amounts(Call::own_at);
      run(Call::own_at, between);
      note(Call::own_at, between);
    }
    finish_pending();
  }
  check_positions();
}

}  // namespace iez::collective_test
