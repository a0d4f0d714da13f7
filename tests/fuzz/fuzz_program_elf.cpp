// Any bytes as a program file: read or refused, with texts and tables in their bounds; a script's line has no line break.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "program/elf.hpp"
#include "program/sight.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto elf = iez::program::parse_elf(bytes);
  if (elf) {
    for (const auto& name : elf->needed) IEZ_ASSERT(name.size() <= 4096);
    for (const auto& name : elf->imports) IEZ_ASSERT(!name.empty() && name.size() <= 4096);
    const auto report = iez::program::judge(*elf, {});
    for (const auto& finding : report.findings) IEZ_ASSERT(finding.sight <= report.sight);
  } else {
    IEZ_ASSERT(!elf.error().message.empty());
  }
  const auto interpreter = iez::program::parse_script_line(bytes);
  IEZ_ASSERT(interpreter.path.find('\n') == std::string::npos && interpreter.argument.find('\n') == std::string::npos);
  IEZ_ASSERT(!interpreter.path.empty() || interpreter.argument.empty());
  return 0;
}
