#include "file_records.hpp"

#include <cstring>

#include "path_names.hpp"
#include "recorder.hpp"

namespace iez::preload {

namespace {

// A word of the index: the upper half of the hash, and the slot plus 1.
std::uint64_t word_of(std::uint64_t hash, std::uint32_t slot) { return (hash & 0xFFFFFFFF'00000000) | (slot + std::uint64_t{1}); }
bool same_hash(std::uint64_t word, std::uint64_t hash) { return (word ^ hash) >> 32U == 0; }
std::uint32_t slot_of(std::uint64_t word) { return static_cast<std::uint32_t>(word) - 1; }

// What a slot of this type is called: that of a file, or that of a rename.
bool has_name(std::uint32_t slot, std::uint32_t type, const char* name, std::size_t size) {
  if (arena.slot<abi::Slot>(slot).type != type) return false;
  const bool is_file = type == abi::kTypeFile;
  const auto& file = arena.slot<abi::FileSlot>(slot);
  const auto& rename = arena.slot<abi::RenameSlot>(slot);
  if ((is_file ? file.name_size : rename.name_size) != size) return false;
  const std::size_t room = is_file ? abi::kFileNameRoom : abi::kRenameRoom;
  std::size_t done = size < room ? size : room;
  if (std::memcmp(is_file ? file.name : rename.name, name, done) != 0) return false;
  while (done < size) {
    const auto& more = arena.slot<abi::NameSlot>(++slot);
    if (std::memcmp(more.text, name + done, more.size) != 0) return false;
    done += more.size;
  }
  return true;
}

// The rest of a name into the slots behind its owner.
void put_name_parts(std::uint32_t owner, const char* name, std::size_t size, std::size_t done) {
  for (std::uint32_t part = 1; done < size; ++part) {
    auto& more = arena.slot<abi::NameSlot>(owner + part);
    const std::size_t count = size - done < abi::kNameRoom ? size - done : abi::kNameRoom;
    more.owner = owner;
    more.part = part;
    more.size = static_cast<std::uint32_t>(count);
    std::memcpy(more.text, name + done, count);
    abi::commit_slot(more.type, abi::kTypeName);
    done += count;
  }
}

std::uint32_t add_record(const char* name, std::size_t size) {
  const std::uint32_t slot = arena.claim(1 + abi::name_slots(size, abi::kFileNameRoom));
  if (slot == abi::kNoSlot) return slot;
  auto& file = arena.slot<abi::FileSlot>(slot);
  const std::size_t here = size < abi::kFileNameRoom ? size : abi::kFileNameRoom;
  file.name_size = static_cast<std::uint32_t>(size);
  std::memcpy(file.name, name, here);
  file.first_ns = file.last_ns = arena.since_start(clock_ns(CLOCK_MONOTONIC));
  put_name_parts(slot, name, size, here);
  file.times = arena.claim_times();
  if (abi::Times* const times = times_of(file); times != nullptr) times->file = slot + 1;
  abi::commit_slot(file.type, abi::kTypeFile);
  return slot;
}

// The newest rename to a name is found by it; older ones are of files that it took the place of.
void enter_rename(std::uint32_t slot, const char* name, std::size_t size) {
  const std::uint64_t hash = hash_of(name, size);
  for (std::uint32_t probe = 0; probe < Arena::kIndexSize; ++probe) {
    std::uint64_t& place = arena.index()[(hash + probe) & (Arena::kIndexSize - 1)];
    std::uint64_t word = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
    if (word != 0 && !(same_hash(word, hash) && has_name(slot_of(word), abi::kTypeRename, name, size))) continue;
    if (__atomic_compare_exchange_n(&place, &word, word_of(hash, slot), false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) return;
    --probe;  // another thread was faster: what is there now?
  }
}

std::uint32_t find_slot(std::uint32_t type, const char* name, std::size_t size) {
  const std::uint64_t hash = hash_of(name, size);
  for (std::uint32_t probe = 0; probe < Arena::kIndexSize; ++probe) {
    const std::uint64_t word = __atomic_load_n(&arena.index()[(hash + probe) & (Arena::kIndexSize - 1)], __ATOMIC_ACQUIRE);
    if (word == 0) break;
    if (same_hash(word, hash) && has_name(slot_of(word), type, name, size)) return slot_of(word);
  }
  return abi::kNoSlot;
}

}  // namespace

std::uint32_t find_file_record(const char* name, std::size_t size) { return find_slot(abi::kTypeFile, name, size); }

bool is_renamed(std::uint32_t file) {
  const auto& record = arena.slot<abi::FileSlot>(file);
  const std::uint32_t link = __atomic_load_n(&record.rename_slot, __ATOMIC_ACQUIRE);
  if (link == 0) return false;
  const abi::Times* const times = times_of(record);
  return times == nullptr ||
         arena.slot<abi::RenameSlot>(link - 1).time_ns >= __atomic_load_n(&times->opened_ns, __ATOMIC_RELAXED);
}

std::uint32_t find_renamed_record(const char* name, std::size_t size) {
  const std::uint32_t slot = find_slot(abi::kTypeRename, name, size);
  if (slot == abi::kNoSlot) return slot;
  const std::uint32_t file = arena.slot<abi::RenameSlot>(slot).file;
  const auto& record = arena.slot<abi::FileSlot>(file);
  const bool last = __atomic_load_n(&record.rename_slot, __ATOMIC_ACQUIRE) == slot + 1;
  const abi::Times* const times = times_of(record);
  const bool gone =
      times != nullptr && __atomic_load_n(&times->removed_ns, __ATOMIC_RELAXED) >= arena.slot<abi::RenameSlot>(slot).time_ns;
  return last && !gone && is_renamed(file) ? file : abi::kNoSlot;
}

void record_removed(std::uint32_t file, std::int64_t now) {
  if (abi::Times* const times = times_of(arena.slot<abi::FileSlot>(file)); times != nullptr) {
    __atomic_store_n(&times->removed_ns, now, __ATOMIC_RELAXED);
  }
}

std::uint32_t file_record(const char* name, std::size_t size) {
  const std::uint64_t hash = hash_of(name, size);
  std::uint32_t made = abi::kNoSlot;
  for (std::uint32_t probe = 0; probe < Arena::kIndexSize; ++probe) {
    std::uint64_t& place = arena.index()[(hash + probe) & (Arena::kIndexSize - 1)];
    std::uint64_t word = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
    if (word == 0) {
      if (made == abi::kNoSlot) made = add_record(name, size);
      if (made == abi::kNoSlot) return made;
      if (__atomic_compare_exchange_n(&place, &word, word_of(hash, made), false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) return made;
    }
    if (same_hash(word, hash) && has_name(slot_of(word), abi::kTypeFile, name, size)) {
      // Another thread was faster: ours has counted nothing yet.
      if (made != abi::kNoSlot) abi::commit_slot(arena.slot<abi::Slot>(made).type, abi::kTypeSkip);
      return slot_of(word);
    }
  }
  return made;
}

void record_rename(std::uint32_t file, const char* name, std::size_t size) {
  const std::uint32_t slot = arena.claim(1 + abi::name_slots(size, abi::kRenameRoom));
  if (slot == abi::kNoSlot) return;
  auto& rename = arena.slot<abi::RenameSlot>(slot);
  const std::size_t here = size < abi::kRenameRoom ? size : abi::kRenameRoom;
  rename.name_size = static_cast<std::uint32_t>(size);
  rename.file = file;
  rename.time_ns = arena.since_start(clock_ns(CLOCK_MONOTONIC));
  std::memcpy(rename.name, name, here);
  put_name_parts(slot, name, size, here);
  abi::commit_slot(rename.type, abi::kTypeRename);
  if (abi::Times* const times = times_of(arena.slot<abi::FileSlot>(file)); times != nullptr) {
    __atomic_store_n(&times->opened_ns, rename.time_ns, __ATOMIC_RELAXED);  // it was there
  }
  __atomic_store_n(&arena.slot<abi::FileSlot>(file).rename_slot, slot + 1, __ATOMIC_RELEASE);
  enter_rename(slot, name, size);
}

void record_growth(std::uint32_t file, std::uint64_t before, std::uint64_t after) {
  auto& record = arena.slot<abi::FileSlot>(file);
  std::uint32_t link = __atomic_load_n(&record.size_slot, __ATOMIC_ACQUIRE);
  if (link == 0) {
    const std::uint32_t slot = arena.claim(1);
    if (slot == abi::kNoSlot) return;
    auto& size = arena.slot<abi::SizeSlot>(slot);
    size.file = file;
    size.before = before;
    size.after = after;
    abi::commit_slot(size.type, abi::kTypeSize);
    if (__atomic_compare_exchange_n(&record.size_slot, &link, slot + 1, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) return;
    abi::commit_slot(size.type, abi::kTypeSkip);
  }
  auto& size = arena.slot<abi::SizeSlot>(link - 1);
  lower_to(size.before, before);
  raise_to(size.after, after);
}

}  // namespace iez::preload
