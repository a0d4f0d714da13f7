#include "jobs_sampler.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/rng.hpp"
#include "base/text.hpp"
#include "jobs/job_sampler.hpp"
#include "jobs/spool.hpp"
#include "lustre/param_source.hpp"
#include "measure.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 20261116;
constexpr int kTargets = 16;
constexpr double kInterval = 60;  // seconds
constexpr double kActive = 0.2;   // of the jobs, in one interval; a job is listed for ten of them after its last call
constexpr int kRounds = 5;
constexpr auto kPatience = std::chrono::seconds{120};

constexpr std::array<std::string_view, 13> kTimed{"read",   "write",  "getattr",  "setattr",  "punch",    "sync",    "destroy",
                                                  "create", "statfs", "get_info", "set_info", "quotactl", "prealloc"};

// As Lustre 2.17 prints an OST's entry: every row, most of them at zero.
void append_entry(std::string& out, std::size_t number, std::uint64_t calls, std::uint64_t bytes) {
  const auto back = std::back_inserter(out);
  fmt::format_to(back, "- job_id:          {}\n  snapshot_time:   1794728{:03}.887515895 secs.nsecs\n", 4'000'000 + number,
                 calls % 1000);
  fmt::format_to(back, "  start_time:      1794720000.000000001 secs.nsecs\n  elapsed_time:    8647.887515894 secs.nsecs\n");
  fmt::format_to(back,
                 "  read_bytes:      {{ samples:           0, unit: bytes, min:        0, max:        0, sum:                0, "
                 "sumsq:                  0, hist: {{  }} }}\n");
  fmt::format_to(back,
                 "  write_bytes:     {{ samples: {:>11}, unit: bytes, min:     4096, max:  4194304, sum: {:>16}, sumsq: {:>18}, "
                 "hist: {{ 4K: {}, 4M: {} }} }}\n",
                 calls, bytes, bytes * 4096, calls / 2, calls - calls / 2);
  for (const std::string_view name : kTimed) {
    fmt::format_to(back,
                   "  {:<16} {{ samples: {:>11}, unit: usecs, min:        0, max:        0, sum:                0, sumsq:        "
                   "          0 }}\n",
                   fmt::format("{}:", name), name == "write" ? calls : 0);
  }
}

std::string listing(std::size_t jobs, int version) {
  Rng rng(kSeed);
  std::string text = "job_stats:\n";
  for (std::size_t i = 0; i < jobs; ++i) {
    const std::uint64_t calls = rng.between(1, 1'000'000);
    // Another fifth of the jobs writes in each version.
    const bool active = static_cast<double>((i + static_cast<std::size_t>(version) * 7) % 100) < kActive * 100;
    const std::uint64_t more = active ? static_cast<std::uint64_t>(version) : 0;
    append_entry(text, i, calls + more, (calls + more) * 1'048'576);
  }
  return text;
}

// A server whose targets all show the same file; another one takes its place at once.
class Server {
 public:
  Server(std::string root, std::size_t jobs) : root_(std::move(root)), jobs_(jobs) {}

  Result<std::uint64_t> show(int version) {
    const std::string file = fmt::format("{}/version", root_);
    const std::string text = listing(jobs_, version);
    IEZ_CHECK(write_text(file, text));
    for (int target = 0; target < kTargets; ++target) {
      const fs::path folder = fmt::format("{}/proc/fs/lustre/obdfilter/scratch-OST{:04x}", root_, target);
      std::error_code error;
      fs::create_directories(folder, error);
      fs::remove(folder / "new", error);
      fs::create_hard_link(file, folder / "new", error);
      if (!error) fs::rename(folder / "new", folder / "job_stats", error);
      if (error) return fail_errno(error.value(), folder.string());
    }
    std::error_code ignored;  // the next write makes a file of its own
    fs::remove(file, ignored);
    return text.size() * kTargets;
  }

 private:
  std::string root_;
  std::size_t jobs_;
};

struct Cost {
  double seconds = 0;  // of CPU, for one sample
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // read
};

Result<Cost> measure_cpu(Server& server, const std::string& root, const std::string& spool) {
  std::vector<std::unique_ptr<lustre::ParamSource>> sources;
  IEZ_TRY(auto source, lustre::open_tree(root));
  sources.push_back(std::move(source));
  jobs::JobSampler sampler(std::move(sources), {.cluster = "bench", .seed = kSeed});
  const SystemClock clock;
  jobs::SpoolWriter sink({.folder = spool, .host = "bench"}, clock);
  input::ParseReport report;
  IEZ_TRY(const auto first, sampler.take(clock, sink, report));
  static_cast<void>(first);
  Cost cost;
  std::vector<double> costs;
  for (int round = 1; round <= kRounds; ++round) {
    IEZ_TRY(cost.bytes, server.show(round));
    const double before = cpu_seconds();
    IEZ_TRY(const auto taken, sampler.take(clock, sink, report));
    costs.push_back(cpu_seconds() - before);
    cost.rows = taken.rows;
  }
  if (report.skipped > 0) return fail(Errc::parse, to_string(report.problems.front()));
  if (cost.rows == 0) return fail(Errc::io, "the sampler found nothing that changed");
  cost.seconds = median(costs);
  return cost;
}

std::uint64_t peak_kib(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    std::string_view rest = std::string_view(line).substr(6);
    return text::parse_u64(text::take_word(rest)).value_or(0);
  }
  return 0;
}

std::uint64_t spool_size(const std::string& folder) {
  std::uint64_t size = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    size += entry->file_size(error);
  return size;
}

// Of a real agent, after two samples with changes.
Result<std::uint64_t> measure_memory(const Settings& settings, Server& server, const std::string& root,
                                     const std::string& folder) {
  std::vector<std::string> words{settings.program,  "agent",
                                 "--root",          root,
                                 "--samples",       fmt::format("ipc://{}/s", folder),
                                 "--requests",      fmt::format("ipc://{}/r", folder),
                                 "--jobs-spool",    folder + "/agent",
                                 "--jobs-interval", "1s",
                                 "--name",          "bench"};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  IEZ_CHECK(server.show(0));
  pid_t pid = -1;
  if (const int reason = ::posix_spawn(&pid, words.front().c_str(), nullptr, nullptr, arguments.data(), environ); reason != 0) {
    return fail_errno(reason, words.front());
  }
  Result<std::uint64_t> peak = fail(Errc::io, "the agent wrote no rows in time");
  int version = 1;
  const auto end = Clock::now() + kPatience;
  std::uint64_t before = 0;
  int seen = 0;
  while (seen < 2 && Clock::now() < end) {
    if (const auto shown = server.show(version++); !shown) break;
    std::this_thread::sleep_for(std::chrono::seconds{3});
    const std::uint64_t size = spool_size(folder + "/agent");
    seen += size > before ? 1 : 0;
    before = size;
  }
  if (seen == 2) peak = peak_kib(pid);
  ::kill(pid, SIGTERM);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return peak;
}

}  // namespace

Result<std::vector<Figure>> measure_job_sampler(const Settings& settings) {
  const std::size_t jobs = settings.quick ? 500 : 25'000;
  IEZ_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  const std::string root = folder.path() + "/oss";
  std::error_code error;
  fs::create_directories(root, error);
  if (error) return fail_errno(error.value(), root);
  Server server(root, jobs);
  settings.progress(fmt::format("sampling {} jobs on each of {} targets", jobs, kTargets));
  IEZ_CHECK(server.show(0));
  IEZ_TRY(const Cost cost, measure_cpu(server, root, folder.path() + "/spool"));
  settings.progress("the same by an agent, for its memory");
  IEZ_TRY(const std::uint64_t kib, measure_memory(settings, server, root, folder.path()));
  std::vector<Figure> figures;
  figures.push_back(
      {.name = "jobs.sampler_cpu",
       .value = 100 * cost.seconds / kInterval,
       .unit = "%",
       .higher_is_better = false,
       .target = 1,
       .note = fmt::format(
           "of a core at 60 s: {:.3f} s a sample of {:.0f} MB, {} jobs on each of {} targets, {} rows written; median of "
           "{}, without the kernel's making of the text",
           cost.seconds, static_cast<double>(cost.bytes) / 1e6, jobs, kTargets, cost.rows, kRounds)});
  figures.push_back({.name = "jobs.sampler_mib",
                     .value = static_cast<double>(kib) / 1024,
                     .unit = "MiB",
                     .higher_is_better = false,
                     .target = 64,
                     .note = "peak resident memory of an agent that does so"});
  return figures;
}

}  // namespace iez::bench
