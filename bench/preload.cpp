#include "preload.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "peer.hpp"
#include "plan.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

namespace {

struct Scale {
  unsigned rounds = 5;      // of every library, in turn
  unsigned batches = 4000;  // short ones: what disturbs hits few of them
  unsigned calls = 50;
  unsigned files = 100'000;  // that the memory is measured with
};
constexpr Scale kQuick{.rounds = 1, .batches = 8, .calls = 50, .files = 100};

constexpr double kTraceTarget = 60;
constexpr double kIdleTarget = 5;
constexpr double kPeerTarget = 2;  // below half of the peer's cost
constexpr double kMibTarget = 8;

struct Variant {
  std::string name;
  std::vector<std::string> environment;  // NAME=VALUE
  bool patient = true;                   // takes the whole number of calls
};

// How a peer is told to trace a program without MPI.
std::vector<std::string> environment_of(const Peer& peer, const std::string& folder) {
  std::vector<std::string> environment{"LD_PRELOAD=" + peer.library};
  if (peer.name == "darshan") {
    environment.emplace_back("DARSHAN_ENABLE_NONMPI=1");
    environment.push_back(fmt::format("DARSHAN_LOGFILE={}/peer.darshan", folder));
  } else if (peer.name == "recorder") {
    environment.emplace_back("RECORDER_WITH_NON_MPI=1");
    environment.push_back(fmt::format("RECORDER_TRACES_DIR={}/recorder", folder));
  }
  return environment;
}

struct Cost {
  double added_ns = 0;
  double straight_ns = 0;
  double in_use_kib = 0;
  double mapped_kib = 0;
};

Result<Cost> measure(const std::string& program, const Variant& variant, const Scale& scale, unsigned files) {
  IEZ_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  std::vector<std::string> command{"env", "--chdir=" + folder.path()};
  for (const std::string& variable : variant.environment) command.push_back(variable);
  // Recorder's grammar grows with every offset: a tenth of the calls is as much as it takes in reasonable time.
  const unsigned batches = variant.patient ? scale.batches : std::max(4U, scale.batches / 10);
  command.insert(command.end(),
                 {program, folder.path() + "/data", std::to_string(batches), std::to_string(scale.calls), std::to_string(files)});
  IEZ_TRY(const std::string text, output_of(std::move(command), std::chrono::seconds(300)));
  std::istringstream words(text);
  double named = 0;
  Cost cost;
  if (!(words >> named >> cost.straight_ns >> cost.in_use_kib >> cost.mapped_kib)) {
    return fail(Errc::parse, fmt::format("{} printed '{}', expected four numbers", program, text));
  }
  cost.added_ns = named - cost.straight_ns;
  return cost;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<Figure> skipped(const std::string& why) {
  std::vector<Figure> figures;
  figures.reserve(3);
  for (const char* const name : {"preload.trace_ns", "preload.idle_ns", "preload.mib"}) {
    figures.push_back({.name = name, .value = {}, .unit = {}, .higher_is_better = false, .target = {}, .note = why});
  }
  return figures;
}

Figure against(const Peer& peer, double ours, double theirs) {
  return {.name = "preload.vs_" + peer.name,
          .value = theirs / ours,
          .unit = "x",
          .higher_is_better = true,
          .target = kPeerTarget,
          .note = fmt::format("{} adds {:.0f} ns to the same calls", peer.name, theirs)};
}

}  // namespace

Result<std::vector<Figure>> run_preload(const Settings& settings) {
  const Scale scale = settings.quick ? kQuick : Scale{};
  const auto program = peer_program("iez-measure-pwrite", "");
  if (!program) return std::unexpected(program.error());
  if (settings.preload_library.empty()) return skipped("libiez.so is not found beside this program; set IEZ_LIBDIR");

  const std::string preload = "LD_PRELOAD=" + settings.preload_library;
  std::vector<Variant> variants{{.name = "tracing", .environment = {preload, "IEZ_TRACE=."}},
                                {.name = "switched off", .environment = {preload, "IEZ_DISABLE=1"}}};
  IEZ_TRY(const TemporaryFolder logs, TemporaryFolder::make());
  for (const Peer& peer : settings.peers) {
    variants.push_back({.name = peer.name, .environment = environment_of(peer, logs.path()), .patient = peer.name != "recorder"});
  }
  std::vector<std::vector<double>> added(variants.size());
  double straight = 0;
  for (unsigned round = 0; round < scale.rounds; ++round) {
    settings.progress(fmt::format("round {} of {}: {} libraries, pwrite() of 4 KiB", round + 1, scale.rounds, variants.size()));
    for (std::size_t i = 0; i < variants.size(); ++i) {
      auto cost = measure(*program, variants[i], scale, 0);
      if (!cost) return with_context(std::move(cost).error(), variants[i].name);
      added[i].push_back(cost->added_ns);
      straight = cost->straight_ns;
    }
  }

  settings.progress(fmt::format("{} files in one process", scale.files));
  IEZ_TRY(const Cost alone, measure(*program, {.name = "alone", .environment = {}}, kQuick, scale.files));
  IEZ_TRY(const Cost traced, measure(*program, variants[0], kQuick, scale.files));

  const double trace_ns = median(added[0]);
  const std::string how =
      fmt::format("added to a pwrite() of 4 KiB, {:.0f} ns itself; median of {} runs", straight, scale.rounds);
  std::vector<Figure> figures;
  figures.push_back({.name = "preload.trace_ns",
                     .value = trace_ns,
                     .unit = "ns",
                     .higher_is_better = false,
                     .target = kTraceTarget,
                     .note = "one record per file, " + how});
  figures.push_back({.name = "preload.idle_ns",
                     .value = median(added[1]),
                     .unit = "ns",
                     .higher_is_better = false,
                     .target = kIdleTarget,
                     .note = "loaded and switched off, " + how});
  for (std::size_t i = 0; i < settings.peers.size(); ++i) {
    figures.push_back(against(settings.peers[i], trace_ns, median(added[i + 2])));
  }
  for (const char* const name : {"darshan", "recorder"}) {
    if (std::ranges::find(settings.peers, name, &Peer::name) != settings.peers.end()) continue;
    figures.push_back({.name = fmt::format("preload.vs_{}", name),
                       .value = {},
                       .unit = "x",
                       .higher_is_better = true,
                       .target = kPeerTarget,
                       .note = fmt::format("no --peer {}=LIBRARY given", name)});
  }
  figures.push_back({.name = "preload.mib",
                     .value = std::max(traced.mapped_kib - alone.mapped_kib, traced.in_use_kib - alone.in_use_kib) / 1024,
                     .unit = "MiB",
                     .higher_is_better = false,
                     .target = kMibTarget,
                     .note = fmt::format("mapped, of a process that made {} files; {:.1f} MiB in use", scale.files,
                                         (traced.in_use_kib - alone.in_use_kib) / 1024)});
  IEZ_CHECK(add_plan_figures(settings, figures));
  return figures;
}

}  // namespace iez::bench
