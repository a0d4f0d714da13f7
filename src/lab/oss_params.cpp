// The parameter tree of an OSS, with names and texts as Lustre 2.17 has them.
#include <fmt/format.h>

#include <algorithm>

#include "lab/oss.hpp"

namespace iez::lab {

void Oss::write_params(Ost& ost) {
  bool is_written = true;
  const auto put = [&](const std::string& path, const std::string& text) {
    const Result<void> result = params_.put(path, text);
    if (!result && is_written) log_.warning(result.error().message);  // one of them is enough
    is_written = is_written && result.has_value();
  };
  const WallTime now = clock_.wall();
  put("sys/fs/lustre/version", "2.17.0\n");
  put("sys/fs/lustre/health_check", "healthy\n");
  put("proc/sys/kernel/hostname", node_ + "\n");

  const auto exports = std::ranges::count_if(
      clients_, [](const auto& client) { return !client.second->is_anonymous && client.second->connection != 0; });
  const std::string home = "sys/fs/lustre/obdfilter/" + ost.name;
  const std::uint64_t total = ost.store.capacity().count;
  const std::uint64_t free = ost.is_full ? 0 : ost.store.free().count;
  put(home + "/kbytestotal", fmt::format("{}\n", total / 1024));
  put(home + "/kbytesfree", fmt::format("{}\n", free / 1024));
  put(home + "/kbytesavail", fmt::format("{}\n", free / 1024));
  // An object that holds anything takes a block, so this many more fit for sure.
  put(home + "/filestotal", fmt::format("{}\n", ost.store.objects() + free / ObjectStore::kBlock));
  put(home + "/filesfree", fmt::format("{}\n", free / ObjectStore::kBlock));
  put(home + "/num_exports", fmt::format("{}\n", exports));
  put(home + "/degraded", "0\n");
  put(home + "/readonly", "0\n");
  put(home + "/no_create", ost.is_off ? "1\n" : "0\n");

  ost.jobs.forget_idle(now);
  put("proc/fs/lustre/obdfilter/" + ost.name + "/job_stats", ost.jobs.text());
  // These texts have the time in them, which is no reason to write them again.
  const std::string tables = "sys/kernel/debug/lustre/obdfilter/" + ost.name;
  if (ost.shown != WallTime{} && ost.counters.last() <= ost.shown) return;
  put(tables + "/stats", ost.counters.stats_text(started_, now));
  for (const auto& [client, counters] : ost.exports) {
    if (counters.last() <= ost.shown) continue;
    put(fmt::format("{}/exports/{}@lab/stats", tables, client), counters.stats_text(counters.start(), now));
  }
  ost.shown = now;
}

}  // namespace iez::lab
