#include "telemetry/collector.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "base/result.hpp"

namespace iez::telemetry {

namespace {

constexpr std::size_t kKinds = 3;  // of SpaceSource, best first
constexpr std::size_t kSkewWindow = 15;
constexpr std::size_t kRetired = 4;    // instances of an agent that are remembered
constexpr std::uint64_t kWindow = 64;  // sequence numbers
constexpr Duration kGrace = std::chrono::seconds{1};
constexpr Duration kDeadAfter = std::chrono::minutes{10};
constexpr Duration kShortest = std::chrono::seconds{1};  // an interval below it is taken as that
constexpr std::string_view kUnknownServer = "unknown";   // as lustre::read_clusters() has it

Duration overdue_after(Duration interval) { return interval * 5 / 2 + kGrace; }
Duration dead_after(Duration interval) { return std::max(interval * 10, kDeadAfter); }

// A hostile clock must not wrap.
Duration difference(WallTime a, WallTime b) {
  std::int64_t out = 0;
  if (__builtin_sub_overflow(a.time_since_epoch().count(), b.time_since_epoch().count(), &out)) {
    out = a > b ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  }
  return Duration{out};
}

// Which of the last 64 sequence numbers arrived, as for packets of a tunnel.
class SequenceWindow {
 public:
  enum class Place { newest, gap, duplicate, too_old };

  void start(std::uint64_t sequence) {
    highest_ = sequence;
    seen_ = 1;
  }

  Place place(std::uint64_t sequence) const {
    if (sequence > highest_) return Place::newest;
    const std::uint64_t back = highest_ - sequence;
    if (back >= kWindow) return Place::too_old;
    return (seen_ >> back & 1U) != 0 ? Place::duplicate : Place::gap;
  }

  // REQUIRES: newest or gap.
  void mark(std::uint64_t sequence) {
    if (sequence > highest_) {
      const std::uint64_t step = sequence - highest_;
      seen_ = step >= kWindow ? 1 : (seen_ << step | 1U);
      highest_ = sequence;
    } else {
      seen_ |= std::uint64_t{1} << (highest_ - sequence);
    }
  }

  std::uint64_t highest() const { return highest_; }

 private:
  std::uint64_t highest_ = 0;
  std::uint64_t seen_ = 0;
};

struct Agent {
  Roles roles;
  std::uint64_t instance = 0;
  SequenceWindow window;
  std::uint64_t first = 0;           // number that gaps of this instance are counted from
  std::uint64_t taken = 0;           // numbers of this instance, each once
  std::uint64_t missing_before = 0;  // of earlier instances
  std::uint64_t samples = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t reordered = 0;
  std::uint64_t stale_samples = 0;
  std::uint64_t restarts = 0;
  std::uint64_t refused = 0;
  std::uint64_t dropped_before = 0;
  std::uint64_t dropped = 0;
  std::uint64_t skipped = 0;
  Duration interval{0};
  Duration received{0};
  bool left = false;
  bool own_key = false;
  std::size_t targets = 0;
  HostLoad host;
  std::array<Duration, kSkewWindow> skews{};
  std::size_t skew_count = 0;
  std::array<std::uint64_t, kRetired> retired{};
  std::size_t retired_count = 0;

  std::uint64_t missing() const { return saturating_add(missing_before, window.highest() - first + 1 - taken); }
  bool was(std::uint64_t old) const {
    return std::find(retired.begin(), retired.begin() + static_cast<std::ptrdiff_t>(std::min(retired_count, kRetired)), old) !=
           retired.begin() + static_cast<std::ptrdiff_t>(std::min(retired_count, kRetired));
  }
  AgentState state(Duration at) const {
    if (left) return AgentState::left;
    const Duration age = at - received;
    if (age > dead_after(interval)) return AgentState::dead;
    return age > overdue_after(interval) ? AgentState::late : AgentState::live;
  }
  std::optional<Duration> skew() const {
    const std::size_t count = std::min(skew_count, kSkewWindow);
    if (count == 0) return std::nullopt;
    std::vector<Duration> sorted(skews.begin(), skews.begin() + static_cast<std::ptrdiff_t>(count));
    std::ranges::sort(sorted);
    return sorted[(count - 1) / 2];
  }
};

// What one kind of node said of an OST. Texts are shared names, by number.
struct Claim {
  bool made = false;
  std::uint32_t agent = 0;   // number of a name
  std::uint32_t server = 0;  // number of a name: a host for obdfilter, else a NID or a host
  Duration received{0};
  Duration interval{0};
  OstSample ost;

  bool fresh(Duration at) const { return made && at - received <= overdue_after(interval); }
};

struct Target {
  std::array<Claim, kKinds> claims;
  std::uint32_t takeovers = 0;

  Duration newest() const {
    Duration out{std::numeric_limits<std::int64_t>::min()};
    for (const Claim& claim : claims) {
      if (claim.made) out = std::max(out, claim.received);
    }
    return out;
  }
};

struct FileSystem {
  std::string version;
  std::map<std::uint32_t, Target> osts;
};

struct Server {
  HostLoad load;
  Duration received{0};
  Duration interval{0};
};

}  // namespace

struct Collector::Impl {
  explicit Impl(const Options& given) : options(given) {}

  Outcome count(Outcome outcome) {
    ++counters.outcomes[static_cast<std::size_t>(outcome)];
    return outcome;
  }

  Outcome feed(const Sample& sample, Moment at, std::string_view sender) {
    if (!sender.empty() && sender != sample.agent) return count(Outcome::forged);
    auto found = agents.find(sample.agent);
    if (found == agents.end()) {
      if (agents.size() >= options.max_agents && !evict(at.monotonic)) return count(Outcome::refused);
      found = agents.emplace(sample.agent, Agent{}).first;
      begin(found->second, sample);
    } else {
      Agent& agent = found->second;
      if (agent.own_key && sender.empty()) return count(Outcome::forged);
      if (sample.instance != agent.instance) {
        if (agent.was(sample.instance) && agent.state(at.monotonic) == AgentState::live) {
          ++agent.refused;
          return count(Outcome::retired);
        }
        restart(agent, sample);
      } else {
        switch (agent.window.place(sample.sequence)) {
          case SequenceWindow::Place::duplicate:
            ++agent.duplicates;
            return count(Outcome::duplicate);
          case SequenceWindow::Place::too_old:
            ++agent.stale_samples;
            return count(Outcome::stale);
          case SequenceWindow::Place::gap:
            return fill_gap(agent, sample);
          case SequenceWindow::Place::newest:
            agent.window.mark(sample.sequence);
            ++agent.taken;
            break;
        }
      }
    }
    Agent& agent = found->second;
    agent.own_key |= !sender.empty();
    std::size_t names_needed = 1;
    for (const FileSystemSample& file_system : sample.file_systems) names_needed += file_system.servers.size();
    tidy_names(at.monotonic, names_needed);
    take(agent, sample, at);
    return count(Outcome::taken);
  }

  // It arrived, but a newer one did before: what it says is known better. One from before the first that was seen starts the
  // count earlier.
  Outcome fill_gap(Agent& agent, const Sample& sample) {
    agent.window.mark(sample.sequence);
    agent.first = std::min(agent.first, sample.sequence);
    ++agent.taken;
    ++agent.samples;
    ++agent.reordered;
    return count(Outcome::reordered);
  }

  // Samples from before the first that is seen of an agent are nobody's loss: the coordinator may have started later.
  static void begin(Agent& agent, const Sample& sample) {
    agent.instance = sample.instance;
    agent.window.start(sample.sequence);
    agent.first = sample.sequence;
    agent.taken = 1;
  }

  static void restart(Agent& agent, const Sample& sample) {
    const bool known = agent.was(sample.instance);
    agent.missing_before = agent.missing();
    agent.dropped_before = saturating_add(agent.dropped_before, agent.dropped);
    agent.dropped = 0;
    agent.retired[agent.retired_count++ % kRetired] = agent.instance;
    ++agent.restarts;
    agent.skew_count = 0;
    begin(agent, sample);
    if (!known) agent.first = 1;  // it started at 1, and we were there
  }

  void take(Agent& agent, const Sample& sample, Moment at) {
    ++agent.samples;
    agent.roles = sample.roles;
    agent.dropped = std::max(agent.dropped, sample.dropped);
    agent.skipped = sample.skipped;
    agent.interval = std::max(sample.interval, kShortest);
    agent.received = at.monotonic;
    agent.left = sample.last;
    agent.host = sample.host;
    agent.skews[agent.skew_count++ % kSkewWindow] = difference(at.wall, sample.sent);
    agent.targets = 0;
    const std::uint32_t agent_name = name_number(sample.agent);
    for (const FileSystemSample& file_system : sample.file_systems) {
      agent.targets += file_system.osts.size();
      take(file_system, agent_name, agent.interval, at.monotonic);
    }
    ++revision;
  }

  void take(const FileSystemSample& sample, std::uint32_t agent, Duration interval, Duration at) {
    auto found = file_systems.find(sample.name);
    if (found == file_systems.end()) {
      if (sample.osts.empty()) return;
      if (file_systems.size() >= options.max_file_systems) {
        counters.targets_refused += sample.osts.size();
        return;
      }
      found = file_systems.emplace(sample.name, FileSystem{}).first;
    }
    FileSystem& file_system = found->second;
    if (!sample.version.empty()) file_system.version = sample.version;
    std::vector<std::uint32_t> numbers;
    numbers.reserve(sample.servers.size());
    for (const ServerSample& server : sample.servers) numbers.push_back(name_number(server.name));
    std::vector<bool> spoken(sample.servers.size());  // servers that are this agent's own
    for (const OstSample& ost : sample.osts) {
      if (ost.seen_by == lustre::SpaceSource::obdfilter) spoken[ost.server] = true;
      claim(file_system, ost, agent, numbers[ost.server], interval, at);
    }
    for (std::size_t i = 0; i < sample.servers.size(); ++i) {
      if (!spoken[i]) continue;  // a client may not tell how busy a server is
      if (servers.size() < options.max_servers || servers.contains(numbers[i])) {
        servers[numbers[i]] = {.load = sample.servers[i].load, .received = at, .interval = interval};
      }
    }
  }

  void claim(FileSystem& file_system, const OstSample& ost, std::uint32_t agent, std::uint32_t server, Duration interval,
             Duration at) {
    auto found = file_system.osts.find(ost.index.value);
    if (found == file_system.osts.end()) {
      if (ost_count >= options.max_osts && !forget(at)) {
        ++counters.targets_refused;
        return;
      }
      found = file_system.osts.emplace(ost.index.value, Target{}).first;
      ++ost_count;
    }
    Target& target = found->second;
    Claim& held = target.claims[static_cast<std::size_t>(ost.seen_by)];
    if (held.made && held.agent != agent && ost.seen_by == lustre::SpaceSource::obdfilter) {
      ++target.takeovers;
      ++counters.takeovers;
    }
    held = {.made = true, .agent = agent, .server = server, .received = at, .interval = interval, .ost = ost};
  }

  // Makes room by leaving out what was not heard of for long. At most once a second: it looks at everything.
  bool forget(Duration at) {
    if (forgot && at - *forgot < std::chrono::seconds{1}) return ost_count < options.max_osts;
    forgot = at;
    for (auto& [name, file_system] : file_systems) {
      ost_count -=
          std::erase_if(file_system.osts, [&](const auto& item) { return at - item.second.newest() > options.forget_osts; });
    }
    return ost_count < options.max_osts;
  }

  bool evict(Duration at) {
    if (evicted && at - *evicted < std::chrono::seconds{1}) return false;
    auto oldest = agents.end();
    for (auto it = agents.begin(); it != agents.end(); ++it) {
      const AgentState state = it->second.state(at);
      if (state != AgentState::dead && state != AgentState::left) continue;
      if (oldest == agents.end() || it->second.received < oldest->second.received) oldest = it;
    }
    if (oldest == agents.end()) {
      evicted = at;  // looking again at once is of no use
      return false;
    }
    agents.erase(oldest);
    ++counters.evicted;
    return true;
  }

  // Names of agents, hosts and NIDs are kept once. Their number is bounded: one that does not fit is "unknown".
  std::uint32_t name_number(const std::string& name) {
    if (const auto found = name_numbers.find(name); found != name_numbers.end()) return found->second;
    if (names.size() >= most_names()) return 0;
    names.push_back(name);
    return name_numbers.emplace(name, static_cast<std::uint32_t>(names.size() - 1)).first->second;
  }
  std::size_t most_names() const { return options.max_agents + 2 * options.max_servers + 1; }

  // Makes room for names by leaving out those that nothing refers to any more. At most once a second: it looks at everything.
  void tidy_names(Duration at, std::size_t needed) {
    if (names.size() + needed <= most_names() || (tidied && at - *tidied < std::chrono::seconds{1})) return;
    tidied = at;
    std::erase_if(servers, [&](const auto& item) { return at - item.second.received > options.forget_osts; });
    std::vector<std::string> kept{names.front()};
    std::vector<std::uint32_t> number_of(names.size());  // by the old number; 0: not yet kept
    const auto keep = [&](std::uint32_t& number) {
      if (number == 0) return;
      if (number_of[number] == 0) {
        number_of[number] = static_cast<std::uint32_t>(kept.size());
        kept.push_back(std::move(names[number]));
      }
      number = number_of[number];
    };
    for (auto& [name, file_system] : file_systems) {
      for (auto& [index, target] : file_system.osts) {
        for (Claim& claim : target.claims) {
          keep(claim.agent);
          keep(claim.server);
        }
      }
    }
    std::map<std::uint32_t, Server> moved;
    for (const auto& [number, server] : servers) {
      std::uint32_t next = number;
      keep(next);
      moved.emplace(next, server);
    }
    servers = std::move(moved);
    names = std::move(kept);
    name_numbers.clear();
    for (std::uint32_t i = 0; i < names.size(); ++i) name_numbers.emplace(names[i], i);
  }

  FileSystemView view(const std::string& name, const FileSystem& file_system, Duration at) const {
    FileSystemView out;
    out.cluster.name = name;
    out.version = file_system.version;
    const auto hosts = host_of_nids(file_system);
    std::map<std::uint32_t, std::size_t> index_of;
    for (const auto& [index, target] : file_system.osts) {
      if (at - target.newest() > options.forget_osts) continue;
      const Claim& best = believed(target, at);
      const bool stale = !best.fresh(at);
      std::uint32_t server = best.server;
      if (best.ost.seen_by != lustre::SpaceSource::obdfilter) {
        const auto host = hosts.find(server);
        if (host != hosts.end()) server = host->second;
      }
      out.servers_known &= names[server] != kUnknownServer;
      const auto [place, fresh] = index_of.try_emplace(server, out.cluster.servers.size());
      if (fresh) out.cluster.servers.push_back(server_of(server, at));
      model::Ost ost{.index = OstIndex{index},
                     .name = ost_name(name, OstIndex{index}),
                     .oss = place->second,
                     .total = best.ost.total,
                     .free = best.ost.free,
                     .available = best.ost.available,
                     .state = best.ost.state};
      const Claim& osp = target.claims[static_cast<std::size_t>(lustre::SpaceSource::osp)];
      if (osp.fresh(at)) {
        ost.state.active &= osp.ost.state.active;
        ost.state.no_create |= osp.ost.state.no_create;
      }
      out.cluster.osts.push_back(std::move(ost));
      out.osts.push_back({.seen_by = best.ost.seen_by,
                          .agent = names[best.agent],
                          .age = at - best.received,
                          .stale = stale,
                          .takeovers = target.takeovers,
                          .read_bytes = best.ost.read_bytes,
                          .write_bytes = best.ost.write_bytes,
                          .jobs = best.ost.jobs});
      if (stale) out.stale.push_back(OstIndex{index});
    }
    return out;
  }

  // The freshest kind that is trusted most; if none is fresh, the newest.
  static const Claim& believed(const Target& target, Duration at) {
    const Claim* newest = nullptr;
    for (const Claim& claim : target.claims) {
      if (claim.fresh(at)) return claim;
      if (claim.made && (newest == nullptr || claim.received > newest->received)) newest = &claim;
    }
    IEZ_ASSERT(newest != nullptr);
    return *newest;
  }

  // An OST that its server speaks for, and that others see behind a NID: the NID is that server's. The newest word counts.
  static std::map<std::uint32_t, std::uint32_t> host_of_nids(const FileSystem& file_system) {
    std::map<std::uint32_t, std::pair<Duration, std::uint32_t>> found;
    for (const auto& [index, target] : file_system.osts) {
      const Claim& own = target.claims[static_cast<std::size_t>(lustre::SpaceSource::obdfilter)];
      if (!own.made) continue;
      for (const Claim& claim : target.claims) {
        if (!claim.made || &claim == &own || claim.server == own.server) continue;
        const auto [place, fresh] = found.try_emplace(claim.server, own.received, own.server);
        if (!fresh && own.received > place->second.first) place->second = {own.received, own.server};
      }
    }
    std::map<std::uint32_t, std::uint32_t> out;
    for (const auto& [nid, host] : found) out.emplace(nid, host.second);
    return out;
  }

  model::Oss server_of(std::uint32_t number, Duration at) const {
    model::Oss oss{.name = names[number]};
    const auto found = servers.find(number);
    if (found == servers.end() || at - found->second.received > overdue_after(found->second.interval)) return oss;
    oss.cpu = found->second.load.cpu;
    oss.memory = found->second.load.memory;
    oss.load_1min = found->second.load.load_1min;
    oss.cores = found->second.load.cores;
    return oss;
  }

  Options options;
  CollectorCounters counters;
  std::uint64_t revision = 0;
  std::map<std::string, Agent, std::less<>> agents;
  std::map<std::string, FileSystem> file_systems;
  std::map<std::uint32_t, Server> servers;  // by the number of the name
  std::vector<std::string> names{std::string(kUnknownServer)};
  std::map<std::string, std::uint32_t> name_numbers{{std::string(kUnknownServer), 0}};
  std::size_t ost_count = 0;
  std::optional<Duration> forgot;
  std::optional<Duration> evicted;
  std::optional<Duration> tidied;
};

Moment now(const Clock& clock) { return {.monotonic = clock.monotonic(), .wall = clock.wall()}; }

std::string_view to_string(AgentState state) {
  switch (state) {
    case AgentState::live:
      return "live";
    case AgentState::late:
      return "late";
    case AgentState::dead:
      return "dead";
    case AgentState::left:
      return "left";
  }
  return "";
}

std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, kOutcomes> kNames{"taken",     "reordered", "duplicate", "stale",
                                                           "malformed", "forged",    "retired",   "refused"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

Collector::Collector(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
Collector::~Collector() = default;
Collector::Collector(Collector&&) noexcept = default;
Collector& Collector::operator=(Collector&&) noexcept = default;

Outcome Collector::feed(std::span<const std::byte> bytes, Moment at, std::string_view sender) {
  const auto sample = decode(bytes, impl_->options.sample);
  if (!sample) return impl_->count(Outcome::malformed);
  return impl_->feed(*sample, at, sender);
}

Outcome Collector::feed(const Sample& sample, Moment at, std::string_view sender) { return impl_->feed(sample, at, sender); }

View Collector::view(Moment at) const {
  View out;
  for (const auto& [name, file_system] : impl_->file_systems) {
    auto view = impl_->view(name, file_system, at.monotonic);
    if (!view.cluster.osts.empty()) out.file_systems.push_back(std::move(view));
  }
  return out;
}

std::vector<AgentInfo> Collector::agents(Moment at) const {
  std::vector<AgentInfo> out;
  out.reserve(impl_->agents.size());
  for (const auto& [name, agent] : impl_->agents) {
    out.push_back({.name = name,
                   .roles = agent.roles,
                   .state = agent.state(at.monotonic),
                   .instance = agent.instance,
                   .sequence = agent.window.highest(),
                   .interval = agent.interval,
                   .age = at.monotonic - agent.received,
                   .skew = agent.skew(),
                   .samples = agent.samples,
                   .missing = agent.missing(),
                   .duplicates = agent.duplicates,
                   .reordered = agent.reordered,
                   .stale_samples = agent.stale_samples,
                   .restarts = agent.restarts,
                   .refused = agent.refused,
                   .dropped = saturating_add(agent.dropped_before, agent.dropped),
                   .skipped = agent.skipped,
                   .targets = agent.targets,
                   .host = agent.host});
  }
  return out;
}

const CollectorCounters& Collector::counters() const { return impl_->counters; }

std::uint64_t Collector::revision() const { return impl_->revision; }

}  // namespace iez::telemetry
