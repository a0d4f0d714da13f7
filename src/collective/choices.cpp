#include "collective/choices.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace iez::collective {
namespace {

std::uint32_t at_least_one(std::uint64_t number) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(number, 1, std::numeric_limits<std::uint32_t>::max()));
}

std::uint32_t cpus(const Machine& machine) {
  return at_least_one(std::uint64_t{at_least_one(machine.nodes)} * at_least_one(machine.cpus_per_node));
}

std::int64_t largest_stripe(const FileLayout& layout) {
  std::int64_t stripe = 1;
  for (const StripedRange& range : layout.ranges) stripe = std::max(stripe, range.stripe_size);
  return stripe;
}

// Without looking at OSTs. Where there are none, a file takes one write of a node at a time: more writers wait for each other's
// lock of the inode.
Choice<std::uint32_t> aggregators_here(const Hints& hints, const Machine& machine, bool striped) {
  const std::uint32_t ranks = at_least_one(machine.ranks);
  Choice<std::uint32_t> choice{.value = cpus(machine), .because = Because::every_cpu};
  if (!striped) choice = {.value = at_least_one(machine.nodes), .because = Because::every_node};
  if (hints.aggregators > 0) choice = {.value = hints.aggregators, .because = Because::nodes_hint};
  if (choice.value > ranks) choice = {.value = ranks, .because = Because::every_rank};
  return choice;
}

Choice<std::uint32_t> choose_aggregators(const Hints& hints, const FileLayout& layout, const Machine& machine) {
  Choice<std::uint32_t> choice = aggregators_here(hints, machine, layout.striped);
  if (!layout.striped) return choice;
  const std::uint32_t osts = widest(layout);
  const std::uint64_t wanted = std::uint64_t{osts} * at_least_one(hints.clients_per_ost);
  std::uint64_t most = choice.value;
  if (choice.because == Because::every_cpu) {
    const std::uint64_t room =
        std::min<std::uint64_t>(at_least_one(machine.ranks), std::uint64_t{choice.value} * kAggregatorsPerCpu);
    if (room >= osts) most = room;
  }
  if (wanted <= most) return {.value = at_least_one(wanted), .because = Because::every_ost};
  choice.value = at_least_one(most);
  return choice;
}

// OSTs of the aggregator that has most.
std::uint32_t most_osts(const FileLayout& layout, std::uint32_t aggregators) {
  return (widest(layout) + aggregators - 1) / aggregators;
}

Choice<std::int64_t> choose_window(const Hints& hints, const FileLayout& layout, std::uint32_t aggregators) {
  const std::int64_t stripe = largest_stripe(layout);
  const std::int64_t most = hints.buffer_bytes / 2;
  const bool direct = hints.direct_writes || hints.direct_reads;
  Choice<std::int64_t> choice{.value = direct ? kRequestBytes : kWindowBytes,
                              .because = direct ? Because::request_size : Because::short_start};
  if (!layout.striped) {
    choice = {.value = kCachedBytes, .because = Because::processor_cache};
  } else {
    if (stripe > choice.value) choice = {.value = stripe, .because = Because::stripe_size};
    const std::int64_t osts = most_osts(layout, aggregators);
    if (osts > 1) {
      choice = {.value = std::min(choice.value, std::numeric_limits<std::int64_t>::max() / osts) * osts,
                .because = Because::osts_of_one};
    }
  }
  if (choice.value > most) choice = {.value = most, .because = Because::buffer_hint};
  // Whole stripes, or else whole pages.
  const std::int64_t unit = choice.value >= stripe ? stripe : kDirectAlignment;
  choice.value = std::max(choice.value / unit * unit, kDirectAlignment);
  return choice;
}

Choice<bool> choose_direct(bool asked, const FileLayout& layout) {
  if (!asked) return {.value = false, .because = Because::not_asked};
  for (const StripedRange& range : layout.ranges) {
    if (range.stripe_size % kDirectAlignment != 0) return {.value = false, .because = Because::not_aligned};
  }
  return {.value = true, .because = Because::asked};
}

// Of the component where the requests begin.
std::int64_t stripe_at(const FileLayout& layout, std::int64_t offset) {
  for (const StripedRange& range : layout.ranges) {
    if (offset < range.end) return range.stripe_size;
  }
  return kImaginedStripe;
}

}  // namespace

FileLayout layout_without_stripes(const Hints& hints, const Machine& machine) {
  return imagined_layout(hints.stripe_size > 0 ? hints.stripe_size : kImaginedStripe,
                         aggregators_here(hints, machine, false).value);
}

FileChoices choose_for_file(const Hints& hints, const FileLayout& layout, const Machine& machine) {
  FileChoices choices{.clients_per_ost = at_least_one(hints.clients_per_ost)};
  choices.aggregators = choose_aggregators(hints, layout, machine);
  choices.window_bytes = choose_window(hints, layout, choices.aggregators.value);
  choices.aggregators.value = Windows(layout, choices.windows()).aggregators();
  choices.direct_writes = choose_direct(hints.direct_writes, layout);
  choices.direct_reads = choose_direct(hints.direct_reads, layout);
  choices.exchange_requests = !(hints.same_io_size && hints.contiguous_data);
  return choices;
}

Choice<Way> choose_way(const Hints& hints, const FileLayout& layout, const Requests& requests) {
  switch (hints.mode) {
    case Mode::off:
      return {.value = Way::pass, .because = Because::mode_hint};
    case Mode::collective:
      return {.value = Way::collect, .because = Because::mode_hint};
    case Mode::independent:
      return {.value = Way::independent, .because = Because::mode_hint};
    case Mode::log:
      return {.value = Way::log, .because = Because::mode_hint};
    case Mode::automatic:
    case Mode::choose:  // and logs were not chosen
      break;
  }
  const Switch collect = requests.write ? hints.collect_writes : hints.collect_reads;
  if (collect == Switch::enable) return {.value = Way::collect, .because = Because::collect_hint};
  if (collect == Switch::disable) return {.value = Way::independent, .because = Because::collect_hint};
  if (requests.bytes == 0) return {.value = Way::independent, .because = Because::nothing_to_move};
  if (requests.ranks_with_data <= 1) return {.value = Way::independent, .because = Because::one_rank};
  if (hints.big_request > 0) {
    const bool big = requests.shortest_piece > hints.big_request;
    return {.value = big ? Way::independent : Way::collect, .because = big ? Because::big_requests : Because::short_pieces};
  }
  const std::int64_t stripe = stripe_at(layout, requests.begin);
  if (requests.shortest_piece < stripe) return {.value = Way::collect, .because = Because::short_pieces};
  if (layout.striped && requests.interleaved && requests.shortest_piece / stripe < kInterleavedStripes) {
    return {.value = Way::collect, .because = Because::interleaved};
  }
  return {.value = Way::pass, .because = Because::long_pieces};
}

bool may_compare(const Hints& hints, const Choice<Way>& choice) {
  return hints.big_request == 0 && (choice.because == Because::short_pieces || choice.because == Because::interleaved);
}

Hints hints_in_force(const Hints& hints, const FileLayout& layout, const FileChoices& choices) {
  Hints told = hints;
  told.aggregators = choices.aggregators.value;
  told.clients_per_ost = choices.clients_per_ost;
  told.direct_writes = choices.direct_writes.value;
  told.direct_reads = choices.direct_reads.value;
  if (!layout.ranges.empty()) {
    const StripedRange& last = layout.ranges.back();
    told.stripe_size = last.stripe_size;
    if (layout.striped) told.stripes = static_cast<std::uint32_t>(last.osts.size());
    if (layout.striped && !last.osts.empty() && last.osts[0] < kUnknownOst)
      told.first_ost = static_cast<std::int32_t>(last.osts[0]);
  }
  return told;
}

}  // namespace iez::collective
