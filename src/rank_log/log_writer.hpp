// Writes the log of one rank (log_format.hpp): bytes go to the end of RANK.data, and where they belong to RANK.index.
//
// Freestanding: libc alone; no exceptions, no allocation, no output, no MPI. It goes into other people's programs.
//
// The contract, for whoever puts it under a parallel program:
//   - Before the first write, one process asks highest_sequence() of the folder, and tells all: sequences go on from there.
//   - open() on every rank that writes. Any rank may make the folder.
//   - Each collective write takes the next sequence, the same on all ranks, whether a rank has bytes or not. Where writes
//   overlap,
//     the higher sequence wins; within one sequence the higher rank, and within a rank what was appended later. So a rank may
//     append several times in one sequence, and independent writes take the sequence of the last collective call. A collective
//     sync or change of size takes a sequence of its own.
//   - set_size() on one rank alone.
//   - close() on all ranks; then log_flatten.hpp brings it into the file, or `iez log flatten` does so later.
//   - Until then FILE itself must not be written: the log would win over it.
//
// After a kill at any instruction, what append() has returned from is there. After the loss of a machine, what sync() has.
//
// Thread safety: none; one writer, one thread at a time. Errors are errno values, 0 is success. Units: bytes.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "rank_log/log_files.hpp"
#include "rank_log/log_format.hpp"
#include "rank_log/pattern.hpp"

namespace iez::rank_log {

struct WriterOptions {
  std::uint32_t ranks = 0;  // of the program, to be told by `iez log show`; 0: not known
  FileStamp file{};         // FILE, so that a log is not taken for that of a later file of this name
  std::int64_t now_ns = 0;  // since 1970; 0: not known
  mode_t mode = 0666;       // of files, before the umask; folders get the x beside each r
  bool data_sums = true;    // checksums of data, for `iez log check`
};

// How many bytes are in the log now, of those that were to be appended: the first ones. All, if error is 0.
struct Appended {
  std::uint64_t bytes = 0;
  int error = 0;
};

class LogWriter {
 public:
  LogWriter() = default;
  ~LogWriter() = default;  // closes the files; an error is then lost
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Makes FOLDER and the files of this rank where they are not there, and goes on behind what is whole in them: what a killed
  // writer left unfinished is cut off. EBUSY: another process writes the log of this rank, or brings the log into its file.
  // EBADMSG: the index is damaged, or of another format. ESTALE: the log is of another file, which had this name.
  [[nodiscard]] int open(const char* folder, std::uint32_t rank, const WriterOptions& options);

  // The bytes of `data`, one segment behind the other, belong to the blocks of `patterns`, in order. Neighbours and equal steps
  // become one record each. EINVAL, and nothing is taken: their lengths differ, a pattern is not sound (pattern.hpp; but block or
  // count may be 0), or the sequence falls.
  // ENOSPC, EDQUOT, EFBIG, EIO, ...: the log holds the first `bytes` of them and stays as usable as before.
  [[nodiscard]] Appended append(std::uint64_t sequence, std::span<const Pattern> patterns, std::span<const iovec> data);

  // FILE is `size` bytes long from here on; what comes later may make it longer again, with zeros in between.
  [[nodiscard]] int set_size(std::uint64_t sequence, std::uint64_t size);

  // Data first, then the index, are on the disk.
  [[nodiscard]] int sync();

  // Does not sync. Can be opened again.
  [[nodiscard]] int close();

  bool is_open() const { return static_cast<bool>(index_); }
  std::uint64_t bytes() const { return log_end_; }           // in RANK.data
  std::uint64_t records() const { return records_; }         // in RANK.index
  std::uint64_t last_sequence() const { return sequence_; }  // of this rank

 private:
  static constexpr std::size_t kBatch = 63;

  class Source;  // where in the segments

  int start_fresh(const WriterOptions& options);
  int resume(std::uint64_t index_size, const WriterOptions& options);
  Appended flush(std::uint64_t sequence, Source& source);
  int write_records(std::uint64_t sequence, const Source& source, std::size_t& whole);
  void cut_batch(std::uint64_t bytes);

  Descriptor folder_;
  Descriptor index_;
  Descriptor data_;
  std::uint32_t rank_ = 0;
  bool data_sums_ = true;
  bool folder_synced_ = false;
  std::uint64_t log_end_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t sequence_ = 0;

  std::size_t batched_ = 0;
  Pattern batch_[kBatch + 1];  // one more where a write was cut within a block
};

// The highest sequence in the log of any rank; 0 if there is no log. Reads the end of each index.
[[nodiscard]] int highest_sequence(const char* folder, std::uint64_t& sequence);

}  // namespace iez::rank_log
