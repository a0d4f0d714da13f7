// Prints how unbalanced two storage targets of the given size are when one is half full and the other is empty.
#include <cstdint>
#include <iostream>

#include "base/units.hpp"
#include "model/cluster.hpp"

int main(int argc, char** argv) {
  const iez::Result<iez::Bytes> size = iez::parse_bytes(argc > 1 ? argv[1] : "1 GiB");
  if (!size) {
    std::cerr << size.error().message << '\n';
    return 1;
  }
  iez::model::Cluster cluster;
  cluster.servers.resize(1);
  for (std::uint32_t i = 0; i < 2; ++i) {
    iez::model::Ost ost;
    ost.index = iez::OstIndex{i};
    ost.total = *size;
    ost.free = i == 0 ? iez::Bytes{size->count / 2} : *size;
    cluster.osts.push_back(ost);
  }
  std::cout << iez::to_string(*size) << ": cost " << iez::model::ost_cost(cluster) << '\n';
  return 0;
}
