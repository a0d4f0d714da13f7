// Samples and requests from anywhere: limits hold, what was understood can be written and read again as the same, and a collector
// takes whatever it is.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "telemetry/collector.hpp"
#include "telemetry/sample.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace iez::telemetry;  // NOLINT(google-build-using-namespace): all of it
  const auto bytes = std::as_bytes(std::span(data, size));
  const Limits limits{.bytes = 4096, .name = 32, .file_systems = 3, .osts = 20, .servers = 10, .mdts = 5};
  if (const auto sample = decode(bytes, limits)) {
    IEZ_ASSERT(size <= limits.bytes);
    IEZ_ASSERT(!sample->agent.empty() && sample->agent.size() <= limits.name);
    std::size_t osts = 0;
    for (const FileSystemSample& file_system : sample->file_systems) {
      osts += file_system.osts.size();
      for (const OstSample& ost : file_system.osts) {
        IEZ_ASSERT(ost.server < file_system.servers.size());
        IEZ_ASSERT(ost.free <= ost.total && ost.available <= ost.total);
      }
    }
    IEZ_ASSERT(osts <= limits.osts);
    const auto again = decode(encode(*sample), {});
    IEZ_ASSERT(again && *again == *sample);
    Collector collector;
    const auto at = [](std::int64_t time) { return Moment{.monotonic = iez::Duration{time}, .wall = {}}; };
    IEZ_ASSERT(collector.feed(bytes, at(1)) == Outcome::taken);
    IEZ_ASSERT(collector.feed(bytes, at(2)) == Outcome::duplicate);
    std::size_t seen = 0;
    for (const FileSystemView& view : collector.view(at(3)).file_systems) seen += view.osts.size();
    IEZ_ASSERT(seen == osts);
    IEZ_ASSERT(collector.agents(at(3)).size() == 1);
  }
  if (const auto request = decode_request(bytes)) {
    const auto again = decode_request(encode(*request));
    IEZ_ASSERT(again && *again == *request);
  }
  return 0;
}
