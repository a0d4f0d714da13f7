// The FILE slots of this process by name: a file that is opened a thousand times has one.
//
// Thread safety: any thread; async-signal-safe, lock-free. errno is changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iez::preload {

// The slot of the name, a new one if there is none; abi::kNoSlot if there is no room. REQUIRES: arena.ready().
std::uint32_t file_record(const char* name, std::size_t size);

// abi::kNoSlot if there is none. REQUIRES: arena.ready().
std::uint32_t find_file_record(const char* name, std::size_t size);

// The file that was renamed to this name, and still has it as far as this process knows; abi::kNoSlot if there is none.
// REQUIRES: arena.ready().
std::uint32_t find_renamed_record(const char* name, std::size_t size);

// Whether the file of the slot has another name now than that of its record: it was renamed after it was opened last.
bool is_renamed(std::uint32_t file);

// Its name was taken away, or given to another file. now: since the start.
void record_removed(std::uint32_t file, std::int64_t now);

// The file of the slot is now called so.
void record_rename(std::uint32_t file, const char* name, std::size_t size);

// The file grew from `before` to `after` bytes while it was open, and by more than was seen.
void record_growth(std::uint32_t file, std::uint64_t before, std::uint64_t after);

}  // namespace iez::preload
