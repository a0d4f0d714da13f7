#include "coordinator/host_probe.hpp"

#include <fcntl.h>

#include "input/byte_stream.hpp"

namespace iez::coordinator {

NodeLoad HostProbe::look() {
  NodeLoad load;
  input::ParseReport report;
  const auto open = [&](const std::string& name) {
    const std::string path = proc_ + name;
    return input::file_stream(input::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path);
  };
  if (const auto cpu = lustre::parse_cpu(*open("/stat"), "stat", report)) {
    // Since boot says nothing of now: the first look only remembers.
    if (before_) load.cpu = lustre::busy_share(*before_, cpu->times);
    before_ = cpu->times;
  }
  if (const auto memory = lustre::parse_memory(*open("/meminfo"), "meminfo", report)) load.memory = lustre::used_share(*memory);
  return load;
}

}  // namespace iez::coordinator
