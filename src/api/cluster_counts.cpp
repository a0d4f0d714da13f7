#include "api/cluster_counts.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "api/json_cursor.hpp"

namespace iez::api {

namespace {

constexpr std::size_t kMaxKey = 255;
constexpr std::string_view kUsable = "usable";
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

void count_ost(JsonCursor& json, ClusterCounts& counts) {
  ++counts.osts;
  bool stale = false;
  UnusableOst ost;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "stale") {
      stale = json.flag();
    } else if (key == "name") {
      ost.name = json.text(kMaxKey);
    } else if (key == "state") {
      ost.state = json.text(kMaxKey);
    } else if (key == "reserved") {
      counts.reserved = Bytes{saturating_add(counts.reserved.count, json.whole(kMost))};
    } else {
      json.skip();
    }
  }
  counts.stale += stale ? 1U : 0U;
  if (!stale && !ost.state.empty() && ost.state != kUsable) counts.unusable.push_back(std::move(ost));
}

// Goes over the objects of the list `name` of an object, whose other members do not matter.
template <typename Take>
void each_of(JsonCursor& json, std::string_view name, Take take) {
  bool there = false;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key != name) {
      json.skip();
      continue;
    }
    there = true;
    for (json.enter_array(); json.next_item();) take();
  }
  if (!there) json.refuse(fmt::format("there are no '{}' in it", name));
}

std::string state_of_agent(JsonCursor& json) {
  std::string state;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "state") {
      state = json.text(kMaxKey);
    } else {
      json.skip();
    }
  }
  if (state.empty()) json.refuse("an agent without a state");
  return state;
}

}  // namespace

Result<ClusterCounts> count_cluster(std::string_view text) {
  ClusterCounts counts;
  JsonCursor json(text);
  each_of(json, "file_systems", [&] { each_of(json, "osts", [&] { count_ost(json, counts); }); });
  IEZ_CHECK(json.finish());
  return counts;
}

Result<std::map<std::string, std::size_t>> count_agents(std::string_view text) {
  std::map<std::string, std::size_t> counts;
  JsonCursor json(text);
  each_of(json, "agents", [&] {
    const std::string state = state_of_agent(json);
    if (!json.failed()) ++counts[state];
  });
  IEZ_CHECK(json.finish());
  return counts;
}

}  // namespace iez::api
