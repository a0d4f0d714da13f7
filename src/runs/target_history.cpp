#include "runs/target_history.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace iez::runs {

namespace {

constexpr std::size_t kRuns = 500;  // that are looked at

const std::string& lies_as(const store::FileRow& file) { return file.renamed.empty() ? file.name : file.renamed; }

}  // namespace

std::vector<planning::SeenRun> sightings(std::span<const store::Run> runs, std::string_view file_system) {
  std::vector<planning::SeenRun> out;
  for (const store::Run& run : runs) {
    const auto found = std::ranges::find(run.targets, file_system, &store::RunTargets::file_system);
    if (found == run.targets.end()) continue;
    planning::SeenRun& seen = out.emplace_back();
    seen.ended_ns = run.ended_ns;
    seen.application = run.application;
    for (const store::RunTarget& one : found->targets) {
      seen.targets.push_back({.ost = one.ost, .speed = one.speed, .place = one.place});
    }
  }
  return out;
}

std::vector<planning::WrittenFile> written_on(const Gathered& gathered, const std::vector<LayoutMount>& mounts,
                                              std::string_view file_system) {
  std::vector<const GatheredWrite*> writes;
  for (const GatheredWrite& write : gathered.writes) {
    const LayoutMount* const mount = mount_of(mounts, lies_as(gathered.files[write.row]));
    if (mount != nullptr && mount->file_system == file_system) writes.push_back(&write);
  }
  const auto phase_and_name = [&](const GatheredWrite* write) {
    const store::FileRow& file = gathered.files[write->row];
    return std::tuple(file.phase, std::string_view(file.name));
  };
  std::ranges::stable_sort(writes, {}, phase_and_name);
  std::vector<planning::WrittenFile> out;
  out.reserve(writes.size());
  for (const GatheredWrite* const write : writes) {
    const auto phase = static_cast<std::uint32_t>(std::max(0, gathered.files[write->row].phase));
    const bool same = !out.empty() && out.back().phase == phase;
    out.push_back({.time = write->time,
                   .phase = phase,
                   .place = same ? out.back().place + 1 : 0,
                   .osts = write->osts,
                   .only_calls = write->only_calls});
  }
  return out;
}

Result<std::vector<planning::SlowTarget>> slow_targets(store::Store& store, std::string_view file_system, std::int64_t now_ns) {
  IEZ_TRY(const auto runs, store.runs_with_targets(now_ns - planning::kForgotten, kRuns));
  return planning::judge(sightings(runs, file_system), now_ns);
}

Result<std::vector<OstIndex>> suspects_at(store::Store& store, std::string_view file_system, std::int64_t then_ns) {
  IEZ_TRY(auto runs, store.runs_with_targets(then_ns - planning::kForgotten, kRuns));
  std::erase_if(runs, [then_ns](const store::Run& run) { return run.ended_ns > then_ns; });
  std::vector<OstIndex> out;
  for (const planning::SlowTarget& one : planning::judge(sightings(runs, file_system), then_ns)) out.push_back(one.ost);
  return out;
}

Result<std::vector<store::RunTargets>> seen_targets(const Gathered& gathered, const std::vector<LayoutMount>& mounts,
                                                    store::Store& store, std::int64_t now_ns) {
  std::set<std::string> names;
  for (const GatheredWrite& write : gathered.writes) {
    const LayoutMount* const mount = mount_of(mounts, lies_as(gathered.files[write.row]));
    if (mount != nullptr) names.insert(mount->file_system);
  }
  std::vector<store::RunTargets> out;
  for (const std::string& name : names) {
    IEZ_TRY(const auto slow, slow_targets(store, name, now_ns));
    std::vector<OstIndex> suspects;
    for (const planning::SlowTarget& one : slow) suspects.push_back(one.ost);
    store::RunTargets& seen = out.emplace_back();
    seen.file_system = name;
    for (const planning::SeenTarget& one : planning::observe(written_on(gathered, mounts, name), suspects)) {
      seen.targets.push_back({.ost = one.ost, .speed = one.speed, .place = one.place});
    }
  }
  return out;
}

}  // namespace iez::runs
