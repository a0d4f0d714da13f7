// What the demo found: a table, JSON, and a page with the use of every OST (one file, no scripts, light and dark).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "demo_cases.hpp"
#include "json.hpp"
#include "table.hpp"

namespace iez::cli {

struct DemoReport {
  std::vector<DemoOutcome> outcomes;
  bool quick = false;
  bool local = false;
  std::uint32_t repetitions = 1;  // of each way
  double seconds = 0;
};

std::string demo_text(const DemoReport& report, const Terminal& terminal);
ordered_json demo_json(const DemoReport& report);
std::string demo_page(const DemoReport& report);

}  // namespace iez::cli
