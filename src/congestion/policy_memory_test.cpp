// Policies keep tables of clients and jobs, and nothing else: once all have been seen, no call takes memory.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <new>
#include <vector>

#include "base/rng.hpp"
#include "congestion/fixed_policy.hpp"
#include "congestion/latency_goal.hpp"
#include "congestion/rcc_policy.hpp"

namespace {
std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace iez::congestion {
namespace {

constexpr std::uint32_t kClients = 100;
constexpr std::uint32_t kJobs = 7;

void expect_bounded(CreditPolicy& policy) {
  constexpr std::uint64_t kSeed = 17;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  Duration now{};
  std::vector<std::uint32_t> pending(kClients);
  std::uint64_t before = 0;
  for (int i = 0; i < 200000; ++i) {
    if (i == 50000) before = allocations;
    now += std::chrono::microseconds(rng.below(8000));
    const auto client = static_cast<std::uint32_t>(rng.below(kClients));
    const Request request{.client = client, .job = static_cast<std::uint32_t>(rng.below(kJobs))};
    if (rng.chance(0.01)) policy.ping(now, client);
    if (pending[client] < 20 && rng.chance(0.5)) {
      policy.arrive(now, request);
      ++pending[client];
    } else {  // perhaps of nothing
      (void)policy.finish(now, {.request = request, .arrived = now, .wanted = static_cast<unsigned>(rng.below(40))});
      if (pending[client] > 0) --pending[client];
    }
  }
  EXPECT_GT(before, 0U);
  EXPECT_EQ(allocations - before, 0U);
  std::uint64_t depth = 0;
  for (const std::uint32_t p : pending) depth += p;
  EXPECT_EQ(policy.view().depth, depth);
}

TEST(PolicyMemory, IsBoundedByClientsAndJobs) {
  FixedPolicy fixed(8);
  expect_bounded(fixed);
  RccPolicy rcc({});
  expect_bounded(rcc);
  LatencyGoalPolicy goal({.goal = std::chrono::seconds(2)});
  expect_bounded(goal);
}

}  // namespace
}  // namespace iez::congestion
