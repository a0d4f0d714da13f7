#include "trace/file_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/result.hpp"

namespace iez::trace {

namespace {

constexpr std::size_t kFirstCells = 1024;
constexpr std::size_t kSmallGroup = 12;  // sorted by comparing names
__extension__ using Wide = unsigned __int128;

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

// Names differ in few digits somewhere in the middle: every bit must reach every other.
std::uint32_t hash_of(std::string_view name) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  constexpr std::uint64_t kOther = 0xD6E8FEB86659FD93;
  std::uint64_t hash = fold(name.size() ^ kOther, kOdd);
  const char* at = name.data();
  std::size_t rest = name.size();
  for (; rest >= 8; rest -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash = fold(hash ^ word, kOdd);
  }
  std::uint64_t last = 0;
  if (rest > 0) std::memcpy(&last, at, rest);
  hash = fold(hash ^ last ^ kOther, kOther);
  return static_cast<std::uint32_t>(hash ^ hash >> 32U);
}

struct Key {
  std::uint64_t word;
  const PackedRow* row;
};

// The 8 bytes of the name from depth on, such that words compare as the bytes do. Zeros behind the end: a name has none inside,
// so an ended one comes first.
std::uint64_t word_at(const PackedRow& row, std::size_t depth) {
  const std::string_view name = row.name();
  if (depth >= name.size()) return 0;
  std::uint64_t word = 0;
  std::memcpy(&word, name.data() + depth, std::min<std::size_t>(8, name.size() - depth));
  return __builtin_bswap64(word);
}

std::size_t common_prefix(std::span<const Key> keys) {
  const std::string_view first = keys.front().row->name();
  std::size_t common = first.size();
  for (const Key& key : keys) {
    const std::string_view name = key.row->name();
    common = std::min(common, name.size());
    if (std::memcmp(first.data(), name.data(), common) == 0) continue;
    common = static_cast<std::size_t>(
        std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(common), name.begin()).first - first.begin());
  }
  return common;
}

struct Group {
  std::size_t begin;
  std::size_t end;
  std::size_t depth;  // names of the group agree in so many bytes
};

// Sorts one group by the next 8 bytes, and puts those that still agree on the list.
void sort_group(std::span<Key> keys, Group group, std::vector<Group>& todo) {
  const auto part = keys.subspan(group.begin, group.end - group.begin);
  if (part.size() <= kSmallGroup) {
    std::sort(part.begin(), part.end(), [](const Key& a, const Key& b) { return a.row->name() < b.row->name(); });
    return;
  }
  for (Key& key : part) key.word = word_at(*key.row, group.depth);
  std::sort(part.begin(), part.end(), [](const Key& a, const Key& b) { return a.word < b.word; });
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= part.size(); ++i) {
    if (i < part.size() && part[i].word == part[begin].word) continue;
    if (i - begin > 1) todo.push_back({group.begin + begin, group.begin + i, group.depth + 8});
    begin = i;
  }
}

}  // namespace

FileTable::FileTable() : cells_(kFirstCells) {}

std::byte* FileTable::allocate(std::size_t size) {
  IEZ_ASSERT(size <= kMaxRow);
  if (blocks_.empty() || block_used_ + size > kMaxRow) {
    if (!blocks_.empty()) ++block_;
    if (block_ == blocks_.size()) blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kMaxRow));
    block_used_ = 0;
  }
  std::byte* const at = blocks_[block_].get() + block_used_;
  block_used_ += size;
  bytes_ += size;
  return at;
}

void FileTable::merge_into(PackedRow*& row, const FileCounters& counters, std::string_view renamed, std::uint32_t source) {
  const FileUse use = use_of(counters);
  if (source != 0 && row->source == source && use <= row->source_use) {
    FileCounters same = counters;
    same.ranks = 0;  // this process was counted
    absorb(row->counters, same);
  } else {
    absorb(row->counters, counters);
    row->source_use = use;
  }
  row->source = source;
  if (renamed > row->renamed()) row = pack(allocate(packed_size(row->name_size, renamed.size())), *row, row->name(), renamed);
}

void FileTable::add(const FileCounters& counters, std::string_view name, std::string_view renamed, std::uint32_t source) {
  const std::uint32_t mark = hash_of(name);
  const std::size_t mask = cells_.size() - 1;
  std::size_t at = mark & mask;
  for (; cells_[at].row != 0; at = (at + 1) & mask) {
    if (cells_[at].mark != mark) continue;
    PackedRow*& row = rows_[cells_[at].row - 1];
    if (row->name() == name) return merge_into(row, counters, renamed, source);
  }
  IEZ_ASSERT(rows_.size() < kMaxRows);
  PackedRow head;
  head.counters = counters;
  head.source = source;
  head.source_use = use_of(counters);
  rows_.push_back(pack(allocate(packed_size(name.size(), renamed.size())), head, name, renamed));
  cells_[at] = {.mark = mark, .row = static_cast<std::uint32_t>(rows_.size())};
  if (rows_.size() > cells_.size() / 4 * 3) grow();
}

void FileTable::grow() {
  std::vector<Cell> larger(cells_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const Cell& cell : cells_) {
    if (cell.row == 0) continue;
    std::size_t at = cell.mark & mask;
    while (larger[at].row != 0) at = (at + 1) & mask;
    larger[at] = cell;
  }
  cells_ = std::move(larger);
}

std::size_t FileTable::memory() const {
  // Vectors double, and their old half lives until it is copied; sorted() takes a key and a pointer for each row.
  return bytes_ + cells_.size() * sizeof(Cell) * 3 / 2 + rows_.size() * (2 * sizeof(PackedRow*) + sizeof(Key) + sizeof(void*));
}

std::span<const PackedRow* const> FileTable::sorted() {
  std::vector<Key> keys;
  keys.reserve(rows_.size());
  for (const PackedRow* row : rows_) keys.push_back({.word = 0, .row = row});
  std::vector<Group> todo;
  if (!keys.empty()) todo.push_back({0, keys.size(), common_prefix(keys)});
  while (!todo.empty()) {
    const Group group = todo.back();
    todo.pop_back();
    sort_group(keys, group, todo);
  }
  sorted_.clear();
  sorted_.reserve(keys.size());
  for (const Key& key : keys) sorted_.push_back(key.row);
  return sorted_;
}

void FileTable::clear() {
  std::fill(cells_.begin(), cells_.end(), Cell{});
  rows_.clear();
  sorted_.clear();
  block_ = 0;
  block_used_ = 0;
  bytes_ = 0;
}

}  // namespace iez::trace
