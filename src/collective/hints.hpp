// Hints of a program about its collective I/O: what it may say, in which words, and what is in force.
//
// Hints are advice: an unknown key is not ours and is ignored, a value that makes no sense is counted and ignored, and the
// program goes on. Each hint is known by the words of the source and of ROMIO; of two that mean the same, the last one given
// counts.
//
//   of the source       of ROMIO or MPI              meaning
//   directIO            direct_read, direct_write    around the page cache
//   CO                  romio_lustre_co_ratio        aggregators of an OST, at most
//   ds_in_coll          romio_lustre_ds_in_coll      holes in a window are read, so that it is written in one piece
//   big_req_size        romio_lustre_coll_threshold  pieces larger than this are written by the ranks themselves; 0: none are
//   same_io_size        -                            every rank moves the same number of bytes in a call
//   contiguous_data     -                            ranks' data lie one behind the other, in the order of ranks
//   -                   romio_cb_write, romio_cb_read, collective_buffering
//                                                    collect: enable, disable, automatic
//   -                   cb_nodes                     aggregators, at most
//   -                   cb_buffer_size               memory of an aggregator for windows
//   -                   striping_unit, striping_factor, start_iodevice
//                                                    layout of a new file; on other file systems than Lustre the imagined one
//   iez_mode            -                            auto, collective, independent, log, choose, off
//   iez_flatten         -                            close, later: when a log is brought into its file
//   iez_osts            -                            OSTs of the file system, for iez_mode=choose
//   iez_ranks_per_node  -                            imagine nodes of so many ranks: to try what several nodes do on one
//   iez_switch_every    -                            collect so many calls, leave as many to the MPI, and so on: to try that
//
// Compiled into preload libraries, too: no exceptions, no allocation.
//
// Thread safety: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace iez::collective {

enum class Switch : std::uint8_t { automatic, enable, disable };

enum class Mode : std::uint8_t {
  automatic,    // collect where it pays
  collective,   // always collect
  independent,  // every rank by itself
  log,          // every rank into a log of its own
  choose,       // log or automatic, by what the OSTs have to bear
  off,          // calls go to the MPI as if we were not there
};

// Trivially copyable, so that one rank can send it to all.
struct Hints {
  Mode mode = Mode::automatic;
  Switch collect_writes = Switch::automatic;
  Switch collect_reads = Switch::automatic;
  Switch fill_holes = Switch::automatic;
  bool direct_writes = false;
  bool direct_reads = false;
  bool same_io_size = false;
  bool contiguous_data = false;
  bool flatten_later = false;  // not at close
  std::uint32_t clients_per_ost = 1;
  std::uint32_t aggregators = 0;         // 0: we choose
  std::int64_t big_request = 0;          // bytes; 0: none is
  std::int64_t buffer_bytes = 16 << 20;  // of a process
  std::int64_t stripe_size = 0;          // bytes; 0: not said
  std::uint32_t stripes = 0;             // 0: not said
  std::int32_t first_ost = -1;           // -1: not said
  std::uint32_t ranks_per_node = 0;      // 0: as they are
  std::uint32_t osts = 0;                // of the file system; 0: not said
  std::uint32_t switch_every = 0;        // calls; 0: by their times
  std::uint32_t bad_values = 0;          // that were ignored

  // Whether the key is one of ours. Letters of a value may be of either case; a size may end with K, M or G.
  bool take(std::string_view key, std::string_view value);

  // Calls take(key, value) with C strings for every hint in force, once for each of its keys. What we have yet to choose is left
  // out.
  template <typename Take>
  void each(Take take) const;

  bool operator==(const Hints&) const = default;

 private:
  static constexpr std::size_t kLongestValue = 24;  // a number of 64 bits, its sign, and a 0

  static std::size_t keys();
  static const char* key(std::size_t index);
  // Null if the hint has no value yet.
  const char* value(std::size_t index, std::span<char, kLongestValue> room) const;
};

template <typename Take>
void Hints::each(Take take) const {
  std::array<char, kLongestValue> room{};
  for (std::size_t i = 0; i < keys(); ++i) {
    const char* const text = value(i, room);
    if (text != nullptr) take(key(i), text);
  }
}

}  // namespace iez::collective
