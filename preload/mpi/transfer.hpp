// A call of the program that moves data, carried out by the engine or in a log, or left to the MPI.
//
// Thread safety: as MPI demands of collective calls on a file: one at a time. Calls that are not collective: any number.
#pragma once

#include "preload/mpi/mpi_functions.hpp"
#include "preload/mpi/open_files.hpp"

namespace iez::preload {

enum class Where : std::uint8_t {
  pointer,  // at the rank's file pointer, which moves
  offset,   // as the call says
  ordered,  // at the shared file pointer, in the order of ranks
};

struct Call {
  MPI_File file{};
  bool write = false;
  bool collective = true;  // if not, it is served only where the file is in log mode
  Where where = Where::pointer;
  MPI_Offset offset = 0;
  void* memory = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type{};
  bool ends = true;  // when it returns, whoever does it; not so if it is the first half of a split call
};

// Whether calls on the file are served. Collective: the first time it looks at the file and makes what is needed.
bool is_served(OpenFile& open);
// All ranks tell whether they can serve their view, and do so only if all can. Collective. `new_hints`: of take_info(); what
// was chosen by the old ones is chosen anew.
void agree_on_view(OpenFile& open, bool new_hints);
// After take_info(), which may make a file served that was not. Collective.
void agree_on_hints(OpenFile& open, bool new_hints);

// All ranks make the same call, if it is a collective one.
Done transfer(const MpiFunctions& mpi, OpenFile& open, const Call& call);

// After transfer() of a collective call that was not served, when the MPI is through with it: how long that took is compared.
void passed_through(OpenFile& open);

// The same while the program goes on. False: nothing has happened, on any rank.
bool start_transfer(const MpiFunctions& mpi, const std::shared_ptr<OpenFile>& open, const Call& call, MPI_Request* request);

// At close: the log goes into the file, unless it is to stay. Collective; tells in log_error.
void end_log(OpenFile& open);

// What of a view lies before `size` in the file, in etypes.
MPI_Offset etypes_before(const OpenFile& open, std::int64_t size);

// The class of an errno.
int class_of(int error);

// What a status tells of it. `status` may be MPI_STATUS_IGNORE.
void set_status(const MpiFunctions& mpi, MPI_Status* status, MPI_Count bytes);

}  // namespace iez::preload
