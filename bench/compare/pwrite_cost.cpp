// What a preloaded library adds to a pwrite() of 4 KiB: batches of calls by name, which the library takes, and batches of the
// same calls straight to libc, in turn, in one process and on one file.
//
// usage: iez-measure-pwrite FILE BATCHES CALLS FILES
// Prints CPU nanoseconds of this thread for a call, by name and straight: the lower quartile of all batches. Then makes, opens
// and removes so many FILES, and prints the KiB of memory that the process has in use, and has mapped.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

constexpr std::size_t kBytes = 4096;
constexpr off_t kBlocks = 1024;  // of the file, written round and round

using Pwrite = ssize_t (*)(int, const void*, size_t, off_t);

double cpu_ns() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

// Called through a pointer in both cases; the one of the name was resolved by the loader, as a program's own calls are.
double batch(Pwrite call, int fd, const char* block, long calls, off_t& at) {
  const double start = cpu_ns();
  for (long i = 0; i < calls; ++i) {
    if (call(fd, block, kBytes, at * static_cast<off_t>(kBytes)) != static_cast<ssize_t>(kBytes)) std::exit(3);
    at = (at + 1) % kBlocks;
  }
  return (cpu_ns() - start) / static_cast<double>(calls);
}

double lower_quartile(std::vector<double>& values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4));
  return values[values.size() / 4];
}

void touch_files(const char* stem, long files) {
  char name[4096];
  for (long i = 0; i < files; ++i) {
    std::snprintf(name, sizeof name, "%s.%ld", stem, i);
    const int fd = ::open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) std::exit(3);
    ::close(fd);
    ::unlink(name);
  }
}

struct Memory {
  long in_use = 0;  // KiB
  long mapped = 0;
};

Memory memory() {
  Memory found;
  std::FILE* const status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) std::exit(3);
  char line[256];
  while (std::fgets(line, sizeof line, status) != nullptr) {
    std::sscanf(line, "VmRSS: %ld", &found.in_use);
    std::sscanf(line, "VmSize: %ld", &found.mapped);
  }
  std::fclose(status);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const long batches = std::atol(argv[2]);
  const long calls = std::atol(argv[3]);
  void* const libc = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  const auto straight = libc == nullptr ? nullptr : reinterpret_cast<Pwrite>(::dlsym(libc, "pwrite"));
  const auto named = reinterpret_cast<Pwrite>(&::pwrite);
  const int fd = ::open(argv[1], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (straight == nullptr || fd < 0 || batches < 4 || calls < 1) return 2;
  static char block[kBytes];
  off_t at = 0;
  batch(straight, fd, block, 2 * kBlocks, at);  // the file has its pages
  batch(named, fd, block, 2 * kBlocks, at);
  std::vector<double> by_name;
  std::vector<double> by_pointer;
  for (long i = 0; i < batches; ++i) {
    by_name.push_back(batch(named, fd, block, calls, at));
    by_pointer.push_back(batch(straight, fd, block, calls, at));
  }
  touch_files(argv[1], std::atol(argv[4]));
  const Memory held = memory();
  std::printf("%.2f %.2f %ld %ld\n", lower_quartile(by_name), lower_quartile(by_pointer), held.in_use, held.mapped);
  ::close(fd);
  return 0;
}
