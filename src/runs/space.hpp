// How full the targets are, as far as this node can tell, and which of it this run wrote.
//
// What a client knows of OSTs is a few seconds old. What a run has written in that time is known here: its files and their
// layouts. So a target is taken to be as full as the statistics say, or as it was before the run plus what the run wrote,
// whichever is more.
//
// Thread safety: none beyond that of the files.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "model/cluster.hpp"
#include "placement/targets.hpp"

namespace iez::runs {

// The file system of this name; empty: the only one. roots: of parameters, empty for this node.
[[nodiscard]] Result<model::Cluster> read_cluster(const std::vector<std::string>& roots, const std::string& file_system);

// Bytes that existing files have on each target. A file that is not there, or has no layout, has none.
class FileSpace {
 public:
  static constexpr std::size_t kMaxLookups = 5000;  // each asks the file system

  const std::vector<placement::Reservation>& of(const std::string& name);

 private:
  std::unordered_map<std::string, std::vector<placement::Reservation>> known_;
  std::size_t lookups_ = 0;
  const std::vector<placement::Reservation> none_;
};

// Bytes that a file of this layout has on each OST, all objects as large as the largest.
void add_objects(Bytes bytes, Bytes stripe_size, std::span<const OstIndex> osts, std::vector<placement::Reservation>& to);

// `now`, with at least `before` plus `added` used on each target.
model::Cluster at_least(model::Cluster now, const model::Cluster& before, std::span<const placement::Reservation> added);

}  // namespace iez::runs
