#include "sim_input.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
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
constexpr Bytes kPage = Bytes::kib(4);

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

bool has_data(const trace::TracedFile& file) { return file.written.count > 0 || file.read.count > 0; }

std::uint32_t first_rank(const trace::TracedFile& file) { return static_cast<std::uint32_t>(std::max(file.rank, 0)); }

// Calls are of the mean size (at least a page, which is what a client caches) or, if they were not counted, of the largest. Those
// that mostly go on where the one before them ended move one part of the file; others go from part to part.
sim::Movement movement(Bytes bytes, std::uint64_t calls, std::uint64_t sequential, Bytes largest) {
  sim::Movement moved{.bytes = bytes};
  const Bytes call{calls > 0 ? bytes.count / calls : largest.count};
  if (calls > 0 || call.count > 0) moved.transfer = std::max(call, kPage);
  moved.strided = calls > 0 && sequential < calls - calls / 2;
  return moved;
}

// Times of files count from here: the start of the run, or the first of them if that is not known.
std::int64_t start_of(const trace::RunInfo& run, std::span<const trace::TracedFile> by_time) {
  if (run.start_ns > 0) return run.start_ns;
  return by_time.front().first_ns.value_or(0);
}

sim::ReplayedFile replayed_file(const trace::TracedFile& file, std::int64_t start_ns) {
  sim::ReplayedFile replayed{.name = file.name,
                             .written = movement(file.written, file.write_calls, file.sequential_writes, file.largest_write),
                             .read = movement(file.read, file.read_calls, file.sequential_reads, file.largest_read),
                             .rank = first_rank(file),
                             .ranks = std::max(file.ranks, 1U)};
  if (file.stripe_count > 0) {
    replayed.striping.count = file.stripe_count;
    if (file.stripe_size.count > 0) replayed.striping.size = file.stripe_size;
  }
  // A clock of another node may be a little behind.
  if (file.first_ns && *file.first_ns > start_ns) replayed.not_before = std::chrono::nanoseconds(*file.first_ns - start_ns);
  return replayed;
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
  std::vector<trace::TracedFile> files;
  files.reserve(loaded.files.size());
  std::ranges::copy_if(loaded.files, std::back_inserter(files), has_data);
  if (files.empty()) return fail(Errc::not_found, "found no file with data, expected at least one");
  sort_by_time(files);
  sim::Job job{.name = loaded.run.program.substr(loaded.run.program.rfind('/') + 1)};
  if (job.name.empty()) job.name = "trace";
  job.processes = std::max({loaded.run.communicator, loaded.run.processes, 1U});
  for (const trace::TracedFile& file : files) {
    const std::uint64_t last = std::uint64_t{first_rank(file)} + std::max(file.ranks, 1U);
    if (last > std::numeric_limits<std::uint32_t>::max())
      return fail(Errc::limit, fmt::format("file {}: found {} processes from rank {} on, expected fewer than 2^32",
                                           config::shown(file.name), file.ranks, file.rank));
    job.processes = std::max({job.processes, file.communicator, static_cast<std::uint32_t>(last)});
  }
  const std::int64_t start = start_of(loaded.run, files);
  std::uint32_t without_rank = 0;
  job.files.reserve(files.size());
  for (const trace::TracedFile& file : files) {
    sim::ReplayedFile& replayed = job.files.emplace_back(replayed_file(file, start));
    if (file.rank == trace::kNoRank && !trace::shared(file)) replayed.rank = without_rank++ % job.processes;
  }
  return job;
}

}  // namespace iez::cli
