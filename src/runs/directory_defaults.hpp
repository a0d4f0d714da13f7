// What a new file gets in a directory if nobody says otherwise, and who decided that.
//
// Lustre answers with the root's default where a directory has none of its own, so a directory whose default equals the root's
// has inherited it. A directory that is not there yet will have that of the nearest one above it, which mkdir copies.
//
//   built_in   nobody has set one: iez may choose stripes
//   site       the default of the file system's root
//   own        the directory's, or one above it but the root: a user's own wish, which iez respects
//
// Thread safety: none. Each directory is asked once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "model/layout.hpp"
#include "runs/mount_table.hpp"

namespace iez::runs {

enum class DefaultOrigin : std::uint8_t { built_in, site, own };

struct DirectoryDefault {
  DefaultOrigin origin = DefaultOrigin::built_in;
  bool plain = true;          // one component over OSTs: not progressive, not on the MDT, in no pool, no OST twice
  std::uint32_t stripes = 1;  // model::Component::kAllOsts: all
  Bytes stripe_size;          // 0: the file system's

  // Of a progressive default, in order; empty: it is none.
  struct Step {
    std::uint64_t end = 0;  // of the component
    std::uint32_t stripes = 1;
    Bytes stripe_size;
  };
  std::vector<Step> steps;

  // As far as one plain layout can stand for it: what the end of a file of this size gets.
  DirectoryDefault at_size(Bytes size) const;
};

class DirectoryDefaults {
 public:
  // Errc::not_found: the directory has no default, or is not there.
  using Ask = std::function<Result<model::Layout>(const std::string& directory)>;

  // The mounts outlive this.
  DirectoryDefaults(const std::vector<LayoutMount>& mounts, Ask ask) : mounts_(mounts), ask_(std::move(ask)) {}

  // Of a file of this name, which may be a pattern: then of the part of its directory that is known.
  DirectoryDefault of_file(std::string_view name);

 private:
  const DirectoryDefault& of_directory(const std::string& directory);

  const std::vector<LayoutMount>& mounts_;
  Ask ask_;
  std::unordered_map<std::string, DirectoryDefault> known_;
};

}  // namespace iez::runs
