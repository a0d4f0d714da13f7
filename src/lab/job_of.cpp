#include "lab/job_of.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/clock.hpp"

namespace iez::lab {
namespace {

constexpr Duration kKeep = std::chrono::seconds(2);
constexpr std::size_t kMostKnown = 4096;
constexpr std::size_t kLongest = 31;
constexpr std::size_t kMostEnvironment = std::size_t{1} << 20U;

std::string read_all(const std::string& path, std::size_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  if (fd < 0) return text;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while (text.size() < most && (got = ::read(fd, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

std::string_view value_in(std::string_view environment, std::string_view variable) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.size() > variable.size() && entry.starts_with(variable) && entry[variable.size()] == '=') {
      return entry.substr(variable.size() + 1);
    }
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return {};
}

std::string shaped(std::string job) {
  std::erase_if(job, [](unsigned char c) { return c <= ' ' || c == 0x7F; });
  if (job.size() > kLongest) job.resize(kLongest);
  return job;
}

}  // namespace

std::string JobOf::operator()(std::int32_t pid, std::uint32_t uid) {
  const std::string folder = proc_ + '/' + std::to_string(pid);
  std::string program = pid == 0 ? "" : read_all(folder + "/comm", 64);
  if (program.ends_with('\n')) program.pop_back();
  if (program.empty()) program = "kworker";
  std::string plain = shaped(program + '.' + std::to_string(uid));
  if (variable_.empty() || pid == 0) return plain;

  const Duration now = SystemClock().monotonic();
  {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(pid);
    if (found != known_.end() && found->second.until > now && found->second.program == program) return found->second.job;
  }
  const std::string environment = read_all(folder + "/environ", kMostEnvironment);
  std::string job = shaped(std::string(value_in(environment, variable_)));
  if (job.empty()) job = plain;
  const std::scoped_lock lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_[pid] = {.program = program, .job = job, .until = now + kKeep};
  return job;
}

}  // namespace iez::lab
