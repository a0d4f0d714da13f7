// Requests in CSV from anywhere: what is accepted is within bounds, and survives being written and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "config/request_csv.hpp"
#include "config/words.hpp"
#include "model/layout.hpp"

namespace {

using iez::Bytes;
using iez::placement::Request;

constexpr iez::config::RequestLimits kLimits{.files = 1000, .text = Bytes::mib(1)};

bool is_count(std::int32_t count) {
  return count == iez::placement::kAllTargets || (count >= 1 && count <= static_cast<std::int32_t>(iez::model::kMaxStripeCount));
}

bool is_stripe_size(const std::optional<Bytes>& size) {
  return !size ||
         (size->count > 0 && *size <= iez::model::kMaxStripeSize && size->count % iez::model::kStripeAlignment.count == 0);
}

bool is_pool(std::string_view pool) { return pool.empty() || iez::config::valid_pool_name(pool); }

void check(const Request& request) {
  IEZ_ASSERT(!request.name.empty() && request.name.size() <= iez::config::kMaxFileName);
  IEZ_ASSERT(iez::config::valid_utf8(request.name) && request.name.find('\0') == std::string::npos);
  IEZ_ASSERT(request.bytes.count > 0 && request.bytes.count <= iez::config::kMaxSize);
  IEZ_ASSERT(is_count(request.stripe_count) && is_stripe_size(request.stripe_size) && is_pool(request.pool));
  if (request.components.empty()) return;
  IEZ_ASSERT(request.components.size() <= iez::config::kMaxFileComponents);
  IEZ_ASSERT(request.components.back().end == iez::model::Extent::kEof);
  std::uint64_t end = 0;
  for (const auto& component : request.components) {
    IEZ_ASSERT(component.end > end);
    end = component.end;
    IEZ_ASSERT(is_count(component.stripe_count) && is_stripe_size(component.stripe_size) && is_pool(component.pool));
  }
}

bool same(const Request& a, const Request& b) {
  return a.name == b.name && a.bytes == b.bytes && a.stripe_count == b.stripe_count && a.stripe_size == b.stripe_size &&
         a.pool == b.pool && a.overstripe == b.overstripe &&
         std::ranges::equal(a.components, b.components, [](const auto& x, const auto& y) {
           return x.end == y.end && x.stripe_count == y.stripe_count && x.stripe_size == y.stripe_size && x.pool == y.pool;
         });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto requests = iez::config::parse_requests({reinterpret_cast<const char*>(data), size}, "fuzz", kLimits);
  if (!requests) {
    IEZ_ASSERT(requests.error().message.starts_with("fuzz:"));
    return 0;
  }
  IEZ_ASSERT(requests->size() <= kLimits.files);
  std::set<std::string_view> names;
  for (const Request& request : *requests) {
    check(request);
    IEZ_ASSERT(names.insert(request.name).second);
  }
  const auto again = iez::config::parse_requests(iez::config::to_csv(*requests), "written");
  IEZ_ASSERT(again.has_value() && std::ranges::equal(*requests, *again, same));
  return 0;
}
