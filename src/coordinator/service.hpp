// The coordinator without its network: takes requests of any thread, answers when what it says is in the ledger.
//
// Group commit: changes that come while one transaction is written go into the next one together. A change is seen by other
// requests at once, and acknowledged after its commit; if the ledger takes nothing, all that hangs on it is taken back.
//
// Gate: while this node's CPU or memory is over its limit, requests for plans are put into the ledger's queue and planned in
// order when it is not. Nothing of the queue is dropped; when it is full, a request is refused before it is taken.
//
// Thread safety: all members from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "coordinator/busy_gate.hpp"
#include "coordinator/global_view.hpp"
#include "coordinator/ledger.hpp"
#include "http/access.hpp"

namespace iez::coordinator {

using http::Identity;

struct ServiceOptions {
  std::string folder;      // of the ledger
  double cpu_limit = 0.7;  // 1: no limit
  double memory_limit = 0.5;
  std::size_t queue_limit = 10'000;                   // requests that wait; and answers without a plan that are kept
  std::size_t queue_bytes = std::size_t{256} << 20U;  // of them
  Duration ttl{std::chrono::hours{30 * 24}};          // of a plan whose request tells neither a time nor a gap
  Duration longest_ttl{std::chrono::hours{366 * 24}};
  sql::Durability durability = sql::Durability::machine;
  std::function<NodeLoad()> load;  // of this node; called once a second
  Duration tick{1'000'000'000};    // between looks at the gate, the queue and what expired
};

struct Counters {
  std::uint64_t planned = 0;  // requests
  std::uint64_t planned_files = 0;
  std::uint64_t left_to_default = 0;  // of the requests: those without a plan, since Lustre's default is as good
  std::uint64_t refused = 0;
  std::uint64_t queued = 0;
  std::uint64_t created_files = 0;
  std::uint64_t expired = 0;
  std::uint64_t mended = 0;
  std::uint64_t together = 0;  // plans that were made anew together with others
  std::uint64_t begun = 0;     // and by what others moved when their runs began
  std::uint64_t commits = 0;
  std::uint64_t failed_commits = 0;
};

struct ServiceState {
  std::uint64_t plans = 0;
  std::uint64_t files = 0;  // planned, not created
  std::uint64_t queue = 0;
  bool busy = false;
  NodeLoad load;
  NodeLoad limit;  // of the gate
  Counters counters;

  // Another number whenever plans that were made before have another revision, or came out of the queue.
  std::uint64_t changes() const {
    return counters.mended + counters.together + counters.begun + counters.queued - queue;  // what left the queue was planned
  }
};

struct FileSystemReport {
  std::string name;
  std::vector<TargetReport> targets;
  std::vector<model::Oss> servers;
  std::vector<std::size_t> server_of;  // per target
};

// What telemetry says of one file system.
struct FileSystemNow {
  model::Cluster cluster;
  std::vector<OstIndex> stale = {};
  std::vector<TargetRate> rates = {};
};

template <typename T>
using Reply = std::expected<T, api::Problem>;

class Service {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Service>> start(const ServiceOptions& options, Clock& clock, Logger& log);
  ~Service();  // what is in flight is committed
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // What telemetry says now.
  void set_view(std::vector<FileSystemNow> file_systems);

  // body: the request as it came. wait: false plans nothing before the answer (a ticket, always).
  // id: of the plan; one that is pending or waits already is answered as it is. 0: a new one.
  // An answer without a plan reserves nothing and takes back what it replaces. That of a request that waited is kept for an hour.
  Reply<api::Submitted> plan(const Identity& who, const api::PlanRequest& request, std::string_view body, bool wait,
                             std::uint64_t id = 0);
  // begins: its run does now. What others move decides then whether it is answered as it was, or planned anew.
  Reply<api::Submitted> find(const Identity& who, std::string_view plan, bool begins = false);
  Reply<void> created(const Identity& who, std::string_view plan, const api::CreatedRequest& request);
  Reply<void> expire(const Identity& who, std::string_view plan);
  std::vector<api::PlanRow> plans(const Identity& who, std::string_view application);
  std::vector<PlanPointer> pulled(std::string_view database);  // pending plans that came from there
  Reply<std::vector<api::OstWeight>> weights(const std::string& file_system, std::string& name);

  std::vector<FileSystemReport> report();
  ServiceState state();
  Duration last_plan() const { return Duration(last_plan_.load()); }  // monotonic; for who asks agents for samples

 private:
  struct Batch {
    std::vector<Change> changes;
    bool done = false;
    std::optional<Error> error;
    std::condition_variable committed;  // or taken back
  };

  Service(const ServiceOptions& options, Clock& clock, Logger& log, std::unique_ptr<Ledger> ledger,
          std::unique_ptr<GlobalView> view);

  std::uint64_t new_id();
  void apply(const Change& change, bool forward);
  // Appends to the batch that is next; the changes are applied already. Releases the lock.
  std::shared_ptr<Batch> hand_over(std::unique_lock<std::mutex>& lock, std::vector<Change> changes);
  // Returns when it is committed, or taken back. REQUIRES: the caller does not hold the lock.
  std::optional<Error> wait_for(Batch& batch);
  std::optional<Error> commit(std::unique_lock<std::mutex>& lock, std::vector<Change> changes) {
    return wait_for(*hand_over(lock, std::move(changes)));
  }
  void take_back(const std::shared_ptr<Batch>& batch, const Error& error);
  void count(std::uint64_t Counters::* counter, std::uint64_t more = 1);
  // The lock is released before a plan is waited for, and held still when there is none to wait for.
  Reply<api::Submitted> plan_now(std::unique_lock<std::mutex>& lock, const std::string& user, const api::PlanRequest& request,
                                 std::uint64_t id, const QueuedPointer& queued);
  // Answers that there is no plan. changes: plans that it takes back, applied already.
  Reply<api::Submitted> no_plan(std::unique_lock<std::mutex>& lock, api::PlanAnswer answer, const api::PlanRequest& request,
                                std::vector<Change> changes, const QueuedPointer& queued);
  std::int64_t life_of(const api::PlanRequest& request) const;  // of its plan, in nanoseconds
  Reply<api::Submitted> enqueue(std::unique_lock<std::mutex>& lock, const Identity& who, std::string_view body, std::string why,
                                std::uint64_t id);
  api::Ticket ticket(std::uint64_t id) const;
  std::vector<api::OstWeight> weights_for(const StoredPlan& plan) const;  // if it wants them
  // The plan as its run is to go by it. Releases the lock.
  PlanPointer begun(std::unique_lock<std::mutex>& lock, PlanPointer plan);
  Reply<PlanPointer> owned(const Identity& who, std::string_view plan) const;
  void write();  // the committing thread
  void keep();   // the other: gate, queue, expiry, mending
  void tick();
  void mend();
  void drain();

  ServiceOptions options_;
  Clock& clock_;
  Logger& log_;
  std::unique_ptr<Ledger> ledger_;  // of the committing thread
  std::mutex mutex_;                // of what follows; taken before the other
  std::unique_ptr<GlobalView> view_;
  std::map<std::uint64_t, QueuedPointer> queue_;  // by turn
  std::unordered_map<std::uint64_t, QueuedPointer> waiting_;
  std::size_t queue_bytes_ = 0;
  std::size_t told_ = 0;  // of the queue: those that wait for nothing but to be fetched
  std::uint64_t turn_ = 0;
  std::condition_variable ended_;  // for the other thread
  bool stop_ = false;
  bool busy_ = false;
  NodeLoad load_;
  // Of its own, so that neither the committing thread nor who waits for it stands in line with those who plan.
  std::mutex batch_mutex_;
  std::shared_ptr<Batch> batch_ = std::make_shared<Batch>();
  std::condition_variable work_;  // for the committing thread
  bool writer_stop_ = false;
  Counters counters_;
  std::atomic<std::int64_t> last_plan_{-1'000'000'000'000};
  std::thread writer_;
  std::thread keeper_;
};

}  // namespace iez::coordinator
