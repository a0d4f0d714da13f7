#include "loop_creates.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "loop_case_runs.hpp"
#include "loop_results.hpp"
#include "measure.hpp"
#include "run_programs.hpp"
#include "running_lab.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

namespace {

namespace fs = std::filesystem;

constexpr double kPlacedTarget = 0.97;
constexpr double kTracedTarget = 0.93;
constexpr std::chrono::seconds kLongest{300};
constexpr unsigned kProcesses = 4;
constexpr unsigned kFiles = 10'000;
constexpr unsigned kQuickFiles = 200;
constexpr unsigned kRounds = 5;
constexpr unsigned kMostRounds = 25;

enum Way : std::size_t { kPlain, kTraced, kPlaced, kWays };
constexpr std::array<const char*, kWays> kNames{"plain", "traced", "placed"};

// Runs the program in one of the ways, each with a folder and a store of its own.
class Creating {
 public:
  Creating(const Settings& settings, const RunningLab& lab, const std::string& folder, std::string python, unsigned files)
      : settings_(settings), lab_(lab), folder_(folder), python_(std::move(python)), files_(files) {}

  // Seconds that the program took to create them. What it makes is moved aside afterwards: removing it takes as long again.
  Result<double> run(Way way) {
    const std::string state = fmt::format("{}/{}", folder_, kNames[way]);
    const std::string files = fmt::format("{}/{}", lab_.mount(0), kNames[way]);
    std::error_code error;
    for (const std::string& path : {state, files}) {
      fs::create_directories(path, error);
      if (error) return fail_errno(error.value(), path);
    }
    Program program{
        .words = {python_, folder_ + "/loop_program.py", "small", files, std::to_string(kProcesses), std::to_string(files_), "4"},
        .folder = files,
        .environment = {{"XDG_CONFIG_HOME", state}}};
    if (way != kPlain) {
      program.words = under_iez_run(settings_, kNames[way], state, lab_.params(0), std::move(program.words), way == kTraced);
      program.environment.emplace_back("IEZ_STATE", state);
    }
    IEZ_TRY(const auto finished, run_programs({program}, kLongest));
    const Finished& one = finished.front();
    if (one.status != 0) return fail(Errc::io, fmt::format("creating files failed: {}", last_line(one.talk)));
    if (way == kPlaced) said_ = words_of(one.talk);
    fs::rename(files, fmt::format("{}/done{}", lab_.mount(0), ++done_), error);
    if (error) return fail_errno(error.value(), files);
    IEZ_TRY(const auto seconds, phase_seconds(one.output));
    return seconds.front();
  }

  const std::string& said() const { return said_; }

 private:
  const Settings& settings_;
  const RunningLab& lab_;
  const std::string& folder_;
  std::string python_;
  unsigned files_;
  unsigned done_ = 0;
  std::string said_;
};

}  // namespace

Result<std::vector<Figure>> measure_creates(const Settings& settings) {
  std::vector<Figure> figures;
  for (const auto& [name, target] :
       {std::pair("loop.creates_share_placed", kPlacedTarget), std::pair("loop.creates_share_traced", kTracedTarget)}) {
    figures.push_back(
        {.name = name, .value = std::nullopt, .unit = "x plain", .target = target, .note = "libiez.so was not found"});
  }
  if (settings.preload_library.empty()) return figures;
  IEZ_TRY(std::string python, python_with("json", "python3"));
  IEZ_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  IEZ_CHECK(write_loop_program(folder.path()));
  IEZ_TRY(const RunningLab lab, RunningLab::up(settings.program, folder.path(), {"--oss", "3", "--osts", "5"}));
  const unsigned files = settings.quick ? kQuickFiles : kFiles;
  const unsigned rounds = settings.quick ? 1 : kRounds;
  Creating creating(settings, lab, folder.path(), std::move(python), files);
  IEZ_CHECK(creating.run(kPlaced));  // learns
  std::array<std::vector<double>, kWays> seconds;
  std::array<std::vector<double>, kWays> ratios;  // to what is plain, round by round: times drift as the lab fills
  const auto is_known = [&] {
    return settings.quick || (is_settled(ratios[kPlaced], kPlacedTarget) && is_settled(ratios[kTraced], kTracedTarget));
  };
  for (unsigned round = 0; round < rounds || (round < kMostRounds && !is_known()); ++round) {
    settings.progress(
        fmt::format("{} files of 4 KiB: round {}, of {} to {}", files, round + 1, rounds, settings.quick ? rounds : kMostRounds));
    for (std::size_t i = 0; i < kWays; ++i) {
      const auto way = static_cast<Way>((round + i) % kWays);
      IEZ_TRY(const double took, creating.run(way));
      seconds[way].push_back(took);
    }
    for (const Way way : {kTraced, kPlaced}) ratios[way].push_back(seconds[kPlain].back() / seconds[way].back());
  }
  const Spread plain = spread_of(seconds[kPlain]);
  for (const Way way : {kPlaced, kTraced}) {
    const Spread one = spread_of(seconds[way]);
    Figure& figure = figures[way == kPlaced ? 0 : 1];
    const Spread ratio = spread_of(ratios[way]);
    figure.value = ratio.median;
    figure.note = fmt::format(
        "{} files of 4 KiB, {} processes: {:.2f}..{:.2f} in {} rounds; {:.0f} creates/s of {:.0f}; {:.2f} s ({:.2f}..{:.2f}), "
        "plain {:.2f} s ({:.2f}..{:.2f}){}",
        files, kProcesses, ratio.least, ratio.most, ratio.runs, files / one.median, files / plain.median, one.median, one.least,
        one.most, plain.median, plain.least, plain.most, way == kPlaced ? fmt::format("; iez: {}", creating.said()) : "");
  }
  return figures;
}

}  // namespace iez::bench
