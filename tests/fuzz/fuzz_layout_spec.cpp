// Component specifications, one a line: a layout that parses and is valid has components without gaps.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "model/layout_spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> specs(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      specs.emplace_back();
    } else {
      specs.back() += static_cast<char>(data[i]);
    }
  }
  const auto layout = iez::model::parse_components(specs);
  if (!layout || !iez::model::validate_request(*layout)) return 0;
  if (layout->components.size() != specs.size()) std::abort();
  std::uint64_t end = 0;
  for (const auto& component : layout->components) {
    if (component.extent.start != end && component.extent.start != 0) std::abort();
    end = component.extent.end;
  }
  return 0;
}
