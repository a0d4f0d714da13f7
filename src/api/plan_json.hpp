// The messages as JSON, in both directions.
//
// Decoders never trust their bytes: sizes are bounded (plan_messages.hpp), nesting is, and every message of an error names the
// field. Names of files that are no UTF-8 travel as "name_hex" in place of "name".
//
// Thread safety: pure functions. Time and memory: linear in the text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/result.hpp"

namespace iez::api {

std::string to_json(const PlanRequest& request);
std::string to_json(const PlanAnswer& answer);
std::string to_json(const CreatedRequest& request);
std::string to_json(const Ticket& ticket);
std::string to_json(const Problem& problem);
std::string to_json(std::span<const PlanRow> rows);                                     // {"plans": [...]}
std::string to_json(std::string_view file_system, std::span<const OstWeight> weights);  // {"file_system": ..., "weights": [...]}

[[nodiscard]] Result<PlanRequest> parse_plan_request(std::string_view json);
[[nodiscard]] Result<PlanAnswer> parse_plan_answer(std::string_view json);
[[nodiscard]] Result<CreatedRequest> parse_created_request(std::string_view json);
[[nodiscard]] Result<Ticket> parse_ticket(std::string_view json);
[[nodiscard]] Result<Problem> parse_problem(std::string_view json);
[[nodiscard]] Result<std::vector<PlanRow>> parse_plan_rows(std::string_view json);
[[nodiscard]] Result<std::vector<OstWeight>> parse_weights(std::string_view json);

// The value that comes next, as a part of a larger text.
class JsonCursor;
PlanRequest read_plan_request(JsonCursor& json);
PlanAnswer read_plan_answer(JsonCursor& json);

// Neither an id nor a verdict, layouts without an id, or a reason that is not there.
[[nodiscard]] Result<void> check_answer(const PlanAnswer& answer);

// What makes no sense in any file system: no application, no name, a name that is not absolute or has "//", "/./" or "/../" in
// it, no bytes, too many files.
[[nodiscard]] Result<void> check(const PlanRequest& request);

}  // namespace iez::api
