#include "lustre/layout_names.hpp"

#include <array>

#include <fmt/format.h>

#include "lustre/layout_abi.hpp"

namespace iez::lustre {

namespace {

struct FlagName {
  std::uint32_t bit;
  std::string_view name;
};

constexpr std::array kFlags{FlagName{abi::kComponentInit, "init"},           FlagName{abi::kComponentStale, "stale"},
                            FlagName{abi::kComponentPreferRead, "prefrd"},   FlagName{abi::kComponentPreferWrite, "prefwr"},
                            FlagName{abi::kComponentOffline, "offline"},     FlagName{abi::kComponentNoSync, "nosync"},
                            FlagName{abi::kComponentExtension, "extension"}, FlagName{abi::kComponentParity, "parity"},
                            FlagName{abi::kComponentCompress, "compress"},   FlagName{abi::kComponentPartial, "partial"},
                            FlagName{abi::kComponentNoCompress, "nocompr"}};

}  // namespace

std::vector<std::string> flag_names(std::uint32_t component_flags) {
  std::vector<std::string> names;
  for (const FlagName& flag : kFlags) {
    if ((component_flags & flag.bit) == 0) continue;
    names.emplace_back(flag.name);
    component_flags &= ~flag.bit;
  }
  if (component_flags != 0) names.push_back(fmt::format("{:#x}", component_flags));
  return names;
}

std::string object_name(const model::ObjectId& id) {
  const auto object = static_cast<std::uint32_t>(id.low);
  const auto version = static_cast<std::uint32_t>(id.low >> 32U);
  return fmt::format("{:#x}:{:#x}:{:#x}", id.high, object, version);
}

std::uint16_t mirror_of(const model::Component& component) { return static_cast<std::uint16_t>(component.id >> 16U); }

}  // namespace iez::lustre
