#include "collective_runs.hpp"

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "peer.hpp"

namespace iez::bench {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::chrono::seconds kPatience(120);

bool is_mpich(Layer layer) { return layer == Layer::mpich || layer == Layer::ours_on_mpich; }
bool is_romio(Layer layer) { return layer == Layer::romio || layer == Layer::ours_on_romio; }
bool is_ours(Layer layer) { return layer == Layer::ours || layer == Layer::ours_on_mpich || layer == Layer::ours_on_romio; }

// As `iez workload` finds its programs: beside this one as it was built, or in libexec as it was installed.
Result<std::string> find_program(const std::string& own, std::string_view flavour) {
  const std::string name = fmt::format("iez-measure-collective-{}", flavour);
  const fs::path folder = fs::path(own).parent_path();
  std::error_code error;
  for (const fs::path& place : {folder / ".." / "libexec" / "iez", folder / ".." / "workload"}) {
    const fs::path file = (place / name).lexically_normal();
    if (fs::is_regular_file(file, error)) return file.string();
  }
  return fail(Errc::not_found, fmt::format("{} is not there: iez was built without that MPI", name));
}

Result<std::vector<Measured>> parsed(const std::string& text) {
  std::vector<Measured> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object()) continue;  // launchers talk, too
    if (row.value("wrong", std::uint64_t{1}) != 0) return fail(Errc::io, fmt::format("bytes came back wrong: {}", line));
    all.push_back({.ranks = row.value("ranks", 0U),
                   .block = row.value("block", std::uint64_t{0}),
                   .bytes = row.value("bytes", std::uint64_t{0}),
                   .write_s = row.value("write_s", 0.0),
                   .read_s = row.value("read_s", 0.0),
                   .write_cpu_s = row.value("write_cpu_s", 0.0),
                   .read_cpu_s = row.value("read_cpu_s", 0.0)});
  }
  return all;
}

}  // namespace

std::string name_of(Layer layer) {
  constexpr std::array<const char*, 6> kNames{"OMPIO", "ROMIO", "ours", "MPICH", "ours on MPICH", "ours on ROMIO"};
  return kNames[static_cast<std::size_t>(layer)];
}

Result<std::vector<Measured>> CollectiveRuns::run(Layer layer, const CollectiveRun& run) const {
  const std::string flavour = is_mpich(layer) ? "mpich" : "openmpi";
  IEZ_TRY(const std::string program, find_program(settings_.program, flavour));
  // More ranks than processors: waiting ones give way. Open MPI does not like root.
  std::vector<std::string> words{"env",
                                 "OMPI_ALLOW_RUN_AS_ROOT=1",
                                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                 "OMPI_MCA_mpi_yield_when_idle=1",
                                 "mpirun." + flavour,
                                 "-n",
                                 std::to_string(run.ranks)};
  if (flavour == "openmpi") {
    words.insert(words.end(), {"--oversubscribe", "--mca", "io", is_romio(layer) ? "romio321" : "ompio"});
  }
  if (is_ours(layer)) {
    const std::string& library = is_mpich(layer) ? settings_.mpich_library : settings_.openmpi_library;
    if (library.empty()) return fail(Errc::not_found, fmt::format("libiez-mpi-{}.so is not found; set IEZ_LIBDIR", flavour));
    words.insert(words.end(),
                 {"env", "LD_PRELOAD=" + library, "IEZ_COLLECTIVE=" + run.hints, "IEZ_COLLECTIVE_COUNTERS=" + counters_path()});
  }
  std::string blocks;
  for (const std::uint64_t block : run.blocks) blocks += fmt::format("{}{}", blocks.empty() ? "" : ",", block);
  for (const Pattern& one : run.patterns) blocks += fmt::format("{}{}:{}", blocks.empty() ? "" : ",", one.mode, one.block);
  words.insert(words.end(), {program, run.patterns.empty() ? run.mode : "cells", run.mounts.empty() ? folder_ + "/data" : "data",
                             std::to_string(run.bytes), blocks});
  words.insert(words.end(), run.mounts.begin(), run.mounts.end());
  auto text = output_of(std::move(words), kPatience);
  if (!text) return with_context(std::move(text).error(), fmt::format("{} with {} ranks", name_of(layer), run.ranks));
  IEZ_TRY(auto all, parsed(*text));
  const std::size_t wanted = run.blocks.size() + run.patterns.size();
  if (all.size() != wanted) {
    return fail(Errc::parse, fmt::format("{} printed '{}', expected {} lines of JSON", program, *text, wanted));
  }
  return all;
}

std::optional<LayerCounters> CollectiveRuns::take_counters() const {
  std::ifstream file(counters_path());
  std::optional<LayerCounters> sum;
  for (std::string line; std::getline(file, line);) {
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object() || row.value("collected_writes", 0) + row.value("collected_reads", 0) == 0) continue;
    const auto seconds = [&row](const char* what) { return row.at("seconds").at(what).at("aggregators").get<double>(); };
    if (!sum) sum.emplace();
    sum->copy_s += seconds("copy");
    sum->send_s += seconds("send");
    sum->wait_s += seconds("wait");
    sum->file_s += seconds("file");
  }
  file.close();
  std::error_code ignored;
  fs::remove(counters_path(), ignored);
  return sum;
}

}  // namespace iez::bench
