#include "lab/object_allocator.hpp"

#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "lustre/layout_abi.hpp"
#include "model/cluster.hpp"

namespace iez::lab {

namespace {

using model::Component;

constexpr std::uint64_t kLowWatermark = 1000;  // a thousandth of the size
constexpr std::uint64_t kLeastWatermark = Bytes::mib(1).count;

bool is_full(const OstSpace& space, bool was_full) {
  const std::uint64_t low = std::max(space.total / kLowWatermark, std::min(kLeastWatermark, space.total / 16));
  return space.free < (was_full ? 2 * low : low);
}

}  // namespace

ObjectAllocator::ObjectAllocator(const Config& config) : config_(config), policy_({.seed = config.seed}) {
  osts_.resize(config.ost_count());
  for (std::uint32_t i = 0; i < osts_.size(); ++i) {
    osts_[i].space = {.ost = i, .total = config.ost_size.count, .free = config.ost_size.count};
  }
}

void ObjectAllocator::see(std::span<const OstSpace> osts) {
  for (const OstSpace& space : osts) {
    if (space.ost >= osts_.size()) continue;
    Ost& ost = osts_[space.ost];
    ost.space = space;
    ost.answers = true;
    ost.full = is_full(space, ost.full);
  }
  table_.reset();
}

void ObjectAllocator::lose(std::uint32_t first_ost, std::uint32_t ost_count) {
  for (std::uint32_t i = first_ost; i < osts_.size() && i - first_ost < ost_count; ++i) osts_[i].answers = false;
  table_.reset();
}

void ObjectAllocator::set_active(std::uint32_t ost, bool active) {
  if (ost < osts_.size()) osts_[ost].active = active;
  table_.reset();
}

model::Layout ObjectAllocator::default_request() {
  model::Layout request;
  request.components.resize(1);
  return request;
}

const placement::TargetTable& ObjectAllocator::table() {
  if (table_) return *table_;
  const bool anybody = std::ranges::any_of(osts_, [](const Ost& ost) { return ost.answers; });
  model::Cluster cluster;
  cluster.name = config_.name;
  for (std::uint32_t i = 0; i < config_.oss_count; ++i) cluster.servers.push_back({.name = fmt::format("oss{}", i)});
  for (const Ost& ost : osts_) {
    model::Ost target;
    target.index = OstIndex{ost.space.ost};
    target.oss = config_.oss_of(ost.space.ost);
    target.total = Bytes{ost.space.total};
    target.free = Bytes{ost.full ? 0 : ost.space.free};
    target.available = target.free;
    target.state.active = ost.usable() && (ost.answers || !anybody);
    cluster.osts.push_back(std::move(target));
  }
  auto made = placement::make_targets(cluster, {});
  IEZ_ASSERT(made.has_value());  // indices and servers are of our own making
  table_ = *std::move(made);
  return *table_;
}

Answer<std::vector<std::uint32_t>> ObjectAllocator::from_list(const Component& wanted) const {
  std::vector<std::uint32_t> chosen;
  chosen.reserve(wanted.osts.size());
  for (const OstIndex index : wanted.osts) {
    if (index.value >= osts_.size()) return std::unexpected(EINVAL);  // a default that was set when there were more
    const Ost& ost = osts_[index.value];
    if (!ost.usable()) return std::unexpected(EREMOTEIO);
    if (ost.full) return std::unexpected(ENOSPC);
    chosen.push_back(index.value);
  }
  return chosen;
}

Answer<std::vector<std::uint32_t>> ObjectAllocator::from_first(const Component& wanted, OstIndex index) const {
  const auto count = static_cast<std::uint32_t>(osts_.size());
  const std::uint32_t first = index.value;
  if (first >= count) return std::unexpected(EINVAL);
  if (!osts_[first].usable()) return std::unexpected(EREMOTEIO);
  if (osts_[first].full) return std::unexpected(ENOSPC);
  std::vector<std::uint32_t> ring;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Ost& ost = osts_[(first + i) % count];
    if (ost.usable() && !ost.full) ring.push_back(ost.space.ost);
  }
  std::size_t stripes = wanted.stripe_count == Component::kAllOsts ? ring.size() : wanted.stripe_count;
  if (!wanted.overstriped) stripes = std::min(stripes, ring.size());
  std::vector<std::uint32_t> chosen(stripes);
  for (std::size_t i = 0; i < stripes; ++i) chosen[i] = ring[i % ring.size()];
  return chosen;
}

Answer<std::vector<std::uint32_t>> ObjectAllocator::by_policy(const Component& wanted) {
  const placement::TargetTable& targets = table();
  const placement::Usable usable = placement::usable(targets, placement::kAnyPool);
  const auto most = static_cast<std::uint32_t>(usable.sound.size() + usable.second.size());
  if (most == 0) return std::unexpected(ENOSPC);
  placement::Demand demand{.count = wanted.stripe_count == Component::kAllOsts ? most : wanted.stripe_count};
  if (wanted.overstriped) {
    demand.per_target = (demand.count - 1) / most + 1;
  } else {
    demand.count = std::min(demand.count, most);
  }
  const auto assigned = policy_.assign(targets, std::array{demand});
  if (!assigned || assigned->targets.empty()) return std::unexpected(ENOSPC);
  std::vector<std::uint32_t> chosen;
  chosen.reserve(assigned->targets.size());
  for (const std::uint32_t target : assigned->targets) chosen.push_back(targets.targets[target].ost.value);
  return chosen;
}

Answer<std::vector<std::uint32_t>> ObjectAllocator::choose(const Component& wanted) {
  if (!wanted.osts.empty()) return from_list(wanted);
  if (wanted.first_ost) return from_first(wanted, *wanted.first_ost);
  return by_policy(wanted);
}

Answer<model::Layout> ObjectAllocator::place(model::Layout request, Duration now) {
  policy_.advance(std::max(now - last_, Duration::zero()));
  last_ = std::max(now, last_);
  std::uint32_t id = 0;
  std::size_t objects = 0;
  for (Component& component : request.components) {
    if (component.stripe_size.count == 0) component.stripe_size = config_.stripe_size;
    if (component.stripe_count == 0) component.stripe_count = config_.stripe_count;
    const auto chosen = choose(component);
    if (!chosen) return std::unexpected(chosen.error());
    objects += chosen->size();
    component.objects.clear();
    component.objects.reserve(chosen->size());
    for (const std::uint32_t ost : *chosen) component.objects.push_back({.ost = OstIndex{ost}});
    component.stripe_count = static_cast<std::uint16_t>(chosen->size());
    component.osts.clear();
    component.first_ost.reset();
    if (request.composite) {
      component.id = ++id;
      component.has_id = true;
      component.flags = lustre::abi::kComponentInit;
    }
  }
  const std::size_t size = sizeof(lustre::abi::CompositeHeader) + objects * sizeof(lustre::abi::OstData) +
                           request.components.size() * (sizeof(lustre::abi::CompositeEntry) + sizeof(lustre::abi::LayoutV3));
  if (size > XATTR_SIZE_MAX) return std::unexpected(E2BIG);
  request.generation = request.composite ? 1 : lustre::abi::kNoStripeOffset;  // as getxattr shows that of a plain layout
  return request;
}

}  // namespace iez::lab
