// Everything that collective calls of one open file need: made when the first one comes.
//
// Thread safety: none; one call at a time, as MPI demands of collective calls on a file.
#pragma once

#include <memory>
#include <string>

#include "collective/choices.hpp"
#include "collective/contest.hpp"
#include "collective/engine.hpp"
#include "collective/file_layout.hpp"
#include "collective/file_report.hpp"
#include "collective/hints.hpp"
#include "collective/storage.hpp"
#include "collective/windows.hpp"
#include "preload/mpi/known_ways.hpp"
#include "preload/mpi/team.hpp"

namespace iez::preload {

class Session {
 public:
  // Collective. Null, on all ranks, if collecting is switched off, of no use here, or not possible.
  static std::unique_ptr<Session> begin(std::shared_ptr<TeamComm> team, const std::string& path, int open_flags,
                                        const collective::Hints& hints);
  ~Session();

  // What it has learnt of the two ways of calls is kept for files to come. Collective.
  void end();

  collective::Engine& engine() { return *engine_; }
  std::uint32_t aggregators() const { return windows_->aggregators(); }
  std::int64_t window_bytes() const { return windows_->window_bytes(); }
  // Hints as they are in force, for MPI_File_get_info.
  collective::Hints hints_in_force() const { return collective::hints_in_force(hints_, layout_, choices_); }
  // Whether this rank reads and writes the file itself.
  bool is_aggregator() const { return storage_ != nullptr; }
  // Whether counters are wanted at close; the same on all ranks.
  bool counts() const { return counts_; }
  // All but the path, and what is gathered from ranks.
  collective::FileReport describe() const;

 private:
  Session() = default;

  std::shared_ptr<TeamComm> team_;
  collective::Hints hints_;  // of the first rank, for all
  collective::FileLayout layout_;
  collective::FileChoices choices_;
  bool counts_ = false;
  FileKind kind_;
  collective::Contest contest_;
  std::unique_ptr<collective::NodeArena> arena_;
  std::unique_ptr<collective::Windows> windows_;
  std::unique_ptr<collective::Storage> storage_;
  std::unique_ptr<collective::Engine> engine_;
};

}  // namespace iez::preload
