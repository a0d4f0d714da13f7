// `iez log show|check|flatten`: logs of ranks beside a shared file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "command.hpp"

namespace iez::cli {

struct LogShowOptions {
  std::vector<std::string> paths;    // FILE or FILE.iezlog
  std::optional<std::size_t> limit;  // ranks shown; 0: all
  bool json = false;
  bool no_header = false;
};

struct LogCheckOptions {
  std::vector<std::string> paths;
  bool quick = false;  // indexes only
  bool json = false;
};

struct LogFlattenOptions {
  std::vector<std::string> paths;
  unsigned jobs = 1;  // threads
  std::optional<Bytes> memory;
  std::optional<Bytes> window;
  bool verify = false;  // read all data and compare it with its checksums before
  bool force = false;   // damaged logs, and logs of another file
  bool keep = false;
  bool json = false;
};

[[nodiscard]] Result<void> run_log_show(const LogShowOptions& options, Context& context);
[[nodiscard]] Result<void> run_log_check(const LogCheckOptions& options, Context& context);
[[nodiscard]] Result<void> run_log_flatten(const LogFlattenOptions& options, Context& context);

}  // namespace iez::cli
