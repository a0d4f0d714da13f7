// Whether a program needs what its files held before a run, as far as its earlier runs tell.
//
// `iez run --replace` takes the old contents away, so it must not do so on a guess. A file's contents are taken to be of no use
// where a run found it there and wrote over it, and none is known that read what it found: by calls, or by mapping it, as its
// time of access tells (gather.hpp). A file that no run was seen to write over may be the very state that the next one goes on
// from.
//
// Thread safety: none.
#pragma once

#include <span>
#include <string>
#include <unordered_map>

#include "store/records.hpp"

namespace iez::runs {

class OldContents {
 public:
  // Of one run. In any order.
  void add(std::span<const store::FileRow> files);

  // Why the file may not be taken away; empty: it may.
  std::string why_needed(const std::string& name) const;

 private:
  enum class Use : std::uint8_t { written_over, read };
  std::unordered_map<std::string, Use> uses_;  // of files that were there when a run began
};

}  // namespace iez::runs
