// Which files lie on a file system that takes layouts: the mounts of Lustre, and of labs.
//
// From the text of /proc/self/mountinfo. Names are compared as text, so they have to be real ones: those in traces are.
//
// Thread safety: plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iez::runs {

struct LayoutMount {
  std::string path;         // of the mount
  std::string file_system;  // "lustre" of "10.0.0.1@tcp:/lustre/home", the name of a lab
  bool lab = false;
  std::string params;  // of a lab: the folder of this mount's parameters, LAB/params/client0 of LAB/mnt/client0

  friend bool operator==(const LayoutMount&, const LayoutMount&) = default;
};

// Lines of another form are passed over. Longest path first.
std::vector<LayoutMount> parse_mounts(std::string_view mountinfo);

// Of this process.
[[nodiscard]] Result<std::vector<LayoutMount>> read_mounts();

// The mount that a file of this name is on; none: it is on none of them.
const LayoutMount* mount_of(const std::vector<LayoutMount>& mounts, std::string_view path);

// Where the parameters of a client of this file system are: what is given, if anything is; of a lab, those of its mount; none:
// this node's.
std::vector<std::string> roots_of(const std::vector<LayoutMount>& mounts, std::string_view file_system,
                                  const std::vector<std::string>& given);

// Whether name is folder, or below it.
bool is_below(std::string_view name, std::string_view folder);

}  // namespace iez::runs
