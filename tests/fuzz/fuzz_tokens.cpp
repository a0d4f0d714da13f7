// Tokens files and blobs of the ledger: no crash, and no token that is empty.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "coordinator/stored_plan.hpp"
#include "http/access.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto tokens = iez::http::Tokens::parse(text, "fuzz")) {
    IEZ_ASSERT(tokens->find("") == nullptr);
  } else {
    IEZ_ASSERT(tokens.error().message.starts_with("fuzz:"));
  }
  // A ledger's blob is as little to be trusted.
  if (const auto plan = iez::coordinator::decode(std::as_bytes(std::span(data, size)))) {
    (void)iez::coordinator::answer_of(*plan);
    IEZ_ASSERT(iez::coordinator::decode(iez::coordinator::encode(*plan)).has_value());
  }
  return 0;
}
