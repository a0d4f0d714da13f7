// A series from anywhere: what is accepted is finite or missing, and as long as the text has lines at most.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "config/series_csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view column : {"", "value", "2"}) {
    const auto series = iez::config::parse_series(text, "fuzz", column);
    if (!series) {
      IEZ_ASSERT(series.error().message.starts_with("fuzz:"));
      continue;
    }
    IEZ_ASSERT(series->values.size() <= static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1);
    IEZ_ASSERT(std::ranges::none_of(series->values, [](double value) { return std::isinf(value); }));
  }
  return 0;
}
