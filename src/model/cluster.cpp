#include "model/cluster.hpp"

#include <algorithm>

namespace iez::model {

namespace {

double share(Bytes part, Bytes whole) {
  return whole.count == 0 ? 0.0 : static_cast<double>(part.count) / static_cast<double>(whole.count);
}

void add(OssUsage& sum, const Ost& ost) {
  sum.total += ost.total;
  sum.used += used(ost);
  sum.available += ost.available;
  ++sum.osts;
}

double cost(double maximum, const OssUsage& all) {
  const double mean = share(all.used, all.total);
  return mean > 0 ? maximum / mean : 1.0;
}

}  // namespace

Bytes used(const Ost& ost) { return ost.total >= ost.free ? ost.total - ost.free : Bytes{}; }

double utilisation(const Ost& ost) { return share(used(ost), ost.total); }

bool full(const Ost& ost) { return ost.total.count > 0 && ost.available.count == 0; }

OssUsage usage(const Cluster& cluster, std::size_t oss) {
  OssUsage sum;
  for (const Ost& ost : cluster.osts) {
    if (ost.oss == oss) add(sum, ost);
  }
  return sum;
}

OssUsage usage(const Cluster& cluster) {
  OssUsage sum;
  for (const Ost& ost : cluster.osts) add(sum, ost);
  return sum;
}

double ost_cost(const Cluster& cluster) {
  double maximum = 0;
  for (const Ost& ost : cluster.osts) maximum = std::max(maximum, utilisation(ost));
  return cost(maximum, usage(cluster));
}

double oss_cost(const Cluster& cluster) {
  double maximum = 0;
  for (std::size_t i = 0; i < cluster.servers.size(); ++i) {
    const OssUsage sum = usage(cluster, i);
    maximum = std::max(maximum, share(sum.used, sum.total));
  }
  return cost(maximum, usage(cluster));
}

}  // namespace iez::model
