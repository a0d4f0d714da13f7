// What a plan of 10 million files takes: bytes, time to write, and time to find a name in it.
//
// Lookups are of random names, each once: the part of the plan that a lookup reads is in no cache of the CPU, since the plan is
// many times as large, but in the page cache, where writing it has left it. Then once more after the pages were given back, which
// is a matter of the disk below.
#include "plan.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "input/byte_stream.hpp"
#include "lustre/layout_codec.hpp"
#include "measure.hpp"
#include "plan/plan_lookup.hpp"
#include "plan/plan_writer.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

namespace {

constexpr std::uint32_t kFiles = 10'000'000;
constexpr std::uint32_t kQuickFiles = 100'000;
constexpr std::uint32_t kRanks = 1000;
constexpr std::uint32_t kOsts = 480;
constexpr std::size_t kLookups = 200'000;
constexpr std::size_t kQuickLookups = 20'000;
constexpr std::size_t kRounds = 5;
constexpr std::size_t kColdLookups = 200;

std::string name_of(std::uint32_t number) {
  return fmt::format("/scratch/project/simulation/run.0042/step.{:05}/rank.{:06}", number / kRanks, number % kRanks);
}

// Lists of 1 to 4 OSTs.
Result<std::vector<std::vector<std::byte>>> make_requests() {
  std::vector<std::vector<std::byte>> requests;
  requests.reserve(std::size_t{4} * kOsts);
  for (std::uint32_t i = 0; i < 4 * kOsts; ++i) {
    model::Component component{.stripe_size = Bytes::mib(1)};
    component.stripe_count = static_cast<std::uint16_t>(1 + i % 4);
    for (std::uint32_t stripe = 0; stripe <= i % 4; ++stripe) component.osts.push_back(OstIndex{(i / 4 + stripe * 7) % kOsts});
    IEZ_TRY(requests.emplace_back(), lustre::encode_request({.components = {std::move(component)}}));
  }
  return requests;
}

Result<plan::PlanSummary> write_plan(const std::string& path, std::uint32_t files) {
  IEZ_TRY(const auto requests, make_requests());
  plan::PlanWriter writer(path, {.created_ns = 1, .id = 42});
  for (std::uint32_t number = 0; number < files; ++number) {
    const std::string name = name_of(number);
    IEZ_CHECK(writer.add(plan::PlannedFile{.name = name, .created_as = {}, .request = requests[number % requests.size()]}));
  }
  return writer.finish();
}

constexpr plan::LookupCalls kSystem{
    .pread = [](int fd, void* to, std::size_t size, off_t at) { return ::pread(fd, to, size, at); }};

struct Lookups {
  double median_us = 0;  // of rounds
  double best_us = 0;
  double miss_us = 0;  // names that are not in the plan
  double cold_us = 0;  // pages given back; median of single lookups
};

class Searcher {
 public:
  [[nodiscard]] static Result<Searcher> open(const std::string& path) {
    Searcher searcher;
    searcher.fd_ = input::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOATIME));  // as the preload library does
    if (!searcher.fd_) return fail_errno(errno, path);
    if (plan::open_plan(kSystem, searcher.fd_.get(), searcher.plan_) != plan::PlanState::ready) {
      return fail(Errc::io, fmt::format("{}: the plan that was just written cannot be opened", path));
    }
    return searcher;
  }

  // Microseconds of a lookup: of CPU, since it waits for nothing while the plan is in memory, and others may use this machine.
  Result<double> time(const std::vector<std::string>& names, plan::Found expected, bool wall_clock = false) {
    std::size_t wrong = 0;
    const double start = wall_clock ? seconds_since(Clock::time_point{}) : cpu_seconds();
    for (const std::string& name : names) {
      if (plan::find_layout(kSystem, plan_, name.data(), name.size(), *layout_) != expected) ++wrong;
    }
    const double seconds = (wall_clock ? seconds_since(Clock::time_point{}) : cpu_seconds()) - start;
    if (wrong != 0) return fail(Errc::io, fmt::format("{} of {} names were not found as planned", wrong, names.size()));
    return seconds * 1e6 / static_cast<double>(names.size());
  }

  // Gives the pages of the file back where the system does so.
  void evict() const {
    (void)::fsync(fd_.get());
    (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
  }

 private:
  input::UniqueFd fd_;
  plan::OpenPlan plan_;
  std::unique_ptr<plan::FoundLayout> layout_ = std::make_unique<plan::FoundLayout>();
};

// Writes over more memory than the caches of the CPU have.
void sweep_caches() {
  constexpr std::size_t kSweep = std::size_t{128} << 20U;
  std::vector<unsigned char> memory(kSweep);
  for (std::size_t i = 0; i < kSweep; i += 64) memory[i] = static_cast<unsigned char>(i >> 6U);
  volatile unsigned char keep = memory[kSweep / 2];
  (void)keep;
}

Result<Lookups> measure_lookups(const std::string& path, std::uint32_t files, std::size_t count) {
  IEZ_TRY(Searcher searcher, Searcher::open(path));
  Rng rng(7);
  std::vector<double> rounds;
  rounds.reserve(kRounds);
  std::vector<std::string> names(count);
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::string& name : names) name = name_of(static_cast<std::uint32_t>(rng.below(files)));
    sweep_caches();
    IEZ_TRY(rounds.emplace_back(), searcher.time(names, plan::Found::file));
  }
  Lookups lookups{.median_us = median(rounds), .best_us = *std::ranges::min_element(rounds)};
  for (std::string& name : names) name += 'x';
  IEZ_TRY(lookups.miss_us, searcher.time(names, plan::Found::nothing));
  searcher.evict();
  std::vector<double> cold;
  cold.reserve(kColdLookups);
  for (std::size_t i = 0; i < kColdLookups; ++i) {
    IEZ_TRY(cold.emplace_back(), searcher.time({name_of(static_cast<std::uint32_t>(rng.below(files)))}, plan::Found::file, true));
  }
  lookups.cold_us = median(cold);
  return lookups;
}

}  // namespace

Result<void> add_plan_figures(const Settings& settings, std::vector<Figure>& figures) {
  const std::uint32_t files = settings.quick ? kQuickFiles : kFiles;
  IEZ_TRY(const TemporaryFolder directory, TemporaryFolder::make());
  const std::string path = directory.path() + "/plan";
  settings.progress(fmt::format("writing a plan of {} files", files));
  // In a process of its own, so that its memory can be told.
  IEZ_TRY(const std::uint64_t kib, peak_growth_kib([&] { return write_plan(path, files).has_value(); }));
  const double cpu = cpu_seconds();
  const auto start = Clock::now();
  IEZ_TRY(const plan::PlanSummary summary, write_plan(path, files));
  const double seconds = seconds_since(start);
  const double used = cpu_seconds() - cpu;
  settings.progress("looking up random names");
  IEZ_TRY(const Lookups lookups, measure_lookups(path, files, settings.quick ? kQuickLookups : kLookups));
  const double each = static_cast<double>(summary.bytes - summary.name_bytes) / static_cast<double>(summary.files);
  figures.push_back({.name = "preload.lookup_us",
                     .value = lookups.median_us,
                     .unit = "us",
                     .higher_is_better = false,
                     .target = 2,
                     .note = fmt::format(
                         "random names in a plan of {} files, caches of the CPU swept, plan in the page cache: CPU time, median "
                         "of {} rounds, best {:.2f} us; names that are not planned {:.2f} us; after its pages were given "
                         "back to the disk {:.0f} us",
                         files, kRounds, lookups.best_us, lookups.miss_us, lookups.cold_us)});
  figures.push_back({.name = "plan.bytes_per_file",
                     .value = each,
                     .unit = "B",
                     .higher_is_better = false,
                     .target = 64,
                     .note = fmt::format("without names; {} files with lists of 1 to 4 OSTs, {:.0f} MB in all", files,
                                         static_cast<double>(summary.bytes) / 1e6)});
  figures.push_back(
      {.name = "plan.compile_s",
       .value = seconds,
       .unit = "s",
       .higher_is_better = false,
       .target = std::nullopt,
       .note = fmt::format("{} files to a plan in TMPDIR: {:.1f} s of CPU, {} MiB of memory at most", files, used, kib / 1024)});
  return {};
}

}  // namespace iez::bench
