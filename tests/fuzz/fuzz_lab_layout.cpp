// A wished layout from anywhere: judged by an errno, or good for being placed, encoded and kept as a default.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "lab/config.hpp"
#include "lab/layout_request.hpp"
#include "lab/object_allocator.hpp"
#include "lustre/layout_codec.hpp"

namespace {

using namespace iez;       // NOLINT(google-build-using-namespace)
using namespace iez::lab;  // NOLINT(google-build-using-namespace)

constexpr std::array kRefusals{EINVAL, ERANGE, EOPNOTSUPP, E2BIG};

void check_placed(const model::Layout& request, const Config& config) {
  ObjectAllocator allocator(config);
  const auto placed = allocator.place(request, {});
  if (!placed) {
    IEZ_ASSERT(std::ranges::find(kRefusals, placed.error()) != kRefusals.end());
    return;
  }
  for (const model::Component& component : placed->components) {
    IEZ_ASSERT(!component.objects.empty() && component.objects.size() == component.stripe_count);
    for (const model::StripeObject& object : component.objects) IEZ_ASSERT(object.ost.value < config.ost_count());
  }
  const auto bytes = lustre::encode_layout(*placed);
  IEZ_ASSERT(bytes.has_value());
  const auto again = lustre::decode_layout(*bytes);
  IEZ_ASSERT(again.has_value() && again->components.size() == placed->components.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Config config;
  config.dir = "/lab";
  const auto request = parse_layout_request(std::as_bytes(std::span(data, size)), config.ost_count());
  if (!request) {
    IEZ_ASSERT(std::ranges::find(kRefusals, request.error()) != kRefusals.end());
    return 0;
  }
  check_placed(*request, config);
  // As the default of a directory it is read again for every new file.
  const auto kept = lustre::encode_request(*request);
  if (!kept) return 0;
  const auto again = parse_layout_request(*kept, config.ost_count());
  IEZ_ASSERT(again.has_value() && *again == *request);
  return 0;
}
