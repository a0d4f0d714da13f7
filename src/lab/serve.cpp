#include "lab/serve.hpp"

#include <unistd.h>

#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "lab/client_node.hpp"
#include "lab/mds.hpp"
#include "lab/node_lock.hpp"
#include "lab/oss.hpp"

namespace iez::lab {
namespace {

// 3 for "oss3" if there are more than 3.
std::optional<std::uint32_t> index_of(const std::string& node, std::string_view kind, std::uint32_t count) {
  if (!node.starts_with(kind)) return std::nullopt;
  const auto number = text::parse_u64(std::string_view(node).substr(kind.size()));
  if (!number || *number >= count) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

Result<void> serve(const Config& config, const std::string& node, Logger& log) {
  const auto oss = index_of(node, "oss", config.oss_count);
  const auto client = index_of(node, "client", config.clients);
  if (node != "mds" && !oss && !client)
    return fail(Errc::invalid_argument, fmt::format("lab {} has no node '{}'", config.name, node));
  IEZ_TRY(const NodeLock lock, NodeLock::take(lock_path(config, node)));
  if (oss) return serve_oss(config, *oss, log);
  if (client) return serve_client(config, *client, log);
  return serve_mds(config, log);
}

}  // namespace iez::lab
