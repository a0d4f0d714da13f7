// `iez layout show|set`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "command.hpp"
#include "model/layout.hpp"

namespace iez::cli {

struct LayoutShowOptions {
  std::vector<std::string> paths;
  bool raw = false;  // the paths hold the bytes of a lustre.lov attribute
  bool json = false;
};

struct LayoutSetOptions {
  std::string path;
  std::optional<std::string> count;
  std::optional<std::string> size;
  std::optional<std::string> osts;
  std::string pool;
  bool overstripe = false;
  std::vector<std::string> components;
  bool dry_run = false;
  bool json = false;
};

// Of a file or directory; raw: the file holds the bytes of a lustre.lov attribute.
[[nodiscard]] Result<model::Layout> load_layout(const std::string& path, bool raw);

[[nodiscard]] Result<void> run_layout_show(const LayoutShowOptions& options, Context& context);
[[nodiscard]] Result<void> run_layout_set(const LayoutSetOptions& options, Context& context);

}  // namespace iez::cli
