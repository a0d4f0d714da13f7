#include "preload/mpi/session.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "collective/choices.hpp"
#include "preload/mpi/counters.hpp"
#include "preload/mpi/file_layout.hpp"

namespace iez::preload {

namespace {

using collective::Aggregator;
using collective::FileLayout;
using collective::StripedRange;

constexpr std::size_t kMostOsts = 4096;
constexpr std::size_t kMostRanges = 64;

// What the first rank tells the others of the file.
struct Told {
  std::int32_t usable = 0;
  std::uint32_t processors = 1;
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  collective::Hints hints;
  std::uint32_t counts = 0;
  std::uint32_t striped = 0;
  std::uint32_t ranges = 0;
  struct Range {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t stripe_size;
    std::uint32_t osts;
  } range[kMostRanges];
  std::uint32_t osts[kMostOsts];
};

// By the first rank alone.
void look_at(const std::string& path, const collective::Hints& hints, Told& told) {
  told.hints = hints;
  told.counts = counters_wanted() ? 1 : 0;
  told.processors = std::max(1U, std::thread::hardware_concurrency());
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat found{};
  const bool stated = fd >= 0 ? ::fstat(fd, &found) == 0 : ::stat(path.c_str(), &found) == 0;
  if (!stated || !S_ISREG(found.st_mode)) {
    if (fd >= 0) ::close(fd);
    return;
  }
  const FileLayout layout = layout_of_file(fd);
  if (fd >= 0) ::close(fd);
  std::size_t osts = 0;
  if (layout.ranges.size() > kMostRanges) return;
  for (const StripedRange& range : layout.ranges) {
    if (osts + range.osts.size() > kMostOsts) return;
    told.range[told.ranges++] = {.begin = range.begin,
                                 .end = range.end,
                                 .stripe_size = range.stripe_size,
                                 .osts = static_cast<std::uint32_t>(range.osts.size())};
    std::ranges::copy(range.osts, told.osts + osts);
    osts += range.osts.size();
  }
  told.striped = layout.striped ? 1 : 0;  // if not, ranks imagine stripes by themselves
  told.inode = found.st_ino;
  told.device = found.st_dev;
  told.usable = 1;
}

FileLayout layout_of(const Told& told) {
  FileLayout layout{.ranges = {}, .striped = told.striped != 0};
  const std::uint32_t* osts = told.osts;
  for (const Told::Range& range : std::span(told.range, told.ranges)) {
    layout.ranges.push_back(
        {.begin = range.begin, .end = range.end, .stripe_size = range.stripe_size, .osts = {osts, osts + range.osts}});
    osts += range.osts;
  }
  return layout;
}

// Aggregators are dealt over nodes, and on a node over its ranks.
std::vector<Aggregator> choose_aggregators(const TeamComm& team, std::uint32_t count) {
  const auto& nodes = team.nodes();
  std::vector<Aggregator> all(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto home = static_cast<std::uint32_t>(i % nodes.size());
    const auto turn = i / nodes.size();
    const std::size_t here = (count + nodes.size() - 1 - home) / nodes.size();  // aggregators of that node
    Aggregator& one = all[i];
    one.home = home;
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
      const std::size_t ranks = nodes[node].size();
      const std::size_t on_node = node == home ? turn * ranks / std::max(here, std::size_t{1}) % ranks : i % ranks;
      one.owners.push_back(nodes[node][on_node]);
      if (node == team.node()) one.owner_here = static_cast<std::uint32_t>(on_node);
    }
  }
  return all;
}

// 0, or the errno with which the file cannot be used.
int open_storage(const std::string& path, int flags, std::uint64_t inode, const collective::FileChoices& choices,
                 std::unique_ptr<collective::Storage>& storage) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return errno;
  struct stat found{};
  // Numbers of devices differ from node to node, even for one file system; inodes do not.
  if (::fstat(fd, &found) != 0 || found.st_ino != inode) {
    ::close(fd);  // another file has that name now
    return ESTALE;
  }
  const bool wanted = choices.direct_writes.value || choices.direct_reads.value;
  const int direct = wanted ? ::open(path.c_str(), flags | O_CLOEXEC | O_DIRECT) : -1;
  storage = std::make_unique<collective::FileStorage>(fd, direct);
  return 0;
}

}  // namespace

std::unique_ptr<Session> Session::begin(std::shared_ptr<TeamComm> team, const std::string& path, int open_flags,
                                        const collective::Hints& hints) {
  auto told = std::make_unique<Told>();
  if (team->rank() == 0) look_at(path, hints, *told);
  team->broadcast(told.get(), sizeof *told);
  if (told->usable == 0 || told->hints.mode == collective::Mode::off || !team->learn_nodes()) return nullptr;
  std::unique_ptr<Session> session(new Session);
  session->team_ = std::move(team);
  session->hints_ = told->hints;
  session->counts_ = told->counts != 0;
  const TeamComm& ranks = *session->team_;
  const collective::Machine machine{
      .ranks = ranks.size(), .nodes = static_cast<std::uint32_t>(ranks.nodes().size()), .cpus_per_node = told->processors};
  session->layout_ = told->striped != 0 ? layout_of(*told) : collective::layout_without_stripes(told->hints, machine);
  session->choices_ = collective::choose_for_file(told->hints, session->layout_, machine);
  session->windows_ = std::make_unique<collective::Windows>(session->layout_, session->choices_.windows());
  const std::uint32_t aggregators = session->windows_->aggregators();
  const auto on_node = static_cast<std::uint32_t>(ranks.nodes()[ranks.node()].size());
  session->arena_ = session->team_->borrow({.ranks = on_node,
                                            .nodes = static_cast<std::uint32_t>(ranks.nodes().size()),
                                            .windows = aggregators,
                                            .window_bytes = session->windows_->window_bytes()});
  if (!session->arena_) return nullptr;
  collective::Team roles{.rank = ranks.rank_on_node(),
                         .ranks = on_node,
                         .node = ranks.node(),
                         .nodes = static_cast<std::uint32_t>(ranks.nodes().size()),
                         .aggregators = choose_aggregators(ranks, aggregators)};
  const bool aggregates =
      std::ranges::any_of(roles.aggregators, [&ranks](const Aggregator& one) { return one.owners[one.home] == ranks.rank(); });
  const auto open_file = [one = session.get(), path, open_flags, inode = told->inode, aggregates](collective::Storage*& storage) {
    if (!aggregates) return 0;
    const int error = open_storage(path, open_flags, inode, one->choices_, one->storage_);
    storage = one->storage_.get();
    return error;
  };
  // The first rank says what is known of such files.
  session->kind_ = {.device = told->device,
                    .ranks = ranks.size(),
                    .stripes = collective::widest(session->layout_),
                    .stripe_size = session->windows_->alignment(),
                    .aggregators = aggregators,
                    .window_bytes = session->windows_->window_bytes()};
  if (ranks.rank() == 0) session->contest_ = known_ways(session->kind_, session->layout_.striped);
  ranks.broadcast(&session->contest_, sizeof session->contest_);
  session->engine_ = std::make_unique<collective::Engine>(
      *session->arena_, *session->windows_, std::move(roles), *session->team_, nullptr,
      collective::EngineOptions{.hints = &session->hints_,
                                .layout = &session->layout_,
                                .contest = &session->contest_,
                                .open_file = open_file,
                                .alignment = session->windows_->alignment(),
                                .fill_holes = told->hints.fill_holes == collective::Switch::enable && open_flags != O_WRONLY});
  // Nonblocking calls can be served from the first one on.
  if (told->hints.mode == collective::Mode::collective && !session->engine_->prepare()) return nullptr;
  return session;
}

void Session::end() {
  engine_->settle();
  if (hints_.switch_every == 0) remember_ways(kind_, contest_);
}

collective::FileReport Session::describe() const {
  collective::FileReport report;
  report.nodes = static_cast<std::uint32_t>(team_->nodes().size());
  report.aggregators = windows_->aggregators();
  report.window_bytes = windows_->window_bytes();
  report.layout = layout_;
  report.hints = hints_in_force();
  report.largest_write = engine_->largest_write();
  report.contest = contest_;
  return report;
}

Session::~Session() {
  engine_.reset();
  if (arena_ && team_) team_->give_back(std::move(arena_));
}

}  // namespace iez::preload
