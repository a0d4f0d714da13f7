// Series of write sizes whose law is known, so that a forecast can be compared with the best one there is.
//
// The kinds and their parameters are those of the traces in tests/golden/forecast/traces, whose names they have; levels differ
// from seed to seed. Values are whole bytes. Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/rng.hpp"

namespace iez::bench {

enum class SeriesKind {
  ior_const,         // always the same
  hacc,              // a level and 0.23 % of noise: particles move between ranks
  ckpt_mix,          // seven small files, then a full checkpoint, which grows from one to the next
  ar2_noisy,         // noise that remembers two values
  files_rank_order,  // the files of 8 ranks in order of ranks, step by step; each grows
  short8_hacc,       // 8 values of hacc
};
inline constexpr std::array kSeriesKinds{SeriesKind::ior_const,        SeriesKind::hacc,
                                         SeriesKind::ckpt_mix,         SeriesKind::ar2_noisy,
                                         SeriesKind::files_rank_order, SeriesKind::short8_hacc};

std::string_view to_string(SeriesKind kind);

struct KnownSeries {
  std::vector<double> values;
  std::vector<double> expected;  // mean of each value, given those before it and the law
};

// length 0: that of the trace of this kind.
KnownSeries make_series(SeriesKind kind, std::uint64_t seed, std::size_t length = 0);

// Those that are compiled in. NaN is a missing value.
[[nodiscard]] Result<std::vector<double>> trace_values(std::string_view name);   // tests/golden/forecast/traces/NAME.csv
[[nodiscard]] Result<std::vector<double>> golden_values(std::string_view name);  // tests/golden/forecast/series_NAME.csv

// A standard normal number.
double normal(Rng& rng);

// How many of the last values are forecast in tests of accuracy: 12, or fewer of a short series.
std::size_t held_out(std::size_t length);

}  // namespace iez::bench
