#include "peer.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "input/byte_stream.hpp"

namespace iez::bench {

namespace {

constexpr int kCannotStart = 127;  // what a shell says, too

}  // namespace

Result<TemporaryFile> TemporaryFile::make() {
  const char* const configured = std::getenv("TMPDIR");
  std::string path = std::string(configured != nullptr && *configured != '\0' ? configured : "/tmp") + "/iez-bench-XXXXXX";
  const int fd = ::mkstemp(path.data());
  if (fd < 0) return fail_errno(errno, path);
  ::close(fd);
  return TemporaryFile(std::move(path));
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<std::string> output_of(std::vector<std::string> command, std::optional<std::chrono::seconds> limit) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  input::UniqueFd from(ends[0]);
  input::UniqueFd to(ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork");
  if (child == 0) {
    ::dup2(to.get(), STDOUT_FILENO);
    if (limit) ::alarm(static_cast<unsigned>(limit->count()));  // outlives exec, and ends the program
    ::execvp(arguments[0], arguments.data());
    ::_exit(kCannotStart);
  }
  to.reset();
  std::string output;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got > 0) {
      output.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (limit && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    return fail(Errc::limit, fmt::format("{} did not end within {} s", command.front(), limit->count()));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotStart) {
    return fail(Errc::not_found, fmt::format("{} cannot be started", command.front()));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail(Errc::io, fmt::format("{} failed", command.front()));
  return output;
}

Result<std::string> peer_program(const std::string& name, const std::string& package) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail_errno(error.value(), "/proc/self/exe");
  const auto program = self.parent_path() / name;
  if (!std::filesystem::exists(program, error)) {
    return fail(Errc::not_found, "iez was built without " + package + ": tools/setup bench, then build again");
  }
  return program.string();
}

}  // namespace iez::bench
