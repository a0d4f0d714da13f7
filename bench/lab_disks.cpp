#include "lab_disks.hpp"

#include <unistd.h>

#include <barrier>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/units.hpp"
#include "lustre/layout_file.hpp"
#include "model/layout.hpp"
#include "running_lab.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

namespace {

constexpr std::uint32_t kServers = 3;
constexpr std::uint32_t kOstsPerServer = 5;
constexpr std::uint32_t kOsts = kServers * kOstsPerServer;
constexpr double kOstRate = 20e6;  // bytes a second
constexpr unsigned kWriters = 16;
constexpr unsigned kClients = 2;
constexpr std::size_t kPiece = std::size_t{1} << 20U;
constexpr std::uint32_t kFewOsts = 3;

constexpr double kBalancedTarget = 0.9;
constexpr double kImbalancedTarget = 1.1;

struct Scale {
  unsigned balanced_mib = 120;   // of each writer: 8 MiB on every OST
  unsigned imbalanced_mib = 24;  // about as long, on a fifth of the OSTs
};
constexpr Scale kQuick{.balanced_mib = 15, .imbalanced_mib = 3};

// Bytes a second of all writers, each with the OSTs that `osts` gives for its number, until the last byte is on disk.
template <typename Osts>
Result<double> measure(const RunningLab& lab, const std::string& name, unsigned mib, const Osts& osts) {
  std::vector<std::string> paths;
  paths.reserve(kWriters);
  for (unsigned writer = 0; writer < kWriters; ++writer) {
    paths.push_back(fmt::format("{}/{}.{:02}", lab.mount(writer % kClients), name, writer));
    model::Layout layout{.components = {{.stripe_size = Bytes::mib(1), .osts = osts(writer)}}};
    layout.components[0].stripe_count = static_cast<std::uint16_t>(layout.components[0].osts.size());
    IEZ_CHECK(lustre::create_with_layout(paths.back(), layout, 0600));
  }
  std::barrier together(kWriters + 1);
  std::mutex mutex;
  std::optional<Error> problem;
  std::vector<std::jthread> writers;
  writers.reserve(kWriters);
  for (const std::string& path : paths) {
    writers.emplace_back([&together, &mutex, &problem, &path, mib] {
      together.arrive_and_wait();
      auto written = write_mib(path, mib);
      if (written) return;
      const std::scoped_lock lock(mutex);
      problem = std::move(written).error();
    });
  }
  together.arrive_and_wait();
  const auto start = std::chrono::steady_clock::now();
  writers.clear();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  for (const std::string& path : paths) ::unlink(path.c_str());
  if (problem) return std::unexpected(*std::move(problem));
  return static_cast<double>(kWriters) * mib * static_cast<double>(kPiece) / took.count();
}

// All OSTs, from another one for each file.
std::vector<OstIndex> every_ost(unsigned writer) {
  std::vector<OstIndex> osts;
  osts.reserve(kOsts);
  for (std::uint32_t i = 0; i < kOsts; ++i) osts.push_back(OstIndex{(writer + i) % kOsts});
  return osts;
}

std::vector<OstIndex> one_of_few(unsigned writer) { return {OstIndex{writer % kFewOsts}}; }

}  // namespace

Result<std::vector<Figure>> run_lab(const Settings& settings) {
  const Scale scale = settings.quick ? kQuick : Scale{};
  IEZ_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  settings.progress(fmt::format("starting a lab of {} OSTs at 20 MB/s", kOsts));
  IEZ_TRY(const RunningLab lab, RunningLab::up(settings.program, folder.path(),
                                               {"--oss", std::to_string(kServers), "--osts", std::to_string(kOstsPerServer),
                                                "--clients", std::to_string(kClients), "--rate", "20MB/s", "--ost-size", "1G"}));
  settings.progress(fmt::format("{} writers of {} MiB on all OSTs", kWriters, scale.balanced_mib));
  IEZ_TRY(const double balanced, measure(lab, "balanced", scale.balanced_mib, every_ost));
  settings.progress(fmt::format("{} writers of {} MiB on {} OSTs", kWriters, scale.imbalanced_mib, kFewOsts));
  IEZ_TRY(const double imbalanced, measure(lab, "imbalanced", scale.imbalanced_mib, one_of_few));
  const auto told = [](double rate, double possible) {
    return fmt::format("{:.1f} MB/s of {:.0f}, {} writers on {} mounts, until fsync() returned", rate / 1e6, possible / 1e6,
                       kWriters, kClients);
  };
  return std::vector<Figure>{{.name = "lab.balanced_share",
                              .value = balanced / (kOsts * kOstRate),
                              .unit = "of the disks",
                              .higher_is_better = true,
                              .target = kBalancedTarget,
                              .note = told(balanced, kOsts * kOstRate)},
                             {.name = "lab.imbalanced_share",
                              .value = imbalanced / (kFewOsts * kOstRate),
                              .unit = "of the disks",
                              .higher_is_better = false,
                              .target = kImbalancedTarget,
                              .note = told(imbalanced, kFewOsts * kOstRate)}};
}

}  // namespace iez::bench
