#include "telemetry/sample.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "telemetry/cbor.hpp"

namespace iez::telemetry {

namespace {

// Keys of the maps: docs/formats/telemetry.md. A number once given is never given again.
// Of a sample:
constexpr std::uint64_t kVersion = 0;
constexpr std::uint64_t kAgent = 1;
constexpr std::uint64_t kRoles = 2;
constexpr std::uint64_t kInstance = 3;
constexpr std::uint64_t kSequence = 4;
constexpr std::uint64_t kSent = 5;
constexpr std::uint64_t kInterval = 6;
constexpr std::uint64_t kDropped = 7;
constexpr std::uint64_t kSkipped = 8;
constexpr std::uint64_t kLast = 9;
constexpr std::uint64_t kHost = 10;
constexpr std::uint64_t kFileSystems = 11;
// Of a load:
constexpr std::uint64_t kCpu = 0;
constexpr std::uint64_t kMemory = 1;
constexpr std::uint64_t kLoad1 = 2;
constexpr std::uint64_t kCores = 3;
// Of a file system:
constexpr std::uint64_t kFsName = 0;
constexpr std::uint64_t kFsVersion = 1;
constexpr std::uint64_t kServers = 2;
constexpr std::uint64_t kOsts = 3;
constexpr std::uint64_t kMdts = 4;
// Of a server:
constexpr std::uint64_t kServerName = 0;
constexpr std::uint64_t kServerLoad = 1;
// Of an OST:
constexpr std::uint64_t kIndex = 0;
constexpr std::uint64_t kServer = 1;
constexpr std::uint64_t kTotal = 2;
constexpr std::uint64_t kFree = 3;
constexpr std::uint64_t kAvailable = 4;
constexpr std::uint64_t kState = 5;
constexpr std::uint64_t kSeenBy = 6;
constexpr std::uint64_t kReadBytes = 7;
constexpr std::uint64_t kWriteBytes = 8;
constexpr std::uint64_t kJobs = 9;
// Of a request:
constexpr std::uint64_t kRequestVersion = 0;
constexpr std::uint64_t kEvery = 1;
constexpr std::uint64_t kLasting = 2;
constexpr std::uint64_t kNames = 3;

constexpr std::uint64_t kOss = 1;
constexpr std::uint64_t kMds = 2;
constexpr std::uint64_t kClient = 4;
// Zero is how a target usually is.
constexpr std::uint64_t kInactive = 1;
constexpr std::uint64_t kDegraded = 2;
constexpr std::uint64_t kReadOnly = 4;
constexpr std::uint64_t kNoCreate = 8;

constexpr std::size_t kMaxRequest = 64 * 1024;
constexpr std::size_t kMaxRequestNames = 4096;

// ---- Encoding ----

// Counts the pairs of a map before it is written: the count comes first.
class MapWriter {
 public:
  MapWriter(CborWriter& out, std::uint64_t pairs) : out_(out) { out_.map(pairs); }

  void number(std::uint64_t key, std::uint64_t value) {
    out_.number(key);
    out_.number(value);
  }
  void text(std::uint64_t key, std::string_view value) {
    out_.number(key);
    out_.text(value);
  }
  void real(std::uint64_t key, const std::optional<double>& value) {
    if (!value) return;
    out_.number(key);
    out_.real(*value);
  }
  template <typename T>
  void optional_number(std::uint64_t key, const std::optional<T>& value) {
    if (value) number(key, *value);
  }
  void nonzero(std::uint64_t key, std::uint64_t value) {
    if (value != 0) number(key, value);
  }

 private:
  CborWriter& out_;
};

std::uint64_t pairs_of(const HostLoad& load) {
  return std::uint64_t{load.cpu.has_value()} + load.memory.has_value() + load.load_1min.has_value() + load.cores.has_value();
}

void write(CborWriter& out, const HostLoad& load) {
  MapWriter map(out, pairs_of(load));
  map.real(kCpu, load.cpu);
  map.real(kMemory, load.memory);
  map.real(kLoad1, load.load_1min);
  map.optional_number(kCores, load.cores);
}

std::uint64_t bits_of(const model::OstState& state) {
  return (state.active ? 0U : kInactive) | (state.degraded ? kDegraded : 0U) | (state.read_only ? kReadOnly : 0U) |
         (state.no_create ? kNoCreate : 0U);
}

void write(CborWriter& out, const OstSample& ost) {
  const std::uint64_t state = bits_of(ost.state);
  const auto seen_by = static_cast<std::uint64_t>(ost.seen_by);
  const std::uint64_t pairs = 5 + std::uint64_t{ost.server != 0} + (state != 0) + ost.read_bytes.has_value() +
                              ost.write_bytes.has_value() + ost.jobs.has_value();
  MapWriter map(out, pairs);
  map.number(kIndex, ost.index.value);
  map.nonzero(kServer, ost.server);
  map.number(kTotal, ost.total.count);
  map.number(kFree, ost.free.count);
  map.number(kAvailable, ost.available.count);
  map.nonzero(kState, state);
  map.number(kSeenBy, seen_by);
  map.optional_number(kReadBytes, ost.read_bytes);
  map.optional_number(kWriteBytes, ost.write_bytes);
  map.optional_number(kJobs, ost.jobs);
}

void write(CborWriter& out, const ServerSample& server) {
  const bool loaded = pairs_of(server.load) != 0;
  MapWriter map(out, 1 + std::uint64_t{loaded});
  map.text(kServerName, server.name);
  if (!loaded) return;
  out.number(kServerLoad);
  write(out, server.load);
}

void write(CborWriter& out, const FileSystemSample& file_system) {
  MapWriter map(out, 3 + std::uint64_t{!file_system.version.empty()} + !file_system.mdts.empty());
  map.text(kFsName, file_system.name);
  if (!file_system.version.empty()) map.text(kFsVersion, file_system.version);
  out.number(kServers);
  out.array(file_system.servers.size());
  for (const ServerSample& server : file_system.servers) write(out, server);
  out.number(kOsts);
  out.array(file_system.osts.size());
  for (const OstSample& ost : file_system.osts) write(out, ost);
  if (file_system.mdts.empty()) return;
  out.number(kMdts);
  out.array(file_system.mdts.size());
  for (const std::uint32_t mdt : file_system.mdts) out.number(mdt);
}

// ---- Decoding ----

// Reads a map: calls take(key, reader) for each pair; it returns false for a key it does not know, which is then passed over.
// A key that comes twice would have two meanings: it is refused.
template <typename Take>
void each_pair(CborReader& in, Take take) {
  const std::uint64_t pairs = in.map();
  std::uint64_t seen = 0;
  for (std::uint64_t i = 0; i < pairs && in.good(); ++i) {
    const std::uint64_t key = in.number();
    if (!in.good()) return;
    if (key < 64) {
      if ((seen >> key & 1U) != 0) return in.stop();
      seen |= std::uint64_t{1} << key;
    }
    if (!take(key)) in.skip();
  }
}

class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, const Limits& limits) : in_(bytes), limits_(limits) {}

  Result<Sample> run() {
    Sample sample;
    unsigned required = 0;
    std::uint64_t version = 0;
    each_pair(in_, [&](std::uint64_t key) {
      if (key == kVersion || key == kAgent || key == kInstance || key == kSequence) required |= 1U << key;
      if (key == kVersion) {
        version = in_.number();
        return true;
      }
      return take(sample, key);
    });
    if (limit_ != nullptr) return fail(Errc::limit, fmt::format("a sample with more {} than are accepted", limit_));
    if (!in_.good()) return fail(Errc::parse, "not a sample: the bytes do not follow docs/formats/telemetry.md");
    if (version != kSampleVersion && (required & 1U) != 0) {
      return fail(Errc::unsupported,
                  fmt::format("a sample of version {}, and this program reads version {}", version, kSampleVersion));
    }
    constexpr unsigned kRequired = 1U << kVersion | 1U << kAgent | 1U << kInstance | 1U << kSequence;
    if (required != kRequired) return fail(Errc::parse, "a sample without version, agent, instance or sequence");
    if (!in_.done()) return fail(Errc::parse, "bytes behind the end of a sample");
    if (sample.sequence == 0) return fail(Errc::parse, "a sample with sequence 0: the first is 1");
    return sample;
  }

 private:
  bool take(Sample& sample, std::uint64_t key) {
    switch (key) {
      case kAgent:
        sample.agent = name();
        return true;
      case kRoles: {
        const std::uint64_t bits = in_.number();
        sample.roles = {.oss = (bits & kOss) != 0, .mds = (bits & kMds) != 0, .client = (bits & kClient) != 0};
        return true;
      }
      case kInstance:
        sample.instance = in_.number();
        return true;
      case kSequence:
        sample.sequence = in_.number();
        return true;
      case kSent:
        sample.sent = WallTime{Duration{in_.integer()}};
        return true;
      case kInterval:
        sample.interval = duration();
        return true;
      case kDropped:
        sample.dropped = in_.number();
        return true;
      case kSkipped:
        sample.skipped = in_.number();
        return true;
      case kLast:
        sample.last = in_.boolean();
        return true;
      case kHost:
        sample.host = load();
        return true;
      case kFileSystems:
        file_systems(sample.file_systems);
        return true;
      default:
        return false;
    }
  }

  // More than that is a lie or a mistake, and sums of it would wrap.
  Duration duration() {
    constexpr Duration kMost = std::chrono::hours{24 * 365};
    const std::int64_t value = in_.integer();
    if (value < 0 || value > kMost.count()) in_.stop();
    return in_.good() ? Duration{value} : Duration{0};
  }

  std::string name() {
    const std::string_view text = in_.text();
    if (text.empty() || text.size() > limits_.name || text::printable(text) != text) in_.stop();
    return in_.good() ? std::string(text) : std::string();
  }

  std::uint32_t small_number() {
    const std::uint64_t value = in_.number();
    if (value > std::numeric_limits<std::uint32_t>::max()) in_.stop();
    return in_.good() ? static_cast<std::uint32_t>(value) : 0;
  }

  double share() {
    const double value = in_.real();
    if (value < 0 || value > 1) in_.stop();
    return in_.good() ? value : 0;
  }

  HostLoad load() {
    HostLoad load;
    each_pair(in_, [&](std::uint64_t key) {
      switch (key) {
        case kCpu:
          load.cpu = share();
          return true;
        case kMemory:
          load.memory = share();
          return true;
        case kLoad1:
          load.load_1min = std::max(0.0, in_.real());
          return true;
        case kCores:
          load.cores = small_number();
          return true;
        default:
          return false;
      }
    });
    return load;
  }

  // Of an array, after a look at what all arrays of the sample hold together.
  std::uint64_t items(std::size_t& used, std::size_t most, const char* what) {
    const std::uint64_t count = in_.array();
    if (count > most - used) {
      limit_ = what;
      in_.stop();
      return 0;
    }
    used += count;
    return count;
  }

  void file_systems(std::vector<FileSystemSample>& out) {
    const std::uint64_t count = items(file_systems_, limits_.file_systems, "file systems");
    out.reserve(count);
    for (std::uint64_t i = 0; i < count && in_.good(); ++i) {
      out.push_back(file_system());
      if (i > 0 && in_.good() && out[i - 1].name >= out[i].name) in_.stop();
    }
  }

  FileSystemSample file_system() {
    FileSystemSample out;
    each_pair(in_, [&](std::uint64_t key) {
      switch (key) {
        case kFsName:
          out.name = name();
          return true;
        case kFsVersion:
          out.version = name();
          return true;
        case kServers:
          servers(out.servers);
          return true;
        case kOsts:
          osts(out.osts);
          return true;
        case kMdts:
          mdts(out.mdts);
          return true;
        default:
          return false;
      }
    });
    if (out.name.empty()) in_.stop();
    for (const OstSample& ost : out.osts) {
      if (ost.server >= out.servers.size()) in_.stop();
    }
    return out;
  }

  void servers(std::vector<ServerSample>& out) {
    const std::uint64_t count = items(servers_, limits_.servers, "servers");
    out.reserve(count);
    for (std::uint64_t i = 0; i < count && in_.good(); ++i) {
      ServerSample& server = out.emplace_back();
      each_pair(in_, [&](std::uint64_t key) {
        if (key == kServerName) server.name = name();
        if (key == kServerLoad) server.load = load();
        return key == kServerName || key == kServerLoad;
      });
      if (server.name.empty()) in_.stop();
    }
  }

  void mdts(std::vector<std::uint32_t>& out) {
    const std::uint64_t count = items(mdts_, limits_.mdts, "MDTs");
    out.reserve(count);
    for (std::uint64_t i = 0; i < count && in_.good(); ++i) {
      out.push_back(small_number());
      if (i > 0 && out[i - 1] >= out[i]) in_.stop();
    }
  }

  void osts(std::vector<OstSample>& out) {
    const std::uint64_t count = items(osts_, limits_.osts, "OSTs");
    out.reserve(count);
    for (std::uint64_t i = 0; i < count && in_.good(); ++i) {
      out.push_back(ost());
      if (i > 0 && out[i - 1].index >= out[i].index) in_.stop();
    }
  }

  OstSample ost() {
    OstSample out;
    bool named = false;
    each_pair(in_, [&](std::uint64_t key) {
      switch (key) {
        case kIndex:
          out.index = OstIndex{small_number()};
          named = true;
          return true;
        case kServer:
          out.server = small_number();
          return true;
        case kTotal:
          out.total = {in_.number()};
          return true;
        case kFree:
          out.free = {in_.number()};
          return true;
        case kAvailable:
          out.available = {in_.number()};
          return true;
        case kState:
          out.state = state();
          return true;
        case kSeenBy:
          out.seen_by = seen_by();
          return true;
        case kReadBytes:
          out.read_bytes = in_.number();
          return true;
        case kWriteBytes:
          out.write_bytes = in_.number();
          return true;
        case kJobs:
          out.jobs = small_number();
          return true;
        default:
          return false;
      }
    });
    // As lustre::read_clusters() has it: no target is larger than 64 PiB.
    if (!named || out.total > Bytes{std::uint64_t{1} << 56U} || out.free > out.total || out.available > out.total) in_.stop();
    return out;
  }

  model::OstState state() {
    const std::uint64_t bits = in_.number();
    return {.active = (bits & kInactive) == 0,
            .degraded = (bits & kDegraded) != 0,
            .read_only = (bits & kReadOnly) != 0,
            .no_create = (bits & kNoCreate) != 0};
  }

  // A way that a later version may know of is trusted least.
  lustre::SpaceSource seen_by() {
    const std::uint64_t value = in_.number();
    return value <= static_cast<std::uint64_t>(lustre::SpaceSource::osc) ? static_cast<lustre::SpaceSource>(value)
                                                                         : lustre::SpaceSource::osc;
  }

  CborReader in_;
  const Limits& limits_;
  const char* limit_ = nullptr;
  std::size_t file_systems_ = 0;
  std::size_t servers_ = 0;
  std::size_t osts_ = 0;
  std::size_t mdts_ = 0;
};

}  // namespace

std::string to_string(Roles roles) {
  std::string out;
  const auto add = [&out](bool is, std::string_view name) {
    if (!is) return;
    if (!out.empty()) out += '+';
    out += name;
  };
  add(roles.oss, "oss");
  add(roles.mds, "mds");
  add(roles.client, "client");
  return out.empty() ? "none" : out;
}

std::string ost_name(std::string_view file_system, OstIndex index) {
  return fmt::format("{}-OST{:04x}", file_system, index.value);
}

std::vector<std::byte> encode(const Sample& sample) {
  CborWriter out;
  constexpr std::size_t kOstBytes = 40;
  std::size_t osts = 0;
  for (const FileSystemSample& file_system : sample.file_systems) osts += file_system.osts.size();
  out.reserve(256 + kOstBytes * osts);
  const bool loaded = pairs_of(sample.host) != 0;
  MapWriter map(out, 8 + std::uint64_t{sample.dropped != 0} + (sample.skipped != 0) + sample.last + loaded);
  map.number(kVersion, kSampleVersion);
  map.text(kAgent, sample.agent);
  map.number(kRoles, (sample.roles.oss ? kOss : 0U) | (sample.roles.mds ? kMds : 0U) | (sample.roles.client ? kClient : 0U));
  map.number(kInstance, sample.instance);
  map.number(kSequence, sample.sequence);
  out.number(kSent);
  out.integer(sample.sent.time_since_epoch().count());
  out.number(kInterval);
  out.integer(sample.interval.count());
  map.nonzero(kDropped, sample.dropped);
  map.nonzero(kSkipped, sample.skipped);
  if (sample.last) {
    out.number(kLast);
    out.boolean(true);
  }
  if (loaded) {
    out.number(kHost);
    write(out, sample.host);
  }
  out.number(kFileSystems);
  out.array(sample.file_systems.size());
  for (const FileSystemSample& file_system : sample.file_systems) write(out, file_system);
  return out.take();
}

Result<Sample> decode(std::span<const std::byte> bytes, const Limits& limits) {
  if (bytes.size() > limits.bytes) {
    return fail(Errc::limit, fmt::format("a sample of {} bytes, and at most {} are accepted", bytes.size(), limits.bytes));
  }
  return Decoder(bytes, limits).run();
}

std::vector<std::byte> encode(const RateRequest& request) {
  CborWriter out;
  MapWriter map(out, 3 + std::uint64_t{!request.names.empty()});
  map.number(kRequestVersion, kSampleVersion);
  out.number(kEvery);
  out.integer(request.every.count());
  out.number(kLasting);
  out.integer(request.lasting.count());
  if (request.names.empty()) return out.take();
  out.number(kNames);
  out.array(request.names.size());
  for (const std::string& name : request.names) out.text(name);
  return out.take();
}

Result<RateRequest> decode_request(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxRequest) return fail(Errc::limit, fmt::format("a request of {} bytes", bytes.size()));
  CborReader in(bytes);
  RateRequest request;
  std::uint64_t version = 0;
  each_pair(in, [&](std::uint64_t key) {
    switch (key) {
      case kRequestVersion:
        version = in.number();
        return true;
      case kEvery:
        request.every = Duration{in.integer()};
        return true;
      case kLasting:
        request.lasting = Duration{in.integer()};
        return true;
      case kNames: {
        const std::uint64_t count = in.array();
        if (count > kMaxRequestNames) in.stop();
        for (std::uint64_t i = 0; i < count && in.good(); ++i) request.names.emplace_back(in.text());
        return true;
      }
      default:
        return false;
    }
  });
  if (!in.good() || !in.done()) return fail(Errc::parse, "not a request: the bytes do not follow docs/formats/telemetry.md");
  if (version != kSampleVersion) return fail(Errc::unsupported, fmt::format("a request of version {}", version));
  if (request.every < Duration{0} || request.lasting < Duration{0}) return fail(Errc::parse, "a request with a negative time");
  return request;
}

}  // namespace iez::telemetry
