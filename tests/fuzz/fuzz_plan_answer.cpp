// Answers of a coordinator that cannot be trusted: within bounds, and the same again when written.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/plan_json.hpp"
#include "base/result.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto answer = iez::api::parse_plan_answer(text)) {
    for (const auto& file : answer->files) IEZ_ASSERT(file.reason == 0 || file.reason < answer->reasons.size());
    const auto again = iez::api::parse_plan_answer(iez::api::to_json(*answer));
    IEZ_ASSERT(again.has_value() && *again == *answer);
  }
  (void)iez::api::parse_ticket(text);
  (void)iez::api::parse_problem(text);
  (void)iez::api::parse_weights(text);
  if (const auto rows = iez::api::parse_plan_rows(text)) {
    IEZ_ASSERT(iez::api::parse_plan_rows(iez::api::to_json(*rows)).value() == *rows);
  }
  return 0;
}
