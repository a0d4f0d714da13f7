#include "api/cluster_counts.hpp"

#include <limits>
#include <utility>

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

void count_file_system(JsonCursor& json, ClusterCounts& counts) {
  bool there = false;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key != "osts") {
      json.skip();
      continue;
    }
    there = true;
    for (json.enter_array(); json.next_item();) count_ost(json, counts);
  }
  if (!there) json.refuse("there are no 'osts' in it");
}

}  // namespace

Result<ClusterCounts> count_cluster(std::string_view text) {
  ClusterCounts counts;
  JsonCursor json(text);
  bool there = false;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key != "file_systems") {
      json.skip();
      continue;
    }
    there = true;
    for (json.enter_array(); json.next_item();) count_file_system(json, counts);
  }
  if (!there) json.refuse("there are no 'file_systems' in it");
  IEZ_CHECK(json.finish());
  return counts;
}

Result<std::map<std::string, std::size_t>> count_agents(std::string_view text) {
  std::map<std::string, std::size_t> counts;
  JsonCursor json(text);
  bool there = false;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key != "agents") {
      json.skip();
      continue;
    }
    there = true;
    for (json.enter_array(); json.next_item();) {
      std::string state;
      for (json.enter_object(); json.next_key(key);) {
        if (key == "state") {
          state = json.text(kMaxKey);
        } else {
          json.skip();
        }
      }
      if (state.empty()) json.refuse("an agent without a state");
      if (!json.failed()) ++counts[state];
    }
  }
  if (!there) json.refuse("there are no 'agents' in it");
  IEZ_CHECK(json.finish());
  return counts;
}

}  // namespace iez::api
