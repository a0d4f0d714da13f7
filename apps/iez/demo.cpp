#include "demo.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/cluster_toml.hpp"
#include "demo_cases.hpp"
#include "demo_report.hpp"
#include "demo_stage.hpp"
#include "json.hpp"
#include "placement/balanced.hpp"
#include "placement/plan.hpp"
#include "placement/targets.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kRepetitions = 3;  // of each way: a tie shows as one

// One line that is written over on a terminal; elsewhere a line for each step that is done.
class Stages {
 public:
  explicit Stages(const Clock& clock) : clock_(clock), live_(::isatty(STDERR_FILENO) == 1), start_(clock.monotonic()) {}

  void begin(std::string what) {
    what_ = std::move(what);
    begun_ = clock_.monotonic();
    shown_ = Duration{-1};
    spin();
  }

  void spin() {
    if (!live_ || what_.empty()) return;
    const Duration now = clock_.monotonic();
    if (shown_ >= Duration{0} && now - shown_ < std::chrono::milliseconds(100)) return;
    shown_ = now;
    constexpr std::string_view kWheel = "|/-\\";
    turn_ = (turn_ + 1) % kWheel.size();
    fmt::print(stderr, "\r\x1b[K  {} {}  {:.0f} s", kWheel[turn_], what_, seconds(now - begun_));
    static_cast<void>(std::fflush(stderr));
  }

  void end(std::string_view outcome) {
    if (live_) fmt::print(stderr, "\r\x1b[K");
    fmt::print(stderr, "{:>5.1f} s  {:<58}  {}\n", seconds(clock_.monotonic() - start_), what_, outcome);
    what_.clear();
  }

  double seconds_so_far() const { return seconds(clock_.monotonic() - start_); }

 private:
  static double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

  const Clock& clock_;
  bool live_;
  Duration start_;
  Duration begun_{};
  Duration shown_{-1};
  std::string what_;
  std::size_t turn_ = 0;
};

class Play {
 public:
  Play(std::uint32_t repetitions, const DemoStage& stage, Stages& stages)
      : repetitions_(repetitions), stage_(stage), stages_(stages) {}

  Result<DemoOutcome> play(const DemoCase& given) {
    DemoOutcome outcome{.about = given};
    for (DemoApplication& application : outcome.about.applications) {
      IEZ_TRY(const std::string folder, stage_.folder(application.client, application.name, application.stripe_count));
      application.pattern.file = folder + (application.pattern.kind == workload::Kind::ior ? "/ior" : "/hacc");
      outcome.files += std::uint64_t{workload::file_count(application.pattern)} * application.steps;
      outcome.bytes += workload::total_bytes(application.pattern).count * application.steps;
    }
    IEZ_TRY(outcome.optimum, optimum(outcome.about));
    // In turn: whatever else this machine does meets both ways.
    for (std::uint32_t round = 0; round < repetitions_; ++round) {
      IEZ_CHECK(pass(outcome.about, round, false, outcome.by_default));
      IEZ_CHECK(pass(outcome.about, round, true, outcome.by_iez));
    }
    // There is no further run: nothing must be kept free for it.
    for (const DemoApplication& application : outcome.about.applications) {
      IEZ_CHECK(stage_.run({{.client = application.client, .words = {"plan", "expire", application.name}}}, [] {}));
    }
    return outcome;
  }

 private:
  // Of these files on an empty lab, by the balanced policy. With files of one size no placement is better; with others, none that
  // we know of.
  static Result<std::optional<double>> optimum(const DemoCase& about) {
    const auto is_open = [](const DemoApplication& one) { return one.stripe_count == 0; };
    if (std::ranges::any_of(about.applications, is_open)) return std::optional<double>();
    std::string toml = "name = \"demo\"\n";
    for (std::uint32_t server = 0; server < kDemoServers; ++server) {
      toml += fmt::format("[[server]]\nname = \"oss{}\"\nosts = {}\nost_size = \"1GiB\"\n", server, kDemoOstsPerServer);
    }
    IEZ_TRY(const auto cluster, config::parse_cluster(toml, "demo"));
    IEZ_TRY(const auto table, placement::make_targets(cluster, {}));
    std::vector<placement::Request> requests;
    for (const DemoApplication& application : about.applications) {
      const workload::Pattern& pattern = application.pattern;
      for (std::uint32_t file = 0; file < workload::file_count(pattern); ++file) {
        requests.push_back({.name = workload::file_name(pattern, file),
                            .bytes = workload::file_size(pattern, file),
                            .stripe_count = application.stripe_count});
      }
    }
    placement::BalancedPolicy policy;
    IEZ_TRY(const auto plan, placement::plan_files(table, requests, policy));
    return std::optional(plan.after.ost_cost);
  }

  // Several write at the same time and read at the same time, or the rate of one would be that of a lab it has to itself.
  std::vector<std::string> command(const DemoApplication& application, bool placed, std::size_t applications) const {
    const workload::Pattern& pattern = application.pattern;
    std::vector<std::string> words{"run", "--app", application.name, "--json"};
    if (!placed) words.emplace_back("--learn");
    words.insert(words.end(), {"--", fs::read_symlink("/proc/self/exe").string(), "workload"});
    if (pattern.kind == workload::Kind::ior) {
      words.insert(words.end(), {"ior", "-o", pattern.file, "-b", std::to_string(pattern.block.count), "-t",
                                 std::to_string(pattern.transfer.count), "-s", std::to_string(pattern.segments)});
      if (pattern.file_per_process) words.emplace_back("-F");
    } else {
      words.insert(words.end(),
                   {"hacc", std::to_string(pattern.particles), pattern.file, "--header", std::to_string(pattern.header.count)});
      if (!pattern.file_per_process) words.emplace_back("--shared");
    }
    words.insert(words.end(), {"-n", std::to_string(pattern.ranks), "-e", "-k", "-C", "--verify", "--drop-cache", "--json", "-i",
                               std::to_string(application.steps), "--seed", std::to_string(pattern.seed), "--sizes",
                               workload::to_string(workload::Sizes{.law = pattern.law, .spread = pattern.spread})});
    if (application.steps > 1) words.emplace_back("-m");
    if (applications > 1) {
      words.insert(words.end(), {"--meet", stage_.meeting_place(passes_), "--parties", std::to_string(applications)});
    }
    return words;
  }

  Result<void> pass(const DemoCase& about, std::uint32_t round, bool placed, DemoWay& way) {
    stages_.begin(fmt::format("{}: {}{}", about.title, placed ? "placed by iez" : "Lustre's default",
                              repetitions_ > 1 ? fmt::format(", {} of {}", round + 1, repetitions_) : ""));
    const auto tell = [this] { stages_.spin(); };
    std::vector<DemoStage::Command> commands;
    ++passes_;
    for (const DemoApplication& application : about.applications) {
      commands.push_back({.client = application.client, .words = command(application, placed, about.applications.size())});
    }
    IEZ_TRY(const auto outputs, stage_.run(commands, tell));
    IEZ_TRY(const Rates rates, rates_of(outputs));
    way.write_mb_s.add(rates.write_mb_s);
    way.read_mb_s.add(rates.read_mb_s);
    IEZ_TRY(way.used, stage_.used());
    way.ost_cost = largest_over_mean(way.used);
    way.oss_cost = largest_over_mean(server_sums(way.used, kDemoOstsPerServer));
    if (placed) way.said = what_iez_said(outputs);
    for (const DemoApplication& application : about.applications) IEZ_CHECK(stage_.clear(application.client, application.name));
    // The default needs no plan: what comes after a placed run may begin at once.
    IEZ_CHECK(placed ? stage_.wait_until_empty(tell) : stage_.wait_until_known_empty(tell));
    stages_.end(
        fmt::format("OSTCost {:.3f}   write {:3.0f}   read {:3.0f} MB/s", way.ost_cost, rates.write_mb_s, rates.read_mb_s));
    return {};
  }

  struct Rates {
    double write_mb_s = 0;
    double read_mb_s = 0;
  };

  // Of all applications and steps together: all bytes of a phase, which all begin together, in the time of the slowest.
  static Result<Rates> rates_of(const std::vector<DemoStage::Output>& outputs) {
    struct Together {
      double bytes = 0;
      double seconds = 0;
    };
    std::map<std::pair<bool, std::uint32_t>, Together> phases;  // of writing or not, and the repetition
    for (const DemoStage::Output& output : outputs) {
      const auto json = ordered_json::parse(output.data, nullptr, false);
      if (!json.is_object() || !json.contains("phases")) {
        return fail(Errc::io, fmt::format("iez workload says '{}'", text::printable(output.data.substr(0, 200))));
      }
      for (const auto& one : json["phases"]) {
        Together& phase = phases[{one["access"] == "write", one["repetition"].get<std::uint32_t>()}];
        phase.bytes += one["bytes"].get<double>();
        phase.seconds = std::max(phase.seconds, one["total_s"].get<double>());
      }
    }
    Together written;
    Together read;
    for (const auto& [which, phase] : phases) {
      Together& all = which.first ? written : read;
      all.bytes += phase.bytes;
      all.seconds += phase.seconds;
    }
    const auto rate = [](const Together& all) { return all.seconds > 0 ? all.bytes / 1e6 / all.seconds : 0; };
    return Rates{.write_mb_s = rate(written), .read_mb_s = rate(read)};
  }

  // Of all applications: how many of their files iez placed, or why it placed none.
  static std::string what_iez_said(const std::vector<DemoStage::Output>& outputs) {
    std::vector<std::string> talks;
    for (const DemoStage::Output& output : outputs) talks.push_back(output.talk);
    return demo_said(talks);
  }

  std::uint32_t repetitions_;
  const DemoStage& stage_;
  Stages& stages_;
  std::uint32_t passes_ = 0;
};

Result<std::vector<DemoCase>> chosen_cases(const DemoOptions& options) {
  std::vector<DemoCase> all = demo_cases(options.quick);
  if (options.cases.empty()) return all;
  std::vector<DemoCase> chosen;
  for (const std::string& id : options.cases) {
    const auto found = std::ranges::find(all, id, &DemoCase::id);
    if (found == all.end()) {
      std::vector<std::string_view> ids;
      ids.reserve(all.size());
      for (const DemoCase& known : all) ids.push_back(known.id);
      return fail(Errc::invalid_argument, fmt::format("--case '{}': there are {}", text::printable(id), fmt::join(ids, ", ")));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

// A place for the page before anything is started.
Result<std::string> output_folder(const DemoOptions& options) {
  const fs::path folder = options.out.empty() ? fs::path("iez-demo") : fs::path(options.out);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_errno(error.value(), folder.string());
  return fs::absolute(folder).lexically_normal().string();
}

}  // namespace

Result<void> run_demo(const DemoOptions& options, Context& context) {
  const std::uint32_t repetitions = options.repetitions.value_or(options.quick ? 1 : kRepetitions);
  IEZ_TRY(const auto cases, chosen_cases(options));
  IEZ_TRY(const std::string folder, output_folder(options));
  DemoReport report{.quick = options.quick, .local = options.local, .repetitions = repetitions};
  Stages stages(context.clock);
  {
    stages.begin(options.local ? "a lab: 1 MDS, 3 OSSs with 5 OSTs each, 2 clients"
                               : "a lab: 1 MDS, 3 OSSs with 5 OSTs each, 2 clients, coordinator, agents");
    IEZ_TRY(const DemoStage stage, DemoStage::set_up({.coordinator = !options.local, .ost_rate = options.ost_rate}));
    stages.end("up");
    Play play(repetitions, stage, stages);
    for (const DemoCase& about : cases) {
      IEZ_TRY(report.outcomes.emplace_back(), play.play(about));
    }
    stages.begin("taking the lab down");
  }
  stages.end("nothing is left of it");
  report.seconds = stages.seconds_so_far();
  const std::string page = folder + "/demo.html";
  IEZ_CHECK(write_text_file(page, demo_page(report)));
  IEZ_CHECK(write_text_file(folder + "/demo.json", to_line(demo_json(report))));
  if (options.json) return print(to_line(demo_json(report)));
  return print(fmt::format("\n{}\nThe page with the use of every OST: {}\n", demo_text(report, context.terminal), page));
}

}  // namespace iez::cli
