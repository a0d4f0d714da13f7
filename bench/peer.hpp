// What a benchmark needs to run a peer: a program of its own, input in a file, an answer on standard output.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace iez::bench {

// A file that goes away with its owner, in TMPDIR or /tmp.
class TemporaryFile {
 public:
  [[nodiscard]] static Result<TemporaryFile> make();
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A peer that is built beside this program where CMake finds its library. Fails (not_found) if it is not there: the package to
// install is named.
[[nodiscard]] Result<std::string> peer_program(const std::string& name, const std::string& package);

// What a command prints. Fails (not_found) if it cannot be started, (limit) if it is stopped at the limit, else (io) if it
// fails. A limit is whole seconds; none: it may take as long as it likes.
[[nodiscard]] Result<std::string> output_of(std::vector<std::string> command, std::optional<std::chrono::seconds> limit = {});

}  // namespace iez::bench
