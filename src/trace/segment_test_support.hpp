// Segments for tests: random rows, a folder that goes away, and an arena in memory that is filled as the preload library fills
// its mapped file: claim, fill, commit.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "trace/segment_format.hpp"
#include "trace/segment_reader.hpp"
#include "trace/segment_writer.hpp"

namespace iez::trace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "iez-trace-XXXXXX";
    const char* const made = ::mkdtemp(pattern.data());
    EXPECT_NE(made, nullptr);
    root_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(root_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& root() const { return root_; }
  std::string path(std::string_view below) const { return root_ + '/' + std::string(below); }

  std::string write(std::string_view below, std::span<const std::byte> bytes) const {
    const std::string file = path(below);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    return file;
  }
  std::size_t entries() const {
    const std::filesystem::recursive_directory_iterator all(root_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

 private:
  std::string root_;
};

inline std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A mapped file of a traced process, in memory.
class Arena {
 public:
  explicit Arena(std::uint32_t capacity, SegmentInfo info = {}) : slots_(capacity) {
    info.slot_capacity = capacity;
    info.slots_used = 0;
    info.closed = false;
    header_ = make_header(info);
  }

  abi::Header& header() { return header_; }
  abi::Slot& slot(std::uint32_t number) { return slots_.at(number); }
  template <typename T>
  T& slot_as(std::uint32_t number) {
    return *reinterpret_cast<T*>(&slots_.at(number));
  }

  // The number of its slot; kNoSlot if the arena is full. Not committed: the process was killed just before.
  std::uint32_t add_file(const std::string& name, std::uint64_t written = 0, bool commit = true) {
    const std::uint32_t parts = abi::name_slots(name.size(), abi::kFileNameRoom);
    const std::uint32_t number = abi::claim_slots(header_, 1 + parts);
    if (number == abi::kNoSlot) return number;
    add_parts(number, name, abi::kFileNameRoom);
    auto& file = slot_as<abi::FileSlot>(number);
    file.name_size = static_cast<std::uint32_t>(name.size());
    std::memcpy(file.name, name.data(), std::min(name.size(), abi::kFileNameRoom));
    file.written = written;
    file.write_calls = written > 0 ? 1 : 0;
    file.opens = 1;
    file.first_ns = 10;
    file.last_ns = 20;
    if (commit) abi::commit_slot(file.type, abi::kTypeFile);
    return number;
  }

  std::uint32_t add_rename(std::uint32_t file, const std::string& name) {
    const std::uint32_t number = abi::claim_slots(header_, 1 + abi::name_slots(name.size(), abi::kRenameRoom));
    if (number == abi::kNoSlot) return number;
    add_parts(number, name, abi::kRenameRoom);
    auto& rename = slot_as<abi::RenameSlot>(number);
    rename.name_size = static_cast<std::uint32_t>(name.size());
    rename.file = file;
    std::memcpy(rename.name, name.data(), std::min(name.size(), abi::kRenameRoom));
    abi::commit_slot(rename.type, abi::kTypeRename);
    slot_as<abi::FileSlot>(file).rename_slot = number + 1;
    return number;
  }

  // Its times, all not known yet.
  abi::Times& add_times(std::uint32_t file) {
    header_.minor_version = abi::kMinorVersion;
    header_.checksum = abi::header_checksum(header_);
    if (times_count_ % abi::kTimesRoom == 0) {
      times_slot_ = abi::claim_slots(header_, 1);
      abi::commit_slot(slot(times_slot_).type, abi::kTypeTimes);
    }
    const auto entry = static_cast<std::uint32_t>(times_count_++ % abi::kTimesRoom);
    abi::Times& times = slot_as<abi::TimesSlot>(times_slot_).times[entry];
    times = {.type = abi::kTypeTimes,
             .file = file + 1,
             .first_write_ns = abi::kNoTime,
             .last_write_ns = abi::kNoTime,
             .first_read_ns = abi::kNoTime,
             .last_read_ns = abi::kNoTime,
             .opened_ns = abi::kNoTime,
             .removed_ns = abi::kNoTime,
             .flags = 0,
             .reserved = 0};
    slot_as<abi::FileSlot>(file).times = abi::times_number(times_slot_, entry) + 1;
    return times;
  }

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all(sizeof(header_) + slots_.size() * sizeof(abi::Slot));
    std::memcpy(all.data(), &header_, sizeof(header_));
    if (!slots_.empty()) std::memcpy(all.data() + sizeof(header_), slots_.data(), slots_.size() * sizeof(abi::Slot));
    return all;
  }

 private:
  void add_parts(std::uint32_t owner, const std::string& name, std::size_t room) {
    std::uint32_t part = 0;
    for (std::size_t at = room; at < name.size(); at += abi::kNameRoom) {
      auto& more = slot_as<abi::NameSlot>(owner + ++part);
      more.owner = owner;
      more.part = part;
      more.size = static_cast<std::uint32_t>(std::min(name.size() - at, abi::kNameRoom));
      std::memcpy(more.text, name.data() + at, more.size);
      abi::commit_slot(more.type, abi::kTypeName);
    }
  }

  abi::Header header_;
  std::vector<abi::Slot> slots_;
  std::size_t times_count_ = 0;
  std::uint32_t times_slot_ = 0;
};

struct ReadBack {
  SegmentInfo info;
  SegmentStats stats;
  std::vector<TracedFile> files;
  std::vector<std::uint32_t> slots;
  std::vector<TracedCall> calls;
  input::ParseReport report;
};

inline ReadBack read_all(Result<SegmentReader> reader) {
  ReadBack back;
  if (!reader) {
    ADD_FAILURE() << reader.error().message;
    return back;
  }
  back.info = reader->info();
  const auto stats = reader->read({.file =
                                       [&](std::uint32_t slot, const TracedFile& file) {
                                         back.slots.push_back(slot);
                                         back.files.push_back(file);
                                       },
                                   .call = [&](const TracedCall& call) { back.calls.push_back(call); }},
                                  back.report);
  EXPECT_TRUE(stats) << stats.error().message;
  if (stats) back.stats = *stats;
  return back;
}

inline ReadBack read_all(std::span<const std::byte> bytes) { return read_all(SegmentReader::from_memory(bytes, "memory")); }

inline std::string random_name(Rng& rng, std::size_t size) {
  std::string name(size, '/');
  for (std::size_t i = 1; i < size; ++i) name[i] = static_cast<char>(rng.between(1, 255));
  return name;
}

inline std::uint64_t random_count(Rng& rng) {
  if (rng.chance(0.02)) return rng.bits();
  return rng.chance(0.3) ? 0 : rng.below(1'000'000);
}

// Any row that may stand in a run of this start.
inline TracedFile random_file(Rng& rng, std::string name, std::int64_t start_ns) {
  TracedFile file{.name = std::move(name)};
  if (rng.chance(0.1)) file.renamed = random_name(rng, rng.between(1, 300)) + 'r';
  for (std::uint64_t* count : {&file.written.count, &file.read.count, &file.write_calls, &file.read_calls,
                               &file.sequential_writes, &file.sequential_reads, &file.largest_write.count,
                               &file.largest_read.count, &file.end.count, &file.creates, &file.opens}) {
    *count = random_count(rng);
  }
  if (rng.chance(0.3)) file.written = {};
  if (file.written == Bytes{}) file.write_calls = 0;
  if (rng.chance(0.2)) {
    file.size_before = {rng.below(1000)};
    file.size_after = {file.size_before.count + 1 + random_count(rng) % 1'000'000};
  }
  if (rng.chance(0.5)) {
    file.stripe_count = static_cast<std::uint32_t>(rng.below(3));
    file.stripe_size = {rng.below(3) * 65536};
  }
  if (rng.chance(0.8)) file.rank = static_cast<std::int32_t>(rng.below(1000));
  file.ranks = static_cast<std::uint32_t>(rng.below(5));
  file.communicator = static_cast<std::uint32_t>(rng.below(5000));
  if (rng.chance(0.9)) {
    file.first_ns = start_ns + static_cast<std::int64_t>(rng.below(1'000'000'000'000));
    file.last_ns = *file.first_ns + static_cast<std::int64_t>(rng.below(1'000'000'000));
  }
  for (const auto& [first, last] :
       {std::pair(&file.first_write_ns, &file.last_write_ns), {&file.first_read_ns, &file.last_read_ns}}) {
    if (rng.chance(0.5)) continue;
    *first = start_ns + static_cast<std::int64_t>(rng.below(1'000'000'000));
    *last = **first + static_cast<std::int64_t>(rng.below(1'000'000'000));
  }
  for (auto* const time : {&file.opened_ns, &file.removed_ns}) {
    if (rng.chance(0.3)) *time = start_ns + static_cast<std::int64_t>(rng.below(1'000'000'000));
  }
  file.own_layout = rng.chance(0.1);
  return file;
}

inline SegmentInfo random_info(Rng& rng, SegmentKind kind) {
  SegmentInfo info{.kind = kind,
                   .pid = static_cast<std::uint32_t>(rng.below(100'000)),
                   .parent_pid = static_cast<std::uint32_t>(rng.below(100'000)),
                   .rank = rng.chance(0.3) ? kNoRank : static_cast<std::int32_t>(rng.below(10)),
                   .communicator = static_cast<std::uint32_t>(rng.below(10)),
                   .host = "node" + std::to_string(rng.below(4)),
                   .job = std::to_string(rng.below(3)),
                   .program = "app" + std::to_string(rng.below(3)),
                   .start_ns = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(rng.below(1'000'000'000)),
                   .start_monotonic_ns = static_cast<std::int64_t>(rng.below(1'000'000'000))};
  if (kind == SegmentKind::run) info.processes = static_cast<std::uint32_t>(rng.between(1, 1000));
  if (rng.chance(0.8)) info.end_ns = info.start_ns + static_cast<std::int64_t>(rng.below(1'000'000'000'000));
  info.closed = info.end_ns.has_value();
  info.dropped = rng.below(3);
  if (rng.chance(0.3)) {
    info.layouts = {.applied = rng.below(100),
                    .taken = rng.below(3),
                    .refused = rng.below(3),
                    .existing = rng.below(3),
                    .elsewhere = rng.below(3),
                    .respected = rng.below(3),
                    .last_errno = static_cast<std::int32_t>(rng.below(2) * 28)};
    info.unseen_descriptors = rng.below(3);
    info.plan_id = kind == SegmentKind::run ? 0 : rng.bits();
  }
  return info;
}

inline void write_segment(const std::string& path, const SegmentInfo& info, std::span<const TracedFile> files) {
  auto writer = SegmentWriter::create(path, info);
  ASSERT_TRUE(writer) << writer.error().message;
  for (const TracedFile& file : files) {
    const auto added = writer->add(file);
    ASSERT_TRUE(added) << added.error().message;
  }
  const auto finished = writer->finish();
  ASSERT_TRUE(finished) << finished.error().message;
}

}  // namespace iez::trace
