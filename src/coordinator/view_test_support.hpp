// Clusters and requests for the tests of the coordinator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/rng.hpp"
#include "coordinator/global_view.hpp"
#include "model/cluster.hpp"

namespace iez::coordinator {

inline model::Cluster make_cluster(const std::string& name, std::uint32_t servers, std::uint32_t each, std::uint64_t bytes) {
  model::Cluster cluster{.name = name};
  for (std::uint32_t s = 0; s < servers; ++s) cluster.servers.push_back({.name = "oss" + std::to_string(s)});
  for (std::uint32_t i = 0; i < servers * each; ++i) {
    model::Ost ost{.index = {i}, .name = name + "-OST" + std::to_string(i), .oss = i / each};
    ost.total = ost.free = ost.available = Bytes{bytes};
    cluster.osts.push_back(ost);
  }
  return cluster;
}

// Of one phase. It is planned whatever Lustre's default comes to, which most tests are not about.
inline api::PlanRequest make_request(const std::string& application, std::size_t files, std::uint64_t bytes,
                                     std::int32_t stripes) {
  api::PlanRequest request{.application = application, .always = true};
  for (std::size_t i = 0; i < files; ++i) {
    request.files.push_back({.name = "/scratch/" + application + "." + std::to_string(i), .bytes = bytes});
    request.files.back().stripe_count = stripes;
  }
  return request;
}

inline api::PlanRequest random_plan_request(Rng& rng) {
  api::PlanRequest request{.application = "app" + std::to_string(rng.below(5))};
  const std::size_t files = rng.between(1, 8);
  for (std::size_t i = 0; i < files; ++i) {
    api::FileRequest file{.name = "/scratch/f" + std::to_string(i), .bytes = rng.between(1, 64) << 20U};
    if (rng.chance(0.3)) file.high = file.bytes + (rng.below(8) << 20U);
    file.stripe_count = static_cast<std::int32_t>(rng.below(6)) - 1;
    file.phase = static_cast<std::uint32_t>(rng.below(3));
    if (rng.chance(0.2)) file.read_phase = static_cast<std::int64_t>(rng.below(5));
    file.left_alone = rng.chance(0.1);
    if (rng.chance(0.2)) {
      file.name += "{rank}";
      file.files = rng.between(1, 5);
    }
    request.files.push_back(file);
  }
  request.keep_earlier = rng.chance(0.5);
  request.always = rng.chance(0.8);
  if (rng.chance(0.3)) request.phase_seconds = {2.5, 0, 1};
  return request;
}

// What the plans say, as far as they count, added up anew.
inline std::map<std::uint32_t, std::uint64_t> summed(const GlobalView& view, const std::string& file_system) {
  std::map<std::uint32_t, std::uint64_t> sums;
  for (const auto& [id, plan] : view.plans()) {
    if (plan->file_system != file_system) continue;
    for (const StoredEntry& entry : plan->entries) {
      for (std::uint32_t i = entry.created; i < entry.layouts; ++i) {
        const StoredLayout& layout = plan->layouts[entry.first + i];
        for (const std::uint32_t ost : plan->osts_of(layout)) {
          sums[ost] += layout.object_bytes / 8 * view.eighths(id) + layout.object_bytes % 8 * view.eighths(id) / 8;
        }
      }
    }
  }
  return sums;
}

}  // namespace iez::coordinator
