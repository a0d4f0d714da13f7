// The tables and views, and the way to them from every version that was released.
//
// Version 1 had one user only, no keys, and no names of creation. A migration step looks at what is there first, so that steps
// which a server had committed before it failed can be repeated.
//
// Thread safety: none beyond that of the session.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/session.hpp"

namespace iez::store {

inline constexpr std::uint32_t kOldestSchema = 1;

// Nothing: there is none. Fails for a database that is something else.
[[nodiscard]] Outcome<std::optional<std::uint32_t>> schema_version(Session& session);

// From nothing, or from an older version; does nothing for the present one. Another process that does the same is waited for.
// Fails without a change if the version is not one of ours.
[[nodiscard]] Outcome<Migration> bring_up(Session& session, std::int64_t now_ns);

// What bring_up() would do.
std::vector<std::string> steps_from(std::optional<std::uint32_t> version);

// A version that this program does not know.
Error unknown_version(std::uint32_t version);

// 32 hexadecimal digits that nobody else has.
std::string new_key();

}  // namespace iez::store
