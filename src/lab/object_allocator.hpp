// Which OSTs the objects of a new file go to: Lustre's way.
//
// A list of OSTs is taken as it is, and fails as a whole. A first OST is followed by the next ones in order. Anything else goes
// to placement's lustre-qos policy, which weighs free space, and is lustre-rr while that is even.
//
// Of each OST the allocator knows what its server told last, every few seconds. An OST counts as full below 0.1 % of its size (at
// least 1 MiB), until 0.2 % are free again. One whose server does not answer, or that takes no objects, gets none of files that
// leave the choice to it; if no server answers, it is as if all did: writing then waits for them.
//
// Limits. All components of a progressive file get their OSTs at once, not when they are first written. Pools do not exist; a
// pool's name is kept, as Lustre keeps unknown ones, and means nothing.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "lab/config.hpp"
#include "lab/metadata_store.hpp"
#include "lab/wire.hpp"
#include "model/layout.hpp"
#include "placement/lustre_qos.hpp"
#include "placement/targets.hpp"

namespace iez::lab {

class ObjectAllocator {
 public:
  struct Ost {
    OstSpace space;
    bool answers = false;  // its server
    bool active = true;    // by order; see set_active()
    bool full = false;

    bool usable() const { return active && space.usable != 0; }
  };

  explicit ObjectAllocator(const Config& config);

  void see(std::span<const OstSpace> osts);                     // told by a server; unknown OSTs are ignored
  void lose(std::uint32_t first_ost, std::uint32_t ost_count);  // their server does not answer any more
  void set_active(std::uint32_t ost, bool active);
  std::span<const Ost> osts() const { return osts_; }

  // The request with counts, sizes and, in `objects`, the OSTs of each component; the objects have no ids yet.
  //   ENOSPC: no OST has room; EREMOTEIO: a wanted OST takes no objects; E2BIG: the layout would not fit into an attribute.
  // now: of a clock that does not go back. REQUIRES: of parse_layout_request(), or default_request().
  [[nodiscard]] Answer<model::Layout> place(model::Layout request, Duration now);

  static model::Layout default_request();  // everything left to the file system

 private:
  Answer<std::vector<std::uint32_t>> choose(const model::Component& wanted);
  Answer<std::vector<std::uint32_t>> from_list(const model::Component& wanted) const;
  Answer<std::vector<std::uint32_t>> from_first(const model::Component& wanted, OstIndex index) const;
  Answer<std::vector<std::uint32_t>> by_policy(const model::Component& wanted);
  const placement::TargetTable& table();

  Config config_;
  std::vector<Ost> osts_;
  placement::LustreQos policy_;
  std::optional<placement::TargetTable> table_;  // none: to be made
  Duration last_{};
};

}  // namespace iez::lab
