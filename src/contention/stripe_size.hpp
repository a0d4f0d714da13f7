// Which stripe size suits how a file is written.
//
// What matters, in this order:
//  1. What Lustre accepts: a multiple of 64 KiB below 4 GiB; and no object without bytes, or the stripe count was for nothing.
//  2. At least one write request (RPC): smaller stripes cut every request in pieces.
//  3. As many OSTs at work at once as the file has. With fewer writers than stripes each writer must reach several OSTs
//     within what it has in flight, so stripes are small: one request, or one transfer.
//  4. One client per stripe. An object's extents are locked by client; when two clients write to one stripe, the lock travels
//     back and forth. So a stripe holds whole blocks of a rank (its contiguous bytes), and best all neighbouring blocks of a
//     node: block x ranks per node, where ranks are numbered node by node.
//
// The source's run (1,024 ranks, 16 a node, blocks of 4 MB, 100 segments, 160 stripes) was best at 128 MB: two nodes' worth of
// blocks. Rule 4 gives 64 MiB, one node's worth; both end where a node's bytes end. Which multiple is best depends on the
// collective buffering in between, and is what the tuner (tuner.hpp) finds out.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"

namespace iez::contention {

struct WritePattern {
  Bytes file_size;            // of one file
  std::uint64_t writers = 1;  // of that file
  std::uint64_t ranks_per_node = 1;
  Bytes transfer = Bytes::mib(1);  // of one write call
  std::optional<Bytes> block;      // contiguous bytes of one rank; none: not known
};

struct StripeSize {
  Bytes size;
  std::string reason;
};

// The largest stripe count with which every object gets at least one RPC; at least 1.
std::uint32_t useful_stripes(Bytes file_size, Bytes rpc_size, std::uint32_t max_stripes);

// REQUIRES: 1 <= stripes <= useful_stripes(file_size, rpc_size, ...) and rpc_size > 0.
StripeSize choose_stripe_size(const WritePattern& pattern, std::uint32_t stripes, Bytes rpc_size);

}  // namespace iez::contention
