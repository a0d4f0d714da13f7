#include "jobs/llite_reading.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/excerpt.hpp"
#include "lustre/host_load.hpp"
#include "lustre/stats.hpp"

namespace iez::jobs {

namespace {

using lustre::Instance;
using lustre::Param;
using lustre::ParamSource;

constexpr std::string_view kHead = "iez-node 1";
constexpr std::string_view kUnknown = "-";

// Bytes come with their calls; of the others only the calls count.
void take(const lustre::CounterRow& row, IoCounters& counters) {
  DataCalls& data = counters.data;
  MetadataCalls& metadata = counters.metadata;
  if (row.name == "read_bytes") {
    data.read_calls = row.samples;
    data.read_bytes = row.sum.value_or(0);
    return;
  }
  if (row.name == "write_bytes") {
    data.write_calls = row.samples;
    data.write_bytes = row.sum.value_or(0);
    return;
  }
  const std::array<std::pair<std::string_view, std::uint64_t*>, 8> calls{{{"open", &metadata.open},
                                                                          {"close", &metadata.close},
                                                                          {"create", &metadata.create},
                                                                          {"mkdir", &metadata.mkdir},
                                                                          {"mknod", &metadata.mknod},
                                                                          {"rename", &metadata.rename},
                                                                          {"rmdir", &metadata.rmdir},
                                                                          {"unlink", &metadata.unlink}}};
  for (const auto& [name, counter] : calls) {
    if (row.name == name) *counter = row.samples;
  }
}

Result<void> read_mounts(const ParamSource& source, NodeReading& reading, input::ParseReport& report) {
  IEZ_TRY(const auto instances, source.find(Param::llite_stats));
  for (const Instance& instance : instances) {
    if (reading.mounts.size() == NodeReading::kMaxMounts) {
      report.skip(instance.origin, 0, fmt::format("more than {} mounts; the rest is left out", NodeReading::kMaxMounts));
      return {};
    }
    if (std::ranges::any_of(instance.device, [](char c) { return text::is_space(c); })) {
      report.skip(instance.origin, 0, "a mount has no space in its name");
      continue;
    }
    auto stream = source.open(instance);
    if (!stream) {
      if (stream.error().code == Errc::permission) return std::unexpected(std::move(stream).error());
      report.skip(instance.origin, 0, stream.error().message);
      continue;
    }
    MountReading mount{.device = instance.device};
    const auto times = lustre::parse_stats(**stream, instance.origin, report,
                                           [&mount](const lustre::CounterRow& row) { take(row, mount.counters); });
    if (!times) {
      report.skip(instance.origin, 0, times.error().message);
      continue;
    }
    if (times->start) mount.started = times->start->time_since_epoch().count();
    reading.mounts.push_back(std::move(mount));
  }
  return {};
}

void read_host(const ParamSource& source, NodeReading& reading, input::ParseReport& report) {
  if (!reading.network) {
    if (const auto text = lustre::read_optional(source, Param::lnet_stats)) reading.network = parse_lnet_stats(*text);
  }
  if (reading.memory) return;
  const auto instances = source.find(Param::host_meminfo);
  if (!instances || instances->empty()) return;
  const auto stream = source.open(instances->front());
  if (!stream) return;
  const auto memory = lustre::parse_memory(**stream, instances->front().origin, report);
  if (memory) reading.memory = memory->total.count;
}

template <typename T>
bool take_number(std::string_view& rest, T& value) {
  const std::string_view word = text::take_word(rest);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return !word.empty() && error == std::errc{} && end == word.data() + word.size();
}

template <std::size_t N>
bool take_all(std::string_view rest, std::array<std::uint64_t, N>& values) {
  const bool taken = std::ranges::all_of(values, [&rest](std::uint64_t& value) { return take_number(rest, value); });
  return taken && text::trim(rest).empty();
}

bool take_mount(std::string_view rest, NodeReading& reading) {
  if (reading.mounts.size() == NodeReading::kMaxMounts) return false;
  MountReading mount{.device = std::string(text::take_word(rest))};
  const std::string_view after_device = rest;
  if (text::take_word(rest) != kUnknown) {
    rest = after_device;
    if (!take_number(rest, mount.started.emplace())) return false;
  }
  IoCounts counts{};
  if (mount.device.empty() || !take_all(rest, counts)) return false;
  mount.counters = from_counts(counts);
  reading.mounts.push_back(std::move(mount));
  return true;
}

bool take_line(std::string_view line, NodeReading& reading) {
  const std::string_view key = text::take_word(line);
  if (key == "time") return take_number(line, reading.time) && text::trim(line).empty();
  if (key == "memory") return take_number(line, reading.memory.emplace()) && text::trim(line).empty();
  if (key == "mount") return take_mount(line, reading);
  if (key != "network") return false;
  NetworkArray counts{};
  if (!take_all(line, counts)) return false;
  reading.network = from_counts(counts);
  return true;
}

}  // namespace

std::optional<NetworkCounts> parse_lnet_stats(std::string_view text) {
  // In flight now, at most, errors; messages sent, received, routed, dropped; the bytes of each.
  std::array<std::uint64_t, 11> values{};
  if (!take_all(text, values)) return std::nullopt;
  return NetworkCounts{.received_bytes = values[8], .sent_bytes = values[7], .received = values[4], .sent = values[3]};
}

Result<NodeReading> read_node(std::span<const std::unique_ptr<ParamSource>> sources, const Clock& clock,
                              input::ParseReport& report) {
  NodeReading reading{.time = std::chrono::floor<std::chrono::seconds>(clock.wall()).time_since_epoch().count()};
  for (const auto& source : sources) {
    IEZ_CHECK(read_mounts(*source, reading, report));
    read_host(*source, reading, report);
  }
  std::ranges::sort(reading.mounts, {}, &MountReading::device);
  return reading;
}

std::string to_text(const NodeReading& reading) {
  std::string text = fmt::format("{}\ntime {}\n", kHead, reading.time);
  if (reading.memory) text += fmt::format("memory {}\n", *reading.memory);
  if (reading.network) text += fmt::format("network {}\n", fmt::join(to_counts(*reading.network), " "));
  for (const MountReading& mount : reading.mounts) {
    text += fmt::format("mount {} {} {}\n", mount.device, mount.started ? fmt::to_string(*mount.started) : std::string(kUnknown),
                        fmt::join(to_counts(mount.counters), " "));
  }
  // A file that was cut has no such line.
  return text + "end\n";
}

Result<NodeReading> parse_reading(std::string_view text, std::string_view origin) {
  NodeReading reading;
  std::uint64_t number = 0;
  bool ended = false;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    ++number;
    if (number == 1) {
      if (line != kHead) {
        return fail(Errc::parse,
                    fmt::format("{} line 1: found '{}', expected '{}'", origin, text::printable(input::excerpt(line)), kHead));
      }
      continue;
    }
    ended = line == "end" && text.empty();
    if (!ended && !take_line(line, reading)) {
      return fail(Errc::parse,
                  fmt::format("{} line {}: '{}' is no part of a reading", origin, number, text::printable(input::excerpt(line))));
    }
  }
  if (!ended) return fail(Errc::parse, fmt::format("{}: the reading is cut off after line {}", origin, number));
  return reading;
}

}  // namespace iez::jobs
