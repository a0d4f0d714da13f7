// Any bytes as the texts that `iez run` reads: details of a plan, the table of mounts, the words of a command. Details that were
// read are written and read again alike; mounts have a path and a name; every command is an application.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runs/identity.hpp"
#include "runs/model_text.hpp"
#include "runs/mount_table.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void details(std::string_view text) {
  const auto read = iez::runs::parse_details(text);
  if (!read) return;
  const auto again = iez::runs::parse_details(iez::runs::to_text(*read));
  require(again && *again == *read);
}

void mounts(std::string_view text) {
  for (const auto& mount : iez::runs::parse_mounts(text)) require(!mount.path.empty() && !mount.file_system.empty());
}

void command(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '\n') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  iez::runs::ProgramProbe probe;
  probe.is_program = [](std::string_view word) { return word.find('/') != std::string_view::npos; };
  probe.canonical = [](std::string_view word) { return std::string(word); };
  const auto found = iez::runs::identify(words, probe);
  require(found.program < words.size() && iez::runs::valid_application(found.application));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  details(text);
  mounts(text);
  command(text);
  return 0;
}
