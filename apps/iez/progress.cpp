#include "progress.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"

namespace iez::cli {

namespace {

// Whoever waits longer than this is told for what.
constexpr Duration kPatience = std::chrono::seconds(1);
constexpr Duration kBetween = std::chrono::milliseconds(200);

// A line that is wrapped could not be written over. 0: not known.
std::size_t columns_of_stderr() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

class WatchedStream final : public input::ByteStream {
 public:
  WatchedStream(std::unique_ptr<input::ByteStream> stream, Progress& progress, std::string name,
                std::optional<std::uint64_t> size)
      : stream_(std::move(stream)), progress_(progress), name_(std::move(name)), size_(size) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    IEZ_TRY(const std::size_t some, stream_->read(buffer));
    done_ += some;
    const std::string of = size_ ? " of " + to_string(Bytes{*size_}) : std::string{};
    progress_.tell(fmt::format("{}: {}{} read", name_, to_string(Bytes{done_}), of));
    return some;
  }

 private:
  std::unique_ptr<input::ByteStream> stream_;
  Progress& progress_;
  std::string name_;
  std::optional<std::uint64_t> size_;
  std::uint64_t done_ = 0;
};

}  // namespace

Progress::Progress(const Clock& clock, Rows rows)
    : clock_(clock), next_(clock.monotonic() + kPatience), shown_(rows == Rows::elsewhere && ::isatty(STDERR_FILENO) == 1) {}

void Progress::wipe() {
  if (!dirty_) return;
  dirty_ = false;
  fmt::print(stderr, "\r\x1b[K");
  (void)std::fflush(stderr);  // talk, as below
}

void Progress::tell(const std::string& what) {
  if (!shown_ || clock_.monotonic() < next_) return;
  next_ = clock_.monotonic() + kBetween;
  dirty_ = true;
  std::string line = text::printable(what);
  if (const std::size_t columns = columns_of_stderr(); columns > 0 && line.size() >= columns) line.resize(columns - 1);
  fmt::print(stderr, "\r\x1b[K{}", line);
  (void)std::fflush(stderr);  // talk: what cannot be shown is not missed
}

std::unique_ptr<input::ByteStream> watched_file(input::UniqueFd fd, std::string name, Progress& progress) {
  struct stat status{};
  std::optional<std::uint64_t> size;
  if (::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode)) size = static_cast<std::uint64_t>(status.st_size);
  return std::make_unique<WatchedStream>(input::file_stream(std::move(fd), name), progress, name, size);
}

}  // namespace iez::cli
