// What an OpenAPI document says it serves, for tests that compare it with what is served.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace iez::http {

// "GET /v1/plans", sorted.
inline std::vector<std::string> documented_routes(std::string_view document) {
  std::vector<std::string> routes;
  const auto parsed = nlohmann::json::parse(document);
  for (const auto& [path, methods] : parsed["paths"].items()) {
    for (const auto& [method, what] : methods.items()) {
      if (method == "parameters") continue;
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      routes.push_back(upper + " " + path);
    }
  }
  std::ranges::sort(routes);
  return routes;
}

}  // namespace iez::http
