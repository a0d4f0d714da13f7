#include "completion_values.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/cluster_toml.hpp"
#include "config/settings.hpp"
#include "lab.hpp"
#include "lab/lab_control.hpp"
#include "lustre/cluster_reader.hpp"
#include "runs/mount_table.hpp"
#include "store/store.hpp"
#include "store_command.hpp"
#include "table.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

namespace fs = std::filesystem;

std::string value_of(std::span<const GivenOption> given, std::string_view name) {
  const auto found = std::ranges::find(given, name, &GivenOption::name);
  return found == given.end() ? "" : found->value;
}

std::vector<OfferedWord> application_words(std::span<const GivenOption> given, Clock& clock) {
  std::vector<OfferedWord> words;
  const auto url = store_url(value_of(given, "--store"));
  if (!url) return words;
  store::OpenOptions opening;
  opening.create = false;
  opening.upgrade = store::Upgrade::never;
  opening.patience = Duration::zero();
  const auto opened = store::Store::open(*url, clock, opening);
  if (!opened) return words;
  const auto all = (*opened)->applications(current_user());
  if (!all) return words;
  for (const auto& one : *all) words.push_back({.word = one.application.name, .text = counted(one.runs, "run")});
  return words;
}

// Where parameters are read: as given, as set, of this node, or of each mount of a lab.
std::vector<std::vector<std::string>> places_to_look(std::span<const GivenOption> given) {
  std::vector<std::string> roots;
  for (const GivenOption& option : given) {
    if (option.name == "--root") roots.push_back(option.value);
  }
  if (!roots.empty()) return {roots};
  std::vector<std::vector<std::string>> places{{}};
  if (const auto mounts = runs::read_mounts()) {
    std::error_code error;
    const std::string here = fs::current_path(error).string();
    const runs::LayoutMount* const own = error ? nullptr : runs::mount_of(*mounts, here);
    if (own != nullptr && own->lab) return {{own->params}};
    for (const runs::LayoutMount& mount : *mounts) {
      if (mount.lab) places.push_back({mount.params});
    }
  }
  return places;
}

std::vector<model::Cluster> clusters(std::span<const GivenOption> given) {
  if (const std::string file = value_of(given, "--cluster"); !file.empty() && file != kStandardStream) {
    const auto text = read_text_file(file);
    if (!text) return {};
    auto described = config::parse_cluster(*text, file);
    if (!described) return {};
    return {*std::move(described)};
  }
  const std::string wanted = value_of(given, "--fs");
  std::vector<model::Cluster> all;
  for (const std::vector<std::string>& roots : places_to_look(given)) {
    if (std::ranges::find(roots, kStandardStream) != roots.end()) continue;  // it belongs to the shell
    const auto sources = open_sources(roots);
    if (!sources) continue;
    input::ParseReport report;
    auto reading = lustre::read_clusters(*sources, {}, report);
    if (!reading) continue;
    for (auto& view : reading->file_systems) {
      const bool known = std::ranges::find(all, view.cluster.name, &model::Cluster::name) != all.end();
      if (!known && (wanted.empty() || view.cluster.name == wanted)) all.push_back(std::move(view.cluster));
    }
  }
  return all;
}

// Of several file systems a number means one OST of each.
std::vector<OfferedWord> ost_words(std::span<const GivenOption> given) {
  std::map<std::uint32_t, std::string> texts;
  for (const model::Cluster& cluster : clusters(given)) {
    for (const model::Ost& ost : cluster.osts) {
      std::string& text = texts[ost.index.value];
      text += fmt::format("{}{}, {} used", text.empty() ? "" : "; ", ost.name, percent(model::utilisation(ost)));
    }
  }
  std::vector<OfferedWord> words;
  for (auto& [index, text] : texts) words.push_back({.word = fmt::format("{}", index), .text = std::move(text)});
  return words;
}

std::vector<OfferedWord> file_system_words(std::span<const GivenOption> given) {
  std::vector<OfferedWord> words;
  for (const model::Cluster& cluster : clusters(given))
    words.push_back({.word = cluster.name, .text = counted(cluster.osts.size(), "OST")});
  return words;
}

std::vector<OfferedWord> lab_part_words(std::span<const GivenOption> given) {
  std::vector<OfferedWord> words;
  const auto config = lab_config({.name = value_of(given, "--name"), .dir = value_of(given, "--dir")});
  if (!config) return words;
  for (std::uint32_t ost = 0; ost < config->ost_count(); ++ost) {
    words.push_back({.word = fmt::format("ost{}", ost), .text = fmt::format("an OST of oss{}", config->oss_of(ost))});
  }
  for (const std::string& node : lab::nodes_of(*config)) words.push_back({.word = node, .text = "a process of the lab"});
  return words;
}

}  // namespace

std::vector<OfferedWord> gather_words(Gathered what, std::span<const GivenOption> given, Clock& clock) {
  switch (what) {
    case Gathered::applications:
      return application_words(given, clock);
    case Gathered::osts:
      return ost_words(given);
    case Gathered::lab_parts:
      return lab_part_words(given);
    case Gathered::labs: {
      std::vector<OfferedWord> words;
      for (std::string& name : lab_names()) words.push_back({.word = std::move(name), .text = "a lab on this machine"});
      return words;
    }
    case Gathered::file_systems:
      return file_system_words(given);
    case Gathered::nothing:
      break;
  }
  return {};
}

}  // namespace iez::cli
