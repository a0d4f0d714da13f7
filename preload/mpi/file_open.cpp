// libiez-mpi-FLAVOUR.so: MPI_File_open, for one MPI.
//
// A file that the plan knows is made by rank 0 of the communicator before any rank opens it: one create with the layout, be the
// MPI one whose ranks would all create. The next MPI_File_open in line then does what it always does, with the arguments as they
// came. Afterwards libiez.so is told how many ranks opened the file together. A file whose stripes the program chooses by hints
// (striping_factor, striping_unit, start_iodevice) is left to it.
//
// Nothing of MPI is linked: a program that has no MPI does not get one. Functions of MPI are looked up when a program that calls
// MPI_File_open has them for certain.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "preload/mpi/exports.hpp"
#include "preload/mpi/mpi_functions.hpp"
#include "preload/mpi/open_files.hpp"
#include "preload/mpi/open_note.hpp"
#include "preload/mpi/transfer.hpp"

namespace {

using iez::preload::OpenNote;

using iez::preload::next;
using iez::preload::without_file_system;

using FileOpen = int (*)(MPI_Comm, const char*, int, MPI_Info, MPI_File*);
using CommNumber = int (*)(MPI_Comm, int*);
using InfoGet = int (*)(MPI_Info, const char*, int, char*, int*);

struct Opening {
  OpenNote note;
  int caller_errno;
  bool own_layout = false;
};

void tell(const Opening& opening, int command) { ::fcntl(iez::preload::kNoteDescriptor, command, &opening.note); }

// The number that a hint of the program is; -1: it gives none that makes sense.
std::int64_t hint(MPI_Info info, const char* key) {
  if (info == MPI_INFO_NULL) return -1;
  const auto get = next<InfoGet>("MPI_Info_get");
  char text[16] = {};
  int found = 0;
  if (get == nullptr || get(info, key, static_cast<int>(sizeof text) - 1, text, &found) != MPI_SUCCESS || found == 0) return -1;
  char* end = nullptr;
  const long long number = std::strtoll(text, &end, 10);
  return end == text ? -1 : number;
}

std::uint32_t writers_of(MPI_Info info) {
  const std::int64_t number = hint(info, "cb_nodes");
  return number < 0 || number > UINT_MAX ? 0 : static_cast<std::uint32_t>(number);
}

// On Lustre the MPI makes the file with these stripes, if it can; whatever it does, the program has said what it wants.
bool chooses_stripes(MPI_Info info) {
  return hint(info, "striping_factor") > 0 || hint(info, "striping_unit") > 0 || hint(info, "start_iodevice") >= 0;
}

int access_of(int mode) {
  if ((mode & MPI_MODE_RDWR) != 0) return O_RDWR;
  return (mode & MPI_MODE_WRONLY) != 0 ? O_WRONLY : O_RDONLY;
}

Opening begin(MPI_Comm comm, const char* name, int mode, MPI_Info info) {
  Opening opening{.note = {}, .caller_errno = errno};
  const auto rank_of = next<CommNumber>("MPI_Comm_rank");
  const auto size_of = next<CommNumber>("MPI_Comm_size");
  int rank = -1;
  int size = 0;
  if (name == nullptr || rank_of == nullptr || size_of == nullptr || rank_of(comm, &rank) != MPI_SUCCESS ||
      size_of(comm, &size) != MPI_SUCCESS) {
    return opening;
  }
  opening.note = {.communicator = static_cast<std::uint32_t>(size),
                  .rank = rank,
                  .writers = writers_of(info),
                  .path = without_file_system(name)};
  opening.own_layout = (mode & MPI_MODE_CREATE) != 0 && chooses_stripes(info);
  if (opening.own_layout) tell(opening, iez::preload::kTellOwnLayout);
  const bool creates = (mode & MPI_MODE_CREATE) != 0 && (mode & MPI_MODE_EXCL) == 0 && !opening.own_layout;
  if (creates && rank == 0 && ::fcntl(iez::preload::kNoteDescriptor, iez::preload::kAskPlanned, &opening.note) == 1) {
    // As both MPIs create: with all permissions that the process's mask leaves.
    const int fd = ::open(opening.note.path, O_CREAT | O_CLOEXEC | access_of(mode), 0666);
    if (fd >= 0) ::close(fd);
  }
  errno = opening.caller_errno;
  return opening;
}

void end(const Opening& opening, int result) {
  const int keep = errno;
  if (result == MPI_SUCCESS && opening.note.path != nullptr) {
    tell(opening, iez::preload::kTellOpened);
    if (opening.own_layout) tell(opening, iez::preload::kTellOwnLayout);  // now it is there
  }
  errno = keep;
}

}  // namespace

extern "C" {

IEZ_EXPORT int MPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
  const auto open = next<FileOpen>("MPI_File_open");
  if (open == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  const Opening opening = begin(comm, filename, amode, info);
  const int result = open(comm, filename, amode, info, fh);
  end(opening, result);
  if (result == MPI_SUCCESS && opening.note.path != nullptr) {
    if (const int error = iez::preload::remember(*fh, comm, opening.note.path, amode, info)) {
      if (const auto close = next<int (*)(MPI_File*)>("PMPI_File_close"); close != nullptr) close(fh);
      return iez::preload::class_of(error);
    }
  }
  return result;
}

}  // extern "C"
