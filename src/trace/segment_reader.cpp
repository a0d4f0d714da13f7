#include "trace/segment_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "trace/file_counters.hpp"

namespace iez::trace {

namespace {

constexpr std::size_t kWindowSize = std::size_t{64} * 1024;
constexpr std::size_t kSlotSize = sizeof(abi::Slot);

// One inside the ends, which mean "none" in other places.
constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() - 1;
constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min() + 1;

template <typename T>
T as(const abi::Slot& slot) {
  static_assert(sizeof(T) == kSlotSize);
  T typed;
  std::memcpy(&typed, &slot, kSlotSize);
  return typed;
}

template <std::size_t kSize>
std::string text_of(const char (&text)[kSize]) {
  return {text, ::strnlen(text, kSize)};
}

bool only_zeros(const abi::Header& header) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&header);
  return std::all_of(bytes, bytes + sizeof(header), [](unsigned char byte) { return byte == 0; });
}

// Empty if the header is one of a segment that this reader knows.
std::string why_foreign(const abi::Header& header, std::size_t size) {
  if (size == 0) return "is empty: its process ended before it began to trace; remove it";
  if (size < sizeof(header)) {
    return fmt::format("is no trace segment, or cut: has {} bytes, a header takes {}; copy it again", size, sizeof(header));
  }
  if (only_zeros(header)) return "has no header: its process ended before it began to trace; remove it";
  if (header.magic != abi::kMagic) {
    return fmt::format("is no trace segment: begins with {:#018x}, not with {:#018x} (\"IEZTRACE\"); give a file that iez wrote",
                       header.magic, abi::kMagic);
  }
  if (header.byte_order == abi::kForeignByteOrder) {
    return "was written on a big-endian machine; this one is little-endian: export it to CSV there";
  }
  if (header.byte_order != abi::kByteOrder) {
    return fmt::format("has byte-order mark {:#010x}, expected {:#010x}: its header is damaged", header.byte_order,
                       abi::kByteOrder);
  }
  if (header.version != abi::kVersion) {
    return fmt::format("is of format version {}, this iez reads version {}; read it with the iez that wrote it", header.version,
                       abi::kVersion);
  }
  if (header.header_size != sizeof(abi::Header) || header.slot_size != kSlotSize) {
    return fmt::format("has a header of {} and slots of {} bytes, expected {} and {}: its header is damaged", header.header_size,
                       header.slot_size, sizeof(abi::Header), kSlotSize);
  }
  const std::uint64_t sum = abi::header_checksum(header);
  if (header.checksum != sum) {
    return fmt::format("has header checksum {:#018x}, its bytes give {:#018x}: its header is damaged", header.checksum, sum);
  }
  if (header.kind != abi::kKindProcess && header.kind != abi::kKindRun) {
    return fmt::format("is of kind {}, expected {} (process) or {} (run); read it with the iez that wrote it", header.kind,
                       abi::kKindProcess, abi::kKindRun);
  }
  return {};
}

}  // namespace

// ---- Bytes ------------------------------------------------------------------------------------------------------------------

Result<SegmentReader> SegmentReader::open(const std::string& path) { return open(path, kWindowSize); }

Result<SegmentReader> SegmentReader::open(const std::string& path, std::size_t most) {
  SegmentReader reader;
  reader.name_ = path;
  // Without O_NONBLOCK a FIFO would hang here.
  reader.fd_ = input::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!reader.fd_) return fail_errno(errno, fmt::format("{}: cannot open the trace segment", path));
  struct stat about{};
  if (::fstat(reader.fd_.get(), &about) != 0) return fail_errno(errno, path);
  if (!S_ISREG(about.st_mode)) return fail(Errc::unsupported, fmt::format("{}: is no regular file", path));
  const auto size = static_cast<std::uint64_t>(about.st_size);
  reader.slots_in_file_ = size < sizeof(abi::Header) ? 0 : (size - sizeof(abi::Header)) / kSlotSize;
  IEZ_CHECK(reader.read_header(most));
  return reader;
}

Result<SegmentInfo> SegmentReader::read_info(const std::string& path) {
  IEZ_TRY(SegmentReader reader, open(path, sizeof(abi::Header)));
  return std::move(reader.info_);
}

void SegmentReader::correct_clock(std::int64_t ahead_ns) {
  info_.start_ns = wall_time(-ahead_ns);
  if (info_.end_ns && __builtin_sub_overflow(*info_.end_ns, ahead_ns, &*info_.end_ns)) info_.end_ns.reset();
}

Result<SegmentReader> SegmentReader::from_memory(std::span<const std::byte> bytes, std::string name) {
  SegmentReader reader;
  reader.name_ = std::move(name);
  reader.memory_ = bytes;
  reader.slots_in_file_ = bytes.size() < sizeof(abi::Header) ? 0 : (bytes.size() - sizeof(abi::Header)) / kSlotSize;
  IEZ_CHECK(reader.read_header(kWindowSize));
  return reader;
}

Result<std::size_t> SegmentReader::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  if (!fd_) {
    if (offset >= memory_.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(buffer.size(), memory_.size() - static_cast<std::size_t>(offset));
    if (count > 0) std::memcpy(buffer.data(), memory_.data() + offset, count);
    return count;
  }
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t got = ::pread(fd_.get(), buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, fmt::format("{}: cannot read the trace segment", name_));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Result<void> SegmentReader::read_header(std::size_t most) {
  window_ = std::make_unique_for_overwrite<std::byte[]>(most);
  // A small segment ends before the window does: no second call only to learn that.
  const std::uint64_t expected = sizeof(abi::Header) + slots_in_file_ * kSlotSize;
  const auto wanted = static_cast<std::size_t>(std::clamp<std::uint64_t>(expected, sizeof(abi::Header), most));
  IEZ_TRY(window_size_, read_at(0, {window_.get(), wanted}));
  abi::Header header{};
  std::memcpy(&header, window_.get(), std::min(window_size_, sizeof(header)));
  if (const std::string why = why_foreign(header, window_size_); !why.empty()) {
    return fail(header.magic == abi::kMagic ? Errc::unsupported : Errc::parse, fmt::format("{}: {}", name_, why));
  }
  minor_version_ = header.minor_version;
  info_.kind = header.kind == abi::kKindRun ? SegmentKind::run : SegmentKind::process;
  info_.pid = header.pid;
  info_.parent_pid = header.parent_pid;
  info_.processes = info_.kind == SegmentKind::run ? header.processes : 1;
  info_.rank = std::max(header.rank, kNoRank);
  info_.communicator = header.communicator;
  info_.host = text_of(header.host);
  info_.job = text_of(header.job);
  info_.program = text_of(header.program);
  info_.start_ns = header.start_ns;
  info_.start_monotonic_ns = header.start_monotonic;
  if (header.end_ns != abi::kNoTime) info_.end_ns = wall_time(header.end_ns);
  info_.closed = header.state == abi::kStateClosed;
  info_.slot_capacity = header.slot_capacity;
  info_.slots_used = header.slots_used;
  info_.dropped = header.dropped;
  if (header.minor_version == 0) return {};
  info_.layouts = {.applied = header.layouts_applied,
                   .taken = header.layouts_taken,
                   .refused = header.layouts_refused,
                   .existing = header.layouts_existing,
                   .elsewhere = header.layouts_elsewhere,
                   .respected = header.layouts_respected,
                   .last_errno = std::max(header.layout_errno, 0)};
  info_.unseen_descriptors = header.unseen_descriptors;
  info_.plan_id = header.plan_id;
  return {};
}

Result<void> SegmentReader::load(std::uint64_t slot) {
  const std::uint64_t offset = sizeof(abi::Header) + slot * kSlotSize;
  if (offset >= window_offset_ && offset + kSlotSize <= window_offset_ + window_size_) return {};
  const std::uint64_t rest = (slots_in_file_ - slot) * kSlotSize;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(rest, kWindowSize));
  window_offset_ = offset;
  window_size_ = 0;
  IEZ_TRY(window_size_, read_at(offset, {window_.get(), wanted}));
  // Cut since it was opened: what is gone reads as zeros, like the unused end of an arena.
  if (window_size_ < wanted) std::memset(window_.get() + window_size_, 0, wanted - window_size_);
  window_size_ = wanted;
  return {};
}

Result<abi::Slot> SegmentReader::slot_at(std::uint64_t slot) const {
  abi::Slot found{};
  const std::uint64_t offset = sizeof(abi::Header) + slot * kSlotSize;
  if (offset >= window_offset_ && offset + kSlotSize <= window_offset_ + window_size_) {
    std::memcpy(&found, window_.get() + (offset - window_offset_), kSlotSize);
    return found;
  }
  IEZ_TRY(const std::size_t got, read_at(offset, std::as_writable_bytes(std::span(&found, 1))));
  return got == kSlotSize ? found : abi::Slot{};
}

// ---- Slots ------------------------------------------------------------------------------------------------------------------

Result<SegmentStats> SegmentReader::read(const SegmentVisitor& visitor, input::ParseReport& report) {
  stats_ = {};
  last_times_ = {};
  const std::uint64_t claimed = std::min(info_.slots_used, info_.slot_capacity);
  const std::uint64_t there = std::min<std::uint64_t>(slots_in_file_, abi::kNoSlot);
  if (claimed > there) {
    report.skip(name_, 0, fmt::format("claims {} slots, but has only {}: it was cut; copy it again", claimed, there));
  }
  // A machine that fell may have kept slots and lost the count of them: committed ones behind it are used, up to a gap.
  bool counted = true;
  for (std::uint64_t slot = 0; slot < std::min(there, info_.slot_capacity); ++slot) {
    IEZ_CHECK(load(slot));
    std::uint32_t type = 0;
    std::memcpy(&type, window_.get() + (sizeof(abi::Header) + slot * kSlotSize - window_offset_), sizeof(type));
    if (slot >= claimed) {
      if (type == abi::kTypeNone) break;
      if (counted) report.skip(name_, 0, fmt::format("claims {} slots, but there are more; they were read", claimed));
      counted = false;
    }
    switch (type) {
      case abi::kTypeNone:
        ++stats_.unfinished;
        break;
      case abi::kTypeFile:
        IEZ_CHECK(read_file(slot, visitor, report));
        break;
      case abi::kTypeName:
      case abi::kTypeSize:
        break;  // read with its owner, or the owner was never finished
      case abi::kTypeTimes:
        if (info_.kind == SegmentKind::run) {
          IEZ_TRY(const abi::Slot found, slot_at(slot));
          last_times_ = as<abi::TimesSlot>(found);
        }
        break;
      case abi::kTypeRename:
        ++stats_.renames;
        break;
      case abi::kTypeCalls: {
        IEZ_TRY(const abi::Slot found, slot_at(slot));
        read_calls(as<abi::CallsSlot>(found), slot, visitor, report);
        break;
      }
      default:
        ++stats_.passed_over;
    }
  }
  return stats_;
}

void SegmentReader::bad_slot(std::uint64_t slot, std::string_view message, input::ParseReport& report) {
  ++stats_.bad;
  report.skip(name_, 0, fmt::format("slot {}: {}", slot, message));
}

Result<std::string_view> SegmentReader::read_name(std::uint64_t owner, std::string_view front, std::uint32_t size,
                                                  std::string& name) const {
  name.clear();
  if (size == 0) return "has no name";
  if (size > abi::kMaxNameSize) return "has a name longer than 8192 bytes";
  name.assign(front.substr(0, size));
  const std::uint32_t parts = abi::name_slots(size, front.size());
  if (parts > 0 && owner + parts >= slots_in_file_) return "its name is cut";
  for (std::uint32_t part = 1; part <= parts; ++part) {
    IEZ_TRY(const abi::Slot found, slot_at(owner + part));
    const auto more = as<abi::NameSlot>(found);
    const std::size_t rest = std::min<std::size_t>(size - name.size(), abi::kNameRoom);
    if (more.type != abi::kTypeName || more.owner != owner || more.part != part || more.size != rest) return "its name is cut";
    name.append(more.text, rest);
  }
  if (name.find('\0') != std::string::npos) return "has a zero byte in its name";
  return "";
}

Result<void> SegmentReader::read_file(std::uint64_t slot, const SegmentVisitor& visitor, input::ParseReport& report) {
  IEZ_TRY(const abi::Slot found, slot_at(slot));
  const auto file = as<abi::FileSlot>(found);
  IEZ_TRY(const std::string_view problem, read_name(slot, {file.name, abi::kFileNameRoom}, file.name_size, row_.name));
  if (!problem.empty()) {
    bad_slot(slot, problem, report);
    return {};
  }
  row_.renamed.clear();
  if (file.rename_slot != 0) {
    IEZ_TRY(const std::string_view trouble, read_rename(slot, file.rename_slot));
    if (!trouble.empty()) bad_slot(slot, trouble, report);
  }
  set_row(file);
  if (minor_version_ > 0 && file.size_slot != 0) {
    IEZ_TRY(const std::string_view trouble, read_size(slot, file.size_slot));
    if (!trouble.empty()) bad_slot(slot, trouble, report);
  }
  if (minor_version_ > 1) {
    IEZ_TRY(const std::string_view trouble, read_times(slot, file));
    if (!trouble.empty()) bad_slot(slot, trouble, report);
  }
  ++stats_.files;
  ++report.rows;
  if (visitor.file) visitor.file(static_cast<std::uint32_t>(slot), row_);
  return {};
}

Result<std::string_view> SegmentReader::read_rename(std::uint64_t slot, std::uint32_t link) {
  const std::uint64_t at = std::uint64_t{link} - 1;
  if (at >= slots_in_file_) return "its new name is cut";
  IEZ_TRY(const abi::Slot found, slot_at(at));
  const auto rename = as<abi::RenameSlot>(found);
  if (rename.type != abi::kTypeRename || rename.file != slot) return "its new name is not where it should be";
  IEZ_TRY(const std::string_view problem, read_name(at, {rename.name, abi::kRenameRoom}, rename.name_size, row_.renamed));
  if (!problem.empty()) row_.renamed.clear();
  if (row_.renamed == row_.name) row_.renamed.clear();
  return problem.empty() ? "" : "its new name is cut or bad";
}

Result<std::string_view> SegmentReader::read_size(std::uint64_t slot, std::uint32_t link) {
  const std::uint64_t at = std::uint64_t{link} - 1;
  if (at >= slots_in_file_) return "its size is cut";
  IEZ_TRY(const abi::Slot found, slot_at(at));
  const auto size = as<abi::SizeSlot>(found);
  if (size.type != abi::kTypeSize || size.file != slot) return "its size is not where it should be";
  if (size.after > 0) {
    row_.size_before.count = std::min(size.before, size.after);
    row_.size_after.count = size.after;
  }
  return "";
}

Result<std::string_view> SegmentReader::read_times(std::uint64_t slot, const abi::FileSlot& file) {
  if (info_.kind == SegmentKind::run) {
    for (const abi::Times& times : last_times_.times) {
      if (times.file == slot + 1) set_times(times);
    }
    return "";
  }
  if (file.times == 0) return "";
  const std::uint64_t at = (file.times - 1) / abi::kTimesRoom;
  if (at >= slots_in_file_) return "its times are cut";
  IEZ_TRY(const abi::Slot found, slot_at(at));
  const auto block = as<abi::TimesSlot>(found);
  const abi::Times& times = block.times[(file.times - 1) % abi::kTimesRoom];
  if (block.times[0].type != abi::kTypeTimes || times.file != slot + 1) return "its times are not where they should be";
  set_times(times);
  return "";
}

void SegmentReader::set_times(const abi::Times& times) {
  const auto known = [this](std::int64_t time) { return time == abi::kNoTime ? std::nullopt : std::optional(wall_time(time)); };
  const auto in_order = [](std::optional<std::int64_t>& first, std::optional<std::int64_t>& last) {
    if (first && last && *last < *first) std::swap(first, last);
  };
  row_.first_write_ns = known(times.first_write_ns);
  row_.last_write_ns = known(times.last_write_ns);
  row_.first_read_ns = known(times.first_read_ns);
  row_.last_read_ns = known(times.last_read_ns);
  in_order(row_.first_write_ns, row_.last_write_ns);
  in_order(row_.first_read_ns, row_.last_read_ns);
  row_.opened_ns = known(times.opened_ns);
  row_.removed_ns = known(times.removed_ns);
  row_.own_layout = (times.flags & abi::kFlagOwnLayout) != 0;
}

void SegmentReader::read_calls(const abi::CallsSlot& block, std::uint64_t slot, const SegmentVisitor& visitor,
                               input::ParseReport& report) {
  if (block.count > abi::kCallsRoom) return bad_slot(slot, fmt::format("claims {} calls, at most 6 fit", block.count), report);
  for (const abi::Call& call : std::span(block.calls, block.count)) {
    if (call.operation < abi::kCallRead || call.operation > abi::kCallTruncate) {
      ++stats_.passed_over;
      continue;
    }
    ++stats_.calls;
    if (!visitor.call) continue;
    const std::uint64_t duration = std::min<std::uint64_t>(call.duration_ns, kLatest);
    visitor.call({.operation = static_cast<CallOperation>(call.operation),
                  .file_slot = call.file,
                  .thread = block.thread,
                  .offset = {call.offset},
                  .length = {call.length},
                  .start_ns = wall_time(call.start_ns),
                  .duration = Duration(static_cast<std::int64_t>(duration))});
  }
}

// ---- Rows -------------------------------------------------------------------------------------------------------------------

std::int64_t SegmentReader::wall_time(std::int64_t since_start) const {
  std::int64_t time = 0;
  if (__builtin_add_overflow(info_.start_ns, since_start, &time)) time = since_start < 0 ? kEarliest : kLatest;
  return std::clamp(time, kEarliest, kLatest);
}

void SegmentReader::set_row(const abi::FileSlot& slot) {
  FileCounters counters{.written = slot.written,
                        .read = slot.read,
                        .write_calls = slot.write_calls,
                        .read_calls = slot.read_calls,
                        .sequential_writes = slot.sequential_writes,
                        .sequential_reads = slot.sequential_reads,
                        .largest_write = slot.largest_write,
                        .largest_read = slot.largest_read,
                        .end = slot.end,
                        .creates = slot.creates,
                        .opens = slot.opens,
                        .stripe_size = slot.stripe_size,
                        .stripe_count = slot.stripe_count};
  if (slot.first_ns != abi::kNoTime) counters.first_ns = wall_time(slot.first_ns);
  if (slot.last_ns != abi::kNoTime) counters.last_ns = wall_time(slot.last_ns);
  // Two threads may have met, or a clock was set back.
  if (slot.first_ns != abi::kNoTime && slot.last_ns != abi::kNoTime && counters.last_ns < counters.first_ns) {
    std::swap(counters.first_ns, counters.last_ns);
  }
  if (info_.kind == SegmentKind::run) {
    counters.rank = std::max(slot.rank, kNoRank);
    counters.ranks = slot.ranks;
    counters.communicator = slot.communicator;
  } else {
    const bool used = use_of(counters) != FileUse::neither;
    counters.rank = used ? info_.rank : kNoRank;
    counters.ranks = used ? 1 : 0;
    counters.communicator = info_.communicator;
  }
  set_counters(row_, counters);
}

}  // namespace iez::trace
