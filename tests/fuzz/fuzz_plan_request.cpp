// Requests for plans from anywhere: what is accepted survives being written and read again; texts that others take for JSON and
// that we refuse have a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/plan_json.hpp"
#include "base/result.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto request = iez::api::parse_plan_request(text)) {
    const auto again = iez::api::parse_plan_request(iez::api::to_json(*request));
    IEZ_ASSERT(again.has_value() && *again == *request);
    (void)iez::api::check(*request);
  } else {
    IEZ_ASSERT(!request.error().message.empty());
  }
  if (const auto created = iez::api::parse_created_request(text)) {
    IEZ_ASSERT(iez::api::parse_created_request(iez::api::to_json(*created)).value() == *created);
  }
  return 0;
}
