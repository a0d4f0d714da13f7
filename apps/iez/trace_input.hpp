// One run of an application, whatever its trace is: a folder of segments, a merged run, CSV, a log of Darshan or its
// text, text of Recorder. A log is read by darshan-parser, which is to be in $PATH; it is run without a shell, and bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "input/parse_report.hpp"
#include "trace/merge.hpp"
#include "trace/traced_file.hpp"

namespace iez::cli {

enum class TraceForm { automatic, segments, csv, darshan, recorder };

struct TraceInputOptions {
  TraceForm form = TraceForm::automatic;
  trace::MergeOptions merge;
};

struct LoadedTrace {
  trace::RunInfo run;
  std::string form;                      // "segments", "run", "csv", "darshan 3.41", "recorder"
  std::vector<trace::TracedFile> files;  // in the order of their names
  std::vector<std::string> notes;        // what was left out, in words
};

// One path: a file, a folder, or "-" for text on standard input. Bad pieces go to the report; what is no trace at all is an error
// that says what was found and what is expected.
[[nodiscard]] Result<LoadedTrace> load_trace(const std::string& path, const TraceInputOptions& options,
                                             input::ParseReport& report);

// The same for a run that is too large to be kept: the files of segments come one by one, and those of the result are empty.
using TraceVisitor = std::function<Result<void>(const trace::TracedFile&)>;
[[nodiscard]] Result<LoadedTrace> visit_trace(const std::string& path, const TraceInputOptions& options,
                                              input::ParseReport& report, const TraceVisitor& visit);

// In the order of their first use, as far as known: the order in which the program made them.
void sort_by_time(std::vector<trace::TracedFile>& files);

}  // namespace iez::cli
