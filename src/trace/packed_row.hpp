// A row as the merger keeps it: counters and both texts in one piece of memory, which is also how it is spilled to disk.
//
// Layout: PackedRow | name | renamed | zeros up to a multiple of 8.
//
// Thread safety: plain values. The bytes are of this machine and this run; they are no file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "trace/file_counters.hpp"

namespace iez::trace {

struct PackedRow {
  FileCounters counters;
  std::uint32_t name_size = 0;
  std::uint32_t renamed_size = 0;
  std::uint32_t source = 0;               // the last segment that was added; 0: count each row as other processes
  FileUse source_use = FileUse::neither;  // what that one did

  // REQUIRES for these: the texts follow in memory.
  std::string_view name() const { return {reinterpret_cast<const char*>(this + 1), name_size}; }
  std::string_view renamed() const { return {reinterpret_cast<const char*>(this + 1) + name_size, renamed_size}; }
};
static_assert(std::is_trivially_copyable_v<PackedRow> && sizeof(PackedRow) == 216);

constexpr std::size_t packed_size(std::size_t name_size, std::size_t renamed_size) {
  return (sizeof(PackedRow) + name_size + renamed_size + 7) / 8 * 8;
}
inline std::size_t packed_size(const PackedRow& row) { return packed_size(row.name_size, row.renamed_size); }

// Lays out a row at `to`, which has packed_size() bytes and an address that is a multiple of 8. The texts may not overlap it.
inline PackedRow* pack(std::byte* to, const PackedRow& head, std::string_view name, std::string_view renamed) {
  auto* const row = new (to) PackedRow(head);
  row->name_size = static_cast<std::uint32_t>(name.size());
  row->renamed_size = static_cast<std::uint32_t>(renamed.size());
  auto* const texts = reinterpret_cast<char*>(row + 1);
  if (!name.empty()) std::memcpy(texts, name.data(), name.size());
  if (!renamed.empty()) std::memcpy(texts + name.size(), renamed.data(), renamed.size());
  const std::size_t used = sizeof(PackedRow) + name.size() + renamed.size();
  std::memset(to + used, 0, packed_size(*row) - used);
  return row;
}

// Sets the row to what is packed; reuses the memory of its texts.
inline void unpack(const PackedRow& packed, TracedFile& file) {
  file.name.assign(packed.name());
  file.renamed.assign(packed.renamed());
  set_counters(file, packed.counters);
}

}  // namespace iez::trace
