#include "sim_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/simulation.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kAhead = 4;  // runs for each thread that may be done before an earlier one is
constexpr auto kBetween = std::chrono::milliseconds(200);

// What a thread is at; written by it, read by the one that shows progress.
struct Slot {
  std::atomic<double> share = 0;
  std::atomic<Duration::rep> now = 0;
};

class Pool {
 public:
  Pool(std::span<const sim::Scenario> scenarios, unsigned threads)
      : scenarios_(scenarios), slots_(std::min<std::size_t>(threads, scenarios.size())) {
    threads_.reserve(slots_.size());
    try {
      for (Slot& slot : slots_) threads_.emplace_back([this, &slot] { work(slot); });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;  // else those that could be had do the work
    }
  }

  ~Pool() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // The answer of the next scenario in order.
  Result<sim::RunResult> next(Progress& progress) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kBetween, [this] { return done_.contains(taken_); })) progress.tell(state());
    Result<sim::RunResult> result = std::move(done_.extract(taken_).mapped());
    ++taken_;
    progress.tell(state());
    changed_.notify_all();
    return result;
  }

 private:
  void work(Slot& slot) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock,
                    [this] { return stop_ || started_ == scenarios_.size() || started_ < taken_ + kAhead * slots_.size(); });
      if (stop_ || started_ == scenarios_.size()) return;
      const std::size_t mine = started_++;
      lock.unlock();
      Result<sim::RunResult> result = guarded(mine, slot);
      lock.lock();
      slot.share = 0;
      done_.emplace(mine, std::move(result));
      ++finished_;
      changed_.notify_all();
    }
  }

  // The edge of the thread: what a library throws, such as for want of memory, ends here.
  Result<sim::RunResult> guarded(std::size_t mine, Slot& slot) const {
    try {
      return sim::simulate(scenarios_[mine], [&slot](Duration now, double share) {
        slot.share = share;
        slot.now = now.count();
      });
    } catch (const std::exception& problem) {
      return fail(Errc::limit, fmt::format("scenario '{}': {}", scenarios_[mine].name, problem.what()));
    }
  }

  std::string state() const {
    double share = static_cast<double>(finished_);
    Duration::rep now = 0;
    for (const Slot& slot : slots_) {
      share += slot.share;
      now = std::max(now, slot.now.load());
    }
    std::string text = fmt::format("simulating: {:.0f} %, {} of simulated time",
                                   100 * share / static_cast<double>(scenarios_.size()), to_string(Duration(now)));
    if (scenarios_.size() > 1) text += fmt::format(", {} of {} runs done", finished_, scenarios_.size());
    return text;
  }

  std::span<const sim::Scenario> scenarios_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Under mutex_:
  std::map<std::size_t, Result<sim::RunResult>> done_;  // and not yet taken
  std::size_t started_ = 0;
  std::size_t finished_ = 0;
  std::size_t taken_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

Result<void> simulate_all(std::span<const sim::Scenario> scenarios, unsigned threads, Progress& progress, const TakeRun& take) {
  if (scenarios.empty()) return {};
  Pool pool(scenarios, threads);
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    IEZ_TRY(sim::RunResult result, pool.next(progress));
    IEZ_CHECK(take(i, std::move(result)));
  }
  progress.wipe();
  return {};
}

}  // namespace iez::cli
