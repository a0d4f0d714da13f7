#include "sim_input.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/scenario_toml.hpp"
#include "config/words.hpp"
#include "input/parse_report.hpp"
#include "sim/simulation.hpp"
#include "text_file.hpp"

namespace iez::cli {

namespace {

constexpr std::string_view kExtension = ".toml";
// Stands for the folder of shipped files.
constexpr std::string_view kShippedFolder = "<shipped>";

std::vector<std::string_view> names_of(std::span<const ShippedFile> files) {
  std::vector<std::string_view> names;
  names.reserve(files.size());
  for (const ShippedFile& file : files) names.push_back(file.name);
  return names;
}

bool is_shipped(std::string_view file) {
  const std::filesystem::path path(file);
  return !path.empty() && *path.begin() == kShippedFolder;
}

// Where on disk a file is that another one names. What a shipped one names, because of --set, is relative to where we are.
std::string path_beside(std::string_view from, std::string_view name) {
  std::filesystem::path folder = std::filesystem::path(from).parent_path();
  if (is_shipped(from)) folder = folder.lexically_relative(kShippedFolder);
  return (folder / name).lexically_normal().string();
}

std::optional<std::string> shipped_text(std::string_view name) {
  for (const auto files : {shipped_scenarios(), shipped_machines()}) {
    if (const ShippedFile* const file = find_shipped(files, name)) return std::string(file->text);
  }
  return std::nullopt;
}

// Shipped files name shipped files: nothing that lies around on disk takes their place.
Result<std::string> load(std::string_view name, std::string_view from) {
  if (!name.ends_with(kExtension)) {
    const ShippedFile* const machine = find_shipped(shipped_machines(), name);
    if (machine != nullptr) return std::string(machine->text);
    return fail(Errc::not_found, fmt::format("no machine {} is shipped", config::shown(name)));
  }
  auto shipped = shipped_text(name);
  if (shipped && is_shipped(from)) return *std::move(shipped);
  const std::string path = path_beside(from, name);
  auto text = read_text_file(path);
  if (text || text.error().code != Errc::not_found) return text;
  if (shipped) return *std::move(shipped);
  return fail(Errc::not_found, fmt::format("{}: no such file, and none is shipped under this name", path));
}

Result<sim::Job> load_job(std::string_view name, std::string_view from) {
  input::ParseReport report;
  const std::string path = path_beside(from, name);
  IEZ_TRY(const LoadedTrace loaded, load_trace(path, {}, report));
  auto job = job_of_trace(loaded);
  if (!job) return with_context(std::move(job).error(), path);
  return job;
}

config::ScenarioSources sources() {
  config::ScenarioSources made{.load = load, .trace = load_job};
  for (const std::string_view name : names_of(shipped_machines())) made.machines.emplace_back(name);
  return made;
}

}  // namespace

const ShippedFile* find_shipped(std::span<const ShippedFile> files, std::string_view name) {
  if (name.ends_with(kExtension)) name.remove_suffix(kExtension.size());
  const auto found = std::ranges::find(files, name, &ShippedFile::name);
  return found == files.end() ? nullptr : &*found;
}

Result<ScenarioText> open_scenario(const std::string& given) {
  const bool path = given == kStandardStream || given.ends_with(kExtension) || given.find('/') != std::string::npos;
  if (path) {
    auto text = read_text_file(given);
    if (text) return ScenarioText{.file = given == kStandardStream ? "standard input" : given, .text = *std::move(text)};
    if (text.error().code != Errc::not_found || find_shipped(shipped_scenarios(), given) == nullptr)
      return std::unexpected(std::move(text).error());
    return fail(Errc::not_found, fmt::format("{}; the shipped scenario is called {}", text.error().message,
                                             given.substr(0, given.size() - kExtension.size())));
  }
  if (const ShippedFile* const file = find_shipped(shipped_scenarios(), given)) {
    return ScenarioText{.file = fmt::format("{}/{}{}", kShippedFolder, file->name, kExtension), .text = std::string(file->text)};
  }
  const auto known = names_of(shipped_scenarios());
  return fail(Errc::not_found,
              fmt::format("no scenario {} is shipped; expected a path that ends in .toml, or a name that 'iez sim list' shows{}",
                          config::shown(given), config::suggestion(given, known)));
}

Result<sim::Scenario> read_scenario(const ScenarioText& source, std::span<const config::Override> overrides) {
  IEZ_TRY(sim::Scenario scenario, config::parse_scenario(source.text, source.file, sources(), overrides));
  auto checked = sim::check(scenario);
  if (!checked) {
    Error error = std::move(checked).error();
    if (error.code == Errc::invalid_argument) error.code = Errc::parse;  // the file is wrong, not the command
    return with_context(std::move(error), source.file);
  }
  return scenario;
}

Result<std::vector<config::Override>> parse_overrides(std::span<const std::string> texts) {
  std::vector<config::Override> overrides;
  overrides.reserve(texts.size());
  for (const std::string& text : texts) {
    IEZ_TRY(config::Override one, config::parse_override(text));
    overrides.push_back(std::move(one));
  }
  return overrides;
}

std::string summary_of(std::string_view text) {
  std::string comment;
  while (text.starts_with('#')) {
    const std::size_t end = text.find('\n');
    if (!comment.empty()) comment += ' ';
    comment += text::trim(text.substr(1, end == std::string_view::npos ? end : end - 1));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  for (std::size_t at = 0; at < comment.size(); ++at) {
    const bool stop = comment[at] == '.' || comment[at] == '?' || comment[at] == '!';
    if (stop && (at + 1 == comment.size() || comment[at + 1] == ' ')) return comment.substr(0, at + (comment[at] == '.' ? 0 : 1));
  }
  return comment;
}

Result<sim::Job> job_of_trace(const LoadedTrace& loaded) {
  Bytes written;
  Bytes read;
  for (const trace::TracedFile& file : loaded.files) {
    written += file.written;
    read += file.read;
  }
  if (written.count == 0 && read.count == 0) return fail(Errc::not_found, "found no file with data, expected at least one");
  sim::Job job{.name = loaded.run.program.substr(loaded.run.program.rfind('/') + 1)};
  const bool writes = written >= read;
  job.pattern.access = writes ? sim::Access::write : sim::Access::read;
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;
  std::uint64_t shared_bytes = 0;
  std::uint64_t shared_files = 0;
  std::uint64_t files = 0;
  std::uint64_t largest = 0;
  std::uint32_t processes = std::max(loaded.run.communicator, loaded.run.processes);
  std::set<std::int32_t> ranks;
  for (const trace::TracedFile& file : loaded.files) {
    const std::uint64_t moved = writes ? file.written.count : file.read.count;
    if (moved == 0) continue;
    bytes = saturating_add(bytes, moved);
    calls = saturating_add(calls, writes ? file.write_calls : file.read_calls);
    ++files;
    ranks.insert(file.rank);
    processes = std::max({processes, file.communicator, file.ranks});
    if (trace::shared(file)) {
      ++shared_files;
      shared_bytes = saturating_add(shared_bytes, moved);
    }
    if (moved > largest && file.stripe_count > 0) {
      largest = moved;
      job.striping.count = file.stripe_count;
      if (file.stripe_size.count > 0) job.striping.size = file.stripe_size;
    }
  }
  job.processes = std::max({processes, static_cast<std::uint32_t>(ranks.size()), 1U});
  const bool shared = shared_bytes > bytes / 2;
  job.pattern.mode = shared ? sim::FileMode::shared : sim::FileMode::per_process;
  // Files of one process come one after the other.
  const std::uint64_t turns = shared ? shared_files : (files + job.processes - 1) / job.processes;
  job.pattern.files = static_cast<std::uint32_t>(std::min<std::uint64_t>(turns, 1'000'000));
  const std::uint64_t block = std::max<std::uint64_t>(1, bytes / (std::uint64_t{job.processes} * job.pattern.files));
  const std::uint64_t piece = std::clamp<std::uint64_t>(calls == 0 ? Bytes::mib(1).count : bytes / calls, 1, block);
  job.pattern.transfer = Bytes{piece};
  job.pattern.block = Bytes{(block / piece + (block % piece > piece / 2 ? 1 : 0)) * piece};
  return job;
}

}  // namespace iez::cli
