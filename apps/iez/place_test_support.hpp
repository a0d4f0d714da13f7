// A small cluster for the tests of `iez place`: four OSTs of 100 MiB on two servers, a pool of the first two.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "place_view.hpp"
#include "placement/plan.hpp"

namespace iez::cli {

inline model::Cluster small_cluster() {
  model::Cluster cluster{.name = "small", .servers = {{.name = "oss0"}, {.name = "oss1"}}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    cluster.osts.push_back({.index = {i},
                            .name = "small-OST000" + std::to_string(i),
                            .oss = i / 2,
                            .total = Bytes::mib(100),
                            .free = Bytes::mib(100),
                            .available = Bytes::mib(100)});
  }
  cluster.pools.push_back({.name = "flash", .osts = {{0}, {1}}});
  return cluster;
}

inline placement::TargetTable small_table(const model::Cluster& cluster = small_cluster()) {
  auto table = placement::make_targets(cluster, {});
  EXPECT_TRUE(table.has_value());
  return *std::move(table);
}

inline placement::Request small_request(std::string name, Bytes bytes, std::int32_t stripes) {
  return {.name = std::move(name), .bytes = bytes, .stripe_count = stripes};
}

// Gives the first targets of the table to every file, in order: plans that can be told by heart.
class FirstTargets final : public placement::Policy {
 public:
  std::string_view name() const override { return "first"; }

  Result<placement::Assignment> assign(const placement::TargetTable& table, std::span<const placement::Demand> demands) override {
    placement::Assignment assignment{.offsets = {0}};
    for (const placement::Demand& demand : demands) {
      for (std::uint32_t i = 0; i < demand.count; ++i) {
        assignment.targets.push_back(static_cast<std::uint32_t>(i % table.targets.size()));
      }
      assignment.offsets.push_back(assignment.targets.size());
    }
    return assignment;
  }
};

inline placement::Plan first_plan(const placement::TargetTable& table, const std::vector<placement::Request>& requests) {
  FirstTargets policy;
  auto plan = placement::plan_files(table, requests, policy);
  EXPECT_TRUE(plan.has_value());
  return *std::move(plan);
}

}  // namespace iez::cli
