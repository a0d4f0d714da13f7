#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/cluster_toml.hpp"
#include "config/words.hpp"

namespace iez::config {

namespace {

using Out = std::back_insert_iterator<std::string>;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text::printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// In the largest unit that says it exactly.
std::string size_text(Bytes size) {
  constexpr std::array<std::string_view, 5> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB"};
  std::uint64_t count = size.count;
  std::size_t unit = 0;
  while (unit < kUnits.size() && count != 0 && count % 1024 == 0) {
    count /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{}", count) : fmt::format("\"{}{}\"", count, kUnits[unit - 1]);
}

// "0-3,7"
std::string list_text(std::vector<std::uint32_t> osts) {
  std::ranges::sort(osts);
  std::string out = "\"";
  for (std::size_t i = 0; i < osts.size();) {
    std::size_t last = i;
    while (last + 1 < osts.size() && osts[last + 1] == osts[last] + 1) ++last;
    if (i > 0) out += ',';
    out += last == i ? fmt::format("{}", osts[i]) : fmt::format("{}-{}", osts[i], osts[last]);
    i = last + 1;
  }
  return out + '"';
}

// What the file says of an OST's space.
struct Space {
  Bytes size;
  Bytes used;
  Bytes available;
};

Space space_of(const model::Ost& ost) {
  const Bytes size{std::min(ost.total.count, kMaxSize)};
  const Bytes free = std::min(ost.free, size);
  return {.size = size, .used = size - free, .available = std::min(ost.available, size)};
}

void write_number(Out out, std::string_view key, const std::optional<double>& value, double low, double high) {
  if (value && std::isfinite(*value) && *value >= low && *value <= high) fmt::format_to(out, "{} = {}\n", key, *value);
}

// osts: of this server; the first stands for all of them.
void write_server(Out out, const model::Oss& oss, const std::vector<const model::Ost*>& osts) {
  constexpr double kAny = std::numeric_limits<double>::max();
  fmt::format_to(out, "\n[[server]]\nname = {}\n", quoted(oss.name));
  write_number(out, "cpu", oss.cpu, 0, 1);
  write_number(out, "memory", oss.memory, 0, 1);
  write_number(out, "load", oss.load_1min, 0, kAny);
  if (oss.cores && *oss.cores > 0) fmt::format_to(out, "cores = {}\n", *oss.cores);
  if (oss.bandwidth) write_number(out, "bandwidth", oss.bandwidth->value, std::numeric_limits<double>::denorm_min(), kAny);
  std::vector<std::uint32_t> indices;
  indices.reserve(osts.size());
  for (const model::Ost* ost : osts) indices.push_back(ost->index.value);
  fmt::format_to(out, "osts = {}\n", list_text(std::move(indices)));
  if (osts.empty()) return;
  const Space space = space_of(*osts.front());
  fmt::format_to(out, "ost_size = {}\n", size_text(space.size));
  if (space.used.count > 0) fmt::format_to(out, "used = {}\n", size_text(space.used));
}

void write_states(Out out, const model::OstState& state) {
  std::vector<std::string_view> words;
  if (state.degraded) words.emplace_back("\"degraded\"");
  if (state.read_only) words.emplace_back("\"read-only\"");
  if (!state.active) words.emplace_back("\"inactive\"");
  if (state.no_create) words.emplace_back("\"no-create\"");
  fmt::format_to(out, "state = [{}]\n", fmt::join(words, ", "));
}

// What is not as the server's table says.
void write_ost(Out out, std::string_view file_system, const model::Ost& ost, const Space& usual) {
  const Space space = space_of(ost);
  const bool named = ost.name != fmt::format("{}-OST{:04x}", file_system, ost.index.value);
  const bool sized = space.size != usual.size;
  const bool filled = space.used != usual.used;
  const bool reserved = space.available != space.size - space.used;
  const bool odd = ost.state != model::OstState{};
  if (!named && !sized && !filled && !reserved && !odd) return;
  fmt::format_to(out, "\n[[ost]]\nindex = {}\n", ost.index.value);
  if (named) fmt::format_to(out, "name = {}\n", quoted(ost.name));
  if (sized) fmt::format_to(out, "size = {}\n", size_text(space.size));
  if (filled) fmt::format_to(out, "used = {}\n", size_text(space.used));
  if (reserved) fmt::format_to(out, "available = {}\n", size_text(space.available));
  if (odd) write_states(out, ost.state);
}

}  // namespace

std::string to_toml(const model::Cluster& cluster) {
  std::vector<std::vector<const model::Ost*>> of_server(cluster.servers.size());
  for (const model::Ost& ost : cluster.osts) {
    IEZ_ASSERT(ost.oss < of_server.size());
    of_server[ost.oss].push_back(&ost);
  }
  std::string text;
  const Out out(text);
  fmt::format_to(out, "name = {}\n", quoted(cluster.name));
  for (std::size_t i = 0; i < cluster.servers.size(); ++i) write_server(out, cluster.servers[i], of_server[i]);
  for (const model::Ost& ost : cluster.osts) {
    write_ost(out, cluster.name, ost, space_of(*of_server[ost.oss].front()));
  }
  if (!cluster.pools.empty()) text += "\n[pools]\n";
  for (const model::Pool& pool : cluster.pools) {
    std::vector<std::uint32_t> members;
    members.reserve(pool.osts.size());
    for (const OstIndex ost : pool.osts) members.push_back(ost.value);
    fmt::format_to(out, "{} = {}\n", quoted(pool.name), list_text(std::move(members)));
  }
  return text;
}

}  // namespace iez::config
