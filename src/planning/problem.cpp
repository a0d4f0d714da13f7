#include "planning/problem.hpp"

#include <algorithm>

namespace iez::planning {

std::uint32_t home_of(const Problem& problem, const File& file) {
  return file.phase < problem.phases.size() ? file.phase : file.read_phase;
}

std::uint32_t second_of(const Problem& problem, const File& file) {
  const bool two = file.phase < problem.phases.size() && file.read_phase < problem.phases.size();
  return two && file.read_phase != file.phase ? file.read_phase : kNoPhase;
}

PhaseFiles::PhaseFiles(const Problem& problem) : first_(problem.phases.size() + 1), files_() {
  const auto in_phase = [&](std::uint32_t phase) { return phase != kNoPhase && phase < problem.phases.size(); };
  const auto is_read_again = [&](const File& file) { return in_phase(file.read_phase) && file.read_phase != file.phase; };
  for (const File& file : problem.files) {
    if (in_phase(file.phase)) ++first_[file.phase + 1];
    if (is_read_again(file)) ++first_[file.read_phase + 1];
  }
  for (std::size_t p = 0; p < problem.phases.size(); ++p) first_[p + 1] += first_[p];
  files_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (const bool reads : {false, true}) {
    for (std::uint32_t i = 0; i < problem.files.size(); ++i) {
      const File& file = problem.files[i];
      if (reads ? is_read_again(file) : in_phase(file.phase)) files_[next[reads ? file.read_phase : file.phase]++] = i;
    }
  }
}

PhaseLoad::PhaseLoad(const Problem& problem)
    : problem_(problem),
      target_(problem.table.targets.size()),
      speed_(problem.speed.empty() ? std::vector<double>(problem.table.targets.size(), 1.0) : problem.speed),
      server_(problem.table.servers.size()),
      server_speed_(problem.table.servers.size()) {
  // A server serves what its targets do together, unless its share of all bandwidth says less than its targets' share.
  double all = 0;
  for (std::size_t j = 0; j < speed_.size(); ++j) {
    if (problem.table.targets[j].exclusion != placement::Exclusion::none) continue;
    server_speed_[problem.table.targets[j].server] += speed_[j];
    all += speed_[j];
  }
  double shares = 0;
  for (std::size_t k = 0; k < server_.size(); ++k) {
    if (server_speed_[k] > 0) shares += problem.table.servers[k].share;
  }
  for (std::size_t k = 0; k < server_.size(); ++k) {
    if (server_speed_[k] <= 0) {
      server_speed_[k] = 1;
      continue;
    }
    if (!problem.table.servers[k].bandwidth_known || shares <= 0) continue;
    const double by_share = all * problem.table.servers[k].share / shares;
    if (by_share < server_speed_[k] * (1 - 1e-9)) {
      server_speed_[k] = std::max(by_share, server_speed_[k] * 1e-3);
      fast_servers_ = false;
    }
  }
}

void PhaseLoad::begin(const Phase& phase) {
  std::ranges::fill(server_, 0.0);
  for (std::uint32_t j = 0; j < target_.size(); ++j) {
    target_[j] = problem_.load.empty() ? 0 : problem_.load[j] * phase.seconds;
    server_[problem_.table.targets[j].server] += target_[j];
  }
}

double PhaseLoad::time(std::span<const std::uint32_t> touched) const {
  double longest = 0;
  for (const std::uint32_t j : touched) {
    longest = std::max(longest, time_of(j));
    if (!fast_servers_) longest = std::max(longest, time_of_server(problem_.table.targets[j].server));
  }
  return longest;
}

Score score(const Problem& problem, const Placement& placement) {
  Score out{.phases = std::vector<double>(problem.phases.size()), .added = std::vector<Bytes>(problem.table.targets.size())};
  const PhaseFiles files(problem);
  PhaseLoad load(problem);
  std::vector<std::uint32_t> touched;
  for (std::uint32_t p = 0; p < problem.phases.size(); ++p) {
    load.begin(problem.phases[p]);
    touched.clear();
    for (const std::uint32_t i : files.of(p)) {
      const Placed& placed = placement.files[i];
      for (const std::uint32_t target : placement.of(placed)) {
        load.add(target, static_cast<double>(placed.object_bytes.count));
        touched.push_back(target);
      }
    }
    out.phases[p] = load.time(touched);
    out.seconds += out.phases[p];
  }
  for (const Placed& placed : placement.files) {
    for (const std::uint32_t target : placement.of(placed)) out.added[target] += placed.object_bytes;
  }
  out.balance = placement::balance(problem.table, out.added);
  return out;
}

}  // namespace iez::planning
