// What the bytes of a component mean depends on whether it has its objects yet. Decoder and encoder must agree on that.
#pragma once

#include <cstdint>

#include "lustre/layout_abi.hpp"
#include "model/layout.hpp"

namespace iez::lustre {

inline constexpr std::uint32_t kKnownPatternBits =
    abi::kPatternRaid0 | abi::kPatternMdt | abi::kPatternOverstriping | abi::kPatternReleased;

// The 16-bit word behind the stripe count means two things: in what a file has, a generation; in a request, in a default and in a
// component without objects, the wanted first OST.
inline bool is_instantiated(const model::Component& component) {
  if (!component.osts.empty()) return false;
  return !component.objects.empty() || component.released || (component.flags & abi::kComponentInit) != 0;
}

// An instantiated component over OSTs has one object a stripe, unless its data went to the archive.
inline bool must_have_objects(const model::Component& component) {
  return (component.flags & abi::kComponentInit) != 0 && component.pattern == model::Pattern::raid0 && !component.released &&
         component.stripe_count != 0;
}

}  // namespace iez::lustre
