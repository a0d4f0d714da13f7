// Time that traces of large runs take: merging the segments of all processes, finding the templates of their names.
#include "forecast_parts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "forecast/template_discovery.hpp"
#include "measure.hpp"
#include "temporary_folder.hpp"
#include "trace/merge.hpp"
#include "trace/segment_writer.hpp"

namespace iez::bench {

namespace {

constexpr std::uint32_t kFiles = 100;  // of a process

struct Scale {
  std::uint32_t segments = 100'000;
  std::uint32_t ranks = 1000;  // of the names
  std::uint32_t steps = 500;
};
constexpr Scale kQuick{.segments = 500, .ranks = 50, .steps = 100};
constexpr std::uint32_t kRuns = 2;

Result<void> write_segments(const std::string& directory, std::uint32_t segments, bool shared) {
  trace::TracedFile file;
  file.write_calls = 97;
  file.sequential_writes = 96;
  file.largest_write = Bytes::mib(8);
  file.creates = 1;
  file.opens = 1;
  file.stripe_count = 8;
  file.stripe_size = Bytes::mib(1);
  for (std::uint32_t rank = 0; rank < segments; ++rank) {
    trace::SegmentInfo info{.pid = 1000 + rank, .rank = static_cast<std::int32_t>(rank), .communicator = segments};
    info.host = fmt::format("node{:05}", rank / 64);
    info.job = "1234567";
    info.program = "/apps/bin/simulation";
    info.start_ns = 1'700'000'000'000'000'000;
    info.end_ns = info.start_ns + 3'600'000'000'000;
    IEZ_TRY(trace::SegmentWriter writer, trace::SegmentWriter::create(fmt::format("{}/{:06}.ieztrace", directory, rank), info));
    for (std::uint32_t step = 0; step < kFiles; ++step) {
      file.name = shared ? fmt::format("/scratch/project/simulation/step.{:05}.h5", step)
                         : fmt::format("/scratch/project/simulation/step.{:05}/rank.{:06}", step, rank);
      file.written = Bytes{800'000'000 + rank};
      file.end = file.written;
      file.first_ns = info.start_ns + step * std::int64_t{1'000'000'000};
      file.last_ns = *file.first_ns + 900'000'000;
      const auto slot = writer.add(file);
      if (!slot) return std::unexpected(slot.error());
    }
    IEZ_CHECK(writer.finish());
  }
  return {};
}

struct Merged {
  double to_file = 0;  // seconds
  double cpu = 0;      // of them
  double to_rows = 0;
  trace::MergeSummary summary;
};

// The segments are read from the page cache, where writing them has left them.
Result<Merged> merge(const Settings& settings, std::uint32_t segments, bool shared) {
  IEZ_TRY(const TemporaryFolder directory, TemporaryFolder::make());
  settings.progress(
      fmt::format("writing {} segments of {} files, {}", segments, kFiles, shared ? "all the same" : "all different"));
  IEZ_CHECK(write_segments(directory.path(), segments, shared));
  settings.progress("merging them");
  const std::array<std::string, 1> inputs{directory.path()};
  Merged merged;
  auto start = Clock::now();
  IEZ_TRY(merged.summary, trace::merge_segments(inputs, {}, [](const trace::TracedFile&) -> Result<void> { return {}; }));
  merged.to_rows = seconds_since(start);
  const double cpu = cpu_seconds();
  start = Clock::now();
  IEZ_TRY(const trace::MergeSummary written, trace::merge_to_file(inputs, directory.path() + "/merged.run", {}));
  merged.to_file = seconds_since(start);
  merged.cpu = cpu_seconds() - cpu;
  const std::uint64_t files = shared ? kFiles : std::uint64_t{kFiles} * segments;
  for (const trace::MergeSummary& summary : {merged.summary, written}) {
    if (summary.segments != segments || summary.files != files || summary.bad_segments != 0) {
      return fail(Errc::io, fmt::format("merging gave {} files of {} segments, expected {} of {}", summary.files,
                                        summary.segments, files, segments));
    }
  }
  return merged;
}

Result<void> add_merge(const Settings& settings, std::uint32_t segments, std::vector<Figure>& figures) {
  IEZ_TRY(const Merged different, merge(settings, segments, false));
  IEZ_TRY(const Merged same, merge(settings, segments, true));
  figures.push_back({.name = "trace.merge_s",
                     .value = different.to_file,
                     .unit = "s",
                     .higher_is_better = false,
                     .target = 30,
                     .note = fmt::format(
                         "{} segments x {} files, all names different, to one file, in TMPDIR, segments in the page "
                         "cache: {:.1f} s of CPU, {} spills; {:.2f} s if the rows are only given on; all names shared: "
                         "{:.2f} s, {:.1f} of CPU",
                         segments, kFiles, different.cpu, different.summary.spills, different.to_rows, same.to_file, same.cpu)});
  return {};
}

// Names of two runs; in each, ranks race within a step. Half of them carry step and rank, half are one directory a rank.
class Names {
 public:
  explicit Names(const Scale& scale) {
    constexpr std::size_t kLongest = 64;
    const std::size_t count = std::size_t{scale.ranks} * scale.steps * kRuns;
    text_.reserve(count * kLongest);
    names_.reserve(count);
    Rng rng(1);
    std::vector<std::uint32_t> order(scale.ranks);
    for (std::uint32_t rank = 0; rank < scale.ranks; ++rank) order[rank] = rank;
    for (std::uint32_t run = 0; run < kRuns; ++run) {
      for (std::uint32_t step = 0; step < scale.steps; ++step) {
        for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
        for (const std::uint32_t rank : order) {
          add(step % 2 == 0 ? fmt::format("/scratch/project/run{:03}/ckpt.{:05}.{:04}", run, step, rank)
                            : fmt::format("/scratch/project/run{:03}/processor{}/{}/field.{}", run, rank, step * 10, rank),
              static_cast<std::int32_t>(rank), run);
        }
      }
    }
  }

  std::span<const forecast::ObservedName> all() const { return names_; }

 private:
  void add(const std::string& name, std::int32_t rank, std::uint32_t run) {
    IEZ_ASSERT(text_.size() + name.size() <= text_.capacity());  // else the names would move
    const std::size_t at = text_.size();
    text_ += name;
    names_.push_back({.name = std::string_view(text_).substr(at), .rank = rank, .run = run});
  }

  std::string text_;
  std::vector<forecast::ObservedName> names_;
};

void add_templates(const Settings& settings, const Scale& scale, std::vector<Figure>& figures) {
  constexpr int kRounds = 3;
  const Names names(scale);
  settings.progress(fmt::format("finding the templates of {} names", names.all().size()));
  std::vector<double> seconds;
  seconds.reserve(kRounds);
  std::vector<std::string> patterns;
  const double cpu = cpu_seconds();
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    const forecast::Discovery found = forecast::discover(names.all());
    seconds.push_back(seconds_since(start));
    patterns.clear();
    for (const forecast::NameTemplate& one : found.templates) patterns.push_back(one.pattern());
  }
  const double each = (cpu_seconds() - cpu) / kRounds;
  const std::size_t shown = std::min<std::size_t>(patterns.size(), 4);
  figures.push_back(
      {.name = "trace.template_s",
       .value = median(seconds),
       .unit = "s",
       .higher_is_better = false,
       .target = 3,
       .note = fmt::format(
           "{} names of {} runs, {} ranks racing, two templates in it; median of {}, {:.2f} s of CPU each; found {}: {}",
           names.all().size(), kRuns, scale.ranks, kRounds, each, patterns.size(),
           fmt::join(std::span(patterns).first(shown), ", "))});
}

}  // namespace

Result<void> add_trace_speed(const Settings& settings, std::vector<Figure>& figures) {
  const Scale scale = settings.quick ? kQuick : Scale{};
  add_templates(settings, scale, figures);
  return add_merge(settings, scale.segments, figures);
}

}  // namespace iez::bench
