// Any text as a plan in CSV: taken, or refused in words that name the file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "plan/plan_csv.hpp"
#include "plan/plan_writer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLongest = 65'536;  // stays in memory
  if (size > kLongest) return 0;
  iez::plan::PlanWriter writer("/nonexistent/plan", {.created_ns = 1, .id = 1});
  const auto read = iez::plan::read_plan_csv({reinterpret_cast<const char*>(data), size}, "fuzz.csv", writer);
  if (!read) IEZ_ASSERT(read.error().message.starts_with("fuzz.csv:"));
  return 0;
}
