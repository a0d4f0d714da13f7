// A file in log mode. What this rank writes goes to a log of its own (rank_log/log_writer.hpp); what it reads is taken from the
// logs of all ranks and from the file. No rank waits for another to write.
//
// Each collective write, sync and new size takes the next sequence, the same on all ranks, since all of them make the same calls;
// of writes that overlap, the later sequence wins.
//
// Reading is right, not fast: after a write the indexes of all ranks are read again.
//
// Thread safety: write(), read(), size() and put_size() may be called by any thread; the rest is collective, one call at a time.
// Errors are errno values, 0 is success. Units: bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "collective/engine.hpp"
#include "preload/mpi/team.hpp"
#include "rank_log/log_files.hpp"
#include "rank_log/log_view.hpp"
#include "rank_log/log_writer.hpp"

namespace iez::preload {

// How many bytes of a part are written or read, the first ones. Fewer than all without an error: the end of the file.
struct Moved {
  std::int64_t bytes = 0;
  int error = 0;
};

class LoggedFile {
 public:
  // Collective. Null on all ranks if one of them cannot write a log. REQUIRES: there is none (flatten_log()).
  static std::unique_ptr<LoggedFile> begin(const TeamComm& team, const std::string& path);

  // A collective call begins, on this rank. What others have written before is seen from here on.
  void next_sequence();

  [[nodiscard]] Moved write(const collective::Part& part);
  [[nodiscard]] Moved read(const collective::Part& part);
  // Of the file, as it is seen.
  [[nodiscard]] int size(std::int64_t& bytes);
  // In the sequence that has begun, by one rank alone.
  [[nodiscard]] int put_size(std::int64_t bytes);
  [[nodiscard]] int sync();
  // Of this rank. Nothing can be written afterwards.
  [[nodiscard]] int close();

 private:
  LoggedFile() = default;

  int look();

  std::mutex mutex_;
  rank_log::LogWriter writer_;
  rank_log::Descriptor folder_;  // to read
  rank_log::Descriptor file_;    // to read; none if this process may not
  std::uint64_t sequence_ = 0;
  std::optional<rank_log::LogView> view_;  // none: what is in the logs has changed
};

// Beside the file.
std::string log_folder(const std::string& path);

}  // namespace iez::preload
