// `iez lab up|down|status|exec|df|fault`, and `serve`, which `up` starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "command.hpp"
#include "lab/config.hpp"

namespace iez::cli {

// Which lab: its folder, or the folder of that name below the user's state; without either $IEZ_LAB, then the name "iez".
struct LabChoice {
  std::string name;
  std::string dir;
};

// What is not given is as it was when the lab was made, or a default.
struct LabUpOptions {
  LabChoice lab;
  std::optional<std::uint32_t> oss;
  std::optional<std::uint32_t> osts;
  std::optional<std::uint32_t> clients;
  std::optional<Bytes> ost_size;
  std::optional<BytesPerSecond> rate;
  std::optional<Duration> seek;
  std::optional<std::uint32_t> threads;
  std::optional<Bytes> rpc_size;
  std::optional<std::uint32_t> rpcs;
  std::optional<Bytes> dirty;
  std::optional<std::uint16_t> stripe_count;
  std::optional<Bytes> stripe_size;
  std::optional<std::string> law;
  std::optional<Duration> goal;
  std::optional<std::string> job_variable;
  std::optional<std::uint64_t> seed;
  bool json = false;
};

struct LabDownOptions {
  LabChoice lab;
  bool json = false;
};

struct LabStatusOptions {
  LabChoice lab;
  bool json = false;
  bool no_header = false;
};

struct LabDfOptions {
  LabChoice lab;
  bool json = false;
  bool no_header = false;
};

struct LabExecOptions {
  LabChoice lab;
  std::uint32_t client = 0;
  std::vector<std::string> command;
};

struct LabFaultOptions {
  LabChoice lab;
  std::string kind;
  std::string target;
  std::optional<double> value;
  bool json = false;
};

struct LabServeOptions {
  std::string node;
  std::string dir;
};

// Errc::not_found: there is no such lab.
[[nodiscard]] Result<lab::Config> lab_config(const LabChoice& choice);
// Those in the folder where labs are without --dir, ascending.
std::vector<std::string> lab_names();

[[nodiscard]] Result<void> run_lab_up(const LabUpOptions& options, Context& context);
[[nodiscard]] Result<void> run_lab_down(const LabDownOptions& options, Context& context);
[[nodiscard]] Result<void> run_lab_status(const LabStatusOptions& options, Context& context);
[[nodiscard]] Result<void> run_lab_df(const LabDfOptions& options, Context& context);
// Becomes the command; returns only if that fails.
[[nodiscard]] Result<void> run_lab_exec(const LabExecOptions& options, Context& context);
[[nodiscard]] Result<void> run_lab_fault(const LabFaultOptions& options, Context& context);
[[nodiscard]] Result<void> run_lab_serve(const LabServeOptions& options, Context& context);

}  // namespace iez::cli
