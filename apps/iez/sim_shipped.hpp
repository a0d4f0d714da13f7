// Machines and scenarios that come with the program: those of examples/machines and examples/scenarios, compiled in
// (sim_shipped.cpp.in), so that an installed program needs no file.
//
// Thread safety: constants.
#pragma once

#include <span>
#include <string_view>

namespace iez::cli {

struct ShippedFile {
  std::string_view name;  // without folder and .toml
  std::string_view text;
};

std::span<const ShippedFile> shipped_machines();
std::span<const ShippedFile> shipped_scenarios();

}  // namespace iez::cli
