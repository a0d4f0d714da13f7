#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "config/scenario_parts.hpp"
#include "config/words.hpp"

namespace iez::config {

namespace {

constexpr std::array<std::string_view, 19> kJobKeys{
    "name",  "processes",    "kind",        "mode",  "access",       "block",   "transfer", "segments",  "files", "barrier",
    "trace", "stripe_count", "stripe_size", "start", "start_spread", "writers", "exchange", "particles", "header"};
constexpr std::array<std::string_view, 6> kKinds{"ior", "hacc-io", "flash-io", "chimera", "plfs", "trace"};
constexpr std::array<std::string_view, 2> kModes{"file-per-process", "shared"};
constexpr std::array<std::string_view, 2> kAccesses{"write", "read"};
// What recorded files tell themselves.
constexpr std::array<std::string_view, 11> kPatternKeys{"mode",    "access",    "block",  "transfer", "segments", "files",
                                                        "barrier", "particles", "header", "writers",  "exchange"};
constexpr std::string_view kAllTargets = "all";

constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 40U;  // of segments or particles; products are checked
constexpr std::uint64_t kMaxFiles = 1'000'000;

// HACC-IO: seven floats, a 64-bit id and a 16-bit mask of each particle, and a header before them in the file of a process. The
// sample of the placement study, 803,405,824 bytes a file, is exactly 20,480,000 particles and 24 MiB.
constexpr std::uint64_t kParticleBytes = 7 * 4 + 8 + 2;
constexpr std::uint64_t kParticles = 10'000'000;
constexpr Bytes kHaccHeader = Bytes::mib(24);

// What a kind of job does if its table does not say otherwise. docs/formats/scenario.md tells where the numbers come from.
sim::Job preset(std::string_view kind) {
  sim::Job job{.name = std::string(kind)};
  sim::Pattern& pattern = job.pattern;
  if (kind == "flash-io") {
    pattern.mode = sim::FileMode::shared;
    pattern.block = pattern.transfer = {41'216};  // 40.25 KiB
    pattern.segments = 1024;
  } else if (kind == "chimera") {
    pattern.mode = sim::FileMode::shared;
    pattern.block = pattern.transfer = Bytes::kib(64);
    pattern.segments = 80;
    pattern.files = 8;
  } else if (kind == "plfs") {
    pattern.block = Bytes::mib(4);
    pattern.segments = 100;
    job.striping.count = 2;
  }
  return job;
}

// a * b, or kMaxSize + 1 if it is more than kMaxSize.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > kMaxSize / b ? kMaxSize + 1 : a * b;
}

class JobReader {
 public:
  JobReader(const TableReader& table, const sim::Machine& machine) : table_(table), machine_(machine) {}

  Result<sim::Job> read(const ScenarioSources& sources, std::string_view file_name) {
    IEZ_CHECK(table_.only(kJobKeys));
    IEZ_CHECK(table_.word("kind", kind_, kKinds));
    job_ = preset(kind_);
    if (kind_ == "trace") {
      IEZ_CHECK(read_trace(sources, file_name));
    } else if (table_.get("trace") != nullptr) {
      return table_.bad("trace", "none, or kind = \"trace\" beside it");
    }
    IEZ_CHECK(table_.name_of("name", job_.name));
    IEZ_CHECK(table_.whole("processes", job_.processes, 1, kMaxProcesses));
    const std::uint64_t room = std::uint64_t{machine_.nodes} * machine_.client.processes_per_node;
    if (job_.processes > room) {
      return table_.bad("processes", fmt::format("at most {}: {} nodes of {} processes", room, machine_.nodes,
                                                 machine_.client.processes_per_node));
    }
    if (is_replay(job_)) {
      IEZ_CHECK(read_replay());
    } else {
      IEZ_CHECK(read_pattern());
      IEZ_CHECK(read_striping());
      IEZ_CHECK(read_collective());
    }
    IEZ_CHECK(table_.duration("start", job_.start, Zero::allowed));
    IEZ_CHECK(table_.duration("start_spread", job_.start_spread, Zero::allowed));
    IEZ_CHECK(check_sizes());
    return std::move(job_);
  }

 private:
  Result<void> read_trace(const ScenarioSources& sources, std::string_view file_name) {
    const Node* const trace = table_.get("trace");
    if (trace == nullptr || !trace->is_text() || trace->text.empty()) return table_.bad("trace", "the name of a trace file");
    if (!sources.trace) return table_.bad("kind", "another kind: no traces can be read here", Errc::unsupported);
    // A path counts from the file it stands in, which may be one that this scenario extends.
    auto job = sources.trace(trace->text, trace->origin.line == 0 ? file_name : *trace->origin.file);
    if (!job) return with_context(std::move(job).error(), fmt::format("{}: trace of [[job]]", to_string(trace->origin)));
    job_ = *std::move(job);
    return {};
  }

  // Striping that the table states is that of all files, whatever they were recorded with: what if?
  Result<void> read_replay() {
    for (const std::string_view key : kPatternKeys) {
      if (table_.get(key) != nullptr) return table_.bad(key, "none: the files of the trace tell it");
    }
    IEZ_CHECK(read_striping());
    for (sim::ReplayedFile& file : job_.files) {
      if (table_.get("stripe_count") != nullptr) file.striping.count = job_.striping.count;
      if (table_.get("stripe_size") != nullptr) file.striping.size = job_.striping.size;
    }
    return {};
  }

  Result<void> read_pattern() {
    sim::Pattern& pattern = job_.pattern;
    std::string mode;
    IEZ_CHECK(table_.word("mode", mode, kModes));
    if (!mode.empty()) pattern.mode = mode == "shared" ? sim::FileMode::shared : sim::FileMode::per_process;
    std::string access;
    IEZ_CHECK(table_.word("access", access, kAccesses));
    if (!access.empty()) pattern.access = access == "read" ? sim::Access::read : sim::Access::write;
    IEZ_CHECK(read_particles());
    IEZ_CHECK(table_.size("block", pattern.block));
    if (table_.get("block") != nullptr && pattern.transfer > pattern.block) pattern.transfer = pattern.block;
    IEZ_CHECK(table_.size("transfer", pattern.transfer));
    if (pattern.block.count % pattern.transfer.count != 0) {
      return table_.bad(table_.get("transfer") != nullptr ? "transfer" : "block",
                        fmt::format("a block ({} bytes) that is a multiple of the transfer ({} bytes)", pattern.block.count,
                                    pattern.transfer.count));
    }
    IEZ_CHECK(table_.whole("segments", pattern.segments, 1, kMaxCount));
    IEZ_CHECK(table_.whole("files", pattern.files, 1, kMaxFiles));
    return table_.flag("barrier", pattern.barrier);
  }

  Result<void> read_particles() {
    if (kind_ != "hacc-io") {
      for (const std::string_view key : {std::string_view("particles"), std::string_view("header")}) {
        if (table_.get(key) != nullptr) return table_.bad(key, "it with kind = \"hacc-io\" only");
      }
      return {};
    }
    std::uint64_t particles = kParticles;
    IEZ_CHECK(table_.whole("particles", particles, 1, kMaxCount));
    // All processes share the header of a shared file: too small a part of it to matter.
    Bytes header = job_.pattern.mode == sim::FileMode::per_process ? kHaccHeader : Bytes{};
    const Node* const given = table_.get("header");
    if (given != nullptr && given->kind == Node::Kind::whole && given->whole == 0) {
      header = {};
    } else {
      IEZ_CHECK(table_.size("header", header));
    }
    job_.pattern.block = Bytes{particles * kParticleBytes} + header;
    job_.pattern.transfer = job_.pattern.block;
    return {};
  }

  Result<void> read_striping() {
    const std::uint32_t targets = target_count(machine_);
    const Node* const count = table_.get("stripe_count");
    if (count != nullptr && count->is_text() && count->text == kAllTargets) {
      job_.striping.count = targets;
    } else {
      if (count != nullptr && count->is_text()) {
        return table_.bad("stripe_count", fmt::format("a whole number from 1 to {}, or \"all\"", targets));
      }
      IEZ_CHECK(table_.whole("stripe_count", job_.striping.count, 1, targets));
      if (job_.striping.count > targets) {
        return table_.missing("stripe_count", fmt::format("one of at most {}: {} takes {} stripes, the machine has {} targets",
                                                          targets, kind_, job_.striping.count, targets));
      }
    }
    IEZ_CHECK(table_.size("stripe_size", job_.striping.size));
    if (job_.striping.size.count % Bytes::kib(64).count != 0) {
      return table_.bad("stripe_size", "a multiple of 64 KiB, as Lustre has it");
    }
    return {};
  }

  Result<void> read_collective() {
    IEZ_CHECK(table_.whole("writers", job_.collective.writers, 0, job_.processes));
    IEZ_CHECK(table_.rate("exchange", job_.collective.exchange));
    if (job_.collective.writers > 0 && job_.pattern.mode != sim::FileMode::shared) {
      return table_.bad("writers", "none, or mode = \"shared\": collective writing is of a shared file");
    }
    if (job_.collective.writers == 0 && table_.get("exchange") != nullptr) {
      return table_.bad("exchange", "it together with writers");
    }
    return {};
  }

  Result<void> check_sizes() const {
    const sim::Pattern& pattern = job_.pattern;
    const std::uint64_t total = product(product(product(pattern.block.count, pattern.segments), pattern.files), job_.processes);
    if (total > kMaxJobBytes) {
      return table_.wrong(table_.node().origin, Errc::limit,
                          fmt::format("block, segments, files and processes of [[job]]: found {} x {} x {} x {} bytes, "
                                      "expected at most 2^62",
                                      pattern.block.count, pattern.segments, pattern.files, job_.processes));
    }
    return {};
  }

  const TableReader& table_;
  const sim::Machine& machine_;
  std::string kind_ = "ior";
  sim::Job job_;
};

}  // namespace

Result<sim::Job> read_job(const TableReader& table, const sim::Machine& machine, const ScenarioSources& sources,
                          std::string_view file_name) {
  return JobReader(table, machine).read(sources, file_name);
}

}  // namespace iez::config
