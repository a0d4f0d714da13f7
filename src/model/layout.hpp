// How a file's bytes are spread over OSTs: our value for every Lustre layout.
//
// A plain layout is one component that covers the whole file. A composite layout (progressive files, self-extending files,
// data on the MDT, mirrors) is several, each with its extent; within one mirror they cover the file in order.
// The same type serves as a request ("4 stripes of 1 MiB, anywhere") and as what a file has ("objects 17 and 23 on OSTs 3 and
// 1"): a request leaves `objects` empty and may leave counts and sizes to the file system.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::model {

// [start, end) in bytes of the file.
struct Extent {
  static constexpr std::uint64_t kEof = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t start = 0;
  std::uint64_t end = kEof;

  friend bool operator==(const Extent&, const Extent&) = default;
};

// Identifies one object of a file. Lustre shows either the FID form (sequence, object, version) or an old object id with its
// group; iez keeps the two words as they are and never interprets them.
struct ObjectId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend bool operator==(const ObjectId&, const ObjectId&) = default;
};

struct StripeObject {
  OstIndex ost;
  ObjectId id;
  std::uint32_t generation = 0;

  friend bool operator==(const StripeObject&, const StripeObject&) = default;
};

enum class Pattern : std::uint8_t {
  raid0,  // striped over OSTs
  mdt,    // the component's data lives on the metadata target
};

struct Component {
  // Asked of the file system: every OST there is.
  static constexpr std::uint16_t kAllOsts = 0xFFFF;

  Extent extent;
  Pattern pattern = Pattern::raid0;
  bool overstriped = false;           // an OST may hold several stripes
  bool released = false;              // archived: no objects until the file is restored
  Bytes stripe_size;                  // 0: the file system's default
  std::uint16_t stripe_count = 0;     // 0: the file system's default; kAllOsts: all
  std::optional<OstIndex> first_ost;  // where a request wants its first stripe
  std::string pool;                   // empty: none; at most 15 characters
  std::vector<OstIndex> osts;         // a request for exactly these OSTs, in this order
  std::vector<StripeObject> objects;  // what the file has; empty while not yet written (a progressive tail)
  ObjectId file_id;                   // of the file itself, as its layout repeats it; often 0, never needed
  std::uint32_t other_pattern = 0;    // pattern bits iez does not know, kept as found

  // Of a composite layout only.
  std::uint32_t id = 0;
  std::uint32_t flags = 0;             // LCME_FL_*: bits as Lustre defines them
  std::uint64_t timestamp = 0;         // of the last change to a stale mirror's state
  std::uint16_t generation = 0;        // of the striping inside this component
  std::uint32_t entry_generation = 0;  // of the component's entry in the composite
  std::uint32_t coding = 0;            // parity and compression parameters, kept as found
  Bytes extension_size;                // not 0: self-extending, grows in steps of this size
  bool has_id = false;                 // a request has none; a file's component always has

  friend bool operator==(const Component&, const Component&) = default;
};

struct Layout {
  bool composite = false;
  std::uint32_t generation = 0;
  std::uint16_t flags = 0;  // of a composite layout: mirror state
  std::uint16_t mirror_count = 1;
  std::vector<Component> components;  // exactly one when not composite

  friend bool operator==(const Layout&, const Layout&) = default;
};

inline constexpr Bytes kStripeAlignment = Bytes::kib(64);
inline constexpr Bytes kMaxStripeSize = Bytes{Bytes::gib(4).count - Bytes::kib(64).count};
inline constexpr std::size_t kMaxStripeCount = 2000;
inline constexpr std::size_t kMaxPoolName = 15;

// What Lustre would refuse, said in words: a stripe size that is not a multiple of 64 KiB or not below 4 GiB, an OST twice
// without overstriping, a first OST that is not in the list, extents with gaps or out of order, a pool name that is too long.
[[nodiscard]] Result<void> validate_request(const Layout& layout);

}  // namespace iez::model
