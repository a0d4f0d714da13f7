#include "rank_log/log_flatten.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rank_log/log_files.hpp"
#include "rank_log/log_format.hpp"
#include "rank_log/painter.hpp"

namespace iez::rank_log {

namespace {

// A gap up to this is cheaper to read and to write again than to leave out.
constexpr std::size_t kFill = std::size_t{16} << 10U;

Problem file_problem(int error, Action action, std::uint64_t offset = 0) {
  return {.error = error, .place = Place::file, .action = action, .offset = offset};
}

class Flattener {
 public:
  Flattener(int folder, int file, const FlattenOptions& options, FlattenedPart& done)
      : folder_(folder), file_(file), options_(options), done_(done), painter_(folder) {}

  Problem run(std::span<const std::uint32_t> ranks, std::uint64_t begin, std::uint64_t end);

 private:
  Problem window(std::uint64_t begin, std::size_t size);
  Problem write_run(std::uint64_t begin, std::size_t from, std::size_t to, bool gaps);

  int folder_;
  int file_;
  const FlattenOptions& options_;
  FlattenedPart& done_;
  LogIndex index_;
  Painter painter_;
  Coverage coverage_;
  GrowingArray<unsigned char> buffer_;
};

Problem Flattener::run(std::span<const std::uint32_t> ranks, std::uint64_t begin, std::uint64_t end) {
  if (!buffer_.reserve(options_.window)) return {.error = ENOMEM, .place = Place::folder, .action = Action::allocate};
  while (begin < end) {
    std::uint64_t loaded = end;
    if (const Problem problem = index_.load(folder_, ranks, begin, loaded, options_.memory)) return problem;
    for (;;) {
      // From one byte that is in a log to the next: a file of exabytes with two bytes in it is two windows.
      const std::uint64_t at = index_.next_byte_of_any(begin);
      if (at >= loaded) break;
      const std::uint64_t border = at - at % options_.window;
      begin = std::max(begin, border);
      const std::uint64_t stop = std::min(loaded, options_.window > kMaxOffset - border ? kMaxOffset : border + options_.window);
      if (const Problem problem = window(begin, static_cast<std::size_t>(stop - begin))) return problem;
      begin = stop;
    }
    begin = loaded;
  }
  return {};
}

Problem Flattener::window(std::uint64_t begin, std::size_t size) {
  if (!coverage_.reset(size)) return {.error = ENOMEM, .place = Place::folder, .action = Action::allocate};
  if (const Problem problem = painter_.paint(index_, begin, size, buffer_.begin(), &coverage_, done_.read)) return problem;
  std::size_t from = coverage_.next(0, true);
  while (from < size) {
    std::size_t to = coverage_.next(from, false);
    bool gaps = false;
    std::size_t next = coverage_.next(to, true);
    while (next < size && next - to <= kFill) {
      gaps = true;
      to = coverage_.next(next, false);
      next = coverage_.next(to, true);
    }
    if (const Problem problem = write_run(begin, from, to, gaps)) return problem;
    from = next;
  }
  if (options_.progress != nullptr && !options_.progress(options_.context, done_.read)) {
    return {.error = ECANCELED, .place = Place::file, .action = Action::cancel, .offset = begin};
  }
  return {};
}

Problem Flattener::write_run(std::uint64_t begin, std::size_t from, std::size_t to, bool gaps) {
  unsigned char* const bytes = buffer_.begin();
  if (gaps) {
    unsigned char* const old = painter_.scratch(to - from);
    if (old == nullptr) return {.error = ENOMEM, .place = Place::file, .action = Action::allocate, .offset = begin};
    std::size_t got = 0;
    if (const int error = read_at(file_, old, to - from, begin + from, got))
      return file_problem(error, Action::read, begin + from);
    std::memset(old + got, 0, to - from - got);
    for (std::size_t gap = coverage_.next(from, false); gap < to;) {
      const std::size_t end = coverage_.next(gap, true);
      std::memcpy(bytes + gap, old + (gap - from), end - gap);
      done_.filled += end - gap;
      gap = coverage_.next(end, false);
    }
  }
  std::size_t put = 0;
  const int error = write_at(file_, bytes + from, to - from, begin + from, put);
  done_.written += put;
  ++done_.writes;
  return error == 0 ? Problem{} : file_problem(error, Action::write, begin + from + put);
}

}  // namespace

Problem prepare_file(const LogSurvey& survey, int file, const FlattenOptions& options) {
  if (!survey.sound() && !options.skip_damaged) return {.error = EBADMSG, .place = Place::folder, .action = Action::understand};
  struct stat about{};
  if (::fstat(file, &about) != 0) return file_problem(errno, Action::read);
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (survey.sized != 0 && size > survey.least_size && ::ftruncate(file, static_cast<off_t>(survey.least_size)) != 0) {
    return file_problem(errno, Action::resize, survey.least_size);
  }
  const std::uint64_t now = survey.sized != 0 ? std::min(size, survey.least_size) : size;
  if (now < survey.final_size && ::ftruncate(file, static_cast<off_t>(survey.final_size)) != 0) {
    return file_problem(errno, Action::resize, survey.final_size);
  }
  return {};
}

Problem flatten_part(int folder, const LogSurvey& survey, int file, std::uint32_t part, std::uint32_t parts,
                     const FlattenOptions& options, FlattenedPart& done) {
  done = {};
  if (parts == 0 || part >= parts || options.window < 4096 || options.alignment == 0) return {.error = EINVAL};
  GrowingArray<std::uint32_t> ranks;
  std::uint64_t strangers = 0;
  if (const int error = list_ranks(folder, ranks, strangers)) {
    return {.error = error, .place = Place::folder, .action = Action::read};
  }
  // What is longer than the final size was taken away by a new one.
  const std::uint64_t end = std::min(survey.end, survey.final_size);
  const std::uint64_t units = end / options.alignment + (end % options.alignment != 0 ? 1 : 0);
  const auto border = [&](std::uint64_t i) {
    std::uint64_t at = 0;
    const std::uint64_t unit = units / parts * i + std::min<std::uint64_t>(i, units % parts);
    return __builtin_mul_overflow(unit, options.alignment, &at) || at > end ? end : at;
  };
  Flattener flattener(folder, file, options, done);
  if (const Problem problem = flattener.run({ranks.begin(), ranks.size()}, border(part), border(part + std::uint64_t{1})))
    return problem;
  return ::fdatasync(file) != 0 && errno != EINVAL ? file_problem(errno, Action::sync) : Problem{};
}

Problem finish_flatten(const char* folder, const LogSurvey& survey, int file) {
  if (::fsync(file) != 0 && errno != EINVAL) return file_problem(errno, Action::sync);
  const char* const suffix = survey.sound() ? kRetiredSuffix : kDamagedSuffix;
  if (const int error = retire_folder(folder, suffix, survey.sound()))
    return {.error = error, .place = Place::folder, .action = Action::write};
  if (!survey.sound()) return {};
  const int error = remove_folder(folder, kRetiredSuffix);
  return error == 0 ? Problem{} : Problem{.error = error, .place = Place::folder, .action = Action::remove};
}

Problem discard_log(const char* folder) {
  const int error = retire_folder(folder, kRetiredSuffix, true);
  if (error != 0 && error != ENOENT) return {.error = error, .place = Place::folder, .action = Action::write};
  const int left = remove_folder(folder, kRetiredSuffix);
  return left == 0 ? Problem{} : Problem{.error = left, .place = Place::folder, .action = Action::remove};
}

}  // namespace iez::rank_log
