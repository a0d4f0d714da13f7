// What Lustre's allocator knows of the targets while it places files: who is active, and how much was free when it last asked.
//
// A target is active if nothing excludes it. With `bytes_visible`, what files write is seen before the next file is placed, and a
// target goes out of use once its free space falls below a low watermark (about 0.1 % of its capacity, at least 1 MiB), to come
// back above a high one (about 0.2 %). Without, only the table says what is free and who is full.
//
// Thread safety: none. Units: bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "placement/policy.hpp"
#include "placement/targets.hpp"

namespace iez::placement {

class LustreView {
 public:
  explicit LustreView(bool bytes_visible) : bytes_visible_(bytes_visible) {}

  // Takes the table's figures. Watermarks remember, unless targets or their servers are others than before: then all begins anew,
  // and the answer is false.
  bool refresh(const TargetTable& table);

  // An object of that size was written to each; a target may occur several times.
  void write(std::span<const std::uint32_t> targets, Bytes object_bytes);

  // Has free space or activity changed since the last call of this function?
  bool take_changed();

  bool active(std::uint32_t target) const { return active_[target] != 0; }
  bool degraded(std::uint32_t target) const { return degraded_[target] != 0; }
  std::size_t active_count() const { return active_count_; }
  Bytes available(std::uint32_t target) const { return available_[target]; }

 private:
  struct Seen {
    OstIndex ost;
    std::uint32_t server = 0;
    Bytes capacity;
    bool excluded = false;
    bool full = false;  // below a watermark
  };

  void judge(std::size_t target);  // sets full and active

  bool bytes_visible_;
  bool changed_ = false;
  std::vector<Seen> targets_;
  std::size_t active_count_ = 0;
  // By target, apart from the rest: scanned for every object that is placed.
  std::vector<Bytes> available_;
  std::vector<std::uint8_t> active_;  // 0 or 1
  std::vector<std::uint8_t> degraded_;
};

// What Lustre tries to give a demand. A count above the active targets, of all pools, is lowered to them and then taken for a
// default one, unless the file may be overstriped.
struct LustreWant {
  std::uint32_t count = 0;
  std::uint32_t minimum = 0;  // what an attempt must reach; a quarter less for a default count
  std::uint32_t per_target = 1;
  std::uint32_t pool = kAnyPool;
};
LustreWant lustre_want(const LustreView& view, const Demand& demand, bool count_is_default);

// For a demand that got no object at all.
[[nodiscard]] std::unexpected<Error> no_active_target(const TargetTable& table, std::size_t demand, std::uint32_t pool);

}  // namespace iez::placement
