// A file in log mode. What this rank writes goes to a log of its own (rank_log/log_writer.hpp); what it reads is taken from the
// logs of all ranks and from the file. No rank waits for another to write.
//
// Each collective write, sync and new size takes the next sequence, the same on all ranks, since all of them make the same calls;
// of writes that overlap, the later sequence wins.
//
// A program may open a file once more while it is logged, each rank by itself for instance, as PnetCDF does for independent
// access. What is written and read that way goes through the same log, in the sequence that is under way.
//
// Reading is right, not fast: after a write the indexes of all ranks are read again.
//
// Thread safety: write(), read(), size(), put_size(), is_of(), is_over() and look_again() may be called by any thread; the rest
// is collective, one call at a time. Errors are errno values, 0 is success. Units: bytes.
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
  static std::shared_ptr<LoggedFile> begin(const TeamComm& team, const std::string& path);

  // A collective call begins, on this rank. What others have written before is seen from here on.
  void next_sequence();

  [[nodiscard]] Moved write(const collective::Part& part);
  [[nodiscard]] Moved read(const collective::Part& part);
  // Of the file, as it is seen.
  [[nodiscard]] int size(std::int64_t& bytes);
  // In the sequence that has begun, by one rank alone.
  [[nodiscard]] int put_size(std::int64_t bytes);
  [[nodiscard]] int sync();
  // Of this rank. Nothing can be written or read afterwards.
  [[nodiscard]] int close();

  // Whether that is the file, and it is still logged.
  [[nodiscard]] bool is_of(const std::string& path);
  [[nodiscard]] bool is_over();
  // What others have written is seen from here on, without a new sequence.
  void look_again();

 private:
  LoggedFile() = default;

  int look();

  std::mutex mutex_;
  rank_log::LogWriter writer_;
  rank_log::Descriptor folder_;  // to read
  rank_log::Descriptor file_;    // to read; none if this process may not
  rank_log::FileStamp stamp_;
  std::uint64_t device_ = 0;
  bool over_ = false;
  std::uint64_t sequence_ = 0;
  std::optional<rank_log::LogView> view_;  // none: what is in the logs has changed
};

// Beside the file.
std::string log_folder(const std::string& path);

}  // namespace iez::preload
