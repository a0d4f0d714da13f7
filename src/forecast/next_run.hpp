// What an application will write in its next run, from what it wrote in earlier ones.
//
// Problem: given the files of one or more runs - names, bytes written, stripe counts, ranks - tell the names of the files of the
// next run, how large each will be, and who writes it.
//
// Algorithm:
//   1. discover() finds the name templates; enumerate() writes down the names of the next run. A template that the last run did
//      not have, nor half of all runs, is left out; so is a name of a template with gaps that the last run did not have.
//   2. The sizes that a (template, slot, step) had over the runs are a series, and forecast_series() tells the next one. Where
//      the steps go on from run to run, so does the series: all steps of a slot, one after another. Never in order of creation:
//      that is a race between ranks.
//   3. Another number of ranks: bytes of a file go with ranks^e. The exponent e is fitted where the runs had different numbers of
//      ranks; otherwise a file that several ranks write grows with them (e = 1), and one that a single rank writes does not (e =
//      0). A slot that no run had takes the size of the slot at the same relative position. The note says what was assumed.
//   4. Stripe count, ranks and mode are categories: what the file had last, or what most files of its template had.
//   5. The phase of a file - when it is written, together with which others - is that of its slot and step in the last run, or
//      else of most files of its template and step. Steps beyond those go on as the last ones did: one phase further each, or as
//      many as lay between.
//   6. How sure: the quantile asked for of each size; and, given two runs or more, how well the last run would have been
//      foretold by those before it.
//
// Complexity: O(n log n) in the files of all runs. A series of 10 runs or more that is neither constant nor nearly so needs a
// search of milliseconds; only max_searches of them are made, the largest files first, the rest are told by their last runs.
// Memory: about 100 bytes a file, and its name.
//
// Limits: a file that only some runs write is told as written always or never. A size that depends on the input of the program is
// not to be known.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "forecast/name_template.hpp"

namespace iez::forecast {

struct FileSeen {
  std::string_view name;           // the one it had at the end
  Bytes bytes;                     // written
  std::uint32_t stripe_count = 0;  // 0: not known
  std::int32_t rank = -1;          // -1: not known
  std::uint32_t ranks = 1;         // that wrote it
  std::int32_t phase = -1;         // of its run; -1: not known
};

struct RunSeen {
  std::vector<FileSeen> files;  // in order of creation, as far as known
  std::uint32_t ranks = 0;      // of the program; 0: not known
};

struct NextRunOptions {
  std::uint32_t ranks = 0;  // of the next run; 0: as the last
  double scale = 1;         // of the problem: data files grow by it
  double reserve = 0.9;     // the quantile of PredictedFile::high
  std::size_t max_searches = 2000;
  std::uint64_t max_files = 20'000'000;
};

struct PredictedFile {
  std::string name;                // "*" where a part cannot be known
  bool open = false;               // it has such a part
  std::uint64_t files = 1;         // it stands for: more where such a part differs within a run
  Bytes bytes;                     // of one
  Bytes high;                      // not exceeded with the probability asked for
  std::uint32_t stripe_count = 0;  // 0: not known
  std::int32_t rank = -1;          // -1: not known, or shared
  bool shared = false;             // several ranks write it
  std::uint32_t step = 0;          // in the run
  std::int32_t phase = -1;         // numbered as those of the last run, and beyond; -1: not known
  std::uint32_t of = 0;            // template
};

struct PredictedTemplate {
  NameTemplate name;
  std::uint64_t files = 0;  // predicted
  Bytes bytes;              // of them
  double exponent = 0;      // e of bytes ~ ranks^e
  bool fitted = false;      // the exponent; else assumed
};

// How well a run was foretold.
struct Score {
  std::uint64_t predicted = 0;  // files
  std::uint64_t written = 0;
  std::uint64_t met = 0;           // predicted, and written
  std::optional<double> accuracy;  // of the sizes of files met: 100 (1 - mean |error| / size), as the source defines it
  std::optional<double>
      by_weight;  // 100 (1 - sum |error| / sum of sizes), where a file that was not predicted counts as all error
  std::uint64_t stripe_counts = 0;  // of files met with a known count: right
  std::uint64_t stripe_known = 0;
  std::uint64_t modes = 0;   // of files met: right
  std::uint64_t within = 0;  // of files met: at or below `high`
};

struct NextRun {
  std::vector<PredictedTemplate> templates;  // by bytes
  std::vector<PredictedFile> files;          // by template, step, rank
  std::uint32_t runs = 0;                    // seen
  std::uint32_t ranks = 0;                   // 0: not known
  Bytes total;
  Bytes total_high;               // of all `high`
  std::optional<Score> last_run;  // foretold by those before it; none for a single run
  std::vector<std::string> notes;
};

// Oldest run first. Fails for no runs, runs without files, or more files than allowed.
[[nodiscard]] Result<NextRun> predict_next_run(std::span<const RunSeen> runs, const NextRunOptions& options = {});

// The name as a prediction has it: "*" for each open field. REQUIRES: values has one entry for each field.
std::string predicted_name(const NameTemplate& name_template, std::span<const FieldValue> values);

Score score(const NextRun& prediction, const RunSeen& actual);

}  // namespace iez::forecast
