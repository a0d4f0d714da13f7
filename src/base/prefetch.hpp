// Asks for memory before its turn. In large tables most of the time goes into waiting for memory, record by record; a record
// that is asked for while others are worked on is there when its turn comes.
//
// Only a hint: it changes no result. Thread safety: as reading the address.
#pragma once

#include <cstddef>

namespace iez {

inline constexpr std::size_t kCacheLine = 64;

// The lines of so many bytes from here on; the memory need not be there.
inline void prefetch(const void* first, std::size_t bytes) {
  const auto* const line = static_cast<const std::byte*>(first);
  for (std::size_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(line + at, 1);
}

template <typename Record>
void prefetch(const Record& record) {
  prefetch(&record, sizeof(Record));
}

}  // namespace iez
