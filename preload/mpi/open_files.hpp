// What is remembered of every file that the program has opened through MPI.
//
// Thread safety: find(), add() and remove() may be called by any thread; an OpenFile belongs to the thread that makes a call on
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collective/data_map.hpp"
#include "collective/file_report.hpp"
#include "collective/hints.hpp"
#include "preload/mpi/logged_file.hpp"
#include "preload/mpi/session.hpp"
#include "preload/mpi/team.hpp"
#include "preload/mpi/worker.hpp"

namespace iez::preload {

// What became of a call of the program.
struct Done {
  bool served = false;       // false: nothing has happened, on any rank; the MPI is to do it
  int result = MPI_SUCCESS;  // the same class on all ranks
  MPI_Count bytes = 0;       // of this rank
};

struct OpenFile {
  std::string path;
  int mode = 0;  // of MPI_File_open
  std::shared_ptr<TeamComm> team;
  collective::Hints hints;

  // The view; none: one that this library leaves to the MPI.
  std::optional<collective::DataMap> view = collective::DataMap::contiguous(0);
  bool empty_view = false;  // not a byte of the file is in it: the part of an array that is nobody else's, and nobody's
  std::int64_t etype_bytes = 1;
  bool atomic = false;

  // In log mode, which is decided at open, the same on all ranks.
  bool logged = false;
  std::shared_ptr<LoggedFile> log;  // none while the file is left to the MPI
  bool guest = false;               // the log is that of a file that was opened before, and which closes it
  int log_error = 0;                // with which a log stayed beside the file

  bool tried = false;  // to begin a session
  std::unique_ptr<Session> session;
  std::optional<Done> split;       // of a split call that has begun
  std::unique_ptr<Worker> worker;  // after the first nonblocking call
  bool left = false;               // until the view changes: all ranks know that one of them cannot serve it

  // Of sessions that are over, and of calls without one.
  collective::RankReport counted;
  std::optional<collective::FileReport> report;  // where counters are wanted, on all ranks
  std::uint64_t passed = 0;                      // calls that were left to the MPI
};

// Of a name as it is given to MPI: ROMIO and OMPIO take "ufs:/path".
const char* without_file_system(const char* name);

// After a file was opened, by all ranks of `comm`. A log that lies beside it is brought into it; if that fails, an errno, and the
// file must not be used: it would be without what is in the log.
[[nodiscard]] int remember(MPI_File file, MPI_Comm comm, const char* path, int mode, MPI_Info info);
// More hints. True if they change what is in force: those of the first rank, for all.
bool take_info(const MpiFunctions& mpi, MPI_Info info, OpenFile& open);

// Null if the file is not served.
std::shared_ptr<OpenFile> find_file(MPI_File file);
void add_file(MPI_File file, std::shared_ptr<OpenFile> open);
// Returns it, if it was there.
std::shared_ptr<OpenFile> remove_file(MPI_File file);

}  // namespace iez::preload
