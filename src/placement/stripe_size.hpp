// How large the stripes of a file should be.
//
// Lustre deals a file's bytes to its objects in stripes, in turn. One stripe per object (stripe size = bytes / count), as the
// first published methods have it, has three faults: the size passes Lustre's limit for large files, small files leave objects
// empty, and a program that writes from front to back uses one target at a time. choose_stripes() uses bytes / (count x rounds)
// instead.
//
// Thread safety: pure functions. Units: bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::placement {

struct Stripes {
  Bytes size;
  std::uint32_t count = 1;  // objects that hold data: never more than asked for
  Bytes object_bytes;       // of the largest object
};

// Stripes of a file for which nobody asked for a number: 1 up to 256 MiB, 2 up to 1 GiB, then 4; of a file that several processes
// write at least 2 from 64 MiB on.
std::uint32_t usual_stripe_count(Bytes bytes, bool shared);

// A stripe size of a few MiB, multiple of 64 KiB, for which the largest object is smallest: whole MiB and near 4 MiB among
// equals; near 1 MiB if several processes share the file, since they reach for neighbouring pieces at the same time, and those
// shall be on different targets. A file too small to give each object 64 KiB gets fewer objects. Lustre wants the end of a
// component to be a multiple of its stripe size: `end` is that end, or 0 for none. REQUIRES: bytes > 0, 1 <= count <= 2000, end a
// multiple of 64 KiB.
Stripes choose_stripes(Bytes bytes, std::uint32_t count, bool shared = false, Bytes end = {});

// With the stripe size given; fails if Lustre would not take it.
[[nodiscard]] Result<Stripes> fixed_stripes(Bytes bytes, std::uint32_t count, Bytes stripe_size);

// The largest object of a file of so many bytes. REQUIRES: count >= 1, stripe_size > 0.
Bytes largest_object(Bytes bytes, Bytes stripe_size, std::uint32_t count);

// The published methods, both in even multiples of 64 KiB. Method I gives the first count - 1 objects what they can fill and the
// last the rest; it needs objects of unequal stripe size, which Lustre does not have. Method II gives every object the same.
struct UnequalStripes {
  Bytes first;  // each of count - 1 objects
  Bytes last;
};
UnequalStripes method_one(Bytes bytes, std::uint32_t count);  // REQUIRES: count >= 2
Bytes method_two(Bytes bytes, std::uint32_t count);           // REQUIRES: count >= 1

}  // namespace iez::placement
