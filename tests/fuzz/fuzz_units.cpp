// Sizes, rates and durations: what parses prints, and what it prints parses.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/units.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes = iez::parse_bytes(text)) {
    if (!iez::parse_bytes(iez::to_string(*bytes)) && bytes->count < (std::uint64_t{1} << 62U)) std::abort();
  }
  if (const auto rate = iez::parse_rate(text)) {
    if (!(rate->value >= 0)) std::abort();
    static_cast<void>(iez::to_string(*rate));
  }
  if (const auto duration = iez::parse_duration(text)) {
    if (*duration < iez::Duration::zero()) std::abort();
    static_cast<void>(iez::to_string(*duration));
  }
  return 0;
}
