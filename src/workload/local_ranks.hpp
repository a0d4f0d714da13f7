// Processes on this machine that meet through their parent: no launcher and no MPI.
//
// The parent starts one program per rank, with a socket and its rank in the environment, and answers each meeting when all have
// come. When a process fails or dies the others are ended, and the parent says why. When the parent dies the kernel ends the
// rest.
//
// Each process also finds its rank in PMI_RANK and PMI_SIZE, as an MPI launcher would tell it: tracers know these.
//
// Thread safety: none.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "workload/run.hpp"

namespace iez::workload {

// Starts `ranks` times the command and serves them until all have ended. REQUIRES: the command calls LocalRanks::join().
[[nodiscard]] Result<void> start_local_ranks(const std::vector<std::string>& command, std::uint32_t ranks);

class LocalRanks final : public Ranks {
 public:
  // Fails where no parent of the kind above has started this process.
  [[nodiscard]] static Result<std::unique_ptr<LocalRanks>> join();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;
  ~LocalRanks() override;

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] Result<void> barrier() override;
  [[nodiscard]] Result<std::vector<double>> gather(std::span<const double> values) override;
  // Tells the parent why this process gives up.
  void give_up(const std::string& why) const;

 private:
  LocalRanks(int fd, std::uint32_t rank) : fd_(fd), rank_(rank) {}
  int fd_;
  std::uint32_t rank_;
};

}  // namespace iez::workload
