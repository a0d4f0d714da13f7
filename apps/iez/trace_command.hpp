// `iez trace show|export|merge|import`: what runs did to their files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "command.hpp"
#include "trace_input.hpp"

namespace iez::cli {

enum class TraceSort { written, read, name, time };

struct TraceShowOptions {
  std::vector<std::string> paths;
  TraceForm form = TraceForm::automatic;
  TraceSort sort = TraceSort::written;
  std::optional<std::size_t> limit;  // files shown; 0: all
  bool calls = false;                // the single calls that a segment kept
  bool json = false;
  bool no_header = false;
};

struct TraceMergeOptions {
  std::vector<std::string> inputs;
  std::string output;
  std::optional<Bytes> memory;
  std::string temporary;  // folder
  bool drop_unused = false;
  bool json = false;
};

struct TraceExportOptions {
  std::string input;
  std::string output = "-";  // CSV; of an import, a merged run if it ends in .ieztrace
  TraceForm form = TraceForm::automatic;
  std::optional<Bytes> memory;
  std::string temporary;
  bool drop_unused = false;
};

[[nodiscard]] Result<void> run_trace_show(const TraceShowOptions& options, Context& context);
[[nodiscard]] Result<void> run_trace_merge(const TraceMergeOptions& options, Context& context);
[[nodiscard]] Result<void> run_trace_export(const TraceExportOptions& options, Context& context);
[[nodiscard]] Result<void> run_trace_import(const TraceExportOptions& options, Context& context);

}  // namespace iez::cli
