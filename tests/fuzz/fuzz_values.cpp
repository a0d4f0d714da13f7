// Small texts: device names, versions, parameter names and time stamps.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "lustre/params.hpp"
#include "lustre/timestamp.hpp"
#include "lustre/version.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto device = iez::lustre::parse_device(text)) {
    if (device->file_system.empty() || !text.starts_with(device->target)) std::abort();
  }
  if (const auto version = iez::lustre::parse_version(text)) {
    if (text.find(version->text) == std::string_view::npos) std::abort();
  }
  for (const auto& row : iez::lustre::param_table()) {
    for (const std::string_view name : row.names) static_cast<void>(iez::lustre::match_name(name, text));
  }
  static_cast<void>(iez::lustre::parse_timestamp(text));
  static_cast<void>(iez::lustre::parse_elapsed(text));
  const std::string shown = iez::text::printable(text);
  if (iez::text::printable(shown) != shown) std::abort();
  return 0;
}
