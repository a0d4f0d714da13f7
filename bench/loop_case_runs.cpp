#include "loop_case_runs.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "loop_program.hpp"
#include "loop_results.hpp"
#include "lustre/layout_file.hpp"
#include "measure.hpp"
#include "model/layout.hpp"
#include "run_programs.hpp"

namespace iez::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLongest{120};  // of one run
constexpr std::chrono::seconds kPatience{30};  // of what takes a second
constexpr unsigned kOstMib = 256;
constexpr unsigned kLearnings = 60;  // until the run that is learnt from is one that the case begins with
constexpr const char* kRate = "80MB/s";

bool is_there(const std::string& program) {
  const auto found = run_programs({{.words = {program, "--version"}}}, kPatience);
  return found && found->front().status == 0;
}

// One case on its lab.
class Playing {
 public:
  Playing(const LoopCase& about, const Settings& settings, const RunningLab& lab, LoopPlace place, std::string state)
      : about_(about), settings_(settings), lab_(lab), place_(std::move(place)), state_(std::move(state)) {}

  Result<CaseTimes> play(const CaseRounds& rounds) {
    auto times = played(rounds);
    const auto left = clean_up();
    if (times && !left) return std::unexpected(left.error());
    return times;
  }

 private:
  enum class Way : std::uint8_t { by_default, placed };

  Result<CaseTimes> played(const CaseRounds& rounds) {
    IEZ_CHECK(set_up());
    IEZ_CHECK(learn());
    said_.clear();
    CaseTimes times;
    unsigned round = 0;
    for (; round < rounds.least; ++round) IEZ_CHECK(play_round(round, times));
    while (round + 2 <= rounds.most && !is_settled(times.by_default, times.placed, about_.target)) {
      IEZ_CHECK(play_round(round++, times));
      IEZ_CHECK(play_round(round++, times));
    }
    times.said = std::move(said_);
    return times;
  }

  Result<void> learn() {
    for (unsigned attempt = 0; attempt < kLearnings; ++attempt) {
      for (unsigned number = 0; number < about_.learn; ++number) {
        if (about_.keeps) IEZ_CHECK(run(Way::by_default, about_.turn, number));
        IEZ_CHECK(run(Way::placed, about_.turn, number));
      }
      if (about_.begins == nullptr) return {};
      IEZ_TRY(const auto osts, used_by(Way::placed));
      if (about_.begins(osts)) return {};
      std::error_code error;
      fs::remove_all(state_, error);
      if (!error) fs::create_directories(state_, error);
      if (error) return fail_errno(error.value(), state_);
    }
    return fail(Errc::limit,
                fmt::format("{}: none of {} learning runs met the OSTs that it begins with", about_.name, kLearnings));
  }

  // OSTs with objects of the files there.
  Result<std::vector<unsigned>> used_by(Way way) const {
    std::vector<unsigned> osts;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path(way, 0), error)) {
      IEZ_TRY(const model::Layout layout, lustre::read_layout(entry.path().string()));
      for (const model::Component& component : layout.components) {
        for (const model::StripeObject& object : component.objects) osts.push_back(object.ost.value);
      }
    }
    if (error) return fail_errno(error.value(), path(way, 0));
    return osts;
  }

  Result<void> play_round(unsigned round, CaseTimes& times) {
    const bool placed_first = round % 2 == 1;
    for (const bool placed : {placed_first, !placed_first}) {
      IEZ_TRY(const double seconds, run(placed ? Way::placed : Way::by_default, about_.turn, about_.learn + round));
      (placed ? times.placed : times.by_default).push_back(seconds);
    }
    return {};
  }

  std::string path(Way way, unsigned client) const {
    return fmt::format("{}/{}-{}", lab_.mount(client), about_.name, way == Way::placed ? "placed" : "default");
  }
  std::string fill_path() const { return fmt::format("{}/{}-fill", lab_.mount(0), about_.name); }

  Result<void> set_up() {
    std::error_code error;
    for (const std::string& folder : {state_, path(Way::by_default, 0), path(Way::placed, 0), fill_path()}) {
      fs::create_directories(folder, error);
      if (error) return fail_errno(error.value(), folder);
    }
    if (about_.stripes > 0) {
      const model::Layout layout{
          .components = {{.stripe_size = Bytes::mib(1), .stripe_count = static_cast<std::uint16_t>(about_.stripes)}}};
      IEZ_CHECK(set_default_layout(path(Way::by_default, 0), layout));
      IEZ_CHECK(set_default_layout(path(Way::placed, 0), layout));
    }
    if (about_.fullness != nullptr) IEZ_CHECK(set_speeds([](unsigned) { return 1.0; }));
    IEZ_CHECK(fill());
    IEZ_TRY(used_, lab_.used());
    IEZ_CHECK(set_speeds(about_.speed));
    if (about_.before != nullptr) {
      IEZ_CHECK(run(Way::placed, about_.before, 0));
      IEZ_CHECK(clear(Way::placed));
    }
    return {};
  }

  // All OSTs at once: one alone would not use what the lab can do.
  Result<void> fill() {
    if (about_.fullness == nullptr) return {};
    std::mutex mutex;
    std::optional<Error> problem;
    {
      std::vector<std::jthread> writers;
      for (unsigned ost = 0; ost < kLoopOsts; ++ost) {
        const auto mib = static_cast<unsigned>(about_.fullness(ost) * kOstMib);
        if (mib == 0) continue;
        writers.emplace_back([&, ost, mib] {
          auto written = write_mib_on(fmt::format("{}/ost{}", fill_path(), ost), OstIndex{ost}, mib);
          if (written) return;
          const std::scoped_lock lock(mutex);
          problem = std::move(written).error();
        });
      }
    }
    if (problem) return with_context(*std::move(problem), "filling OSTs");
    return {};
  }

  // What a case fills, it fills fast.
  Result<void> set_speeds(double (*share)(unsigned ost)) const {
    if (about_.fullness == nullptr && about_.speed == nullptr) return {};
    for (unsigned ost = 0; ost < kLoopOsts; ++ost) {
      IEZ_CHECK(lab_.set_speed(OstIndex{ost}, share != nullptr ? share(ost) : kLoopSpeed));
    }
    return {};
  }

  Result<void> clear(Way way) const {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path(way, 0), error)) {
      std::error_code problem;
      fs::remove_all(entry.path(), problem);
      if (problem) return fail_errno(problem.value(), entry.path().string());
    }
    if (error) return fail_errno(error.value(), path(way, 0));
    return {};
  }

  // The lab goes on to the next case, whatever became of this one.
  Result<void> clean_up() const {
    std::error_code error;
    for (const std::string& folder : {path(Way::by_default, 0), path(Way::placed, 0), fill_path()}) {
      fs::remove_all(folder, error);
      if (error) return fail_errno(error.value(), folder);
    }
    return set_speeds(nullptr);
  }

  Result<double> run(Way way, LoopTurn (*turn)(const LoopPlace&, unsigned), unsigned number) {
    if (!about_.keeps) {
      IEZ_CHECK(clear(Way::by_default));
      IEZ_CHECK(clear(Way::placed));
      if (auto settled = lab_.wait_until_used(used_, kPatience); !settled) return std::unexpected(std::move(settled).error());
    }
    place_.folders.clear();
    for (unsigned client = 0; client < kLoopClients; ++client) place_.folders.push_back(path(way, client));
    place_.meeting = fmt::format("{}/meeting{}", state_, ++meetings_);
    double seconds = 0;
    for (const LoopStep& step : turn(place_, number)) {
      IEZ_TRY(const double took, run_step(way, step));
      seconds += took;
    }
    return seconds;
  }

  Result<double> run_step(Way way, const LoopStep& step) {
    std::vector<Program> programs;
    for (const LoopProgram& one : step) {
      Program program{.words = one.words,
                      .folder = path(way, one.client),
                      .environment = {{"XDG_CONFIG_HOME", state_},
                                      // More processes than processors: waiting ones give way. Open MPI does not like root.
                                      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                      {"OMPI_MCA_mpi_yield_when_idle", "1"}}};
      if (way == Way::placed) {
        program.words = under_iez_run(settings_, fmt::format("{}-{}", about_.name, one.application), state_,
                                      lab_.params(one.client), std::move(program.words));
        program.environment.emplace_back("IEZ_STATE", state_);
      }
      programs.push_back(std::move(program));
    }
    IEZ_TRY(const auto finished, run_programs(programs, kLongest));
    std::vector<std::vector<double>> phases;
    for (std::size_t i = 0; i < finished.size(); ++i) {
      const Finished& one = finished[i];
      if (one.status != (about_.fails ? 1 : 0)) {
        return fail(Errc::io, fmt::format("{}: '{}' ended with {}: {}", about_.name, fmt::join(programs[i].words, " "),
                                          one.status, last_line(one.talk)));
      }
      IEZ_TRY(phases.emplace_back(), phase_seconds(one.output));
      if (way == Way::placed) said_.push_back(words_of(one.talk));
    }
    return seconds_together(phases);
  }

  const LoopCase& about_;
  const Settings& settings_;
  const RunningLab& lab_;
  LoopPlace place_;
  std::string state_;
  std::vector<std::uint64_t> used_;  // before any run
  std::vector<std::string> said_;
  unsigned meetings_ = 0;
};

}  // namespace

Result<CaseRuns> CaseRuns::make(const Settings& settings, std::uint64_t unit) {
  IEZ_TRY(std::string python, python_with("json", "python3"));
  IEZ_TRY(TemporaryFolder folder, TemporaryFolder::make());
  IEZ_CHECK(write_loop_program(folder.path()));
  IEZ_TRY(RunningLab lab,
          RunningLab::up(settings.program, folder.path(),
                         {"--oss", std::to_string(kLoopServers), "--osts", std::to_string(kLoopOstsPerServer), "--clients",
                          std::to_string(kLoopClients), "--rate", kRate, "--ost-size", fmt::format("{}M", kOstMib)}));
  for (unsigned ost = 0; ost < kLoopOsts; ++ost) IEZ_CHECK(lab.set_speed(OstIndex{ost}, kLoopSpeed));
  return CaseRuns(settings, unit, std::move(folder), std::move(lab), std::move(python));
}

std::string CaseRuns::obstacle(const LoopCase& about) const {
  if (about.needs == LoopNeeds::nothing) return "";
  if (settings_.openmpi_library.empty()) return "iez was built without Open MPI";
  if (!is_there("mpirun.openmpi")) return "mpirun.openmpi is not installed";
  return "";
}

Result<CaseTimes> CaseRuns::run(const LoopCase& about, const CaseRounds& rounds) const {
  const LoopPlace place{
      .iez = settings_.program, .python = python_, .script = folder_.path() + "/loop_program.py", .unit = unit_};
  return Playing(about, settings_, lab_, place, fmt::format("{}/{}", folder_.path(), about.name)).play(rounds);
}

std::vector<std::string> under_iez_run(const Settings& settings, const std::string& application, const std::string& state,
                                       const std::string& params, std::vector<std::string> program, bool learn_only) {
  std::vector<std::string> words{
      settings.program, "run",  "--app",  application, "--json", "--store", "sqlite:" + state + "/iez.db",
      "--coordinator",  "none", "--root", params};
  if (learn_only) words.emplace_back("--learn");
  words.emplace_back("--");
  for (std::string& word : program) words.push_back(std::move(word));
  return words;
}

Result<std::string> write_loop_program(const std::string& folder) {
  std::string path = folder + "/loop_program.py";
  IEZ_CHECK(write_text(path, loop_program_script()));
  return path;
}

}  // namespace iez::bench
