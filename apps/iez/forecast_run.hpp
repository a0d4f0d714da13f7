// `iez forecast run`: the files that the next run of an application will write, from traces of earlier ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "trace_input.hpp"

namespace iez::cli {

struct ForecastRunOptions {
  std::vector<std::string> traces;  // oldest first; each is one run
  TraceForm form = TraceForm::automatic;
  std::optional<std::uint32_t> ranks;
  double scale = 1;
  double reserve = 0.9;
  std::string under;                 // only files below this folder
  std::optional<std::size_t> limit;  // files shown; 0: all
  std::string requests;              // also write them for `iez place`: a file, "-": stdout
  std::string score;                 // a trace of the run that followed
  bool json = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_forecast_run(const ForecastRunOptions& options, Context& context);

}  // namespace iez::cli
