// Lines of an export from anywhere: what is accepted survives being written and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "store/record_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto line = iez::store::decode_line(text.substr(0, end))) {
      const std::string written = iez::store::encode_line(*line);
      IEZ_ASSERT(written.find('\n') == std::string::npos);
      const auto again = iez::store::decode_line(written);
      IEZ_ASSERT(again.has_value());
      IEZ_ASSERT(*again == *line);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}
