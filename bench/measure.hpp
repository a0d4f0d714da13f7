// Small things that several benchmarks measure and compare with.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iez::bench {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start);

// That this thread has used so far: what counts where a busy machine makes a long job wait, and a short one not.
double cpu_seconds();
double cpu_seconds_of_children();  // of those that have ended

// The upper one of the two in the middle, if they are even. REQUIRES: values is not empty.
double median(std::vector<double> values);

// A Python that can import the module: Debian's own first, since Debian's packages belong to it. `package` is for the remedy.
[[nodiscard]] Result<std::string> python_with(std::string_view module, std::string_view package);

[[nodiscard]] Result<void> write_text(const std::string& path, std::string_view text);

// By how many KiB the peak memory of a process grows while it does the work; the process is a copy of this one. Memory that this
// process has freed, but not given back, is not counted: ask early. Fails if the work gives false.
[[nodiscard]] Result<std::uint64_t> peak_growth_kib(const std::function<bool()>& work);

}  // namespace iez::bench
