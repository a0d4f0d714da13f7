#include "congestion/import_credits.hpp"

#include <algorithm>
#include <limits>

#include "base/result.hpp"

namespace iez::congestion {

ImportCredits::ImportCredits(std::uint64_t pages_per_rpc, unsigned first_credits)
    : pages_per_rpc_(std::max<std::uint64_t>(pages_per_rpc, 1)), rcc_(std::max(first_credits, 1U)) {}

ImportCredits::Rpc ImportCredits::send() {
  IEZ_ASSERT(may_send());
  const std::uint64_t taken = std::min(pages_, pages_per_rpc_);
  pages_ -= taken;
  ++used_;
  return {.pages = taken, .cnr = cnr()};
}

void ImportCredits::reply(unsigned rcc) {
  if (used_ > 0) --used_;
  rcc_ = std::max(rcc, 1U);
}

unsigned ImportCredits::cnr() const {
  const std::uint64_t rpcs = pages_ / pages_per_rpc_ + (pages_ % pages_per_rpc_ > 0 ? 1 : 0);
  return static_cast<unsigned>(std::min<std::uint64_t>(rpcs, std::numeric_limits<unsigned>::max()));
}

}  // namespace iez::congestion
