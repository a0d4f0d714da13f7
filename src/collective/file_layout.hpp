// How a file is striped, as far as collective I/O needs to know it.
//
// Thread safety: plain values, pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "model/layout.hpp"

namespace iez::collective {

// Bytes [begin, end) of the file, dealt in stripes over `osts`. Stripes count from the start of the file, as on Lustre, also in a
// component that begins later: byte x is in stripe s = x / stripe_size, which lies on osts[s % size]. `begin` may be inside of a
// stripe. Every entry is an object of its own; an overstriped component names an OST more than once.
struct StripedRange {
  std::int64_t begin = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  std::int64_t stripe_size = 0;
  std::vector<std::uint32_t> osts;

  bool operator==(const StripedRange&) const = default;
};

// What stands for an OST where there is none: data on the metadata target; numbers from kUnknownOst on: objects that do not exist
// yet, each taken for an OST of its own.
inline constexpr std::uint32_t kMetadataTarget = 0xFFFFFFFF;
inline constexpr std::uint32_t kUnknownOst = 0x80000000;

struct FileLayout {
  std::vector<StripedRange> ranges;  // ascending, without gaps, from 0 to the largest offset
  bool striped = false;              // false: no Lustre; stripes are imagined, so that aggregators have something to divide

  bool operator==(const FileLayout&) const = default;
};

// Of a mirrored file: the first mirror that is not stale, which is the one that is written to. A component without objects yet
// has as many unknown OSTs as it will have stripes; if it wants all there are: as many as another component has. What a
// self-extending component will add belongs to it already. A layout that ends before the largest offset goes on as it ended.
//
// None if it cannot be: no components, a gap, a stripe size or count that the file system has yet to choose, stripes of less than
// 4 KiB.
std::optional<FileLayout> striped_layout(const model::Layout& layout);

// For other file systems. Numbers below 1 become 1, and a stripe has at least 4 KiB and at most 1 GiB.
FileLayout imagined_layout(std::int64_t stripe_size, std::uint32_t stripes);

// OSTs of the component that has most; at least 1.
std::uint32_t widest(const FileLayout& layout);

}  // namespace iez::collective
