// Where parameters come from: a live node, a directory tree below any root (the lab, a capture), or the text of `lctl get_param`.
// Everything above this seam is the same for all of them.
//
// Thread safety: const members may be called from several threads; write() from one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "lustre/params.hpp"

namespace iez::lustre {

// One parameter of one device, found where it is.
struct Instance {
  Param param{};
  std::string device;        // "lustre-OST0000"; empty for a node-wide parameter
  std::string client;        // the NID of exports/*/stats
  std::string origin;        // for messages: the whole path, or the dump's name and line
  std::string path;          // in a tree: below its root
  std::uint64_t offset = 0;  // in a dump: where the value is
  std::uint64_t length = 0;
};

// The parts of the instance's device. REQUIRES: found for a row whose devices are OSTs, MDTs, OSCs or OSPs: find() gives no
// others.
DeviceName device_of(const Instance& instance);

class ParamSource {
 public:
  virtual ~ParamSource() = default;

  // Every instance, ascending by device, then client. A parameter that does not exist: empty. Errc::permission if what may hold
  // it cannot be looked into.
  [[nodiscard]] virtual Result<std::vector<Instance>> find(Param param) const = 0;

  // A target may be unmounted between find() and open(): Errc::not_found.
  [[nodiscard]] virtual Result<std::unique_ptr<input::ByteStream>> open(const Instance& instance) const = 0;

  [[nodiscard]] virtual Result<void> write(const Instance& instance, std::string_view value) = 0;

  virtual std::string name() const = 0;         // for messages and as a server's name when it has no other
  virtual bool live() const { return false; }   // the running kernel of this host
  virtual bool still() const { return false; }  // cannot change: looking twice is of no use
};

// The parameter tree below root: "/" for this node.
[[nodiscard]] Result<std::unique_ptr<ParamSource>> open_tree(const std::string& root);

// A directory opens as a tree, a file or "-" (standard input) as `lctl get_param` text.
[[nodiscard]] Result<std::unique_ptr<ParamSource>> open_source(const std::string& path);

// The value of a one-line parameter, without its newline. A value without one was cut off: Errc::parse.
[[nodiscard]] Result<std::string> read_value(const ParamSource& source, const Instance& instance);

// The same as a number; a trailing "%" is allowed, as Lustre shows its qos_* values with one.
[[nodiscard]] Result<std::uint64_t> read_number(const ParamSource& source, const Instance& instance);

// Of a node-wide parameter: its value, or nothing where it does not exist or may not be read.
[[nodiscard]] std::optional<std::string> read_optional(const ParamSource& source, Param param);

}  // namespace iez::lustre
