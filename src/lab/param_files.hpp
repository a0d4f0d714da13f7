// The parameter tree of one node of a lab: small files that look like those of a real one.
//
// A reader sees a file whole, the text before or the text after (written aside, then renamed). A file is written only when its
// text changed since the last put(), so that what somebody wrote into it meanwhile stays until then.
//
// Thread safety: none.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iez::lab {

class ParamFiles {
 public:
  // root: params_root() of the node; made when the first file is put.
  explicit ParamFiles(std::string root) : root_(std::move(root)) {}

  // path: "sys/fs/lustre/version", below the root. REQUIRES: relative, without "..".
  [[nodiscard]] Result<void> put(const std::string& path, std::string_view text);

  // The same, whatever was written into the file meanwhile.
  [[nodiscard]] Result<void> put_back(const std::string& path, std::string_view text);

  // What the file says now; for those that are there to be written. At most 64 KiB of it.
  [[nodiscard]] Result<std::string> get(const std::string& path) const;

  // Removes a file that was put; its folder goes with it when nothing else is in it.
  void remove(const std::string& path);

 private:
  std::string root_;
  std::map<std::string, std::string> written_;
};

}  // namespace iez::lab
