#include "coordinator/service.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <openssl/rand.h>

#include "api/plan_json.hpp"
#include "base/text.hpp"

namespace iez::coordinator {

namespace {

// Requests follow each other by the thousand: a search as long as for a plan by hand would hold up the others.
constexpr std::uint64_t kSearch = 4'000;
constexpr std::size_t kMendedAtOnce = 100;
constexpr std::size_t kMendedParts = 10;
constexpr std::size_t kDrainedAtOnce = 100;
constexpr std::uint64_t kRetryAfter = 2;
constexpr std::int64_t kWaitForTelemetry = std::int64_t{3600} * 1'000'000'000;
constexpr std::int64_t kKeepProblem = std::int64_t{24} * 3600 * 1'000'000'000;
constexpr std::int64_t kKeepVerdict = std::int64_t{3600} * 1'000'000'000;
constexpr double kGaps = 3;  // between two runs, for which a plan waits
constexpr std::int64_t kShortestWait = std::int64_t{600} * 1'000'000'000;
constexpr std::int64_t kLongestWait = std::int64_t{7 * 24} * 3600 * 1'000'000'000;

std::int64_t wall_ns(const Clock& clock) { return clock.wall().time_since_epoch().count(); }

std::unexpected<api::Problem> problem(std::uint32_t status, std::string type, std::string title, std::string detail) {
  return std::unexpected(
      api::Problem{.status = status, .type = "urn:iez:" + type, .title = std::move(title), .detail = std::move(detail)});
}

std::unexpected<api::Problem> problem(const Error& error) {
  switch (error.code) {
    case Errc::invalid_argument:
    case Errc::parse:
    case Errc::unsupported:
      return problem(400, "bad-request", "The request makes no sense", error.message);
    case Errc::permission:
      return problem(403, "forbidden", "Not for this user", error.message);
    case Errc::not_found:
      return problem(404, "not-found", "Not known", error.message);
    case Errc::limit:
    case Errc::exists:
      return problem(409, "no-room", "There is no room for the plan", error.message);
    case Errc::io:
      break;
  }
  return problem(503, "out-of-order", "The service is out of order", error.message);
}

std::unexpected<api::Problem> not_kept(const Error& error) {
  if (error.code == Errc::limit) return problem(507, "disk-full", "The coordinator's disk is full", error.message);
  return problem(503, "out-of-order", "The coordinator cannot keep plans", error.message);
}

}  // namespace

Service::Service(const ServiceOptions& options, Clock& clock, Logger& log, std::unique_ptr<Ledger> ledger,
                 std::unique_ptr<GlobalView> view)
    : options_(options), clock_(clock), log_(log), ledger_(std::move(ledger)), view_(std::move(view)) {}

Result<std::unique_ptr<Service>> Service::start(const ServiceOptions& options, Clock& clock, Logger& log) {
  IEZ_TRY(auto ledger, Ledger::open(options.folder, options.durability));
  auto view = std::make_unique<GlobalView>(kSearch);
  std::unique_ptr<Service> service(new Service(options, clock, log, std::move(ledger), std::move(view)));
  IEZ_CHECK(service->ledger_->load(
      [&](StoredPlan&& plan) {
        const std::uint64_t id = plan.id;
        service->view_->put(id, std::make_shared<const StoredPlan>(std::move(plan)));
      },
      [&](Queued&& queued) {
        const auto entry = std::make_shared<const Queued>(std::move(queued));
        service->apply({.id = entry->id, .queued_after = entry}, true);
        service->turn_ = std::max(service->turn_, entry->turn);
      }));
  service->writer_ = std::thread([raw = service.get()] { raw->write(); });
  service->keeper_ = std::thread([raw = service.get()] { raw->keep(); });
  return service;
}

Service::~Service() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  ended_.notify_all();
  if (keeper_.joinable()) keeper_.join();
  {
    const std::lock_guard guard(batch_mutex_);
    writer_stop_ = true;
  }
  work_.notify_all();
  if (writer_.joinable()) writer_.join();
}

std::uint64_t Service::new_id() {
  std::uint64_t id = 0;
  // The ledger's numbers are signed.
  do {
    IEZ_ASSERT(RAND_bytes(reinterpret_cast<unsigned char*>(&id), sizeof id) == 1);
    id &= ~std::uint64_t{0} >> 1U;
  } while (id == 0 || view_->find(id) || waiting_.contains(id));
  return id;
}

void Service::apply(const Change& change, bool forward) {
  const PlanPointer& plan = forward ? change.plan_after : change.plan_before;
  if (change.plan_before || change.plan_after) view_->put(change.id, plan);
  const QueuedPointer& old = forward ? change.queued_before : change.queued_after;
  const QueuedPointer& now = forward ? change.queued_after : change.queued_before;
  if (old) {
    queue_.erase(old->turn);
    waiting_.erase(old->id);
    queue_bytes_ -= old->body.size();
    if (!old->outcome.empty()) --told_;
  }
  if (now) {
    queue_.emplace(now->turn, now);
    waiting_.emplace(now->id, now);
    queue_bytes_ += now->body.size();
    if (!now->outcome.empty()) ++told_;
  }
}

std::shared_ptr<Service::Batch> Service::hand_over(std::unique_lock<std::mutex>& lock, std::vector<Change> changes) {
  std::shared_ptr<Batch> batch;
  {
    const std::lock_guard guard(batch_mutex_);
    batch = batch_;
    std::ranges::move(changes, std::back_inserter(batch->changes));
  }
  lock.unlock();
  work_.notify_one();
  return batch;
}

std::optional<Error> Service::wait_for(Batch& batch) {
  std::unique_lock lock(batch_mutex_);
  batch.committed.wait(lock, [&] { return batch.done; });
  return batch.error;
}

void Service::write() {
  std::unique_lock batch_lock(batch_mutex_);
  while (true) {
    work_.wait(batch_lock, [&] { return writer_stop_ || !batch_->changes.empty(); });
    if (batch_->changes.empty()) return;
    const std::shared_ptr<Batch> batch = std::exchange(batch_, std::make_shared<Batch>());
    batch_lock.unlock();
    const auto outcome = ledger_->commit(batch->changes);
    if (!outcome) {
      take_back(batch, outcome.error());
      batch_lock.lock();
      continue;
    }
    batch_lock.lock();
    ++counters_.commits;
    batch->done = true;
    batch->committed.notify_all();
  }
}

void Service::take_back(const std::shared_ptr<Batch>& batch, const Error& error) {
  const std::lock_guard guard(mutex_);
  const std::lock_guard batch_guard(batch_mutex_);
  ++counters_.commits;
  ++counters_.failed_commits;
  // What came since may hang on it.
  const std::shared_ptr<Batch> later = std::exchange(batch_, std::make_shared<Batch>());
  for (const auto& failed : {later, batch}) {
    for (auto change = failed->changes.rbegin(); change != failed->changes.rend(); ++change) apply(*change, false);
    failed->error = error;
    failed->done = true;
    failed->committed.notify_all();
  }
  log_.error("the ledger takes nothing", {{"why", error.message}});
}

void Service::count(std::uint64_t Counters::* counter, std::uint64_t more) {
  const std::lock_guard guard(batch_mutex_);
  counters_.*counter += more;
}

void Service::set_view(std::vector<FileSystemNow> file_systems) {
  const std::lock_guard guard(mutex_);
  for (FileSystemNow& now : file_systems) {
    const std::string name = now.cluster.name;
    const auto outcome = view_->set_cluster(std::move(now.cluster), std::move(now.stale), std::move(now.rates));
    if (!outcome) log_.warning("telemetry makes no sense", {{"file_system", name}, {"why", outcome.error().message}});
  }
}

std::vector<api::OstWeight> Service::weights_for(const StoredPlan& plan) const {
  if (!plan.weights) return {};
  return view_->weights(plan.file_system).value_or(std::vector<api::OstWeight>());
}

api::Ticket Service::ticket(std::uint64_t id) const {
  api::Ticket out{.plan = id_text(id), .retry_after_s = kRetryAfter};
  out.busy = busy_;
  out.why = busy_ ? "busy: " + why_closed(load_, {.cpu = options_.cpu_limit, .memory = options_.memory_limit})
                  : "the request waits for its turn";
  return out;
}

Reply<api::Submitted> Service::enqueue(std::unique_lock<std::mutex>& lock, const Identity& who, std::string_view body,
                                       std::string why, std::uint64_t id) {
  if (queue_.size() - told_ >= options_.queue_limit || queue_bytes_ + body.size() > options_.queue_bytes) {
    count(&Counters::refused);
    return problem(503, "queue-full", "The queue is full",
                   fmt::format("{} requests wait already; {}", queue_.size() - told_, why));
  }
  auto queued = std::make_shared<Queued>(
      Queued{.id = id != 0 ? id : new_id(), .turn = ++turn_, .made_ns = wall_ns(clock_), .user = who.user});
  queued->body = body;
  std::vector<Change> changes{{.id = queued->id, .queued_after = queued}};
  if (told_ >= options_.queue_limit) {
    const auto oldest = std::ranges::find_if(queue_, [](const auto& entry) { return !entry.second->outcome.empty(); });
    changes.push_back({.id = oldest->second->id, .queued_before = oldest->second});
  }
  for (const Change& change : changes) apply(change, true);
  count(&Counters::queued);
  api::Submitted out{.answer = std::nullopt, .ticket = ticket(queued->id)};
  if (const auto error = commit(lock, std::move(changes))) return not_kept(*error);
  return out;
}

Reply<api::Submitted> Service::plan(const Identity& who, const api::PlanRequest& request, std::string_view body, bool wait,
                                    std::uint64_t id) {
  if (const auto sound = api::check(request); !sound) return problem(sound.error());
  last_plan_ = clock_.monotonic().count();
  std::unique_lock lock(mutex_);
  if (id != 0 && (view_->find(id) || waiting_.contains(id))) {
    lock.unlock();
    return find(who, id_text(id));
  }
  if (auto known = view_->resolve(request.file_system); !known) {
    count(&Counters::refused);
    if (view_->file_systems().empty()) {
      return problem(503, "no-telemetry", "Nothing is known of the file system yet", known.error().message);
    }
    return problem(known.error());
  }
  // Who came first is planned first.
  if (busy_ || !wait || !queue_.empty()) {
    const bool none_waits = !busy_ && wait && queue_.size() == told_;
    if (!none_waits) return enqueue(lock, who, body, "try again later", id);
  }
  return plan_now(lock, who.user, request, id != 0 ? id : new_id(), nullptr);
}

Reply<api::Submitted> Service::plan_now(std::unique_lock<std::mutex>& lock, const std::string& user,
                                        const api::PlanRequest& request, std::uint64_t id, const QueuedPointer& queued) {
  std::vector<Change> changes;
  const auto take_back = [&] {
    for (auto change = changes.rbegin(); change != changes.rend(); ++change) apply(*change, false);
  };
  const auto file_system = view_->resolve(request.file_system);
  if (!file_system) return problem(file_system.error());
  if (!request.keep_earlier) {
    for (PlanPointer& plan : view_->earlier(user, request.application, *file_system)) {
      changes.push_back({.id = plan->id, .plan_before = plan});
      apply(changes.back(), true);
    }
  }
  auto planned = view_->plan(request, user, id, wall_ns(clock_), life_of(request));
  if (!planned) {
    take_back();
    count(&Counters::refused);
    return problem(planned.error());
  }
  if (planned->id == 0) return no_plan(lock, answer_of(*planned), request, std::move(changes), queued);
  const auto plan = std::make_shared<const StoredPlan>(*std::move(planned));
  changes.push_back({.id = id, .plan_after = plan, .queued_before = queued});
  apply(changes.back(), true);
  std::vector<api::OstWeight> weights = weights_for(*plan);
  const std::shared_ptr<Batch> batch = hand_over(lock, std::move(changes));
  api::Submitted out{.answer = answer_of(*plan), .ticket = {}};
  out.answer->weights = std::move(weights);
  if (const auto error = wait_for(*batch)) return not_kept(*error);
  count(&Counters::planned);
  count(&Counters::planned_files, plan->layouts.size());
  return out;
}

Reply<api::Submitted> Service::no_plan(std::unique_lock<std::mutex>& lock, api::PlanAnswer answer,
                                       const api::PlanRequest& request, std::vector<Change> changes,
                                       const QueuedPointer& queued) {
  if (!request.spread.empty()) answer.weights = view_->weights(answer.file_system).value_or(std::vector<api::OstWeight>());
  if (queued) {
    auto told = std::make_shared<Queued>(*queued);
    told->outcome = api::to_json(answer);
    told->body.clear();
    changes.push_back({.id = queued->id, .queued_before = queued, .queued_after = told});
    apply(changes.back(), true);
  }
  if (changes.empty()) {
    lock.unlock();
  } else if (const auto error = commit(lock, std::move(changes))) {
    return not_kept(*error);
  }
  count(&Counters::planned);
  count(&Counters::left_to_default);
  return api::Submitted{.answer = std::move(answer), .ticket = {}};
}

std::int64_t Service::life_of(const api::PlanRequest& request) const {
  const std::int64_t longest = options_.longest_ttl.count();
  if (request.ttl_s > static_cast<std::uint64_t>(longest / 1'000'000'000)) return longest;
  if (request.ttl_s > 0) return static_cast<std::int64_t>(request.ttl_s) * 1'000'000'000;
  if (request.gap_s <= 0) return options_.ttl.count();
  const double wait = std::min(kGaps * request.gap_s * 1e9, static_cast<double>(kLongestWait));
  return std::min(longest, std::max(kShortestWait, static_cast<std::int64_t>(wait)));
}

Reply<PlanPointer> Service::owned(const Identity& who, std::string_view plan) const {
  PlanPointer found = view_->find(parse_id(plan));
  // Whose plan it is, is nobody's business.
  if (!found || (found->user != who.user && !who.admin)) {
    return problem(
        404, "not-found", "No such plan",
        fmt::format("plan {} is not pending: it was never made, or was created, replaced or expired", text::printable(plan)));
  }
  return found;
}

PlanPointer Service::begun(std::unique_lock<std::mutex>& lock, PlanPointer plan) {
  const auto change = view_->begin(plan->id, wall_ns(clock_), !busy_);
  if (!change) {
    lock.unlock();
    return plan;
  }
  log_.info("plan changed as its run begins", {{"plan", id_text(plan->id)}, {"application", plan->application}});
  const auto error = commit(lock, {{.id = plan->id, .plan_before = plan, .plan_after = change->after}});
  if (error) return plan;  // what the ledger does not take was taken back
  count(&Counters::begun);
  return change->after;
}

Reply<api::Submitted> Service::find(const Identity& who, std::string_view plan, bool begins) {
  std::unique_lock lock(mutex_);
  if (const auto waits = waiting_.find(parse_id(plan)); waits != waiting_.end()) {
    const QueuedPointer entry = waits->second;
    if (entry->user == who.user || who.admin) {
      if (entry->outcome.empty()) return api::Submitted{.answer = std::nullopt, .ticket = ticket(entry->id)};
      if (auto verdict = api::parse_plan_answer(entry->outcome))
        return api::Submitted{.answer = *std::move(verdict), .ticket = {}};
      if (auto told = api::parse_problem(entry->outcome)) return std::unexpected(*std::move(told));
    }
  }
  auto found = owned(who, plan);
  if (!found) return std::unexpected(std::move(found).error());
  std::vector<api::OstWeight> weights = weights_for(**found);
  PlanPointer known = *std::move(found);
  if (begins) {
    known = begun(lock, std::move(known));
  } else {
    lock.unlock();
  }
  api::Submitted out{.answer = answer_of(*known), .ticket = {}};
  out.answer->weights = std::move(weights);
  return out;
}

Reply<void> Service::created(const Identity& who, std::string_view plan, const api::CreatedRequest& request) {
  std::unique_lock lock(mutex_);
  auto found = owned(who, plan);
  if (!found) return std::unexpected(std::move(found).error());
  auto next = with_created(**found, request);
  if (!next) return problem(next.error());
  const std::uint64_t before = (*found)->created();
  const std::uint64_t after = *next ? (*next)->created() : (*found)->layouts.size();
  Change change{.id = (*found)->id, .plan_before = *found, .plan_after = *next};
  apply(change, true);
  if (const auto error = commit(lock, {change})) return not_kept(*error);
  count(&Counters::created_files, after - before);
  return {};
}

Reply<void> Service::expire(const Identity& who, std::string_view plan) {
  std::unique_lock lock(mutex_);
  Change change;
  if (const auto waits = waiting_.find(parse_id(plan));
      waits != waiting_.end() && (waits->second->user == who.user || who.admin)) {
    change = {.id = waits->second->id, .queued_before = waits->second};
  } else {
    auto found = owned(who, plan);
    if (!found) return std::unexpected(std::move(found).error());
    change = {.id = (*found)->id, .plan_before = *found};
  }
  apply(change, true);
  if (const auto error = commit(lock, {change})) return not_kept(*error);
  count(&Counters::expired);
  return {};
}

std::vector<api::PlanRow> Service::plans(const Identity& who, std::string_view application) {
  std::unique_lock lock(mutex_);
  std::vector<api::PlanRow> rows;
  for (const auto& [turn, entry] : queue_) {
    if (!application.empty() || (entry->user != who.user && !who.admin)) continue;
    rows.push_back({.plan = id_text(entry->id), .user = entry->user, .state = "queued", .made_ns = entry->made_ns});
  }
  for (const auto& [id, plan] : view_->plans()) {
    if (plan->user != who.user && !who.admin) continue;
    if (!application.empty() && plan->application != application) continue;
    rows.push_back({.plan = id_text(id),
                    .application = plan->application,
                    .user = plan->user,
                    .file_system = plan->file_system,
                    .state = "pending",
                    .database = plan->database,
                    .revision = plan->revision,
                    .made_ns = plan->made_ns,
                    .expires_ns = plan->expires_ns,
                    .files = plan->layouts.size(),
                    .created = plan->created(),
                    .reserved = plan->reserved()});
  }
  lock.unlock();
  std::ranges::sort(rows, [](const api::PlanRow& a, const api::PlanRow& b) {
    return std::pair(a.made_ns, a.plan) < std::pair(b.made_ns, b.plan);
  });
  return rows;
}

std::vector<PlanPointer> Service::pulled(std::string_view database) {
  const std::lock_guard guard(mutex_);
  std::vector<PlanPointer> out;
  for (const auto& [id, plan] : view_->plans()) {
    if (plan->database == database) out.push_back(plan);
  }
  return out;
}

Reply<std::vector<api::OstWeight>> Service::weights(const std::string& file_system, std::string& name) {
  const std::lock_guard guard(mutex_);
  auto known = view_->resolve(file_system);
  if (!known) return problem(known.error());
  name = *known;
  auto weights = view_->weights(*known);
  if (!weights) return problem(weights.error());
  return *std::move(weights);
}

std::vector<FileSystemReport> Service::report() {
  const std::lock_guard guard(mutex_);
  std::vector<FileSystemReport> out;
  for (const std::string& name : view_->file_systems()) {
    FileSystemReport report{.name = name, .targets = view_->targets(name)};
    const model::Cluster* const cluster = view_->cluster(name);
    report.servers = cluster->servers;
    for (const model::Ost& ost : cluster->osts) report.server_of.push_back(ost.oss);
    out.push_back(std::move(report));
  }
  return out;
}

ServiceState Service::state() {
  const std::lock_guard guard(mutex_);
  const std::lock_guard batch_guard(batch_mutex_);
  return {.plans = view_->plans().size(),
          .files = view_->pending_files(),
          .queue = queue_.size() - told_,
          .busy = busy_,
          .load = load_,
          .limit = {.cpu = options_.cpu_limit, .memory = options_.memory_limit},
          .counters = counters_};
}

void Service::keep() {
  BusyGate gate(options_.cpu_limit, options_.memory_limit);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const NodeLoad load = options_.load ? options_.load() : NodeLoad{};
    lock.lock();
    load_ = load;
    const bool busy = gate.look(load);
    if (busy != busy_) {
      log_.warning(busy ? "this node is busy: requests wait" : "this node has room again: requests are planned",
                   {{"cpu", fmt::format("{:.2f}", load.cpu)}, {"memory", fmt::format("{:.2f}", load.memory)}});
    }
    busy_ = busy;
    lock.unlock();
    tick();
    lock.lock();
    ended_.wait_for(lock, std::chrono::nanoseconds(options_.tick), [&] { return stop_; });
  }
}

void Service::tick() {
  std::unique_lock lock(mutex_);
  const std::int64_t now = wall_ns(clock_);
  std::vector<Change> changes;
  view_->fade(now);
  for (const PlanPointer& plan : view_->expired(now)) changes.push_back({.id = plan->id, .plan_before = plan});
  for (const auto& [turn, entry] : queue_) {
    if (entry->outcome.empty() || entry->made_ns + kKeepVerdict >= now) continue;
    const bool verdict = api::parse_plan_answer(entry->outcome).has_value();
    if (verdict || entry->made_ns + kKeepProblem < now) changes.push_back({.id = entry->id, .queued_before = entry});
  }
  for (const Change& change : changes) apply(change, true);
  const std::size_t expired = changes.size();
  for (PlanChange& moved : view_->plan_together()) {
    log_.info("plan made together with others", {{"plan", id_text(moved.after->id)}, {"application", moved.after->application}});
    changes.push_back({.id = moved.after->id, .plan_before = moved.before, .plan_after = moved.after});
  }
  const std::size_t together = changes.size() - expired;
  if (changes.empty()) {
    lock.unlock();
  } else if (!commit(lock, std::move(changes))) {
    count(&Counters::expired, expired);
    count(&Counters::together, together);
  }
  mend();
  drain();
}

// In parts: whoever asks meanwhile waits for one of them at most.
void Service::mend() {
  for (std::size_t part = 0; part < kMendedParts; ++part) {
    std::unique_lock lock(mutex_);
    std::vector<Change> changes;
    if (stop_) return;
    for (PlanChange& mended : view_->mend(kMendedAtOnce)) {
      log_.info("plan mended", {{"plan", id_text(mended.after->id)}, {"application", mended.after->application}});
      changes.push_back({.id = mended.after->id, .plan_before = mended.before, .plan_after = mended.after});
    }
    if (changes.empty()) return;
    const std::size_t mended = changes.size();
    if (commit(lock, std::move(changes))) return;
    count(&Counters::mended, mended);
  }
}

void Service::drain() {
  std::unique_lock lock(mutex_);
  std::uint64_t after = 0;  // turns that were looked at
  for (std::size_t i = 0; i < kDrainedAtOnce && !busy_ && !stop_; ++i) {
    auto next = queue_.upper_bound(after);
    while (next != queue_.end() && !next->second->outcome.empty()) ++next;
    if (next == queue_.end()) return;
    const QueuedPointer entry = next->second;
    after = entry->turn;
    Reply<api::Submitted> outcome = problem(400, "bad-request", "The request makes no sense", "");
    if (auto request = api::parse_plan_request(entry->body)) {
      // It tells of the time when it came.
      request->idle_s += static_cast<double>(std::max<std::int64_t>(0, wall_ns(clock_) - entry->made_ns)) * 1e-9;
      // Known when it came: after a restart agents have not spoken yet.
      if (!view_->resolve(request->file_system) && wall_ns(clock_) - entry->made_ns < kWaitForTelemetry) continue;
      outcome = plan_now(lock, entry->user, *request, entry->id, entry);
    }
    if (outcome) {
      lock.lock();
      continue;
    }
    const std::uint32_t status = outcome.error().status;
    if (status == 503 || status == 507) return;  // not its fault: later
    auto told = std::make_shared<Queued>(*entry);
    told->outcome = api::to_json(outcome.error());
    told->body.clear();
    Change change{.id = entry->id, .queued_before = entry, .queued_after = told};
    apply(change, true);
    const auto error = commit(lock, {change});
    lock.lock();
    if (error) return;
  }
}

}  // namespace iez::coordinator
