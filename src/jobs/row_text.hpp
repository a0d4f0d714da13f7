// Texts of rows as the store keeps them: valid UTF-8 without NUL, which is what every engine that reads Parquet takes for a text.
//
// A job id may be any bytes. Most are kept as they are, with quotes, newlines and emoji. Bytes that are no UTF-8 are written
// \xHH; a text that needs this, or has "\x" in it already, has its backslashes written \x5c: no two ids become the same.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace iez::jobs {

// Whether the store keeps it as it is.
bool is_storable(std::string_view text);

std::string storable(std::string_view text);
std::string from_storable(std::string_view text);  // its inverse

}  // namespace iez::jobs
