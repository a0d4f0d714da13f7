#include "workload/results.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace iez::workload {

namespace {

std::uint32_t files_of(const Options& options) {
  return file_count(options.pattern) * (options.multiple ? options.repetitions : 1);
}

}  // namespace

std::optional<double> best_mb_s(std::span<const Phase> phases, bool write) {
  std::optional<double> best;
  for (const Phase& phase : phases) {
    if (phase.write == write) best = std::max(best.value_or(0), phase.mb_s());
  }
  return best;
}

std::uint64_t wrong_bytes(std::span<const Phase> phases) {
  std::uint64_t wrong = 0;
  for (const Phase& phase : phases) wrong += phase.wrong_bytes;
  return wrong;
}

std::string to_json(const Options& options, std::span<const Phase> phases) {
  const Pattern& pattern = options.pattern;
  const auto rate = [phases](bool write) {
    const auto best = best_mb_s(phases, write);
    return best ? nlohmann::ordered_json(*best) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json json{{"workload", to_string(pattern.kind)},
                              {"interface", to_string(pattern.interface)},
                              {"ranks", pattern.ranks},
                              {"files", files_of(options)},
                              {"first_file", file_name(options, 0, 0)},
                              {"bytes", total_bytes(pattern).count},
                              {"write_mb_s", rate(true)},
                              {"read_mb_s", rate(false)},
                              {"verified", options.verify && options.read},
                              {"wrong_bytes", wrong_bytes(phases)},
                              {"phases", nlohmann::ordered_json::array()}};
  for (const Phase& phase : phases) {
    json["phases"].push_back({{"access", phase.write ? "write" : "read"},
                              {"repetition", phase.repetition},
                              {"bytes", phase.bytes},
                              {"mb_s", phase.mb_s()},
                              {"open_s", phase.open_s},
                              {"transfer_s", phase.transfer_s},
                              {"close_s", phase.close_s},
                              {"total_s", phase.total_s}});
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string to_text(const Options& options, std::span<const Phase> phases) {
  const Pattern& pattern = options.pattern;
  const std::uint32_t files = files_of(options);
  std::string out =
      fmt::format("{} {}: {} {}, {} {}, {} in all; {}{}\n", to_string(pattern.kind), to_string(pattern.interface), pattern.ranks,
                  pattern.ranks == 1 ? "process" : "processes", files, files == 1 ? "file" : "files",
                  to_string(total_bytes(pattern)), text::printable(file_name(options, 0, 0)), files == 1 ? "" : " and so on");
  out += fmt::format("{:<6}  {:>10}  {:>8}  {:>11}  {:>8}  {:>8}  {:>3}\n", "ACCESS", "MB/s", "OPEN s", "TRANSFER s", "CLOSE s",
                     "TOTAL s", "REP");
  for (const Phase& phase : phases) {
    out += fmt::format("{:<6}  {:>10.1f}  {:>8.4f}  {:>11.4f}  {:>8.4f}  {:>8.4f}  {:>3}\n", phase.write ? "write" : "read",
                       phase.mb_s(), phase.open_s, phase.transfer_s, phase.close_s, phase.total_s, phase.repetition);
  }
  if (options.verify && options.read) {
    const std::uint64_t wrong = wrong_bytes(phases);
    out += wrong == 0 ? "every byte is as expected\n" : fmt::format("{} bytes are wrong\n", wrong);
  }
  return out;
}

}  // namespace iez::workload
