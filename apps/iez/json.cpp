#include "json.hpp"

namespace iez::cli {

void add_problems(ordered_json& json, const input::ParseReport& report) {
  json["skipped_rows"] = report.skipped;
  json["problems"] = ordered_json::array();
  for (const auto& problem : report.problems) json["problems"].push_back(input::to_string(problem));
}

std::string to_line(const ordered_json& json) { return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n'; }

}  // namespace iez::cli
