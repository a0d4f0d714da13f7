// The messages of pull_messages.hpp as JSON, in both directions.
//
// Decoders never trust their bytes: sizes and counts are bounded, and every message of an error names the field.
//
// Thread safety: pure functions. Time and memory: linear in the text.
#pragma once

#include <string>
#include <string_view>

#include "api/pull_messages.hpp"
#include "base/result.hpp"

namespace iez::api {

std::string revision_json(std::uint64_t revision);  // {"revision": 7}
std::string to_json(const OfferedPrediction& prediction);
std::string to_json(const PredictionPage& page);
std::string to_json(const PostedAllocation& posted);
std::string to_json(const AllocationPage& page);
std::string to_json(const AllocationStates& states);

[[nodiscard]] Result<std::uint64_t> parse_revision(std::string_view json);
[[nodiscard]] Result<PredictionPage> parse_prediction_page(std::string_view json);
[[nodiscard]] Result<PostedAllocation> parse_posted_allocation(std::string_view json);
[[nodiscard]] Result<AllocationPage> parse_allocation_page(std::string_view json);
[[nodiscard]] Result<AllocationStates> parse_allocation_states(std::string_view json);

}  // namespace iez::api
