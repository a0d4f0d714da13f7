#include "sim/clients.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace iez::sim {
namespace {

Duration whole_ns(double ns) { return Duration(static_cast<Duration::rep>(std::llround(ns))); }

double ns_per_byte(BytesPerSecond rate) { return rate.value > 0 ? 1e9 / rate.value : 0; }

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// What the processes that do the I/O do: all of them as the pattern says or, in collective writing, few of them whole stripes.
AccessCursor::Shape shape_of(const Job& job, Bytes request) {
  AccessCursor::Shape shape{.pattern = job.pattern,
                            .striping = job.striping,
                            .request_bytes = request.count,
                            .file_bytes = file_bytes(job).count,
                            .writers = job.processes};
  if (job.collective.writers > 0) {
    shape.writers = job.collective.writers;
    shape.pattern.block = job.striping.size;
    shape.pattern.segments = divide_up(shape.file_bytes, job.striping.size.count * shape.writers);
  }
  return shape;
}

}  // namespace

Clients::Clients(const Scenario& scenario, ObjectTable objects, Events& events, RpcPool& rpcs, Listener& listener)
    : scenario_(scenario),
      events_(events),
      rpcs_(rpcs),
      listener_(listener),
      objects_(std::move(objects)),
      client_counts_(target_count(scenario.machine)),
      nic_free_(scenario.machine.nodes),
      nic_ns_per_byte_(ns_per_byte(scenario.machine.client.nic_rate)),
      import_ns_per_byte_(ns_per_byte(scenario.machine.client.import_rate)) {
  std::uint32_t first_node = 0;
  jobs_.reserve(scenario.jobs.size());
  for (std::size_t job = 0; job < scenario.jobs.size(); ++job) add_job(scenario, job, first_node);
}

void Clients::add_job(const Scenario& scenario, std::size_t number, std::uint32_t& first_node) {
  const Job& job = scenario.jobs[number];
  const Machine& machine = scenario.machine;
  const bool collective = job.collective.writers > 0;
  JobState state{.shape = shape_of(job, machine.client.rpc_size),
                 .ns_per_byte = ns_per_byte(collective ? job.collective.exchange : machine.client.process_rate),
                 .shared = job.pattern.mode == FileMode::shared,
                 .first_object = objects_.first[number],
                 .start = job.start,
                 .barrier = job.pattern.barrier && !is_replay(job)};
  if (is_replay(job)) state.shape.replay = &replays_.emplace_back(job);
  const Replay* const replay = state.shape.replay;
  const std::uint32_t ranks = state.shape.writers;
  const auto nodes = static_cast<std::uint32_t>(divide_up(job.processes, machine.client.processes_per_node));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const AccessCursor cursor(state.shape, rank);
    if (replay != nullptr && cursor.done(state.shape)) continue;  // did no I/O when it was recorded
    ++state.processes;
    // Writers of a collective are spread over the nodes of the job; the rest fill node after node.
    const std::uint32_t node = collective ? rank % nodes : rank / machine.client.processes_per_node;
    processes_.push_back(
        {.cursor = cursor, .job = static_cast<std::uint32_t>(number), .node = (first_node + node) % machine.nodes});
    const double share = static_cast<double>(rank) / static_cast<double>(ranks);
    Duration start = job.start + whole_ns(static_cast<double>(job.start_spread.count()) * share);
    if (replay != nullptr) start = std::max(start, job.start + replay->at(cursor.turn()).not_before);
    starts_.push_back(start);
  }
  first_node = (first_node + nodes) % machine.nodes;
  jobs_.push_back(state);
}

std::vector<std::uint32_t> Clients::process_counts() const {
  std::vector<std::uint32_t> counts;
  counts.reserve(jobs_.size());
  for (const JobState& job : jobs_) counts.push_back(job.processes);
  return counts;
}

void Clients::begin() {
  for (std::uint32_t process = 0; process < processes_.size(); ++process) {
    events_.put(starts_[process], EventKind::start, process, 0);
  }
}

// When the next file of the process is open: it waits for its turn at the metadata server.
Duration Clients::opened(const Process& process, const JobState& job) {
  const Replay* const replay = job.shape.replay;
  bool creates = job.shape.pattern.access == Access::write && (!job.shared || process.cursor.rank() == 0);
  if (replay != nullptr) {
    const std::uint32_t turn = process.cursor.turn();
    if (!replay->opens(process.cursor.rank(), turn)) return events_.now();
    creates = !replay->at(turn).read && process.cursor.rank() == replay->at(turn).first_rank;
  }
  const MetadataModel& metadata = scenario_.machine.metadata;
  metadata_free_ =
      std::max(metadata_free_, events_.now()) + (creates ? metadata.create : metadata.open) / std::max(metadata.threads, 1U);
  return metadata_free_;
}

// Opens its file, and then makes data.
void Clients::start(std::uint32_t number) {
  Process& process = processes_[number];
  const JobState& job = jobs_[process.job];
  const Duration open = opened(process, job);
  if (process.cursor.done(job.shape)) {
    process.made_all = true;
    finish_if_done(number);
    return;
  }
  make_piece(process);
  events_.put(open + whole_ns(job.ns_per_byte * process.bytes), EventKind::produce, number, 0);
}

// The end of a recorded file. What it reads is there, and the time of the next has come, before it opens that.
void Clients::go_on(std::uint32_t number) {
  Process& process = processes_[number];
  process.made_all = process.read && process.pending > 0;
  if (process.made_all) return;
  const JobState& job = jobs_[process.job];
  const Duration not_before = job.start + job.shape.replay->at(process.cursor.turn()).not_before;
  events_.put(std::max(events_.now(), not_before), EventKind::start, number, 0);
}

// The end of a step: when the last process is there, all open their next files.
void Clients::reach_barrier(std::uint32_t number) {
  JobState& job = jobs_[processes_[number].job];
  job.waiting.push_back(number);
  if (job.waiting.size() < job.processes) return;
  for (const std::uint32_t process : job.waiting) {
    processes_[process].made_all = false;
    events_.put(events_.now(), EventKind::start, process, 0);
  }
  job.waiting.clear();
}

// Hands over the piece that is made, and begins the next, for as long as that takes no time.
void Clients::produce(std::uint32_t number) {
  while (hand_over(number)) {
    Process& process = processes_[number];
    const JobState& job = jobs_[process.job];
    if (process.cursor.done(job.shape)) {
      process.made_all = true;
      return;
    }
    if (job.shape.replay != nullptr && process.cursor.at_start_of_turn()) return go_on(number);
    if (job.barrier && process.cursor.at_start_of_turn()) {
      // It waits until what it wrote is on the targets: the piece that was just handed over is under way at least.
      process.made_all = true;
      return;
    }
    make_piece(process);
    if (job.ns_per_byte > 0) {
      const Duration made = events_.now() + whole_ns(job.ns_per_byte * process.bytes);
      events_.put(made, EventKind::produce, number, 0);
      return;
    }
  }
}

void Clients::make_piece(Process& process) {
  const JobState& job = jobs_[process.job];
  const Piece piece = process.cursor.next(job.shape);
  const std::uint32_t file = job.shared ? piece.file : process.cursor.rank() * job.shape.pattern.files + piece.file;
  const std::uint32_t before =
      job.shape.replay == nullptr ? file * job.shape.striping.count : job.shape.replay->first_object(piece.file);
  const std::uint32_t object = job.first_object + before + piece.stripe;
  if (object != process.object) process.import = kNone;
  process.object = object;
  process.place = piece.place;
  process.bytes = static_cast<std::uint32_t>(piece.bytes);
  process.read = piece.read;
}

// Finds or makes the import for the next piece.
void Clients::find_import(Process& process) {
  const std::uint32_t target = objects_.objects[process.object].target;
  const std::uint64_t key = (std::uint64_t{process.node} << 32U) | target;
  const auto [place, added] = import_of_.try_emplace(key, static_cast<std::uint32_t>(imports_.size()));
  if (added) {
    imports_.push_back(
        {.node = process.node, .target = target, .client = client_counts_[target]++, .credits = listener_.first_credits(target)});
  }
  process.import = place->second;
}

// False: the cache is full, and the process waits.
bool Clients::hand_over(std::uint32_t number) {
  Process& process = processes_[number];
  if (process.import == kNone) find_import(process);
  Import& import = imports_[process.import];
  if (!has_room(import, process.bytes)) {
    process.next_blocked = kNone;
    if (import.first_blocked == kNone) {
      import.first_blocked = number;
    } else {
      processes_[import.last_blocked].next_blocked = number;
    }
    import.last_blocked = number;
    return false;
  }
  const std::uint32_t number_of_rpc = rpcs_.take();
  Rpc& rpc = rpcs_[number_of_rpc];
  rpc.place = objects_.objects[process.object].base + process.place;
  rpc.bytes = process.bytes;
  rpc.import = process.import;
  rpc.process = number;
  rpc.job = process.job;
  rpc.client = import.client;
  rpc.target = import.target;
  rpc.object = process.object;
  rpc.read = process.read;
  ++process.pending;
  import.cached_bytes += process.bytes;
  ++import.queued;
  import.cached.push(rpcs_, number_of_rpc);
  send(import);
  return true;
}

void Clients::send(Import& import) {
  while (import.used < import.credits && !import.cached.empty()) {
    const std::uint32_t rpc = import.cached.pop(rpcs_);
    --import.queued;
    ++import.used;
    dispatch(rpc, import);
  }
}

// Locks, the node's network interface, and the way to the server.
void Clients::dispatch(std::uint32_t number, Import& import) {
  const Machine& machine = scenario_.machine;
  const Rpc& rpc = rpcs_[number];
  Duration at = events_.now();
  if (!rpc.read) {
    Object& object = objects_.objects[rpc.object];
    if (object.owner == kNone) object.owner = import.node;
    if (object.contended) {
      at += machine.locks.enqueue;
    } else if (object.owner != import.node) {
      object.contended = true;
      at += machine.locks.revocation;
    }
  }
  if (import_ns_per_byte_ > 0) {
    at = std::max(at, import.free);
    import.free = at + whole_ns(import_ns_per_byte_ * rpc.bytes);
  }
  if (nic_ns_per_byte_ > 0) {
    Duration& free = nic_free_[import.node];
    free = std::max(free, at) + whole_ns(nic_ns_per_byte_ * rpc.bytes);
    at = free;
  }
  events_.put(at + machine.network.latency, EventKind::arrive, number, 0);
  if (machine.timeout) {
    deadlines_.push_back({.at = events_.now() + *machine.timeout, .rpc = number, .serial = rpc.serial});
    watch_deadlines();
  }
}

std::uint64_t Clients::reply(std::uint32_t number) {
  const Rpc rpc = rpcs_[number];
  rpcs_.give_back(number);
  if (rpc.abandoned) return 0;
  Import& import = imports_[rpc.import];
  --import.used;
  import.credits = rpc.credits;
  import.cached_bytes -= rpc.bytes;
  --processes_[rpc.process].pending;
  send(import);
  unblock(rpc.import);
  finish_if_done(rpc.process);
  return rpc.bytes;
}

// Lets processes go on that wait for room in this cache, until one finds none. They may add imports.
void Clients::unblock(std::uint32_t import) {
  while (imports_[import].first_blocked != kNone) {
    const std::uint32_t number = imports_[import].first_blocked;
    const Process& process = processes_[number];
    if (!has_room(imports_[import], process.bytes)) return;
    imports_[import].first_blocked = process.next_blocked;
    produce(number);
  }
}

// A cache that is smaller than a request takes one nevertheless.
bool Clients::has_room(const Import& import, std::uint64_t bytes) const {
  return import.cached_bytes == 0 || import.cached_bytes + bytes <= scenario_.machine.client.cache.count;
}

void Clients::finish_if_done(std::uint32_t number) {
  const Process& process = processes_[number];
  if (!process.made_all || process.pending > 0) return;
  if (!process.cursor.done(jobs_[process.job].shape)) {
    return jobs_[process.job].barrier ? reach_barrier(number) : go_on(number);
  }
  listener_.process_finished(process.job);
}

unsigned Clients::wanted(std::uint32_t number) {
  const Rpc& rpc = rpcs_[number];
  const Import& import = imports_[rpc.import];
  const ClientModel& client = scenario_.machine.client;
  if (processes_[rpc.process].made_all) return import.queued;
  return static_cast<unsigned>(std::max<std::uint64_t>(client.cache.count / client.rpc_size.count, 1));
}

void Clients::expect(std::uint32_t import, std::uint32_t process) const {
  prefetch(imports_[import]);
  prefetch(processes_[process]);
}

void Clients::expect_object(std::uint32_t process) const { prefetch(objects_.objects[processes_[process].object]); }

// Gives up on what waits too long and sends it again. The old request goes its way: the server cannot know.
void Clients::time_out() {
  const Duration now = events_.now();
  watching_ = false;
  while (!deadlines_.empty() && deadlines_.front().at <= now) {
    const Deadline due = deadlines_.front();
    deadlines_.pop_front();
    if (rpcs_[due.rpc].serial != due.serial) continue;  // answered
    ++timeouts_;
    const std::uint32_t again = rpcs_.take();
    Rpc& old = rpcs_[due.rpc];
    old.abandoned = true;
    const std::uint32_t serial = rpcs_[again].serial;
    rpcs_[again] = {.place = old.place,
                    .bytes = old.bytes,
                    .import = old.import,
                    .process = old.process,
                    .job = old.job,
                    .client = old.client,
                    .target = old.target,
                    .object = old.object,
                    .serial = serial,
                    .read = old.read};
    dispatch(again, imports_[old.import]);
  }
  watch_deadlines();
}

// All requests may wait for the same time, so the first to be sent is the first to be due, and one event is enough.
void Clients::watch_deadlines() {
  if (watching_ || deadlines_.empty()) return;
  watching_ = true;
  events_.put(deadlines_.front().at, EventKind::time_out, 0, 0);
}

}  // namespace iez::sim
