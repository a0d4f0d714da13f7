#include "running_lab.hpp"

#include <chrono>

#include <fmt/format.h>

#include "peer.hpp"

namespace iez::bench {

namespace {

constexpr std::chrono::seconds kPatience(60);

}  // namespace

Result<RunningLab> RunningLab::up(const std::string& program, const std::string& folder, std::vector<std::string> words) {
  RunningLab lab(program, folder + "/lab");
  std::vector<std::string> command{program, "lab", "up", "--dir", lab.folder_, "--name", "bench", "--json"};
  for (std::string& word : words) command.push_back(std::move(word));
  IEZ_CHECK(output_of(std::move(command), kPatience));
  return lab;
}

RunningLab::~RunningLab() {
  if (folder_.empty()) return;
  // What is left of it is in a folder that goes away, too.
  static_cast<void>(output_of({program_, "lab", "down", "--dir", folder_, "--json"}, kPatience));
}

std::string RunningLab::mount(unsigned client) const { return fmt::format("{}/mnt/client{}", folder_, client); }

}  // namespace iez::bench
