// What `iez lab` prints, and what its words for faults mean.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "lab/lab_control.hpp"

namespace iez::cli {

std::string lab_mount_path(const lab::Config& config, std::uint32_t client);
std::string lab_clients_text(const lab::Config& config);  // "1 client", "2 clients: 0 and 1", ...

std::string lab_status_text(const lab::Config& config, const std::vector<lab::NodeState>& states, const Terminal& terminal,
                            bool header);
std::string lab_status_json(const lab::Config& config, const std::vector<lab::NodeState>& states);
std::string lab_down_json(const lab::Config& config, const lab::Stopped& stopped);

struct LabDfRow {
  std::uint32_t ost = 0;
  std::uint32_t oss = 0;
  bool known = false;  // its server answered
  std::uint64_t total = 0;
  std::uint64_t used = 0;
  std::uint64_t objects = 0;
  std::vector<std::string> faults;
};
std::vector<LabDfRow> lab_df_rows(const lab::Config& config, const std::vector<lab::NodeState>& states);
std::string lab_df_text(const lab::Config& config, const std::vector<LabDfRow>& rows, const Terminal& terminal, bool header);
std::string lab_df_json(const lab::Config& config, const std::vector<LabDfRow>& rows);

struct LabFault {
  std::vector<std::pair<std::string, lab::FaultRequest>> requests;  // by node
  std::vector<std::string> kill;
  bool best_effort = false;
};
// kind: slow, full, off, drop, kill, none. target: ost3, oss0, mds, client0; empty: everything, for `none` only.
[[nodiscard]] Result<LabFault> lab_fault_of(const lab::Config& config, const std::string& kind, const std::string& target,
                                            std::optional<double> value);
std::string lab_fault_json(const lab::Config& config, const std::string& kind, const std::string& target,
                           std::optional<double> value);

}  // namespace iez::cli
