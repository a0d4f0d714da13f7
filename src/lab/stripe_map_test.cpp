#include "lab/stripe_map.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kKib = 1024;

model::Component component(std::uint64_t start, std::uint64_t end, std::uint64_t stripe_size, std::uint16_t count,
                           std::uint64_t first_object) {
  model::Component made;
  made.extent = {.start = start, .end = end};
  made.stripe_size = {stripe_size};
  made.stripe_count = count;
  for (std::uint16_t i = 0; i < count; ++i) {
    made.objects.push_back({.ost = {i}, .id = {.low = first_object + i}});
  }
  return made;
}

StripeMap map_of(std::vector<model::Component> components) {
  model::Layout layout;
  layout.composite = components.size() > 1;
  layout.components = std::move(components);
  auto made = StripeMap::make(layout);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : StripeMap{};
}

StripeMap plain(std::uint64_t stripe_size, std::uint16_t count) {
  return map_of({component(0, model::Extent::kEof, stripe_size, count, 10)});
}

TEST(StripeMap, DealsStripesInTurn) {
  const StripeMap map = plain(64 * kKib, 2);
  EXPECT_THAT(map.objects(), ElementsAre(ObjectName{.ost = 0, .object = 10}, ObjectName{.ost = 1, .object = 11}));
  EXPECT_THAT(map.pieces(60 * kKib, 80 * kKib),
              ElementsAre(Piece{.object = 0, .offset = 60 * kKib, .file_offset = 60 * kKib, .size = 4 * kKib},
                          Piece{.object = 1, .offset = 0, .file_offset = 64 * kKib, .size = 64 * kKib},
                          Piece{.object = 0, .offset = 64 * kKib, .file_offset = 128 * kKib, .size = 12 * kKib}));
}

TEST(StripeMap, OneObjectIsOnePiece) {
  EXPECT_THAT(plain(64 * kKib, 1).pieces(10, 10 * 64 * kKib),
              ElementsAre(Piece{.object = 0, .offset = 10, .file_offset = 10, .size = 640 * kKib}));
}

TEST(StripeMap, NothingHasNoPieces) {
  EXPECT_THAT(plain(64 * kKib, 3).pieces(1 << 20, 0), ElementsAre());
  EXPECT_THAT(StripeMap{}.pieces(5, 7), ElementsAre(Piece{.offset = 5, .file_offset = 5, .size = 7}));
  EXPECT_EQ(StripeMap{}.file_size({}), 0U);
}

TEST(StripeMap, ComponentsCountFromTheStartOfTheFile) {
  const StripeMap map =
      map_of({component(0, 128 * kKib, 64 * kKib, 1, 1), component(128 * kKib, model::Extent::kEof, 64 * kKib, 2, 2)});
  EXPECT_THAT(map.pieces(120 * kKib, 80 * kKib),
              ElementsAre(Piece{.object = 0, .offset = 120 * kKib, .file_offset = 120 * kKib, .size = 8 * kKib},
                          Piece{.object = 1, .offset = 64 * kKib, .file_offset = 128 * kKib, .size = 64 * kKib},
                          Piece{.object = 2, .offset = 64 * kKib, .file_offset = 192 * kKib, .size = 8 * kKib}));
  EXPECT_EQ(map.file_size(std::vector<std::uint64_t>{128 * kKib, 0, 72 * kKib}), 200 * kKib);
}

TEST(StripeMap, WhereThereIsNoObject) {
  model::Component empty;
  empty.extent = {.start = 64 * kKib, .end = 128 * kKib};
  empty.stripe_size = {64 * kKib};
  empty.stripe_count = 4;
  const StripeMap map = map_of({component(0, 64 * kKib, 64 * kKib, 1, 1), empty});
  EXPECT_THAT(map.pieces(60 * kKib, 100 * kKib),
              ElementsAre(Piece{.object = 0, .offset = 60 * kKib, .file_offset = 60 * kKib, .size = 4 * kKib},
                          Piece{.offset = 64 * kKib, .file_offset = 64 * kKib, .size = 96 * kKib}));
}

TEST(StripeMap, EndsOfTheNumbers) {
  const StripeMap map = plain(64 * kKib, 3);
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  const auto last = map.pieces(kEnd - 10, 100);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last.front().size, 10U);
  EXPECT_EQ(map.file_range(0, 0, kEnd), (FileRange{.start = 0, .end = kEnd}));
  EXPECT_EQ(map.file_range(2, kEnd / 2, kEnd / 2 + 1).end, kEnd);
  EXPECT_EQ(map.file_range(1, 5, 5), (FileRange{.start = 64 * kKib + 5, .end = 64 * kKib + 5}));
}

TEST(StripeMap, RefusesWhatALabHasNot) {
  model::Layout layout;
  layout.components = {component(0, model::Extent::kEof, 64 * kKib, 2, 1)};
  const auto message = [&layout] {
    const auto made = StripeMap::make(layout);
    return made ? std::string("made") : made.error().message;
  };
  EXPECT_EQ(message(), "made");
  layout.mirror_count = 2;
  EXPECT_THAT(message(), HasSubstr("2 mirrors"));
  layout.mirror_count = 1;
  layout.components[0].released = true;
  EXPECT_THAT(message(), HasSubstr("released"));
  layout.components[0].released = false;
  layout.components[0].objects.pop_back();
  EXPECT_THAT(message(), HasSubstr("1 objects for 2 stripes"));
  layout.components[0] = component(0, model::Extent::kEof, 0, 2, 1);
  EXPECT_THAT(message(), HasSubstr("stripe size of 0"));
  layout.components[0].pattern = model::Pattern::mdt;
  EXPECT_THAT(message(), HasSubstr("MDT"));
}

// ---- Against a model: a byte at a time ---------------------------------------------------------------------------------------

struct Where {
  std::size_t object = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const Where&, const Where&) = default;
};

struct Random {
  std::vector<model::Component> components;
  std::uint64_t end = 0;  // bytes to look at
};

// Tiny stripes: the map takes any size, and a few hundred bytes then cross everything.
Random draw(Rng& rng) {
  Random made;
  const std::size_t components = rng.between(1, 3);
  std::uint64_t start = 0;
  std::uint64_t objects = 0;
  for (std::size_t i = 0; i < components; ++i) {
    const bool last = i + 1 == components;
    const std::uint64_t stripe_size = rng.between(1, 12);
    const auto count = static_cast<std::uint16_t>(rng.between(1, 6));
    // Lustre's components end at multiples of their stripe size; of all stripes they need not.
    const std::uint64_t end = last ? model::Extent::kEof : (start / stripe_size + rng.between(1, 12)) * stripe_size;
    made.components.push_back(component(start, std::max(end, start + 1), stripe_size, count, objects));
    if (rng.chance(0.5)) {  // overstriped: OSTs repeat
      for (auto& object : made.components.back().objects) object.ost = {static_cast<std::uint32_t>(rng.below(2))};
    }
    objects += count;
    start = made.components.back().extent.end;
  }
  made.end = 300;
  return made;
}

// By walking through every component from the first byte of the file and dealing stripes, byte after byte.
std::vector<Where> walk(const Random& layout) {
  std::vector<Where> bytes(layout.end);
  std::size_t first = 0;
  for (const model::Component& part : layout.components) {
    std::vector<std::uint64_t> dealt(part.stripe_count, 0);
    std::size_t object = 0;
    std::uint64_t in_stripe = 0;
    for (std::uint64_t at = 0; at < layout.end; ++at) {
      if (in_stripe == part.stripe_size.count) {
        in_stripe = 0;
        object = (object + 1) % part.stripe_count;
      }
      if (at >= part.extent.start && at < part.extent.end) bytes[at] = {.object = first + object, .offset = dealt[object]};
      ++dealt[object];
      ++in_stripe;
    }
    first += part.stripe_count;
  }
  return bytes;
}

TEST(StripeMapModel, PiecesAreTheBytes) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const Random layout = draw(rng);
    const StripeMap map = map_of(layout.components);
    const std::vector<Where> bytes = walk(layout);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t offset = rng.below(layout.end);
      const std::uint64_t size = rng.below(layout.end - offset) + 1;
      std::uint64_t at = offset;
      for (const Piece& piece : map.pieces(offset, size)) {
        ASSERT_EQ(piece.file_offset, at);
        ASSERT_GT(piece.size, 0U);
        for (std::uint64_t i = 0; i < piece.size; ++i, ++at) {
          ASSERT_EQ(bytes[at], (Where{.object = piece.object, .offset = piece.offset + i})) << "byte " << at;
        }
      }
      ASSERT_EQ(at, offset + size);
    }
  }
}

TEST(StripeMapModel, SizesComeFromObjects) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const Random layout = draw(rng);
    const StripeMap map = map_of(layout.components);
    const std::vector<Where> bytes = walk(layout);
    std::vector<std::uint64_t> sizes(map.objects().size(), 0);
    std::uint64_t size = 0;
    for (int round = 0; round < 6; ++round) {
      if (rng.chance(0.6)) {  // a write
        const std::uint64_t offset = rng.below(layout.end);
        const std::uint64_t length = rng.below(layout.end - offset) + 1;
        for (std::uint64_t at = offset; at < offset + length; ++at) {
          sizes[bytes[at].object] = std::max(sizes[bytes[at].object], bytes[at].offset + 1);
        }
        size = std::max(size, offset + length);
      } else {  // a truncate, either way
        size = rng.below(layout.end);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          const StripeMap::ObjectSize to = map.object_size(i, size);
          if (!to.unchanged) sizes[i] = to.size;
        }
        // Nothing behind the end is left.
        for (std::uint64_t at = size; at < layout.end; ++at)
          ASSERT_LE(sizes[bytes[at].object], bytes[at].offset) << "byte " << at;
      }
      ASSERT_EQ(map.file_size(sizes), size) << "round " << round;
    }
  }
}

TEST(StripeMapModel, RangesOfTheFileHoldThoseOfObjects) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const Random layout = draw(rng);
    const StripeMap map = map_of(layout.components);
    const std::vector<Where> bytes = walk(layout);
    const std::size_t object = rng.below(map.objects().size());
    const std::uint64_t start = rng.below(60);
    const std::uint64_t end = start + rng.below(60) + 1;
    const FileRange range = map.file_range(object, start, end);
    bool found = false;
    for (std::uint64_t at = 0; at < layout.end; ++at) {
      if (bytes[at].object != object || bytes[at].offset < start || bytes[at].offset >= end) continue;
      found = true;
      ASSERT_GE(at, range.start);
      ASSERT_LT(at, range.end);
    }
    // Tight where the whole of it is within the component.
    if (found && range.start < layout.end && bytes[range.start].object == object) {
      EXPECT_EQ(bytes[range.start].offset, start);
    }
  }
}

}  // namespace
}  // namespace iez::lab
