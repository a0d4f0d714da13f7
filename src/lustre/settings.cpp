#include "lustre/settings.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace iez::lustre {

namespace {

Result<Instance> instance_of(const ParamSource& source, Param param, std::string_view device) {
  IEZ_TRY(auto instances, source.find(param));
  const auto match =
      std::find_if(instances.begin(), instances.end(), [&](const Instance& instance) { return instance.device == device; });
  if (match == instances.end()) {
    return fail(Errc::not_found, fmt::format("{}: no {} in {}", device, row(param).names.front(), source.name()));
  }
  return *std::move(match);
}

struct Limit {
  Instance rpcs;
  Instance dirty;
};

Result<Limit> limit_of(const ParamSource& source, std::string_view device) {
  IEZ_TRY(Instance rpcs, instance_of(source, Param::osc_max_rpcs_in_flight, device));
  IEZ_TRY(Instance dirty, instance_of(source, Param::osc_max_dirty_mb, device));
  return Limit{.rpcs = std::move(rpcs), .dirty = std::move(dirty)};
}

Result<RpcLimit> read_limit(const ParamSource& source, const Limit& limit) {
  IEZ_TRY(const std::uint64_t rpcs, read_number(source, limit.rpcs));
  IEZ_TRY(const std::uint64_t dirty, read_number(source, limit.dirty));
  return RpcLimit{.device = limit.rpcs.device, .max_rpcs_in_flight = rpcs, .max_dirty_mb = dirty};
}

Result<void> write_number(ParamSource& source, const Instance& instance, std::uint64_t value) {
  return source.write(instance, fmt::format("{}\n", value));
}

}  // namespace

Result<std::vector<RpcLimit>> read_rpc_limits(const ParamSource& source) {
  IEZ_TRY(const auto instances, source.find(Param::osc_max_rpcs_in_flight));
  std::vector<RpcLimit> limits;
  limits.reserve(instances.size());
  for (const Instance& instance : instances) {
    IEZ_TRY(const Instance dirty, instance_of(source, Param::osc_max_dirty_mb, instance.device));
    IEZ_TRY(RpcLimit limit, read_limit(source, {.rpcs = instance, .dirty = dirty}));
    limits.push_back(std::move(limit));
  }
  return limits;
}

Result<RpcLimit> set_max_rpcs_in_flight(ParamSource& source, std::string_view device, std::uint64_t value) {
  if (value < kMinRpcsInFlight || value > kMaxRpcsInFlight) {
    return fail(Errc::invalid_argument,
                fmt::format("max_rpcs_in_flight {}: must be {} to {}", value, kMinRpcsInFlight, kMaxRpcsInFlight));
  }
  IEZ_TRY(const Limit limit, limit_of(source, device));
  IEZ_TRY(const RpcLimit before, read_limit(source, limit));
  // From here on every failure puts back what was there; the order matters, since the first raises the second.
  const auto failed = [&](Error error) -> std::unexpected<Error> {
    const auto rpcs = write_number(source, limit.rpcs, before.max_rpcs_in_flight);
    const auto dirty = write_number(source, limit.dirty, before.max_dirty_mb);
    if (!rpcs || !dirty) error.message += "; the old values could not be restored";
    return std::unexpected(std::move(error));
  };
  if (auto written = write_number(source, limit.rpcs, value); !written) return std::unexpected(std::move(written).error());
  auto now = read_limit(source, limit);
  if (!now) return failed(std::move(now).error());
  if (now->max_rpcs_in_flight != value) {
    return failed(
        {.code = Errc::io, .message = fmt::format("{}: wrote {}, reads {}", limit.rpcs.origin, value, now->max_rpcs_in_flight)});
  }
  if (now->max_dirty_mb == before.max_dirty_mb) return now;
  if (auto written = write_number(source, limit.dirty, before.max_dirty_mb); !written) return failed(std::move(written).error());
  now = read_limit(source, limit);
  if (!now) return failed(std::move(now).error());
  return now;
}

}  // namespace iez::lustre
