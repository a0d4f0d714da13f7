// What libiez-mpi-*.so asks and tells libiez.so, which has neither an exported symbol of its own nor a word of MPI.
//
// fcntl(kNoteDescriptor, command, OpenNote*) reaches the interposed fcntl() of libiez.so. Where that library is missing or
// switched off, the real one answers: -1 with EBADF, and that is an answer, too.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>

namespace iez::preload {

inline constexpr int kNoteDescriptor = -0x1E2A;  // never a descriptor, nor AT_FDCWD
inline constexpr int kAskPlanned = 0x1E2A01;     // 1: the plan has a layout for a new file of this name; 0: it has none
inline constexpr int kTellOpened = 0x1E2A02;     // 0: noted in the trace
// The program chooses the stripes of path, by hints: a file of this name is left to it from now on, and the trace says so once it
// is there. 0: noted.
inline constexpr int kTellOwnLayout = 0x1E2A03;

struct OpenNote {
  std::uint32_t size = sizeof(OpenNote);  // of what the caller knows of this struct
  std::uint32_t communicator = 0;         // ranks that opened the file together
  std::int32_t rank = -1;                 // among them
  std::uint32_t writers = 0;              // hint cb_nodes; 0: not given
  const char* path = nullptr;             // as a system call takes it
};

}  // namespace iez::preload
