#include "runs/rank_count.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "runs/identity.hpp"

namespace iez::runs {

namespace {

constexpr std::uint64_t kMost = 100'000'000;

std::uint32_t number(std::string_view text) {
  const auto value = text::parse_u64(text);
  return value && *value <= kMost ? static_cast<std::uint32_t>(*value) : 0;
}

// The value of an option at `at`: behind '=', in the next word, or right behind a short one ("-n8"). 0: it is another option.
std::uint32_t value_of(std::span<const std::string> words, std::size_t at, std::span<const std::string_view> names) {
  const std::string_view word = words[at];
  for (const std::string_view name : names) {
    if (word == name) return at + 1 < words.size() ? number(words[at + 1]) : 0;
    if (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=') {
      return number(word.substr(name.size() + 1));
    }
    if (name.size() == 2 && word.starts_with(name)) {
      if (const std::uint32_t value = number(word.substr(2)); value > 0) return value;
    }
  }
  return 0;
}

std::uint32_t narrowed(std::uint64_t ranks) { return ranks <= kMost ? static_cast<std::uint32_t>(ranks) : 0; }

// jsrun starts so many tasks in each of so many resource sets.
std::uint32_t of_resource_sets(std::span<const std::string> words) {
  static constexpr std::array<std::string_view, 2> kRanks{"-p", "--np"};
  static constexpr std::array<std::string_view, 2> kSets{"-n", "--nrs"};
  static constexpr std::array<std::string_view, 2> kTasks{"-a", "--tasks_per_rs"};
  std::uint32_t ranks = 0;
  std::uint32_t sets = 0;
  std::uint32_t tasks = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    ranks = std::max(ranks, value_of(words, i, kRanks));
    sets = std::max(sets, value_of(words, i, kSets));
    tasks = std::max(tasks, value_of(words, i, kTasks));
  }
  return ranks > 0 ? ranks : narrowed(std::uint64_t{sets} * std::max(1U, tasks));
}

std::uint32_t of_launcher(std::span<const std::string> words) {
  static constexpr std::array<std::string_view, 5> kRanks{"-n", "-np", "--np", "--ntasks", "--n"};
  static constexpr std::array<std::string_view, 2> kNodes{"-N", "--nodes"};
  static constexpr std::array<std::string_view, 5> kPerNode{"--ntasks-per-node", "-ppn", "--ppn", "-npernode", "--npernode"};
  std::uint64_t ranks = 0;
  std::uint32_t nodes = 0;
  std::uint32_t per_node = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--") break;
    ranks += value_of(words, i, kRanks);
    nodes = std::max(nodes, value_of(words, i, kNodes));
    per_node = std::max(per_node, value_of(words, i, kPerNode));
  }
  if (ranks == 0) ranks = std::uint64_t{nodes} * per_node;
  return narrowed(ranks);
}

std::uint32_t told_by_launcher(std::span<const std::string> command, std::size_t program, const Launch& launch) {
  const auto words = command.subspan(launch.at, launch.starts - launch.at);
  if (launch.name == "jsrun") return of_resource_sets(words);
  // Parts of a command stand behind ':', each with a program of its own: only those of the launcher are numbers of ranks.
  std::uint32_t told = of_launcher(words);
  for (std::size_t i = program; i + 1 < command.size(); ++i) {
    if (command[i] != ":") continue;
    const auto rest = command.subspan(i);
    told += of_launcher(rest.first(std::min<std::size_t>(rest.size(), 3)));
  }
  return told;
}

}  // namespace

std::uint32_t ranks_before_run(std::span<const std::string> command, std::size_t program, bool has_launcher,
                               const std::function<std::optional<std::string>(std::string_view)>& environment) {
  if (const auto launch = has_launcher ? launch_of(command, program) : std::nullopt) {
    if (const std::uint32_t told = told_by_launcher(command, program, *launch); told > 0) return told;
  }
  static constexpr std::array<std::string_view, 4> kTold{"SLURM_NTASKS", "SLURM_NPROCS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};
  for (const std::string_view name : kTold) {
    // A job of several tasks may run programs of one: only a launcher uses all of them.
    if (name.starts_with("SLURM") && !has_launcher) continue;
    if (const auto value = environment(name)) {
      if (const std::uint32_t ranks = number(*value); ranks > 0) return ranks;
    }
  }
  return 0;
}

}  // namespace iez::runs
