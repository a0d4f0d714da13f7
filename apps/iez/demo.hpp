// `iez demo`: the whole loop on a lab: applications under Lustre's default allocation, then learnt and placed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "command.hpp"
#include "demo_cases.hpp"

namespace iez::cli {

struct DemoOptions {
  std::string out;                           // folder of the page and its data; empty: iez-demo in the working folder
  std::vector<std::string> cases;            // by id; empty: all
  std::optional<std::uint32_t> repetitions;  // of each way; none: three, or one if quick
  BytesPerSecond ost_rate = kDemoOstRate;
  bool local = false;  // no coordinator
  bool quick = false;
  bool json = false;
};

[[nodiscard]] Result<void> run_demo(const DemoOptions& options, Context& context);

}  // namespace iez::cli
