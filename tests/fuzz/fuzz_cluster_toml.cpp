// A cluster in TOML from anywhere: what is accepted is a sound cluster, and survives being written and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "config/cluster_toml.hpp"
#include "config/words.hpp"

namespace {

using iez::model::Cluster;
using iez::model::Ost;
using iez::model::Pool;

bool is_share(const std::optional<double>& value) { return !value || (*value >= 0 && *value <= 1); }

void check(const Cluster& cluster) {
  IEZ_ASSERT(!cluster.servers.empty() && cluster.servers.size() <= iez::config::kMaxServers);
  IEZ_ASSERT(!cluster.osts.empty() && cluster.osts.size() <= iez::config::kMaxOsts);
  for (const auto& server : cluster.servers) {
    IEZ_ASSERT(!server.name.empty() && server.name.size() <= iez::config::kMaxNameLength);
    IEZ_ASSERT(is_share(server.cpu) && is_share(server.memory));
    IEZ_ASSERT(!server.bandwidth || server.bandwidth->value > 0);
  }
  IEZ_ASSERT(std::ranges::adjacent_find(cluster.osts, std::ranges::greater_equal{}, &Ost::index) == cluster.osts.end());
  for (const Ost& ost : cluster.osts) {
    IEZ_ASSERT(ost.oss < cluster.servers.size());
    IEZ_ASSERT(ost.free <= ost.total && ost.available <= ost.total && ost.total.count <= iez::config::kMaxSize);
  }
  IEZ_ASSERT(std::ranges::adjacent_find(cluster.pools, std::ranges::greater_equal{}, &Pool::name) == cluster.pools.end());
  for (const Pool& pool : cluster.pools) {
    IEZ_ASSERT(iez::config::valid_pool_name(pool.name));
    IEZ_ASSERT(std::ranges::adjacent_find(pool.osts, std::ranges::greater_equal{}) == pool.osts.end());
    IEZ_ASSERT(std::ranges::includes(cluster.osts, pool.osts, {}, &Ost::index));
  }
}

void check_same(const Cluster& a, const Cluster& b) {
  IEZ_ASSERT(a.name == b.name);
  IEZ_ASSERT(std::ranges::equal(a.servers, b.servers, [](const auto& x, const auto& y) {
    return x.name == y.name && x.cpu == y.cpu && x.memory == y.memory && x.load_1min == y.load_1min && x.cores == y.cores &&
           x.bandwidth == y.bandwidth;
  }));
  IEZ_ASSERT(std::ranges::equal(a.osts, b.osts, [](const Ost& x, const Ost& y) {
    return x.index == y.index && x.name == y.name && x.oss == y.oss && x.total == y.total && x.free == y.free &&
           x.available == y.available && x.state == y.state;
  }));
  IEZ_ASSERT(
      std::ranges::equal(a.pools, b.pools, [](const Pool& x, const Pool& y) { return x.name == y.name && x.osts == y.osts; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto cluster = iez::config::parse_cluster({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!cluster) {
    IEZ_ASSERT(cluster.error().message.starts_with("fuzz:"));
    return 0;
  }
  check(*cluster);
  if (cluster->osts.size() > 1000 || cluster->servers.size() > 1000) return 0;  // writing and reading them takes long
  const auto again = iez::config::parse_cluster(iez::config::to_toml(*cluster), "written");
  IEZ_ASSERT(again.has_value());
  check_same(*cluster, *again);
  return 0;
}
