// `iez repro`: every published figure of the sources that can be simulated or computed, beside ours.
//
// Deterministic: the same program gives the same bytes, whatever the number of threads.
#pragma once

#include <string>

#include "command.hpp"

namespace iez::cli {

struct ReproOptions {
  std::string out;   // folder for index.html and reproduction.md; empty: none
  std::string only;  // one section; empty: all
  bool json = false;
  bool quick = false;  // few rows and few seeds, within seconds
  bool no_header = false;
};

[[nodiscard]] Result<void> run_repro(const ReproOptions& options, Context& context);

}  // namespace iez::cli
