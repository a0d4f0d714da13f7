#include "collective/choices.hpp"

#include <set>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "collective/choice_text.hpp"

namespace iez::collective {
namespace {

constexpr std::int64_t kMib = 1 << 20;

FileLayout striped(std::int64_t stripe_size, std::uint32_t osts) {
  FileLayout layout = imagined_layout(stripe_size, osts);
  layout.striped = true;
  return layout;
}

Choice<std::uint32_t> aggregators(const Hints& hints, const FileLayout& layout, const Machine& machine) {
  return choose_for_file(hints, layout, machine).aggregators;
}

using Count = Choice<std::uint32_t>;
using Size = Choice<std::int64_t>;
using Path = Choice<Way>;

TEST(Choices, AggregatorsOnLustre) {
  const Machine large{.ranks = 1024, .nodes = 64, .cpus_per_node = 16};
  EXPECT_EQ(aggregators({}, striped(kMib, 72), large), (Count{72, Because::every_ost}));
  EXPECT_EQ(aggregators({.clients_per_ost = 4}, striped(kMib, 72), large), (Count{288, Because::every_ost}));
  EXPECT_EQ(aggregators({.aggregators = 32}, striped(kMib, 72), large), (Count{24, Because::nodes_hint}));  // three OSTs each
  EXPECT_EQ(aggregators({.aggregators = 500}, striped(kMib, 72), large), (Count{72, Because::every_ost}));
  EXPECT_EQ(aggregators({}, striped(kMib, 1), large), (Count{1, Because::every_ost}));
  // An OST each though that is more than CPUs, but not far more.
  const Machine small{.ranks = 16, .nodes = 1, .cpus_per_node = 4};
  EXPECT_EQ(aggregators({}, striped(kMib, 5), small), (Count{5, Because::every_ost}));
  EXPECT_EQ(aggregators({}, striped(kMib, 8), small), (Count{8, Because::every_ost}));
  EXPECT_EQ(aggregators({}, striped(kMib, 9), small), (Count{3, Because::every_cpu}));  // four would be no faster: 3, 2, 2, 2
  EXPECT_EQ(aggregators({}, striped(kMib, 13), small), (Count{4, Because::every_cpu}));
  EXPECT_EQ(aggregators({.clients_per_ost = 9}, striped(kMib, 3), small), (Count{6, Because::every_cpu}));  // two of each
  EXPECT_EQ(aggregators({}, striped(kMib, 4), {.ranks = 2, .nodes = 1, .cpus_per_node = 64}), (Count{2, Because::every_rank}));
}

TEST(Choices, AggregatorsElsewhere) {
  const Machine machine{.ranks = 32, .nodes = 2, .cpus_per_node = 8};
  const FileLayout layout = layout_without_stripes({}, machine);
  EXPECT_EQ(layout, imagined_layout(kMib, 2));
  EXPECT_EQ(aggregators({}, layout, machine), (Count{2, Because::every_node}));
  EXPECT_EQ(layout_without_stripes({.aggregators = 3, .stripe_size = 4 * kMib}, machine), imagined_layout(4 * kMib, 3));
  EXPECT_EQ(layout_without_stripes({.aggregators = 300}, machine), imagined_layout(kMib, 32));
  // Nothing is known of the machine.
  EXPECT_EQ(layout_without_stripes({}, {.ranks = 4, .nodes = 0, .cpus_per_node = 0}), imagined_layout(kMib, 1));
  EXPECT_EQ(aggregators({}, imagined_layout(kMib, 1), {.ranks = 0, .nodes = 0, .cpus_per_node = 0}).value, 1U);
}

TEST(Choices, Windows) {
  const Machine machine{.ranks = 64, .nodes = 4, .cpus_per_node = 16};
  const auto window = [&](const Hints& hints, const FileLayout& layout) {
    return choose_for_file(hints, layout, machine).window_bytes;
  };
  EXPECT_EQ(window({}, striped(kMib, 4)), (Size{kMib, Because::short_start}));
  EXPECT_EQ(window({}, striped(192 << 10, 4)), (Size{(5 * 192) << 10, Because::short_start}));  // whole stripes
  EXPECT_EQ(window({}, striped(3 * kMib, 4)), (Size{3 * kMib, Because::stripe_size}));
  EXPECT_EQ(window({.direct_writes = true}, striped(kMib, 4)), (Size{4 * kMib, Because::request_size}));
  EXPECT_EQ(window({.direct_reads = true}, striped(3 * kMib, 4)), (Size{3 * kMib, Because::request_size}));
  EXPECT_EQ(window({}, striped(8 * kMib, 4)), (Size{8 * kMib, Because::stripe_size}));
  EXPECT_EQ(window({}, striped(64 * kMib, 4)), (Size{8 * kMib, Because::buffer_hint}));
  EXPECT_EQ(window({.buffer_bytes = 128 * kMib}, striped(64 * kMib, 4)), (Size{64 * kMib, Because::stripe_size}));
  EXPECT_EQ(window({.buffer_bytes = kMib}, striped(kMib, 4)), (Size{kMib / 2, Because::buffer_hint}));
  EXPECT_EQ(window({.buffer_bytes = 1}, striped(kMib, 4)), (Size{4096, Because::buffer_hint}));
  EXPECT_EQ(window({.aggregators = 2}, striped(kMib, 4)), (Size{2 * kMib, Because::osts_of_one}));
  EXPECT_EQ(window({.aggregators = 2, .buffer_bytes = 4 * kMib}, striped(kMib, 6)), (Size{2 * kMib, Because::buffer_hint}));
  EXPECT_EQ(window({}, imagined_layout(kMib, 4)), (Size{2 * kMib, Because::processor_cache}));
}

TEST(Choices, MemoryStaysWithinTheHint) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Hints hints{.clients_per_ost = static_cast<std::uint32_t>(rng.between(1, 4)),
                      .aggregators = static_cast<std::uint32_t>(rng.chance(0.5) ? 0 : rng.between(1, 40)),
                      .buffer_bytes = static_cast<std::int64_t>(rng.between(8 << 10, 64 << 20))};
    const auto stripe = static_cast<std::int64_t>(rng.between(1, 2000)) * (64 << 10);
    const FileLayout layout = rng.chance(0.8) ? striped(stripe, static_cast<std::uint32_t>(rng.between(1, 50)))
                                              : imagined_layout(stripe, static_cast<std::uint32_t>(rng.between(1, 50)));
    const Machine machine{.ranks = static_cast<std::uint32_t>(rng.between(1, 300)),
                          .nodes = static_cast<std::uint32_t>(rng.between(1, 8)),
                          .cpus_per_node = static_cast<std::uint32_t>(rng.between(1, 32))};
    const FileChoices choices = choose_for_file(hints, layout, machine);
    ASSERT_LE(2 * choices.window_bytes.value, hints.buffer_bytes);
    ASSERT_GE(choices.aggregators.value, 1U);
    ASSERT_LE(choices.aggregators.value, machine.ranks);
    if (hints.aggregators > 0) {
      ASSERT_LE(choices.aggregators.value, hints.aggregators);
    }
    const Windows windows(layout, choices.windows());
    ASSERT_EQ(windows.aggregators(), choices.aggregators.value);
    ASSERT_EQ(windows.window_bytes(), choices.window_bytes.value);
  }
}

TEST(Choices, DirectIo) {
  const auto direct = [](const Hints& hints, std::int64_t stripe) { return choose_for_file(hints, striped(stripe, 2), {}); };
  EXPECT_EQ(direct({}, kMib).direct_writes, (Choice<bool>{false, Because::not_asked}));
  EXPECT_EQ(direct({.direct_writes = true}, kMib).direct_writes, (Choice<bool>{true, Because::asked}));
  EXPECT_EQ(direct({.direct_writes = true}, kMib).direct_reads, (Choice<bool>{false, Because::not_asked}));
  EXPECT_EQ(direct({.direct_reads = true}, kMib).direct_reads, (Choice<bool>{true, Because::asked}));
  EXPECT_EQ(direct({.direct_reads = true}, kMib + 512).direct_reads, (Choice<bool>{false, Because::not_aligned}));
}

TEST(Choices, TheExchangeIsSkippedWhenBothHintsHold) {
  EXPECT_TRUE(choose_for_file({}, striped(kMib, 2), {}).exchange_requests);
  EXPECT_TRUE(choose_for_file({.same_io_size = true}, striped(kMib, 2), {}).exchange_requests);
  EXPECT_FALSE(choose_for_file({.same_io_size = true, .contiguous_data = true}, striped(kMib, 2), {}).exchange_requests);
}

Requests pieces_of(std::int64_t length, bool interleaved) {
  return {.interleaved = interleaved,
          .ranks_with_data = 16,
          .bytes = 128 * kMib,
          .shortest_piece = length,
          .longest_piece = length,
          .begin = 0,
          .end = 128 * kMib};
}

TEST(Choices, HintsSayWhatIsDone) {
  const FileLayout layout = striped(kMib, 4);
  const Requests small = pieces_of(1024, true);
  const Requests large = pieces_of(64 * kMib, false);
  EXPECT_EQ(choose_way({.mode = Mode::off}, layout, small), (Path{Way::pass, Because::mode_hint}));
  EXPECT_EQ(choose_way({.mode = Mode::log}, layout, small), (Path{Way::log, Because::mode_hint}));
  EXPECT_EQ(choose_way({.mode = Mode::independent, .collect_writes = Switch::enable}, layout, small),
            (Path{Way::independent, Because::mode_hint}));
  EXPECT_EQ(choose_way({.mode = Mode::collective}, layout, large), (Path{Way::collect, Because::mode_hint}));
  EXPECT_EQ(choose_way({.collect_writes = Switch::enable}, layout, large), (Path{Way::collect, Because::collect_hint}));
  EXPECT_EQ(choose_way({.collect_writes = Switch::disable}, layout, small), (Path{Way::independent, Because::collect_hint}));
  EXPECT_EQ(choose_way({.collect_reads = Switch::disable}, layout, small), (Path{Way::collect, Because::short_pieces}));
  Requests read = small;
  read.write = false;
  EXPECT_EQ(choose_way({.collect_reads = Switch::disable}, layout, read), (Path{Way::independent, Because::collect_hint}));
  EXPECT_EQ(choose_way({.big_request = 4096}, layout, pieces_of(4097, true)), (Path{Way::independent, Because::big_requests}));
  EXPECT_EQ(choose_way({.big_request = 4096}, layout, pieces_of(4096, false)), (Path{Way::collect, Because::short_pieces}));
  EXPECT_EQ(choose_way({.big_request = 128 * kMib}, layout, large), (Path{Way::collect, Because::short_pieces}));
}

TEST(Choices, WhatTheProgramSaysIsNotCompared) {
  const FileLayout layout = striped(kMib, 4);
  const auto compared = [&layout](const Hints& hints, const Requests& requests) {
    return may_compare(hints, choose_way(hints, layout, requests));
  };
  const Requests small = pieces_of(1024, true);
  EXPECT_TRUE(compared({}, small));
  EXPECT_TRUE(compared({}, pieces_of(kMib, true))) << "interleaved";
  EXPECT_FALSE(compared({}, pieces_of(kMib, false))) << "long";
  EXPECT_FALSE(compared({.mode = Mode::collective}, small));
  EXPECT_FALSE(compared({.mode = Mode::independent}, small));
  EXPECT_FALSE(compared({.collect_writes = Switch::enable}, small));
  EXPECT_FALSE(compared({.big_request = 4096}, small));
}

TEST(Choices, SizeAndInterleavingSayWhatIsDone) {
  const FileLayout layout = striped(kMib, 4);
  EXPECT_EQ(choose_way({}, layout, pieces_of(kMib - 1, false)), (Path{Way::collect, Because::short_pieces}));
  EXPECT_EQ(choose_way({}, layout, pieces_of(kMib - 1, true)), (Path{Way::collect, Because::short_pieces}));
  EXPECT_EQ(choose_way({}, layout, pieces_of(kMib, false)), (Path{Way::pass, Because::long_pieces}));
  EXPECT_EQ(choose_way({}, layout, pieces_of(kMib, true)), (Path{Way::collect, Because::interleaved}));
  EXPECT_EQ(choose_way({}, layout, pieces_of(4 * kMib, true)), (Path{Way::pass, Because::long_pieces}));
  EXPECT_EQ(choose_way({}, imagined_layout(kMib, 4), pieces_of(kMib, true)), (Path{Way::pass, Because::long_pieces}));
  EXPECT_EQ(choose_way({}, imagined_layout(kMib, 4), pieces_of(1024, true)), (Path{Way::collect, Because::short_pieces}));
  Requests one = pieces_of(1024, false);
  one.ranks_with_data = 1;
  EXPECT_EQ(choose_way({}, layout, one), (Path{Way::independent, Because::one_rank}));
  EXPECT_EQ(choose_way({}, layout, {}), (Path{Way::independent, Because::nothing_to_move}));
  // Which stripe: that of the component where the data are.
  FileLayout progressive = striped(kMib, 1);
  progressive.ranges[0].end = 64 * kMib;
  progressive.ranges.push_back({.begin = 64 * kMib, .stripe_size = 16 * kMib, .osts = {1, 2, 3}});
  Requests late = pieces_of(2 * kMib, false);
  late.begin = 64 * kMib;
  EXPECT_EQ(choose_way({}, progressive, late).because, Because::short_pieces);
  EXPECT_EQ(choose_way({}, progressive, pieces_of(2 * kMib, false)).because, Because::long_pieces);
}

TEST(Choices, WhatGetInfoTells) {
  const FileLayout layout = striped(2 * kMib, 7);
  const Hints hints{.direct_writes = true};
  const Hints told = hints_in_force(hints, layout, choose_for_file(hints, layout, {.ranks = 64, .nodes = 8, .cpus_per_node = 8}));
  EXPECT_EQ(told, (Hints{.direct_writes = true, .aggregators = 7, .stripe_size = 2 * kMib, .stripes = 7, .first_ost = 0}));
  const FileLayout other = imagined_layout(kMib, 2);
  const Hints elsewhere = hints_in_force({}, other, choose_for_file({}, other, {.ranks = 16, .nodes = 2, .cpus_per_node = 2}));
  EXPECT_EQ(elsewhere, (Hints{.aggregators = 2, .stripe_size = kMib}));
}

TEST(ChoiceText, EveryReasonHasItsOwnWords) {
  std::set<std::string_view> words;
  std::set<std::string_view> texts;
  for (int i = 0; i <= static_cast<int>(Because::not_aligned); ++i) {
    words.insert(to_word(static_cast<Because>(i)));
    texts.insert(to_text(static_cast<Because>(i)));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(Because::not_aligned) + 1);
  EXPECT_EQ(texts.size(), words.size());
  EXPECT_EQ(to_word(Way::independent), "independent");
}

}  // namespace
}  // namespace iez::collective
