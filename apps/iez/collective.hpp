// `iez collective explain`: what collective I/O would do for a pattern, and why; or what it did, by the counters of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/explain.hpp"
#include "command.hpp"

namespace iez::cli {

struct CollectiveExplainOptions {
  std::string file;  // whose layout it is; empty: none
  bool raw = false;  // the file holds the bytes of a lustre.lov attribute
  std::optional<std::uint32_t> stripes;
  Bytes stripe_size = Bytes::mib(1);
  std::uint32_t ranks = 16;
  std::uint32_t nodes = 1;
  std::optional<std::uint32_t> cpus;  // of a node; none: one for each of its ranks
  Bytes block = Bytes::kib(64);
  Bytes bytes = Bytes::mib(8);  // of a rank
  Bytes hole;
  Bytes offset;
  bool contiguous = false;
  bool read = false;
  std::vector<std::string> hints;  // KEY=VALUE
  std::string counters;            // a file of lines; if given, all of the above is not asked for
  bool json = false;
  bool no_header = false;
};

[[nodiscard]] Result<void> run_collective_explain(const CollectiveExplainOptions& options, Context& context);

// With options.counters: collective_counters.cpp.
[[nodiscard]] Result<void> run_collective_counters(const CollectiveExplainOptions& options, Context& context);

// What is asked, and what is answered.
struct CollectiveCase {
  collective::Hints hints;
  std::vector<std::string> ignored;  // hints that are not ours, or make no sense
  collective::FileLayout layout;
  collective::Machine machine;
  collective::Pattern pattern;
};

[[nodiscard]] Result<CollectiveCase> collective_case(const CollectiveExplainOptions& options);

}  // namespace iez::cli
