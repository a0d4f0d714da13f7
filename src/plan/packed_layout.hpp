// A layout as the plan file keeps it, expanded to the request that the file system takes.
//
// Freestanding, as plan_lookup.hpp. The inverse is pack_layout() in plan_writer.hpp.
//
// Thread safety: pure function.
#pragma once

#include <cstddef>

#include "plan/plan_lookup.hpp"

namespace iez::plan {

// False, if the bytes are no layout; `to` holds anything then. `packed` may lie within the bytes of `to`. Not for shared ones.
bool expand_layout(const std::byte* packed, std::size_t size, FoundLayout& to);

}  // namespace iez::plan
