#include "loop_agent.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <span>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "measure.hpp"
#include "telemetry/collector.hpp"
#include "telemetry/sample.hpp"
#include "telemetry/subscriber.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kOsts = 100;
constexpr std::size_t kJobs = 10'000;
constexpr std::size_t kAgents = 2'000;
constexpr double kTarget = 2;  // percent

// One job as Lustre 2.15 prints it, with the rows that an OST has.
void append_job(std::string& out, std::size_t number) {
  fmt::format_to(std::back_inserter(out),
                 "- job_id:          {}\n  snapshot_time:   1794728600.000000000 secs.nsecs\n"
                 "  start_time:      1794728000.000000000 secs.nsecs\n  elapsed_time:    600.000000000 secs.nsecs\n",
                 4'000'000 + number);
  for (const std::string_view row : {"read_bytes", "write_bytes"}) {
    fmt::format_to(
        std::back_inserter(out),
        "  {:<16} {{ samples: {:>11}, unit: bytes, min: {:>8}, max: {:>8}, sum: {:>16}, sumsq: {:>18}, hist: {{ 1M: {} "
        "}} }}\n",
        fmt::format("{}:", row), number, 4096, 1048576, number * 1048576, 0, number);
  }
  for (const std::string_view row : {"read", "write", "getattr", "setattr", "punch", "sync", "destroy", "create", "statfs",
                                     "get_info", "set_info", "quotactl", "prealloc"}) {
    fmt::format_to(std::back_inserter(out),
                   "  {:<16} {{ samples: {:>11}, unit: usecs, min: {:>8}, max: {:>8}, sum: {:>16}, sumsq: {:>18} }}\n",
                   fmt::format("{}:", row), number % 7, 1, 99, 100, 1000);
  }
}

// The parameter tree of an OSS. All targets list the same jobs: one file with many names.
Result<void> make_tree(const std::string& root, std::size_t jobs) {
  std::string text = "job_stats:\n";
  for (std::size_t i = 0; i < jobs; ++i) append_job(text, i);
  std::error_code error;
  fs::create_directories(root, error);
  if (error) return fail_errno(error.value(), root);
  const std::string job_stats = root + "/job_stats";
  IEZ_CHECK(write_text(job_stats, text));
  constexpr std::string_view kStats =
      "snapshot_time             1794728864.962408475 secs.nsecs\n"
      "start_time                1794720000.962408475 secs.nsecs\n"
      "elapsed_time              8864.962408475 secs.nsecs\n"
      "read_bytes                900 samples [bytes] 4096 4194304 3774873600 158329674399744\n"
      "write_bytes               900 samples [bytes] 4096 4194304 3774873600 158329674399744\n"
      "read                      900 samples [usecs] 1 99 9000 90000\n"
      "write                     900 samples [usecs] 1 99 9000 90000\n"
      "statfs                    127 samples [usecs] 1 9 900 9000\n";
  for (std::uint32_t i = 0; i < kOsts; ++i) {
    const std::string device = fmt::format("obdfilter/scratch-OST{:04x}", i);
    const std::string space = fmt::format("{}/sys/fs/lustre/{}", root, device);
    const std::string counters = fmt::format("{}/proc/fs/lustre/{}", root, device);
    fs::create_directories(space, error);
    if (!error) fs::create_directories(counters, error);
    if (!error) fs::create_hard_link(job_stats, counters + "/job_stats", error);
    if (error) return fail_errno(error.value(), root);
    IEZ_CHECK(write_text(counters + "/stats", kStats));
    IEZ_CHECK(write_text(space + "/kbytestotal", "107374182400\n"));
    IEZ_CHECK(write_text(space + "/kbytesfree", fmt::format("{}\n", 53687091200U + i)));
    IEZ_CHECK(write_text(space + "/kbytesavail", fmt::format("{}\n", 53687091100U + i)));
    for (const char* const flag : {"degraded", "readonly", "no_create"}) {
      IEZ_CHECK(write_text(fmt::format("{}/{}", space, flag), "0\n"));
    }
  }
  return {};
}

// A child that is told to end, and waited for, whatever happens.
class Child {
 public:
  static Result<Child> start(std::vector<std::string> words) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = 0;
    if (const int reason = ::posix_spawn(&pid, words.front().c_str(), nullptr, nullptr, arguments.data(), environ); reason != 0) {
      return fail_errno(reason, words.front());
    }
    return Child(pid);
  }
  ~Child() { end(); }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGTERM);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
  }

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

struct AgentCost {
  double share = 0;  // of one core
  double seconds = 0;
  std::vector<std::byte> sample;  // the last one
};

Result<AgentCost> measure_process(const Settings& settings, const std::string& folder, std::size_t samples) {
  const std::string root = folder + "/oss";
  const SystemClock clock;
  IEZ_TRY(const auto subscriber,
          telemetry::Subscriber::open({.samples = "ipc://" + folder + "/s", .requests = "ipc://" + folder + "/r"}));
  const double before = cpu_seconds_of_children();
  const auto start = Clock::now();
  IEZ_TRY(Child child,
          Child::start({settings.program, "agent", "--root", root, "--name", "bench", "--interval", "1s", "--samples",
                        subscriber->samples_endpoint(), "--requests", subscriber->requests_endpoint()}));
  AgentCost cost;
  std::size_t taken = 0;
  const double limit = 30 + 2 * static_cast<double>(samples);
  while (taken < samples) {
    if (seconds_since(start) > limit) return fail(Errc::io, "iez agent sends too few samples");
    IEZ_TRY(const std::size_t got,
            subscriber->receive(std::chrono::milliseconds{500}, [&cost](std::span<const std::byte> bytes, std::string_view) {
              cost.sample.assign(bytes.begin(), bytes.end());
            }));
    taken += got;
  }
  child.end();
  cost.seconds = seconds_since(start);
  cost.share = (cpu_seconds_of_children() - before) / cost.seconds;
  return cost;
}

template <typename Work>
double cpu_of(int rounds, Work work) {
  const double start = cpu_seconds();
  for (int i = 0; i < rounds; ++i) work();
  return (cpu_seconds() - start) / rounds;
}

// The same values under texts as keys: nlohmann-json reads no others.
std::vector<std::uint8_t> with_text_keys(const telemetry::Sample& sample) {
  nlohmann::json json{{"1", sample.agent}, {"3", sample.instance}, {"4", sample.sequence}};
  for (const telemetry::FileSystemSample& file_system : sample.file_systems) {
    nlohmann::json osts = nlohmann::json::array();
    for (const telemetry::OstSample& ost : file_system.osts) {
      osts.push_back({{"0", ost.index.value},
                      {"2", ost.total.count},
                      {"3", ost.free.count},
                      {"4", ost.available.count},
                      {"6", static_cast<int>(ost.seen_by)},
                      {"7", ost.read_bytes.value_or(0)},
                      {"8", ost.write_bytes.value_or(0)},
                      {"9", ost.jobs.value_or(0)}});
    }
    json["11"].push_back({{"0", file_system.name}, {"3", std::move(osts)}});
  }
  return nlohmann::json::to_cbor(json);
}

Result<double> decode_gain(const std::vector<std::byte>& bytes, int rounds) {
  IEZ_TRY(const telemetry::Sample sample, telemetry::decode(bytes));
  const auto texts = with_text_keys(sample);
  std::size_t sum = 0;
  const double ours = cpu_of(rounds, [&] { sum += telemetry::decode(bytes).value().file_systems.size(); });
  const double theirs = cpu_of(rounds, [&] { sum += nlohmann::json::from_cbor(texts).size(); });
  if (sum == 0 || ours <= 0) return fail(Errc::io, "nothing was measured");
  return theirs / ours;
}

double collector_share(int rounds) {
  std::vector<std::vector<std::byte>> samples;
  telemetry::Collector collector;
  std::uint64_t sequence = 0;
  const double seconds = [&] {
    double sum = 0;
    for (int round = 0; round < rounds; ++round) {
      ++sequence;
      samples.clear();
      for (std::uint32_t i = 0; i < kAgents; ++i) {
        telemetry::Sample sample{
            .agent = fmt::format("agent{}", i), .instance = 1, .sequence = sequence, .interval = std::chrono::seconds{1}};
        telemetry::FileSystemSample fs{.name = "scratch", .servers = {{.name = sample.agent}}};
        for (std::uint32_t ost = 0; ost < 5; ++ost) {
          fs.osts.push_back({.index = OstIndex{i * 5 + ost},
                             .total = Bytes::gib(1000),
                             .free = Bytes::gib(500),
                             .available = Bytes::gib(400),
                             .seen_by = lustre::SpaceSource::obdfilter});
        }
        sample.file_systems.push_back(std::move(fs));
        samples.push_back(telemetry::encode(sample));
      }
      const telemetry::Moment now{.monotonic = std::chrono::seconds{round}, .wall = WallTime{std::chrono::seconds{round}}};
      const double start = cpu_seconds();
      for (const auto& bytes : samples) collector.feed(bytes, now);
      sum += cpu_seconds() - start;
    }
    return sum;
  }();
  return seconds / rounds;  // of one second each
}

}  // namespace

Result<std::vector<Figure>> measure_agent(const Settings& settings) {
  IEZ_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  settings.progress(fmt::format("agent: {} OSTs, {} jobs on each", kOsts, kJobs));
  IEZ_CHECK(make_tree(folder.path() + "/oss", settings.quick ? kJobs / 10 : kJobs));
  IEZ_TRY(const AgentCost cost, measure_process(settings, folder.path(), settings.quick ? 3 : 15));
  IEZ_TRY(const double gain, decode_gain(cost.sample, settings.quick ? 20 : 2000));
  const double collector = collector_share(settings.quick ? 2 : 20);
  return std::vector<Figure>{
      {.name = "loop.agent_cpu",
       .value = cost.share * 100,
       .unit = "%",
       .higher_is_better = false,
       .target = kTarget,
       .note = fmt::format("of one core, {} OSTs with {} jobs each, one sample a second for {:.0f} s, start included", kOsts,
                           kJobs, cost.seconds)},
      {.name = "loop.agent_bytes",
       .value = static_cast<double>(cost.sample.size()),
       .unit = "B",
       .higher_is_better = false,
       .target = std::nullopt,
       .note = fmt::format("a sample of {} OSTs", kOsts)},
      {.name = "loop.sample_vs_json",
       .value = gain,
       .unit = "x",
       .higher_is_better = true,
       .target = 1,
       .note = "decoding it, against nlohmann-json's CBOR reader on the same values under texts as keys"},
      {.name = "loop.collector_cpu",
       .value = collector * 100,
       .unit = "%",
       .higher_is_better = false,
       .target = std::nullopt,
       .note = fmt::format("of one core, {} agents of 5 OSTs once a second, without the sockets", kAgents)}};
}

}  // namespace iez::bench
