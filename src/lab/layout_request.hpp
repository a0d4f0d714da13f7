// What somebody who sets `lustre.lov` wants, judged as Lustre judges it.
//
// The errno of each mistake, and what is silently accepted, are those that were seen on Lustre 2.17.0: a stripe size that is no
// multiple of 64 KiB, an unknown OST, an OST twice without overstriping, a first OST outside of the list are EINVAL; a list that
// is cut short is ERANGE; a count or a list beyond the number of OSTs is capped; a first OST within the list rotates it. Objects
// in a layout that was copied from another file mean nothing. Data on the MDT, mirrors and self-extending files, which a lab has
// not, are EOPNOTSUPP.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lab/metadata_store.hpp"
#include "model/layout.hpp"

namespace iez::lab {

// A request without objects, ids and state: for the allocator, or to be kept as the default of a directory.
[[nodiscard]] Answer<model::Layout> parse_layout_request(std::span<const std::byte> bytes, std::uint32_t ost_count);

// Asks for nothing: on a directory it takes the default away, as `lfs setstripe -d` does.
bool asks_for_nothing(const model::Layout& request);

}  // namespace iez::lab
