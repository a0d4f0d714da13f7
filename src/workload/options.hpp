// What a workload is asked to do, and its way to the processes that do it: words "key=value".
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "workload/pattern.hpp"

namespace iez::workload {

struct Options {
  Pattern pattern;
  bool write = true;
  bool read = true;
  bool keep = false;        // leave the files
  bool sync = false;        // fsync() before closing what was written
  bool verify = false;      // compare every byte that is read
  bool drop_cache = false;  // read from the servers, not from this node's memory
  bool collective = false;  // MPI-IO, HDF5: calls that all processes make together
  std::uint32_t repetitions = 1;
  bool multiple = false;      // every repetition has files of its own, as the steps of a simulation have
  bool in_place = false;      // files that exist are not removed before they are written
  std::string meet;           // a file, where several workloads meet before each phase; empty: nobody waits
  std::uint32_t parties = 2;  // how many they are
  bool json = false;

  bool operator==(const Options&) const = default;
};

[[nodiscard]] Result<void> check(const Options& options);

// Of a file of the pattern in one repetition: with `multiple` its number is added, as IOR does: NAME.00000012.3.
std::string file_name(const Options& options, std::uint32_t file, std::uint32_t repetition);

std::vector<std::string> to_words(const Options& options);
// Fails on a word that to_words() does not make, and on options that make no sense.
[[nodiscard]] Result<Options> options_of(std::span<const std::string> words);

}  // namespace iez::workload
