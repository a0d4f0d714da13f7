// What `iez demo` plays on: a lab with two mounts, a coordinator with its agents, and a guardian. The guardian is a process of
// its own that takes everything down when the demo ends, however it ends: a signal, a crash, kill -9.
//
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "demo_cases.hpp"
#include "input/byte_stream.hpp"

namespace iez::cli {

inline constexpr std::uint32_t kDemoServers = 3;
inline constexpr std::uint32_t kDemoOstsPerServer = 5;
inline constexpr std::uint32_t kDemoClients = 2;

struct DemoStageOptions {
  bool coordinator = true;  // false: each run plans by itself
  BytesPerSecond ost_rate = kDemoOstRate;
};

class DemoStage {
 public:
  // What is said while one waits; often.
  using Tell = std::function<void()>;

  [[nodiscard]] static Result<DemoStage> set_up(const DemoStageOptions& options);
  DemoStage(DemoStage&& other) noexcept;
  DemoStage& operator=(DemoStage&&) = delete;
  DemoStage(const DemoStage&) = delete;
  DemoStage& operator=(const DemoStage&) = delete;
  ~DemoStage();  // returns when nothing is left

  // A folder whose files get so many stripes, if nobody says otherwise; 0: it has no layout of its own. Its path.
  [[nodiscard]] Result<std::string> folder(std::uint32_t client, const std::string& name, std::uint16_t stripe_count) const;

  struct Command {
    std::uint32_t client = 0;
    std::vector<std::string> words;  // behind the name of this program
  };
  // Runs them at once; what each prints on stdout, and in `talk` what each says on stderr.
  struct Output {
    std::string data;
    std::string talk;
  };
  [[nodiscard]] Result<std::vector<Output>> run(const std::vector<Command>& commands, const Tell& tell) const;

  // Bytes in use on each OST.
  [[nodiscard]] Result<std::vector<std::uint64_t>> used() const;
  // Removes the files below a folder of this name.
  [[nodiscard]] Result<void> clear(std::uint32_t client, const std::string& name) const;
  // Until the OSTs are empty again.
  [[nodiscard]] Result<void> wait_until_empty(const Tell& tell) const;
  // Until all who make plans know it, too: the nodes, and the coordinator from its agents.
  [[nodiscard]] Result<void> wait_until_known_empty(const Tell& tell) const;

  // A file of their own for the applications of one pass, outside the lab.
  [[nodiscard]] std::string meeting_place(std::uint32_t pass) const { return folder_ + "/meeting" + std::to_string(pass); }

  [[nodiscard]] const std::string& path() const { return folder_; }

 private:
  explicit DemoStage(std::string folder) : folder_(std::move(folder)) {}
  Result<void> start_guardian();
  Result<void> start_lab(const DemoStageOptions& options);
  Result<void> start_services();
  [[nodiscard]] std::string lab() const { return folder_ + "/lab"; }
  [[nodiscard]] std::string mount(std::uint32_t client) const;
  Result<void> wait_until(const std::function<Result<bool>()>& is_so, const Tell& tell) const;

  std::string folder_;
  input::UniqueFd leash_;  // closed: the guardian cleans up
  pid_t guardian_ = 0;
  std::vector<pid_t> services_;
  std::vector<std::pair<std::string, std::string>> environment_;
  bool coordinator_ = false;
};

}  // namespace iez::cli
