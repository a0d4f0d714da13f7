// What a prolog left on a node, from anywhere: what is accepted survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "jobs/node_report_state.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace iez::jobs;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto before = parse_before(text, "fuzz")) {
    const auto again = parse_before(to_text(*before), "written");
    IEZ_ASSERT(again.has_value() && *again == *before);
  } else {
    IEZ_ASSERT(before.error().message.starts_with("fuzz"));
  }
  if (const auto reading = parse_reading(text, "fuzz")) {
    const auto again = parse_reading(to_text(*reading), "written");
    IEZ_ASSERT(again.has_value() && *again == *reading);
  }
  static_cast<void>(parse_lnet_stats(text));
  return 0;
}
