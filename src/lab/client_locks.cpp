#include "lab/client_locks.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.hpp"

namespace iez::lab {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kDroppers = 16;  // each may wait for a page

struct Range {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

bool overlap(std::uint64_t a_start, std::uint64_t a_end, std::uint64_t b_start, std::uint64_t b_end) {
  return a_start < b_end && b_start < a_end;
}

}  // namespace

struct ClientLocks::State {
  using Key = std::pair<std::uint32_t, std::uint64_t>;

  struct Lock {
    std::uint64_t id = 0;
    LockMode mode = LockMode::read;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    unsigned users = 0;
    bool leaving = false;  // no new users
    bool queued = false;   // for the droppers
  };
  struct Unlocked {
    std::uint64_t when = 0;  // on the clock of `events`
    LockMode mode = LockMode::read;
    Range range;
  };
  struct Object {
    std::vector<Lock> locks;
    std::size_t waiting = 0;         // operations that wait for a lock
    std::vector<Unlocked> unlocked;  // while they wait, and not answered yet
  };
  struct Job {
    ObjectName name;
    std::uint64_t lock = 0;  // 0: only pages
    Range range;
    Duration since{};
  };
  struct Running {
    Job job;
    Duration since{};
    bool given_back = false;
  };

  explicit State(Hooks given) : hooks(std::move(given)) {
    for (std::size_t i = 0; i < kDroppers; ++i) {
      threads.emplace_back([this] { drop_pages(); });
    }
    threads.emplace_back([this] { free_the_stuck(); });
  }

  void end() {
    {
      const std::scoped_lock lock(mutex);
      stop = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }

  static Key key(const ObjectName& name) { return {name.ost, name.object}; }

  // ---- Under the mutex ----

  static Lock* find(Object& object, std::uint64_t id) {
    const auto found = std::ranges::find_if(object.locks, [id](const Lock& lock) { return lock.id == id; });
    return found == object.locks.end() ? nullptr : &*found;
  }

  static Lock* match(Object& object, const Want& want) {
    const auto found = std::ranges::find_if(object.locks, [&want](const Lock& lock) {
      return lock.start <= want.start && lock.end >= want.end && (want.mode == LockMode::read || lock.mode == LockMode::write) &&
             (!lock.leaving || want.page_out);
    });
    return found == object.locks.end() ? nullptr : &*found;
  }

  void queue_if_free(const ObjectName& name, Lock& lock) {
    if (!lock.leaving || lock.users != 0 || lock.queued) return;
    lock.queued = true;
    jobs.push_back({.name = name, .lock = lock.id, .range = {.start = lock.start, .end = lock.end}, .since = clock.monotonic()});
    changed.notify_all();
  }

  void leave(const ObjectName& name, Object& object, std::uint64_t start, std::uint64_t end) {
    for (Lock& lock : object.locks) {
      if (overlap(lock.start, lock.end, start, end)) lock.leaving = true;
      queue_if_free(name, lock);
    }
  }

  void unlock(const ObjectName& name, Object& object, LockMode mode, Range range) {
    const std::uint64_t when = ++events;
    if (object.waiting != 0) object.unlocked.push_back({.when = when, .mode = mode, .range = range});
    hooks.unlock({.name = name, .mode = mode, .start = range.start, .end = range.end},
                 [this, which = key(name), when](const Reply& reply) {
                   if (reply.error != 0) return;
                   const std::scoped_lock lock(mutex);
                   const auto found = objects.find(which);
                   if (found == objects.end()) return;
                   std::erase_if(found->second.unlocked, [when](const Unlocked& done) { return done.when == when; });
                 });
  }

  // unlock takes everything of its mode in its range: what other locks cover stays with them.
  void unlock_but_others(const ObjectName& name, Object& object, LockMode mode, Range range) {
    std::vector<Range> rest{range};
    for (const Lock& other : object.locks) {
      if (other.mode == mode) rest = without(rest, other);
    }
    for (const Range& part : rest) unlock(name, object, mode, part);
  }

  static std::vector<Range> without(const std::vector<Range>& ranges, const Lock& lock) {
    std::vector<Range> rest;
    for (const Range& range : ranges) {
      if (!overlap(range.start, range.end, lock.start, lock.end)) {
        rest.push_back(range);
        continue;
      }
      if (range.start < lock.start) rest.push_back({.start = range.start, .end = lock.start});
      if (range.end > lock.end) rest.push_back({.start = lock.end, .end = range.end});
    }
    return rest;
  }

  void give_back(const ObjectName& name, std::uint64_t id) {
    const auto object = objects.find(key(name));
    if (object == objects.end()) return;
    const Lock* const found = find(object->second, id);
    if (found == nullptr) return;
    const Lock lock = *found;
    std::erase_if(object->second.locks, [id](const Lock& other) { return other.id == id; });
    unlock_but_others(name, object->second, lock.mode, {.start = lock.start, .end = lock.end});
    forget_if_empty(object->first);
  }

  void forget_if_empty(const Key& which) {
    const auto object = objects.find(which);
    if (object == objects.end()) return;
    if (object->second.waiting == 0) object->second.unlocked.clear();
    if (object->second.waiting == 0 && object->second.locks.empty()) objects.erase(object);
  }

  // ---- Own threads ----

  void drop_pages() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return stop || !jobs.empty(); });
      if (stop) return;
      const Job job = jobs.front();
      jobs.pop_front();
      const std::uint64_t number = ++events;
      running[number] = {.job = job, .since = clock.monotonic()};
      changed.notify_all();  // for the one that looks for the stuck
      lock.unlock();
      hooks.drop_pages(job.name, job.range.start, job.range.end);
      lock.lock();
      const bool given_back = running[number].given_back;
      running.erase(number);
      if (job.lock != 0 && !given_back) give_back(job.name, job.lock);
    }
  }

  void free_the_stuck() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return stop || !running.empty() || !jobs.empty(); });
      if (stop) return;
      changed.wait_for(lock, kStuckAfter / 2, [this] { return stop; });
      if (waiting == 0) continue;
      const Duration now = clock.monotonic();
      for (auto& [number, run] : running) {
        if (run.given_back || run.job.lock == 0 || now - run.since < kStuckAfter) continue;
        run.given_back = true;
        give_back(run.job.name, run.job.lock);
      }
      // Behind those that are stuck. Their pages go when there is somebody to drop them.
      for (Job& job : jobs) {
        if (job.lock == 0 || now - job.since < kStuckAfter) continue;
        give_back(job.name, std::exchange(job.lock, 0));
      }
    }
  }

  const Hooks hooks;
  const SystemClock clock;
  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  std::map<Key, Object> objects;
  std::deque<Job> jobs;
  std::map<std::uint64_t, Running> running;
  std::size_t waiting = 0;  // of all objects
  std::uint64_t events = 0;
  std::vector<std::thread> threads;
};

ClientLocks::ClientLocks(Hooks hooks) : state_(std::make_unique<State>(std::move(hooks))) {}
ClientLocks::~ClientLocks() { stop(); }

void ClientLocks::stop() { state_->end(); }

ClientLocks::Hold ClientLocks::acquire(const Want& want, const Channel::Interrupted& interrupted) {
  State& state = *state_;
  const State::Key key = State::key(want.name);
  Hold hold{.name = want.name, .start = want.start, .end = want.end};
  std::unique_lock lock(state.mutex);
  while (true) {
    State::Object& object = state.objects[key];
    if (State::Lock* const found = State::match(object, want)) {
      ++found->users;
      hold.id = found->id;
      return hold;
    }
    hold.waited = true;
    ++object.waiting;
    ++state.waiting;
    const std::uint64_t asked = ++state.events;
    // In the channel's thread, so that a revocation that follows finds the lock. Its first user is this operation.
    const auto granted = std::make_shared<std::uint64_t>(0);
    const Channel::Call call = state.hooks.ask(
        {.name = want.name, .mode = want.mode, .start = want.start, .end = want.end},
        [&state, key, name = want.name, asked, granted](Reply& answer) {
          const auto lock_given = answer.as<LockRequest>();
          if (!lock_given) return;
          const std::scoped_lock guard(state.mutex);
          State::Object& to = state.objects[key];
          const bool cut = std::ranges::any_of(to.unlocked, [&](const State::Unlocked& unlocked) {
            return unlocked.when > asked && unlocked.mode == lock_given->mode &&
                   overlap(unlocked.range.start, unlocked.range.end, lock_given->start, lock_given->end);
          });
          if (cut) {
            state.unlock_but_others(name, to, lock_given->mode, {.start = lock_given->start, .end = lock_given->end});
            return;
          }
          std::erase_if(to.locks, [&](const State::Lock& old) {
            return old.users == 0 && !old.leaving && old.start >= lock_given->start && old.end <= lock_given->end &&
                   (old.mode == LockMode::read || lock_given->mode == LockMode::write);
          });
          *granted = ++state.events;
          to.locks.push_back(
              {.id = *granted, .mode = lock_given->mode, .start = lock_given->start, .end = lock_given->end, .users = 1});
        });
    lock.unlock();
    const Reply answer = state.hooks.wait(want.name, call, interrupted);
    lock.lock();
    State::Object& after = state.objects[key];
    --after.waiting;
    --state.waiting;
    if (after.waiting == 0) after.unlocked.clear();
    if (answer.error != 0) {
      hold.error = answer.error;
      state.forget_if_empty(key);
      return hold;
    }
    if (*granted != 0) {
      hold.id = *granted;
      return hold;
    }
  }
}

bool ClientLocks::release(const Hold& hold) {
  if (hold.error != 0) return true;
  const std::scoped_lock lock(state_->mutex);
  const auto object = state_->objects.find(State::key(hold.name));
  if (object == state_->objects.end()) return false;
  State::Lock* const found = State::find(object->second, hold.id);
  if (found == nullptr) return false;
  --found->users;
  state_->queue_if_free(hold.name, *found);
  return true;
}

void ClientLocks::revoked(const LockRequest& request) {
  const std::scoped_lock lock(state_->mutex);
  const auto object = state_->objects.find(State::key(request.name));
  const bool any =
      object != state_->objects.end() && std::ranges::any_of(object->second.locks, [&request](const State::Lock& held) {
        return overlap(held.start, held.end, request.start, request.end);
      });
  if (any) {
    state_->leave(request.name, object->second, request.start, request.end);
  } else if (object != state_->objects.end()) {
    state_->unlock(request.name, object->second, request.mode, {.start = request.start, .end = request.end});
  } else {
    state_->hooks.unlock(request, {});  // of an operation that was given up
  }
}

void ClientLocks::lost(std::uint32_t first_ost, std::uint32_t count) {
  const std::scoped_lock lock(state_->mutex);
  std::vector<State::Key> keys;
  for (auto& [key, object] : state_->objects) {
    if (key.first < first_ost || key.first - first_ost >= count || object.locks.empty()) continue;
    const ObjectName name{.ost = key.first, .object = key.second};
    object.locks.clear();
    for (const LockMode mode : {LockMode::read, LockMode::write}) state_->unlock(name, object, mode, {.start = 0, .end = kEnd});
    state_->jobs.push_back({.name = name, .range = {.start = 0, .end = kEnd}});
    keys.push_back(key);
  }
  for (const State::Key& key : keys) state_->forget_if_empty(key);
  state_->changed.notify_all();
}

void ClientLocks::give_back(const ObjectName& name) {
  const std::scoped_lock lock(state_->mutex);
  const auto object = state_->objects.find(State::key(name));
  if (object != state_->objects.end()) state_->leave(name, object->second, 0, kEnd);
}

std::size_t ClientLocks::held() const {
  const std::scoped_lock lock(state_->mutex);
  std::size_t count = 0;
  for (const auto& [key, object] : state_->objects) count += object.locks.size();
  return count;
}

}  // namespace iez::lab
