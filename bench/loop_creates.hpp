// What iez costs a program that creates many small files: part of the benchmark of the closed loop.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench.hpp"

namespace iez::bench {

// loop.creates_share_placed and loop.creates_share_traced: files of 4 KiB that a program creates a second, under `iez run` after
// it has learnt them, and under `iez run --learn`, over those that it creates without iez. 10,000 files; 200 if quick.
[[nodiscard]] Result<std::vector<Figure>> measure_creates(const Settings& settings);

}  // namespace iez::bench
