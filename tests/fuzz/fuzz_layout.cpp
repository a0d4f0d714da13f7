// Any bytes as a layout: they decode or they do not, but what decodes must survive being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "lustre/layout_codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto layout = iez::lustre::decode_layout(std::as_bytes(std::span(data, size)));
  if (!layout) return 0;
  const auto bytes = iez::lustre::encode_layout(*layout);
  if (!bytes) std::abort();
  const auto again = iez::lustre::decode_layout(*bytes);
  if (!again || *again != *layout) std::abort();
  return 0;
}
