#include "loop_run.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "measure.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

namespace {

constexpr double kTargetMs = 200;
constexpr int kRounds = 3;

// Seconds that it took; its output is dropped.
Result<double> timed(std::vector<std::string> words, const std::string& state) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork");
  if (child == 0) {
    ::setenv("IEZ_STATE", state.c_str(), 1);
    for (const char* const name : {"IEZ_STORE", "IEZ_COORDINATOR", "IEZ_DISABLE", "IEZ_ONLY"}) ::unsetenv(name);
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, fd);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return fail_errno(errno, "waitpid");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail(Errc::io, fmt::format("'{}' failed", words.front()));
  return seconds_since(start);
}

}  // namespace

Result<std::vector<Figure>> measure_run(const Settings& settings) {
  IEZ_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  const double length = settings.quick ? 0.5 : 10;
  Figure figure{.name = "loop.run_ms",
                .value = std::nullopt,
                .unit = "ms",
                .higher_is_better = false,
                .target = kTargetMs,
                .note = fmt::format("added to a program of {} s that writes 64 files; {} rounds", length, kRounds)};
  if (settings.preload_library.empty()) {
    figure.note = "libiez.so was not found";
    return std::vector{std::move(figure)};
  }
  const std::string script =
      fmt::format("for i in 0 1 2 3 4 5 6 7; do for j in 0 1 2 3 4 5 6 7; do echo data >{}/out.$i$j; done; done; sleep {}",
                  folder.path(), length);
  const std::string state = folder.path() + "/state";
  std::vector<double> plain;
  std::vector<double> with;
  for (int i = 0; i < kRounds; ++i) {
    if (settings.progress) settings.progress(fmt::format("iez run: round {} of {}", i + 1, kRounds));
    IEZ_TRY(const double without, timed({"sh", "-c", script}, state));
    plain.push_back(without);
    IEZ_TRY(const double learnt,
            timed({settings.program, "run", "--app", "bench", "--under", folder.path(), "--", "sh", "-c", script}, state));
    with.push_back(learnt);
  }
  figure.value = 1000 * (median(with) - median(plain));
  return std::vector{std::move(figure)};
}

}  // namespace iez::bench
