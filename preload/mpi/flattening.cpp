#include "preload/mpi/flattening.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "collective/choices.hpp"
#include "collective/windows.hpp"
#include "contention/log_choice.hpp"
#include "preload/mpi/file_layout.hpp"
#include "preload/mpi/logged_file.hpp"
#include "rank_log/log_flatten.hpp"
#include "rank_log/log_survey.hpp"

namespace iez::preload {

namespace {

using rank_log::Descriptor;

// What the first rank tells the others.
struct Told {
  int error = 0;
  std::uint32_t parts = 1;
  std::uint64_t alignment = 1;
  rank_log::LogSurvey survey;
};

// A part for each aggregator that the file would have, cut where stripes meet.
void divide(const TeamComm& team, int file, const collective::Hints& hints, Told& told) {
  const collective::Machine machine{.ranks = team.size(),
                                    .nodes = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(team.nodes().size())),
                                    .cpus_per_node = std::max(1U, std::thread::hardware_concurrency())};
  collective::FileLayout layout = layout_of_file(file);
  if (!layout.striped) layout = collective::layout_without_stripes(hints, machine);
  told.parts = std::max(1U, std::min(team.size(), collective::choose_for_file(hints, layout, machine).aggregators.value));
  for (const collective::StripedRange& range : layout.ranges) {
    told.alignment = std::max(told.alignment, static_cast<std::uint64_t>(range.stripe_size));
  }
}

class Flattening {
 public:
  explicit Flattening(const std::string& path) : path_(path), name_(log_folder(path)) {}

  // By the first rank.
  Told prepare(const TeamComm& team, const collective::Hints& hints) {
    Told told;
    told.error = open();
    if (told.error == ENOENT && !file_) {
      told.error = rank_log::discard_log(name_.c_str()).error;
      told.parts = 0;
    }
    if (told.error != 0 || told.parts == 0) return told;
    told.error = rank_log::lock_file(folder_.get(), true);
    if (told.error == 0) told.error = rank_log::survey_log(folder_.get(), rank_log::stamp_of(file_.get()), told.survey).error;
    if (told.error == 0 && told.survey.other_files > 0) {
      set_aside();
      told.parts = 0;
      return told;
    }
    if (told.error == 0) told.error = read_only_;
    if (told.error == 0) divide(team, file_.get(), hints, told);
    if (told.error == 0) told.error = rank_log::prepare_file(told.survey, file_.get(), {}).error;
    return told;
  }

  int part(const Told& told, std::uint32_t number) {
    if (!folder_) {
      if (const int error = open()) return error;
      if (read_only_ != 0) return read_only_;
    }
    rank_log::FlattenedPart done;
    return rank_log::flatten_part(folder_.get(), told.survey, file_.get(), number, told.parts, {.alignment = told.alignment},
                                  done)
        .error;
  }

  // The log is of a file that had this name: nobody can bring it in any more, and nobody misses it here. Where it cannot even get
  // another name, it stays, and the next log of this file cannot be begun: its calls are collected.
  void set_aside() {
    if (rank_log::retire_folder(name_.c_str(), rank_log::kStaleSuffix, true) != 0) return;
    const std::string note =
        "iez: " + name_ + ": is of another file, which had this name; it is now " + name_ + rank_log::kStaleSuffix + "\n";
    static_cast<void>(!::write(STDERR_FILENO, note.data(), note.size()));  // if nobody can hear it, there is nobody to tell
  }

  int finish(const Told& told) {
    const rank_log::Problem problem = rank_log::finish_flatten(name_.c_str(), told.survey, file_.get());
    return problem.action == rank_log::Action::remove ? 0 : problem.error;  // all is in the file
  }

 private:
  int open() {
    (void)file_.reset(::open(path_.c_str(), O_RDWR | O_CLOEXEC));  // there was none
    if (!file_ && (errno == EACCES || errno == EROFS)) {
      // Nothing can be brought in, but whose log it is can be told.
      read_only_ = errno;
      (void)file_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    }
    if (!file_) return errno;
    return rank_log::open_folder(name_.c_str(), folder_);
  }

  const std::string& path_;
  std::string name_;
  Descriptor folder_;
  Descriptor file_;
  int read_only_ = 0;  // why the file could not be opened for writing
};

}  // namespace

bool has_log(const std::string& path) {
  struct stat about{};
  return ::stat(log_folder(path).c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

int flatten_log(TeamComm& team, const std::string& path, const collective::Hints& hints) {
  Flattening flattening(path);
  Told told;
  if (team.rank() == 0) told = flattening.prepare(team, hints);
  team.broadcast(&told, sizeof told);
  if (told.error != 0 || told.parts == 0) return told.error;
  // Spread over ranks, and so over nodes.
  int error = 0;
  for (std::uint32_t i = 0; i < told.parts && error == 0; ++i) {
    if (std::uint64_t{i} * team.size() / told.parts == team.rank()) error = flattening.part(told, i);
  }
  error = team.largest(error);
  if (error == 0 && team.rank() == 0) error = flattening.finish(told);
  return team.largest(error);
}

void discard_log_of(const std::string& path) {
  if (has_log(path)) (void)rank_log::discard_log(log_folder(path).c_str());  // what is left is in nobody's way
}

bool logs_pay(const TeamComm& team, const std::string& path, const collective::Hints& hints) {
  if (hints.osts == 0) return false;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const collective::FileLayout layout = file ? layout_of_file(file.get()) : collective::FileLayout{};
  const contention::LogQuestion question{.ranks = team.size(),
                                         .nodes = std::max<std::size_t>(1, team.nodes().size()),
                                         .stripes = std::min(collective::widest(layout), hints.osts),
                                         .shared_share = 1,  // it would be collected
                                         .flatten_at_close = !hints.flatten_later};
  const auto choice = contention::log_pays(contention::machine_like_lscratchc(hints.osts), {}, question);
  return choice && choice->pays;
}

}  // namespace iez::preload
