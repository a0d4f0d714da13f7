// The processes of MPI_COMM_WORLD.
#pragma once

#include "workload/run.hpp"

namespace iez::workload {

// REQUIRES: MPI is initialised.
class MpiRanks final : public Ranks {
 public:
  MpiRanks();
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] Result<void> barrier() override;
  [[nodiscard]] Result<std::vector<double>> gather(std::span<const double> values) override;

 private:
  std::uint32_t rank_;
  std::uint32_t size_;
};

}  // namespace iez::workload
