// Traces in CSV from anywhere: what is accepted is within bounds, and survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "trace/text_values.hpp"
#include "trace/trace_csv.hpp"
#include "trace/trace_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)iez::trace::detect_text_format(text);  // any answer will do, as long as there is one
  const auto files = iez::trace::parse_trace_csv(text, "fuzz");
  if (!files) {
    IEZ_ASSERT(files.error().message.starts_with("fuzz:"));
    return 0;
  }
  for (const iez::trace::TracedFile& file : *files) {
    IEZ_ASSERT(!file.name.empty() && file.name.size() <= iez::trace::kMaxPath && file.renamed.size() <= iez::trace::kMaxPath);
    IEZ_ASSERT(file.name.find('\0') == std::string::npos && file.rank >= iez::trace::kNoRank);
    IEZ_ASSERT(file.first_ns.value_or(0) >= 0 && file.last_ns.value_or(0) >= 0);
  }
  const auto again = iez::trace::parse_trace_csv(iez::trace::to_csv(*files), "written");
  IEZ_ASSERT(again.has_value() && *again == *files);
  return 0;
}
