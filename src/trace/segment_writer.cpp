#include "trace/segment_writer.hpp"

#include <fcntl.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkostemp() is not in std
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace iez::trace {

namespace {

constexpr std::size_t kBufferSize = std::size_t{256} * 1024;
constexpr std::size_t kSlotSize = sizeof(abi::Slot);

template <std::size_t kSize>
void set_text(char (&to)[kSize], const std::string& text) {
  std::memcpy(to, text.data(), std::min(text.size(), kSize - 1));
}

Result<void> check_name(const std::string& name, const char* what) {
  if (name.empty() || name.size() > abi::kMaxNameSize) {
    return fail(Errc::invalid_argument,
                fmt::format("{} of a traced file has {} bytes, expected 1 to {}", what, name.size(), abi::kMaxNameSize));
  }
  if (name.find('\0') != std::string::npos) {
    return fail(Errc::invalid_argument, fmt::format("{} of a traced file has a zero byte in it", what));
  }
  return {};
}

}  // namespace

abi::Header make_header(const SegmentInfo& info) {
  abi::Header header{};
  header.magic = abi::kMagic;
  header.byte_order = abi::kByteOrder;
  header.version = abi::kVersion;
  const bool plain = info.layouts == LayoutCounts{} && info.unseen_descriptors == 0 && info.plan_id == 0;
  header.minor_version = plain ? 0 : 1;  // the oldest that can hold it
  header.header_size = sizeof(abi::Header);
  header.slot_size = kSlotSize;
  header.slot_capacity = info.slot_capacity;
  header.kind = info.kind == SegmentKind::run ? abi::kKindRun : abi::kKindProcess;
  header.pid = info.pid;
  header.parent_pid = info.parent_pid;
  header.processes = info.kind == SegmentKind::run ? info.processes : 1;
  header.start_ns = info.start_ns;
  header.start_monotonic = info.start_monotonic_ns;
  set_text(header.host, info.host);
  set_text(header.job, info.job);
  set_text(header.program, info.program);
  header.slots_used = info.slots_used;
  header.dropped = info.dropped;
  header.end_ns = abi::kNoTime;
  if (info.end_ns && __builtin_sub_overflow(*info.end_ns, info.start_ns, &header.end_ns)) header.end_ns = abi::kNoTime;
  header.state = info.closed ? abi::kStateClosed : abi::kStateOpen;
  header.rank = std::max(info.rank, kNoRank);
  header.communicator = info.communicator;
  header.layout_errno = info.layouts.last_errno;
  header.unseen_descriptors = info.unseen_descriptors;
  header.layouts_applied = info.layouts.applied;
  header.layouts_taken = info.layouts.taken;
  header.layouts_refused = info.layouts.refused;
  header.layouts_existing = info.layouts.existing;
  header.layouts_elsewhere = info.layouts.elsewhere;
  header.layouts_respected = info.layouts.respected;
  header.plan_id = info.plan_id;
  header.checksum = abi::header_checksum(header);
  return header;
}

Result<SegmentWriter> SegmentWriter::create(const std::string& path, const SegmentInfo& info) {
  SegmentWriter writer;
  writer.path_ = path;
  // The rename in finish() would replace a device.
  std::error_code error;
  const auto there = std::filesystem::status(path, error).type();
  if (there != std::filesystem::file_type::not_found && there != std::filesystem::file_type::regular && !error) {
    return fail(Errc::invalid_argument,
                fmt::format("{}: found something that is no regular file, expected one, or a new name", path));
  }
  // Does not end as a segment does: a walk over the directory passes it over.
  std::string temporary = path + ".XXXXXX";
  writer.fd_ = input::UniqueFd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!writer.fd_) return fail_errno(errno, fmt::format("{}: cannot create the trace file", path));
  writer.temporary_ = std::move(temporary);
  writer.header_ = make_header(info);
  writer.buffer_.reserve(kBufferSize);
  writer.buffer_.resize(sizeof(abi::Header));  // room; the header is written last
  return writer;
}

SegmentWriter::~SegmentWriter() { discard(); }

SegmentWriter::SegmentWriter(SegmentWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)),
      header_(other.header_),
      buffer_(std::move(other.buffer_)),
      flushed_(other.flushed_),
      slots_(other.slots_),
      calls_(other.calls_),
      times_(other.times_),
      times_slot_(other.times_slot_),
      times_count_(other.times_count_) {}

void SegmentWriter::discard() {
  fd_.reset();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

Result<void> SegmentWriter::write_at(std::uint64_t offset, const std::byte* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t done = ::pwrite(fd_.get(), bytes, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      const int reason = done < 0 ? errno : EIO;
      discard();
      return fail_errno(reason, fmt::format("{}: cannot write the trace file; nothing was kept of it", path_));
    }
    offset += static_cast<std::uint64_t>(done);
    bytes += done;
    size -= static_cast<std::size_t>(done);
  }
  return {};
}

Result<void> SegmentWriter::flush() {
  IEZ_CHECK(write_at(flushed_, buffer_.data(), buffer_.size()));
  flushed_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<void> SegmentWriter::put(const void* slot) {
  if (temporary_.empty()) return fail(Errc::invalid_argument, fmt::format("{}: the trace file is closed", path_));
  if (slots_ == abi::kNoSlot) {
    discard();
    return fail(Errc::limit, fmt::format("{}: more than {} slots do not fit into one trace file", path_, slots_));
  }
  if (buffer_.size() + kSlotSize > kBufferSize) IEZ_CHECK(flush());
  const auto* const bytes = static_cast<const std::byte*>(slot);
  buffer_.insert(buffer_.end(), bytes, bytes + kSlotSize);
  ++slots_;
  return {};
}

std::int64_t SegmentWriter::since_start(std::int64_t time) const {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(time, header_.start_ns, &difference)) return std::max(difference, abi::kNoTime + 1);
  return time < 0 ? abi::kNoTime + 1 : std::numeric_limits<std::int64_t>::max();
}

Result<void> SegmentWriter::put_name_parts(std::uint32_t owner, const std::string& name, std::size_t room) {
  std::uint32_t part = 0;
  for (std::size_t at = room; at < name.size(); at += abi::kNameRoom) {
    abi::NameSlot slot{.type = abi::kTypeName, .owner = owner, .part = ++part, .size = 0, .text = {}};
    slot.size = static_cast<std::uint32_t>(std::min(name.size() - at, abi::kNameRoom));
    std::memcpy(slot.text, name.data() + at, slot.size);
    IEZ_CHECK(put(&slot));
  }
  return {};
}

Result<std::uint32_t> SegmentWriter::add(const TracedFile& file) {
  IEZ_CHECK(check_name(file.name, "the name"));
  if (!file.renamed.empty()) IEZ_CHECK(check_name(file.renamed, "the new name"));
  IEZ_TRY(const std::uint32_t times, add_times(file));
  const std::uint32_t number = slots_;
  if (times != 0) times_.times[(times - 1) % abi::kTimesRoom].file = number + 1;
  abi::FileSlot slot{};
  slot.type = abi::kTypeFile;
  slot.name_size = static_cast<std::uint32_t>(file.name.size());
  slot.written = file.written.count;
  slot.read = file.read.count;
  slot.write_calls = file.write_calls;
  slot.read_calls = file.read_calls;
  slot.sequential_writes = file.sequential_writes;
  slot.sequential_reads = file.sequential_reads;
  slot.largest_write = file.largest_write.count;
  slot.largest_read = file.largest_read.count;
  slot.end = file.end.count;
  slot.creates = file.creates;
  slot.opens = file.opens;
  slot.stripe_size = file.stripe_size.count;
  slot.first_ns = file.first_ns ? since_start(*file.first_ns) : abi::kNoTime;
  slot.last_ns = file.last_ns ? since_start(*file.last_ns) : abi::kNoTime;
  slot.stripe_count = file.stripe_count;
  slot.rank = file.rank;
  if (header_.kind == abi::kKindRun) {
    slot.ranks = file.ranks;
  } else {
    slot.times = times;
  }
  slot.communicator = file.communicator;
  std::memcpy(slot.name, file.name.data(), std::min(file.name.size(), abi::kFileNameRoom));
  const std::uint32_t rename_number = number + 1 + abi::name_slots(file.name.size(), abi::kFileNameRoom);
  const std::uint32_t rename_slots = file.renamed.empty() ? 0 : 1 + abi::name_slots(file.renamed.size(), abi::kRenameRoom);
  if (!file.renamed.empty()) slot.rename_slot = rename_number + 1;
  if (file.size_after.count > 0) slot.size_slot = rename_number + rename_slots + 1;
  IEZ_CHECK(put(&slot));
  IEZ_CHECK(put_name_parts(number, file.name, abi::kFileNameRoom));
  if (!file.renamed.empty()) IEZ_CHECK(put_rename(number, file.renamed, slot.last_ns));
  if (file.size_after.count > 0) {
    abi::SizeSlot size{};
    size.type = abi::kTypeSize;
    size.file = number;
    size.before = file.size_before.count;
    size.after = file.size_after.count;
    IEZ_CHECK(put(&size));
    header_.minor_version = std::max<std::uint16_t>(header_.minor_version, 1);
  }
  return number;
}

Result<std::uint32_t> SegmentWriter::add_times(const TracedFile& file) {
  const auto since = [this](const std::optional<std::int64_t>& time) { return time ? since_start(*time) : abi::kNoTime; };
  const abi::Times times{.type = abi::kTypeTimes,
                         .file = 0,
                         .first_write_ns = since(file.first_write_ns),
                         .last_write_ns = since(file.last_write_ns),
                         .first_read_ns = since(file.first_read_ns),
                         .last_read_ns = since(file.last_read_ns),
                         .opened_ns = since(file.opened_ns),
                         .removed_ns = since(file.removed_ns),
                         .flags = file.own_layout ? abi::kFlagOwnLayout : 0,
                         .reserved = 0};
  const bool known = std::ranges::any_of(std::array{times.first_write_ns, times.last_write_ns, times.first_read_ns,
                                                    times.last_read_ns, times.opened_ns, times.removed_ns},
                                         [](std::int64_t time) { return time != abi::kNoTime; });
  if (!known && times.flags == 0) return 0;
  if (times_count_ == abi::kTimesRoom) IEZ_CHECK(put_times());
  if (times_count_ == 0) {
    times_slot_ = slots_;
    constexpr abi::Slot kFree{};
    IEZ_CHECK(put(&kFree));
  }
  times_.times[times_count_] = times;
  header_.minor_version = abi::kMinorVersion;
  return abi::times_number(times_slot_, times_count_++) + 1;
}

Result<void> SegmentWriter::put_times() {
  const abi::TimesSlot full = std::exchange(times_, {});
  times_count_ = 0;
  const std::uint64_t offset = sizeof(abi::Header) + std::uint64_t{times_slot_} * kSlotSize;
  if (offset < flushed_) return write_at(offset, reinterpret_cast<const std::byte*>(&full), kSlotSize);
  std::memcpy(buffer_.data() + (offset - flushed_), &full, kSlotSize);
  return {};
}

Result<void> SegmentWriter::put_rename(std::uint32_t file, const std::string& name, std::int64_t time_ns) {
  const std::uint32_t number = slots_;
  abi::RenameSlot rename{};
  rename.type = abi::kTypeRename;
  rename.name_size = static_cast<std::uint32_t>(name.size());
  rename.file = file;
  rename.time_ns = time_ns;
  std::memcpy(rename.name, name.data(), std::min(name.size(), abi::kRenameRoom));
  IEZ_CHECK(put(&rename));
  return put_name_parts(number, name, abi::kRenameRoom);
}

Result<void> SegmentWriter::add(const TracedCall& call) {
  if (calls_.count > 0 && (calls_.count == abi::kCallsRoom || calls_.thread != call.thread)) IEZ_CHECK(put_calls());
  calls_.thread = call.thread;
  abi::Call& kept = calls_.calls[calls_.count++];
  kept.file = call.file_slot;
  kept.operation = static_cast<std::uint8_t>(call.operation);
  kept.offset = call.offset.count;
  kept.length = call.length.count;
  kept.start_ns = since_start(call.start_ns);
  kept.duration_ns = static_cast<std::uint64_t>(std::max<Duration::rep>(call.duration.count(), 0));
  return {};
}

Result<void> SegmentWriter::put_calls() {
  calls_.type = abi::kTypeCalls;
  const abi::CallsSlot full = std::exchange(calls_, {});
  return put(&full);
}

Result<void> SegmentWriter::finish() {
  if (calls_.count > 0) IEZ_CHECK(put_calls());
  if (temporary_.empty()) return fail(Errc::invalid_argument, fmt::format("{}: the trace file is closed", path_));
  if (times_count_ > 0) IEZ_CHECK(put_times());
  IEZ_CHECK(flush());
  header_.slot_capacity = slots_;
  header_.slots_used = slots_;
  header_.checksum = abi::header_checksum(header_);
  IEZ_CHECK(write_at(0, reinterpret_cast<const std::byte*>(&header_), sizeof(header_)));
  // Some file systems find out here that the disk is full. Without it, a machine that falls may keep the new name and no bytes.
  const bool kept = ::fdatasync(fd_.get()) == 0 && ::rename(temporary_.c_str(), path_.c_str()) == 0;
  if (!kept) {
    const int reason = errno;
    discard();
    return fail_errno(reason, fmt::format("{}: cannot write the trace file; nothing was kept of it", path_));
  }
  temporary_.clear();
  fd_.reset();
  return {};
}

}  // namespace iez::trace
