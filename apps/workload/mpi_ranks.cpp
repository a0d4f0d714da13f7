#include "mpi_ranks.hpp"

#include <mpi.h>

namespace iez::workload {

MpiRanks::MpiRanks() {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rank_ = static_cast<std::uint32_t>(rank);
  size_ = static_cast<std::uint32_t>(size);
}

// Errors of communication end the program: that is MPI's default, and left so.
Result<void> MpiRanks::barrier() {
  MPI_Barrier(MPI_COMM_WORLD);
  return {};
}

Result<std::vector<double>> MpiRanks::gather(std::span<const double> values) {
  std::vector<double> all(rank_ == 0 ? values.size() * size_ : 0);
  const int count = static_cast<int>(values.size());
  MPI_Gather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

}  // namespace iez::workload
