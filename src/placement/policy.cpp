#include "placement/policy.hpp"

#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "placement/balanced.hpp"
#include "placement/lustre_qos.hpp"
#include "placement/lustre_round_robin.hpp"
#include "placement/paper_policy.hpp"
#include "placement/random_policy.hpp"

namespace iez::placement {

namespace {

constexpr std::array<std::string_view, 6> kNames{"balanced", "paper", "paper-sequential", "lustre-rr", "lustre-qos", "random"};

}  // namespace

std::span<const std::string_view> policy_names() { return kNames; }

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, std::uint64_t seed) {
  if (name == "balanced") return std::make_unique<BalancedPolicy>();
  if (name == "paper") return std::make_unique<PaperFlowPolicy>();
  if (name == "paper-sequential") return std::make_unique<PaperSequentialPolicy>();
  if (name == "lustre-rr") return std::make_unique<LustreRoundRobin>(LustreRoundRobinOptions{.seed = seed});
  if (name == "lustre-qos") return std::make_unique<LustreQos>(LustreQosOptions{.seed = seed});
  if (name == "random") return std::make_unique<RandomPolicy>(RandomPolicyOptions{.seed = seed});
  const auto meant = text::nearest(name, kNames);
  return fail(Errc::invalid_argument, fmt::format("no policy '{}'; {}", text::printable(name),
                                                  meant ? fmt::format("did you mean {}?", *meant)
                                                        : fmt::format("there are: {}", fmt::join(kNames, ", "))));
}

}  // namespace iez::placement
