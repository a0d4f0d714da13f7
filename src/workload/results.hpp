// What a workload measured, for programs. Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "workload/options.hpp"
#include "workload/run.hpp"

namespace iez::workload {

// The best of all repetitions, as IOR tells it; nothing if none was of this kind.
std::optional<double> best_mb_s(std::span<const Phase> phases, bool write);
std::uint64_t wrong_bytes(std::span<const Phase> phases);

// One JSON document, one line.
std::string to_json(const Options& options, std::span<const Phase> phases);
// A table for people.
std::string to_text(const Options& options, std::span<const Phase> phases);

}  // namespace iez::workload
