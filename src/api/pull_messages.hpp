// What the coordinator and an interaction database say to each other where the coordinator pulls: plain values.
// docs/database.openapi.json tells their JSON; pull_json.hpp makes it.
//
// Thread safety: plain values. Units: bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/plan_messages.hpp"

namespace iez::api {

inline constexpr std::size_t kMaxKey = 64;                           // bytes of a prediction's key
inline constexpr std::size_t kMaxPageItems = 1000;                   // of one page
inline constexpr std::size_t kPageBytes = 4UL << 20U;                // a page ends behind the item that reaches it
inline constexpr std::size_t kMaxPageBytes = (20UL << 20U) + 65536;  // kPageBytes and one request of the largest size

// A prediction without an allocation, whose planning is left to the coordinator.
struct OfferedPrediction {
  std::string key;           // by which it is known outside: 32 hexadecimal digits
  std::uint64_t number = 0;  // in its database
  std::string owner;         // whose application it is
  PlanRequest request;

  friend bool operator==(const OfferedPrediction&, const OfferedPrediction&) = default;
};

struct PredictionPage {
  std::uint64_t revision = 0;  // of the database when the page was made
  std::vector<OfferedPrediction> predictions;
  std::uint64_t next = 0;  // ask on with after=next; 0: this was the last page

  friend bool operator==(const PredictionPage&, const PredictionPage&) = default;
};

// The plan of a prediction, sent back; or an answer without a plan, whose verdict is kept in its place.
struct PostedAllocation {
  std::string prediction;  // its key; empty: that of the plan, which was sent before, and there is one
  std::string planner;     // who planned: the coordinator's address
  PlanAnswer answer;

  friend bool operator==(const PostedAllocation&, const PostedAllocation&) = default;
};

// What became of a plan: the newest one of each application.
struct AllocationHead {
  std::string plan;
  std::uint64_t number = 0;
  std::uint64_t revision = 0;  // of the plan, as it was sent
  std::uint64_t planned = 0;   // rows in this state
  std::uint64_t created = 0;
  std::uint64_t expired = 0;

  friend bool operator==(const AllocationHead&, const AllocationHead&) = default;
};

struct AllocationPage {
  std::uint64_t revision = 0;
  std::vector<AllocationHead> allocations;
  std::uint64_t next = 0;

  friend bool operator==(const AllocationPage&, const AllocationPage&) = default;
};

// Entries of the request whose files exist by now: runs of them as first and count, ascending.
struct AllocationStates {
  std::string plan;
  std::uint64_t planned = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> created;

  friend bool operator==(const AllocationStates&, const AllocationStates&) = default;
};

}  // namespace iez::api
