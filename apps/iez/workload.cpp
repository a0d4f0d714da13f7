#include "workload.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "workload/local_ranks.hpp"
#include "workload/posix_files.hpp"
#include "workload/results.hpp"

namespace iez::cli {

namespace {

namespace fs = std::filesystem;
using workload::Interface;

fs::path own_program() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path("/proc/self/exe") : path;
}

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

// Whose launcher has started this process; empty: none.
std::string_view launcher() {
  if (is_set("OMPI_COMM_WORLD_RANK")) return "openmpi";
  if (is_set("PMI_RANK") || is_set("PALS_RANKID")) return "mpich";
  if (is_set("PMIX_RANK")) return "openmpi";
  return "";
}

// The program for this MPI: beside this one as it was built, or in libexec as it was installed.
Result<std::string> find_program(std::string_view flavour) {
  const fs::path folder = own_program().parent_path();
  const std::string name = fmt::format("iez-workload-{}", flavour);
  std::error_code error;
  for (const fs::path& place : {folder / ".." / "libexec" / "iez", folder / ".." / "workload"}) {
    const fs::path file = (place / name).lexically_normal();
    if (fs::is_regular_file(file, error)) return file.string();
  }
  return fail(Errc::not_found, fmt::format("{} is not there: iez was built without that MPI", name));
}

Result<void> become(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return fail_errno(errno, words[0]);
}

void append(std::vector<std::string>& to, std::vector<std::string> words) {
  for (std::string& word : words) to.push_back(std::move(word));
}

Result<void> start_mpi(const WorkloadOptions& options, const workload::Options& asked) {
  std::vector<std::string_view> flavours{"openmpi", "mpich"};
  if (!options.mpi.empty()) flavours = {options.mpi};
  Error missing;
  for (const std::string_view flavour : flavours) {
    auto program = find_program(flavour);
    if (!program) {
      if (missing.message.empty()) missing = std::move(program).error();
      continue;
    }
    std::vector<std::string> words{fmt::format("mpirun.{}", flavour), "-n", std::to_string(asked.pattern.ranks)};
    if (flavour == "openmpi") words.emplace_back("--oversubscribe");
    words.push_back(*program);
    append(words, workload::to_words(asked));
    auto started = become(words);
    words[0] = "mpirun";  // not everybody installs several
    if (started.error().code == Errc::not_found) started = become(words);
    return started;
  }
  return std::unexpected(std::move(missing));
}

// The parent prints why; a second line would be one too many.
[[noreturn]] void give_up(const workload::LocalRanks& ranks, const std::string& why) {
  ranks.give_up(why);
  ::_exit(1);
}

void talk(const std::string& line) { fmt::print(stderr, "iez workload: {}\n", line); }

}  // namespace

Result<void> run_workload(const WorkloadOptions& options, Context&) {
  workload::Options asked = options.workload;
  if (options.only_write != options.only_read) {
    asked.write = options.only_write;
    asked.read = options.only_read;
  }
  if (options.independent || asked.pattern.interface == Interface::posix) {
    if (asked.pattern.kind == workload::Kind::flash || asked.pattern.kind == workload::Kind::chimera) asked.collective = false;
  }
  asked.pattern.ranks = options.ranks.value_or(1);
  IEZ_CHECK(workload::check(asked));
  if (const std::string_view flavour = launcher(); !flavour.empty()) {
    if (options.ranks) return fail(Errc::invalid_argument, "--ranks: the launcher has started as many processes as there are");
    IEZ_TRY(std::string program, find_program(flavour));
    std::vector<std::string> words{std::move(program)};
    append(words, workload::to_words(asked));
    return become(std::move(words));
  }
  if (asked.pattern.interface != Interface::posix) return start_mpi(options, asked);
  std::vector<std::string> words{own_program().string(), "workload", "rank"};
  append(words, workload::to_words(asked));
  return workload::start_local_ranks(words, asked.pattern.ranks);
}

Result<void> run_workload_rank(const WorkloadRankOptions& options, Context&) {
  IEZ_TRY(const workload::Options asked, workload::options_of(options.words));
  IEZ_TRY(const auto ranks, workload::LocalRanks::join());
  workload::PosixFiles files;
  const auto phases = workload::run_rank(asked, *ranks, files, talk);
  if (!phases) give_up(*ranks, phases.error().message);
  if (ranks->rank() != 0) return {};
  IEZ_CHECK(print(asked.json ? workload::to_json(asked, *phases) : workload::to_text(asked, *phases)));
  if (const std::uint64_t wrong = workload::wrong_bytes(*phases); wrong > 0) {
    give_up(*ranks, fmt::format("{} bytes are not what was written", wrong));
  }
  return {};
}

}  // namespace iez::cli
