// What is asked for: the files about to be written.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace iez::placement {

inline constexpr std::int32_t kAllTargets = -1;  // a stripe count: as many as the pool has

// A piece of a progressive file, from where the one before ends.
struct RequestComponent {
  std::uint64_t end = 0;  // model::Extent::kEof for the last
  std::int32_t stripe_count = 1;
  std::optional<Bytes> stripe_size;
  std::string pool;
};

struct Request {
  std::string name;
  Bytes bytes;  // to be written; not 0
  std::int32_t stripe_count = 1;
  std::optional<Bytes> stripe_size;          // none: chosen (stripe_size.hpp)
  bool shared = false;                       // several processes write it
  std::string pool;                          // empty: all targets
  bool overstripe = false;                   // a count above the number of targets puts several stripes on one
  std::vector<RequestComponent> components;  // not empty: progressive; stripe_count, stripe_size and pool above are not used
  // Files of one number are written (or read) at the same time. Only plans by phases (planning/) heed them.
  std::optional<std::uint32_t> phase;
  std::optional<std::uint32_t> read_phase;
};

inline constexpr std::uint32_t kMaxPhase = 999'999;

}  // namespace iez::placement
