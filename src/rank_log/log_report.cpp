#include "rank_log/log_report.hpp"

#include <cerrno>

#include <fmt/format.h>

#include "rank_log/log_files.hpp"
#include "rank_log/log_format.hpp"

namespace iez::rank_log {

namespace {

std::string_view verb(Action action) {
  switch (action) {
    case Action::open:
      return "open it";
    case Action::read:
      return "read it";
    case Action::write:
      return "write it";
    case Action::lock:
      return "lock it";
    case Action::sync:
      return "bring it to the disk";
    case Action::resize:
      return "set its size";
    case Action::remove:
      return "remove it";
    case Action::nothing:
    case Action::allocate:
    case Action::understand:
    case Action::cancel:
      break;
  }
  return "use it";
}

std::string place_of(const Problem& problem, const LogPaths& paths) {
  switch (problem.place) {
    case Place::index:
      return fmt::format("{}/{}", paths.folder, index_name(problem.rank).text);
    case Place::data:
      return fmt::format("{}/{}", paths.folder, data_name(problem.rank).text);
    case Place::file:
      return paths.file;
    case Place::nowhere:
    case Place::folder:
      break;
  }
  return problem.action == Action::remove ? paths.folder + kRetiredSuffix : paths.folder;
}

std::string header_text(const RankCounts& counts) {
  const Header& header = counts.header;
  switch (counts.header_fault) {
    case HeaderFault::none:
    case HeaderFault::unfinished:
      break;
    case HeaderFault::magic:
      return fmt::format("begins with {:#018x}, not with {:#018x} (\"IEZRLOG1\"): no index of a log, or its front is damaged",
                         header.magic, kMagic);
    case HeaderFault::byte_order:
      if (header.byte_order == kForeignByteOrder) return "was written on a big-endian machine: flatten it there";
      return fmt::format("has byte-order mark {:#010x}, expected {:#010x}: its header is damaged", header.byte_order, kByteOrder);
    case HeaderFault::version:
      return fmt::format("is of format version {}, this iez knows version {}: use the iez that wrote it", header.version,
                         kVersion);
    case HeaderFault::sizes:
      return fmt::format("has a header of {} and records of {} bytes, expected {} and {}: its header is damaged",
                         header.header_size, header.record_size, sizeof(Header), sizeof(Record));
    case HeaderFault::checksum:
      return fmt::format("has header checksum {:#018x}, its bytes give {:#018x}: its header is damaged", header.checksum,
                         header_checksum(header));
    case HeaderFault::rank:
      return fmt::format("is the index of rank {}: give it the name {} again", header.rank, index_name(header.rank).text);
    case HeaderFault::not_file:
      return "is no regular file";
  }
  return {};
}

std::string_view record_text(RecordFault fault) {
  switch (fault) {
    case RecordFault::none:
      break;
    case RecordFault::checksum:
      return "its checksum is wrong";
    case RecordFault::kind:
      return "is of a kind that this iez does not know: use the iez that wrote it";
    case RecordFault::pattern:
      return "has numbers that no write has";
    case RecordFault::sequence:
      return "its sequence is below that of the one before";
    case RecordFault::data:
      return "its data is not there";
  }
  return {};
}

}  // namespace

LogPaths log_paths(std::string_view given) {
  while (given.size() > 1 && given.ends_with('/')) given.remove_suffix(1);
  const std::string_view suffix = kFolderSuffix;
  if (given.size() > suffix.size() && given.ends_with(suffix) && given[given.size() - suffix.size() - 1] != '/') {
    return {.file = std::string(given.substr(0, given.size() - suffix.size())), .folder = std::string(given)};
  }
  return {.file = std::string(given), .folder = fmt::format("{}{}", given, suffix)};
}

Error error_of(const Problem& problem, const LogPaths& paths) {
  const std::string place = place_of(problem, paths);
  if (problem.action == Action::understand) {
    return fail(Errc::parse,
                fmt::format("{}: the log is damaged: 'iez log check {}' tells where; --force brings in what is whole", place,
                            paths.file))
        .error();
  }
  if (problem.action == Action::cancel) return fail_errno(problem.error, fmt::format("{}: the log is as it was", place)).error();
  if (problem.error == EBUSY) {
    return fail_errno(problem.error,
                      fmt::format("{}: a program writes this log, or another iez flattens it; wait for its end", place))
        .error();
  }
  if (problem.error == EBADMSG && problem.place == Place::data) {
    return fail(Errc::parse,
                fmt::format("{}: ends at byte {}, before what its index tells of: the log is damaged or being removed", place,
                            problem.offset))
        .error();
  }
  if (problem.action == Action::allocate) {
    return fail(
               Errc::limit,
               fmt::format(
                   "{}: too many writes of the same place, at byte {} of the file, for the memory allowed: give more by --memory",
                   place, problem.offset))
        .error();
  }
  if (problem.error == EEXIST && problem.place == Place::folder) {
    return fail_errno(problem.error, fmt::format("{}{}: move it away, then flatten again", paths.folder, kDamagedSuffix)).error();
  }
  std::string text = fmt::format("{}: cannot {}", place, verb(problem.action));
  if (problem.action == Action::write && problem.place == Place::file) {
    text += fmt::format(" at byte {}; the log is whole: make room, then flatten again", problem.offset);
  } else if (problem.action == Action::resize) {
    text += fmt::format(" to {} bytes; the log is whole", problem.offset);
  } else if (problem.action == Action::remove) {
    text += "; the file has all of it: remove it by hand";
  }
  return fail_errno(problem.error, text).error();
}

std::string damage_of(const RankCounts& counts) {
  if (counts.sound()) return {};
  const RankName name = index_name(counts.rank);
  if (const std::string text = header_text(counts); !text.empty()) return fmt::format("{}: {}", name.text, text);
  const std::string more = counts.damaged > 1 ? fmt::format("; {} damaged in all", counts.damaged) : std::string{};
  return fmt::format("{}: record {}: {}{}", name.text, counts.first_damaged, record_text(counts.first_fault), more);
}

}  // namespace iez::rank_log
