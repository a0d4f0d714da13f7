#include "lustre_parse.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rng.hpp"
#include "base/text.hpp"
#include "input/byte_stream.hpp"
#include "lustre/job_stats.hpp"
#include "peer.hpp"

namespace iez::bench {

namespace {

constexpr std::uint64_t kSeed = 20261115;
constexpr int kRounds = 5;

constexpr std::array<std::string_view, 14> kTimed{"read",     "write",    "getattr",  "setattr",  "punch",
                                                  "sync",     "destroy",  "create",   "statfs",   "get_info",
                                                  "set_info", "quotactl", "prealloc", "fallocate"};

// One job as Lustre 2.15 and later print it. A job reads or writes, in a few sizes, and leaves most rows at zero.
void append_job(std::string& out, Rng& rng, std::size_t number) {
  const auto emit = [&](std::string_view key, std::string_view unit, std::uint64_t samples, std::uint64_t min, std::uint64_t max,
                        std::string_view tail) {
    const std::uint64_t sum = samples * ((min + max) / 2);
    const std::string name = fmt::format("{}:", key);
    fmt::format_to(std::back_inserter(out),
                   "  {:<16} {{ samples: {:>11}, unit: {}, min: {:>8}, max: {:>8}, sum: {:>16}, sumsq: {:>18}{} }}\n", name,
                   samples, unit, min, max, sum, sum * (max / 2), tail);
  };
  const auto bytes = [&](std::string_view key, std::uint64_t samples) {
    if (samples == 0) {
      emit(key, "bytes", 0, 0, 0, ", hist: {  }");
      return;
    }
    const std::string hist = fmt::format(", hist: {{ 4K: {}, 64K: {}, 1M: {}, 4M: {} }}", samples / 8, samples / 8, samples / 4,
                                         samples - samples / 8 - samples / 8 - samples / 4);
    emit(key, "bytes", samples, 4096, 4194304, hist);
  };
  if (number % 3 == 0) {
    fmt::format_to(std::back_inserter(out), "- job_id:          \"{}:{}:node{:04}\"\n", 4'000'000 + number, 1000 + rng.below(500),
                   rng.below(9000));
  } else {
    fmt::format_to(std::back_inserter(out), "- job_id:          {}\n", 4'000'000 + number);
  }
  const std::uint64_t start = 1'794'728'000 + rng.below(100'000);
  fmt::format_to(
      std::back_inserter(out),
      "  snapshot_time:   {}.{:09} secs.nsecs\n  start_time:      {}.{:09} secs.nsecs\n  elapsed_time:    {}.{:09} secs.nsecs\n",
      start + 600, rng.below(1'000'000'000), start, rng.below(1'000'000'000), 600, rng.below(1'000'000'000));
  const bool writes = rng.chance(0.6);
  bytes("read_bytes", writes ? 0 : rng.below(1'000'000));
  bytes("write_bytes", writes ? rng.below(1'000'000) : 0);
  for (const std::string_view key : kTimed) {
    const std::uint64_t samples = rng.chance(0.3) ? rng.below(100'000) : 0;
    emit(key, "usecs", samples, samples == 0 ? 0 : 12, samples == 0 ? 0 : 45'000, "");
  }
}

Result<void> write_dump(const std::string& path, std::size_t jobs) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
  if (!file) return fail_errno(errno, path);
  Rng rng(kSeed);
  std::string block = "job_stats:\n";
  for (std::size_t i = 0; i < jobs; ++i) {
    append_job(block, rng, i);
    if (block.size() < (1U << 20U) && i + 1 < jobs) continue;
    if (std::fwrite(block.data(), 1, block.size(), file.get()) != block.size()) return fail_errno(errno, path);
    block.clear();
  }
  if (std::fflush(file.get()) != 0) return fail_errno(errno, path);
  return {};
}

Result<ParseCost> measure_in_child(const std::string& path) {
  IEZ_TRY(const std::string output, output_of({"/proc/self/exe", "bench", "lustre-parse", "--measure", path}));
  try {
    const auto json = nlohmann::json::parse(output);
    return ParseCost{
        .jobs = json.at("jobs"), .bytes = json.at("bytes"), .seconds = json.at("seconds"), .peak_kib = json.at("peak_kib")};
  } catch (const nlohmann::json::exception& problem) {
    return fail(Errc::parse, fmt::format("iez bench lustre-parse --measure: {}", problem.what()));
  }
}

Result<ParseCost> best_of(const std::string& path, int rounds) {
  IEZ_TRY(ParseCost best, measure_in_child(path));
  for (int i = 1; i < rounds; ++i) {
    IEZ_TRY(const ParseCost cost, measure_in_child(path));
    best.seconds = std::min(best.seconds, cost.seconds);
    best.peak_kib = std::max(best.peak_kib, cost.peak_kib);
  }
  return best;
}

constexpr std::string_view kPeer = R"(
import sys, time
import yaml
loader = yaml.CSafeLoader
with open(sys.argv[1], 'rb') as f:
    data = f.read()
start = time.perf_counter()
jobs = yaml.load(data, Loader=loader)['job_stats']
print(time.perf_counter() - start, len(jobs))
)";

struct PeerCost {
  double seconds = 0;
  std::uint64_t jobs = 0;
};

// Seconds that PyYAML's C loader takes for the same bytes; Debian's python3 first, since python3-yaml belongs to it.
Result<PeerCost> measure_peer(const std::string& path) {
  for (const std::string python : {"/usr/bin/python3", "python3"}) {
    if (!output_of({python, "-c", "import yaml, sys; sys.exit(0 if yaml.__with_libyaml__ else 1)"})) continue;
    IEZ_TRY(const std::string output, output_of({python, "-c", std::string(kPeer), path}));
    std::string_view rest = output;
    const auto seconds = text::parse_double(text::take_word(rest));
    const auto jobs = text::parse_u64(text::take_word(rest));
    if (!seconds || !jobs || *seconds <= 0) return fail(Errc::parse, "the peer printed: " + output);
    return PeerCost{.seconds = *seconds, .jobs = *jobs};
  }
  return fail(Errc::not_found, "python3-yaml with its C loader is not installed: tools/setup bench");
}

std::uint64_t peak_memory_kib() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with("VmHWM:")) continue;
    std::string_view rest = std::string_view(line).substr(6);
    return text::parse_u64(text::take_word(rest)).value_or(0);
  }
  return 0;
}

}  // namespace

Result<ParseCost> measure_job_stats(const std::string& path) {
  input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path);
  const auto stream = input::file_stream(std::move(fd), path);
  input::ParseReport report;
  model::JobCounters sum;  // what every user of the parser makes of an entry
  const auto start = std::chrono::steady_clock::now();
  IEZ_TRY(const auto summary,
          lustre::parse_job_stats(*stream, path, report, [&](const lustre::JobEntry& entry) { sum += lustre::counters(entry); }));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (report.skipped > 0) return fail(Errc::parse, input::to_string(report.problems.front()));
  return ParseCost{.jobs = summary.jobs, .bytes = summary.bytes, .seconds = elapsed.count(), .peak_kib = peak_memory_kib()};
}

Result<std::vector<Figure>> run_lustre_parse(const Settings& settings) {
  const std::size_t jobs = settings.quick ? 500 : 25'000;
  IEZ_TRY(const TemporaryFile dump, TemporaryFile::make());
  IEZ_TRY(const TemporaryFile large, TemporaryFile::make());

  settings.progress(fmt::format("writing a job_stats dump of {} jobs, and one of {}", jobs, 10 * jobs));
  IEZ_CHECK(write_dump(dump.path(), jobs));
  IEZ_CHECK(write_dump(large.path(), 10 * jobs));

  settings.progress(fmt::format("parsing each {} times", kRounds));
  IEZ_TRY(const ParseCost cost, best_of(dump.path(), kRounds));
  IEZ_TRY(const ParseCost large_cost, best_of(large.path(), 2));
  if (cost.jobs != jobs || large_cost.jobs != 10 * jobs) {
    return fail(Errc::io, fmt::format("parsed {} and {} jobs of {} and {}", cost.jobs, large_cost.jobs, jobs, 10 * jobs));
  }

  settings.progress("parsing the first with Python's C YAML loader (a minute or two)");
  const auto peer = measure_peer(dump.path());
  if (peer && peer->jobs != jobs) return fail(Errc::io, fmt::format("PyYAML found {} jobs of {}", peer->jobs, jobs));

  const double megabytes = static_cast<double>(cost.bytes) / 1e6;
  const double growth_kib = static_cast<double>(large_cost.peak_kib) - static_cast<double>(cost.peak_kib);
  std::vector<Figure> figures;
  figures.push_back({.name = "parse.jobstats_mb_s",
                     .value = megabytes / cost.seconds,
                     .unit = "MB/s",
                     .note = fmt::format("{} jobs, {:.1f} MB, best of {}, read from a cached file", jobs, megabytes, kRounds)});
  figures.push_back({.name = "parse.vs_pyyaml",
                     .value = peer ? std::optional(peer->seconds / cost.seconds) : std::nullopt,
                     .unit = "x",
                     .target = 50,
                     .note = peer ? fmt::format("same bytes: CSafeLoader {:.1f} s, iez {:.3f} s", peer->seconds, cost.seconds)
                                  : "skipped: " + peer.error().message});
  figures.push_back({.name = "parse.mem_growth_mib",
                     .value = growth_kib / 1024,
                     .unit = "MiB",
                     .higher_is_better = false,
                     .target = 1,
                     .note = fmt::format("peak memory {} KiB for {:.0f} MB, {} KiB for {:.0f} MB", cost.peak_kib, megabytes,
                                         large_cost.peak_kib, static_cast<double>(large_cost.bytes) / 1e6)});
  figures.push_back(
      {.name = "parse.linearity",
       .value = (large_cost.seconds / static_cast<double>(large_cost.bytes)) / (cost.seconds / static_cast<double>(cost.bytes)),
       .unit = "x",
       .higher_is_better = false,
       .note = "time per byte of a dump ten times larger: 1 is linear"});
  return figures;
}

}  // namespace iez::bench
