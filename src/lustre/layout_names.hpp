// What Lustre calls the parts of a layout, for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/layout.hpp"

namespace iez::lustre {

// "init", "stale", "prefer", ... in the words of lfs; a bit without a name as "0x1000".
std::vector<std::string> flag_names(std::uint32_t component_flags);

// "0x380000400:0x1b:0x0": sequence, object, version.
std::string object_name(const model::ObjectId& id);

// The number of the mirror a component belongs to: the high half of its id.
std::uint16_t mirror_of(const model::Component& component);

}  // namespace iez::lustre
