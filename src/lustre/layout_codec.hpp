// Between the bytes of `lustre.lov` and model::Layout.
//
// Understands plain layouts (with pool, OST list, overstriping, released), composite ones (progressive, self-extending, data on
// the MDT, mirrors) and the defaults of directories. docs/formats/layout.md has the bytes.
//
// decode_layout() never trusts a count, an offset or a size before comparing it with the bytes at hand; memory stays in
// proportion to the input. encode_layout(decode_layout(bytes)) gives the same bytes, but for what carries no meaning:
//   - reserved bytes, bytes behind a pool name's zero, and the object words of an OST list become 0;
//   - pattern 0, which Lustre takes for RAID 0, becomes 1; a v3 layout without a pool becomes v1;
//   - sub-layouts are packed in order; room kept behind a component that has no objects yet is dropped.
//
// A plain layout of a file that was cut exactly behind its fixed part is a valid directory default: only the caller who knows
// that it was a file's can tell.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "model/layout.hpp"

namespace iez::lustre {

// Errc::parse names the field, its value and what was expected; Errc::unsupported is for foreign layouts, unknown magics and
// unknown patterns.
[[nodiscard]] Result<model::Layout> decode_layout(std::span<const std::byte> bytes);

// What a file or directory has. Fails with Errc::invalid_argument when the layout holds what the bytes cannot say: objects that
// do not match the stripe count, a component id in a plain layout, an OST index that does not fit.
[[nodiscard]] Result<std::vector<std::byte>> encode_layout(const model::Layout& layout);

// What setting a layout takes: v1 for count, size and first OST, v3 with a pool, an explicit list with OSTs; composite only when
// layout.composite. A request has no objects, ids, generations or state flags: Errc::invalid_argument. It should have passed
// model::validate_request().
[[nodiscard]] Result<std::vector<std::byte>> encode_request(const model::Layout& layout);

}  // namespace iez::lustre
