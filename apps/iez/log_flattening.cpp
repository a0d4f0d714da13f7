#include "log_flattening.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "json.hpp"
#include "log_command.hpp"
#include "progress.hpp"
#include "rank_log/log_flatten.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

using rank_log::FlattenedPart;
using rank_log::FlattenOptions;
using rank_log::LogPaths;
using rank_log::LogSurvey;
using rank_log::Problem;

// Parts on threads; the main thread tells how far they are.
class Workers {
 public:
  Workers(int folder, const LogSurvey& sums, int file, const FlattenOptions& options, unsigned count)
      : folder_(folder), sums_(sums), file_(file), options_(options), parts_(count) {}

  Problem run(Progress& progress) {
    std::vector<std::jthread> threads;
    threads.reserve(parts_.size());
    running_ = parts_.size();
    for (std::uint32_t i = 0; i < parts_.size(); ++i) {
      threads.emplace_back([this, i] { work(i); });
    }
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(100), [this] { return running_ == 0; })) {
      std::uint64_t read = 0;
      for (const Part& part : parts_) read += part.read.load(std::memory_order_relaxed);
      progress.tell(fmt::format("flattening: {} of {}", to_string(Bytes{read}), to_string(Bytes{sums_.bytes})));
    }
    for (const Part& part : parts_) {
      if (part.problem) return part.problem;
    }
    return {};
  }

  FlattenedPart sum() const {
    FlattenedPart all;
    for (const Part& part : parts_) {
      all.read += part.done.read;
      all.written += part.done.written;
      all.writes += part.done.writes;
      all.filled += part.done.filled;
    }
    return all;
  }

 private:
  struct Part {
    std::atomic<std::uint64_t> read = 0;
    FlattenedPart done;  // this and the next: of its thread until that ended
    Problem problem;
  };

  void work(std::uint32_t number) {
    Part& part = parts_[number];
    FlattenOptions options = options_;
    options.context = &part;
    options.progress = [](void* context, std::uint64_t bytes) {
      static_cast<Part*>(context)->read.store(bytes, std::memory_order_relaxed);
      return true;
    };
    part.problem = flatten_part(folder_, sums_, file_, number, static_cast<std::uint32_t>(parts_.size()), options, part.done);
    const std::lock_guard lock(mutex_);
    --running_;
    ended_.notify_one();
  }

  int folder_;
  const LogSurvey& sums_;
  int file_;
  const FlattenOptions& options_;
  std::vector<Part> parts_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;  // guarded by mutex_
};

Result<LogSurvey> survey_for(int folder, int file, const LogPaths& paths, bool force) {
  struct stat about{};
  if (::fstat(file, &about) != 0) return fail_errno(errno, paths.file);
  if (!S_ISREG(about.st_mode)) return fail(Errc::unsupported, fmt::format("{}: is no regular file", paths.file));
  LogSurvey sums;
  if (const Problem problem = rank_log::survey_log(folder, rank_log::stamp_of(file), sums))
    return std::unexpected(error_of(problem, paths));
  if (sums.other_files > 0 && !force) {
    return fail(
        Errc::exists,
        fmt::format("{}: the log is of another file, which had this name; remove {}, or give --force to bring it into this one",
                    paths.file, paths.folder));
  }
  if (sums.damaged + sums.damaged_indexes > 0 && !force) {
    return std::unexpected(
        error_of({.error = EBADMSG, .place = rank_log::Place::folder, .action = rank_log::Action::understand}, paths));
  }
  return sums;
}

// A log that was flattened, and whose removal was killed.
Result<bool> remove_rest(const LogPaths& paths) {
  struct stat about{};
  if (::stat((paths.folder + rank_log::kRetiredSuffix).c_str(), &about) != 0) return false;
  if (const int error = rank_log::remove_folder(paths.folder.c_str(), rank_log::kRetiredSuffix)) {
    return std::unexpected(
        error_of({.error = error, .place = rank_log::Place::folder, .action = rank_log::Action::remove}, paths));
  }
  return true;
}

std::string done_text(const LogPaths& paths, const LogSurvey& sums, const FlattenedPart& done, bool kept) {
  std::string out = fmt::format("{}: {} from {} in {}, {} bytes long", text::printable(paths.file), to_string(Bytes{done.read}),
                                counted(sums.ranks, "log"), counted(done.writes, "write"), size_to_be(paths, sums));
  if (done.filled > 0) out += fmt::format("; {} of gaps were read and written again", to_string(Bytes{done.filled}));
  if (sums.torn > 0) out += fmt::format("; {} of killed writers left out", counted(sums.torn, "torn record"));
  if (kept) out += "; the log was kept";
  return out + '\n';
}

Result<void> flatten_one(const std::string& path, const LogFlattenOptions& options, Context& context) {
  const LogPaths paths = rank_log::log_paths(path);
  rank_log::Descriptor folder;
  if (const int error = rank_log::open_folder(paths.folder.c_str(), folder); error == ENOENT) {
    IEZ_TRY(const bool rest, remove_rest(paths));
    if (rest) {
      context.log.info(fmt::format("{}: has all of its log; removed what was left of it", paths.file));
      return options.json ? print(to_line({{"file", paths.file}, {"flattened", true}, {"removed", true}})) : Result<void>{};
    }
  }
  IEZ_CHECK(open_log(paths, folder));
  if (const int error = rank_log::lock_file(folder.get(), true)) {
    return std::unexpected(error_of({.error = error, .place = rank_log::Place::folder, .action = rank_log::Action::lock}, paths));
  }
  const rank_log::Descriptor file(::open(paths.file.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!file)
    return fail_errno(
        errno,
        fmt::format("{}: cannot open the file of the log; if it was removed on purpose, remove {}, too, or make it by 'touch'",
                    paths.file, paths.folder));
  IEZ_TRY(LogSurvey sums, survey_for(folder.get(), file.get(), paths, options.force));
  if (options.verify) {
    IEZ_TRY(const auto data, check_log_data(folder.get(), paths, sums, context));
    if (data.wrong > 0 && !options.force) {
      return fail(Errc::parse, fmt::format("{}: the data of {} is damaged; --force brings it in as it is", paths.folder,
                                           counted(data.wrong, "record")));
    }
    sums.damaged += data.wrong;  // the log is kept then
  }
  FlattenOptions how{.skip_damaged = options.force};
  if (options.memory) how.memory = options.memory->count;
  if (options.window) how.window = options.window->count;
  Progress progress(context.clock);
  if (const Problem problem = prepare_file(sums, file.get(), how)) return std::unexpected(error_of(problem, paths));
  Workers workers(folder.get(), sums, file.get(), how, options.jobs);
  if (const Problem problem = workers.run(progress)) return std::unexpected(error_of(problem, paths));
  progress.wipe();
  if (!options.keep) {
    if (const Problem problem = finish_flatten(paths.folder.c_str(), sums, file.get()))
      return std::unexpected(error_of(problem, paths));
    if (!sums.sound()) {
      context.log.warning(fmt::format("{}: was damaged, and is {}{} now; what was whole of it is in the file", paths.folder,
                                      paths.folder, rank_log::kDamagedSuffix));
    }
  }
  const FlattenedPart done = workers.sum();
  if (options.json) {
    return print(to_line({{"file", paths.file},
                          {"flattened", true},
                          {"removed", !options.keep && sums.sound()},
                          {"size", size_to_be(paths, sums)},
                          {"ranks", sums.ranks},
                          {"read", done.read},
                          {"written", done.written},
                          {"writes", done.writes},
                          {"filled", done.filled},
                          {"torn", sums.torn},
                          {"damaged", sums.damaged + sums.damaged_indexes}}));
  }
  return print(done_text(paths, sums, done, options.keep));
}

}  // namespace

Result<void> open_log(const LogPaths& paths, rank_log::Descriptor& folder) {
  const int error = rank_log::open_folder(paths.folder.c_str(), folder);
  if (error == 0) return {};
  if (error == ENOENT) {
    return fail(Errc::not_found,
                fmt::format("{}: there is no log of this file: it was flattened, or never written in log mode", paths.folder));
  }
  return fail_errno(error, paths.folder);
}

std::uint64_t size_to_be(const LogPaths& paths, const LogSurvey& sums) {
  struct stat about{};
  if (sums.sized != 0 || ::stat(paths.file.c_str(), &about) != 0) return sums.final_size;
  return std::max(sums.final_size, static_cast<std::uint64_t>(about.st_size));
}

Result<rank_log::DataCheck> check_log_data(int folder, const LogPaths& paths, const LogSurvey& sums, Context& context) {
  Progress progress(context.clock);
  IEZ_TRY(const rank_log::DataCheck data, rank_log::check_data(folder, paths, [&](std::uint64_t bytes) {
            progress.tell(fmt::format("comparing: {} of {}", to_string(Bytes{bytes}), to_string(Bytes{sums.bytes})));
          }));
  if (data.wrong > 0) {
    context.log.error(fmt::format("{}/{}: record {}: its data is not what was written; {} of {} wrong", paths.folder,
                                  rank_log::index_name(data.first_rank).text, data.first_record, data.wrong, data.records));
  }
  return data;
}

Result<void> run_log_flatten(const LogFlattenOptions& options, Context& context) {
  for (const std::string& path : options.paths) IEZ_CHECK(flatten_one(path, options, context));
  return {};
}

}  // namespace iez::cli
