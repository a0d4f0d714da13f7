// Lines of an export: one JSON object each, of one member that names its kind. docs/formats/store.md tells of every field.
//
// Texts that are not UTF-8 are {"hex": "..."}, so that names survive as they are. A decoder never trusts its input: what does
// not follow the format is an error that names the field. Fields that are not known are passed over; those that are not there
// have their default.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"
#include "store/records.hpp"

namespace iez::store {

inline constexpr std::size_t kMaxLine = 64U << 20U;

// The first line.
struct ExportHead {
  std::uint32_t version = 0;
  std::int64_t made_ns = 0;

  friend bool operator==(const ExportHead&, const ExportHead&) = default;
};

// Heads name what they belong to by what it is known by outside: owner and name, or key. Numbers of the database do not travel.
struct ExportRun {
  std::string owner;
  std::string application;
  Run run;

  friend bool operator==(const ExportRun&, const ExportRun&) = default;
};
struct ExportPrediction {
  std::string owner;
  std::string application;
  std::string run;  // key; empty: none
  Prediction prediction;

  friend bool operator==(const ExportPrediction&, const ExportPrediction&) = default;
};
struct ExportAllocation {
  std::string prediction;  // key
  Allocation allocation;

  friend bool operator==(const ExportAllocation&, const ExportAllocation&) = default;
};

// The last line: an export without it is cut off.
struct ExportEnd {
  std::uint64_t lines = 0;  // before it

  friend bool operator==(const ExportEnd&, const ExportEnd&) = default;
};

// FileRow and Miss are of the run before them, PredictionRow of the prediction, AllocationRow of the allocation.
using ExportLine = std::variant<ExportHead, Application, ExportRun, FileRow, Miss, ExportPrediction, PredictionRow,
                                ExportAllocation, AllocationRow, ExportEnd>;

std::string encode_line(const ExportLine& line);  // without its end
[[nodiscard]] Result<ExportLine> decode_line(std::string_view text);

}  // namespace iez::store
