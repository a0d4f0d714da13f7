// What the oracle may draw; each can be left out by name, since the MPIs that it is tried with have bugs of their own.
#pragma once

#include <bitset>
#include <span>
#include <string>
#include <string_view>

namespace iez::collective_test {

enum class Kind {
  // constructors of datatypes
  contiguous,
  vector,
  hvector,
  indexed,
  hindexed,
  indexed_block,
  hindexed_block,
  structure,
  subarray,
  darray,
  resized,
  dup,
  lower,    // file types whose lower bound is not 0
  pairs,    // MPI_DOUBLE_INT and its like
  etype,    // elementary types of several pieces, with holes
  nothing,  // empty blocks; file types without a byte
  // memory
  memory,     // not contiguous
  shifted,    // whose first byte is not at the address that MPI gets
  transpose,  // elements of one copy between those of the next
  bottom,     // MPI_BOTTOM and absolute addresses
  // calls
  pointer,
  at,
  split,
  nonblocking,      // collective ones
  own_nonblocking,  // those of one process
  ordered,
  independent,
  mixed,  // calls of several sorts under way at a time, on bytes that do not conflict
  large,  // counts of type MPI_Count, where the MPI has them
  seek,
  size,  // MPI_File_set_size, MPI_File_preallocate
  // conditions
  old,       // the file has contents before
  overlap,   // ranks access the same bytes; what they write is the same there
  zeros,     // bytes that nobody wrote are 0; the standard leaves them undefined
  zero,      // ranks that take part with nothing
  eof,       // reads past the end
  unsynced,  // no MPI_File_sync between what is written and who reads it; only a barrier
  visible,   // after MPI_File_sync, for who reads the file by other means; what is in a log is not
  append,
  remove,  // MPI_MODE_DELETE_ON_CLOSE
  wronly,
  rdonly,
  self,
  sub,
  two,  // files at a time
  atomic,
  hints,
  threads,
  big,  // offsets over 2 and 4 GiB
  far   // copies of a file type gigabytes apart; who reads and writes the holes between them needs as much space
};
inline constexpr int kKinds = static_cast<int>(Kind::far) + 1;

class Kinds {
 public:
  [[nodiscard]] bool has(Kind kind) const { return set_.test(static_cast<std::size_t>(kind)); }
  void put(Kind kind, bool on) { set_.set(static_cast<std::size_t>(kind), on); }

 private:
  std::bitset<kKinds> set_;
};

// "all", "all,-eof,-threads", "pointer,vector"; later words hold. False for a name that is none; `wrong` is then it.
bool parse_kinds(std::string_view text, Kinds& kinds, std::string& wrong);
std::string_view name_of(Kind kind);

}  // namespace iez::collective_test
