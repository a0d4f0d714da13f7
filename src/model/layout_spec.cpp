#include "model/layout_spec.hpp"

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::model {

namespace {

std::optional<std::uint32_t> parse_u32(std::string_view text) {
  const auto value = text::parse_u64(text);
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

// The front of text up to the separator; text is moved behind it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view front = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return front;
}

Result<void> append_osts(std::string_view item, std::vector<OstIndex>& osts) {
  std::string_view rest = item;
  const auto first = parse_u32(take_until(rest, '-'));
  const auto last = rest.empty() && item.find('-') == std::string_view::npos ? first : parse_u32(rest);
  constexpr std::uint32_t kMaxOst = 0xFFFE;  // 0xFFFF means any
  if (first && last && *last > kMaxOst) {
    return fail(Errc::invalid_argument, fmt::format("'{}': OST numbers are 0 to {}", item, kMaxOst));
  }
  if (!first || !last || *last < *first) {
    return fail(Errc::invalid_argument, fmt::format("'{}': expected an OST number such as 3, or a range such as 0-5", item));
  }
  if (*last - *first >= kMaxStripeCount || osts.size() + (*last - *first) >= kMaxStripeCount) {
    return fail(Errc::invalid_argument, fmt::format("'{}': at most {} OSTs", item, kMaxStripeCount));
  }
  for (std::uint32_t ost = *first; ost <= *last; ++ost) osts.push_back(OstIndex{ost});
  return {};
}

Result<void> apply_setting(Component& component, std::string_view setting) {
  std::string_view value = setting;
  const std::string_view key = take_until(value, '=');
  if (key == "mdt" && value.empty()) {
    component.pattern = Pattern::mdt;
    return {};
  }
  if (key == "overstripe" && value.empty()) {
    component.overstriped = true;
    return {};
  }
  if (key == "count") {
    IEZ_TRY(component.stripe_count, parse_stripe_count(value));
    return {};
  }
  if (key == "size") {
    IEZ_TRY(component.stripe_size, parse_bytes(value));
    return {};
  }
  if (key == "pool" && !value.empty()) {
    component.pool = value;
    return {};
  }
  if (key == "osts") {
    IEZ_TRY(component.osts, parse_ost_list(value, '+'));
    if (component.stripe_count == 0) component.stripe_count = static_cast<std::uint16_t>(component.osts.size());
    return {};
  }
  if (key == "first") {
    const auto ost = parse_u32(value);
    if (!ost) return fail(Errc::invalid_argument, fmt::format("first={}: expected an OST number", value));
    component.first_ost = OstIndex{*ost};
    return {};
  }
  constexpr std::array<std::string_view, 7> kKeys{"count", "size", "pool", "osts", "first", "mdt", "overstripe"};
  const auto meant = text::nearest(key, kKeys);
  return fail(Errc::invalid_argument, fmt::format("'{}': expected count=, size=, pool=, osts=, first=, mdt or overstripe{}",
                                                  setting, meant ? fmt::format("; did you mean {}?", *meant) : ""));
}

Result<Component> parse_component(std::string_view spec, std::uint64_t start) {
  Component component{.extent = {.start = start}};
  std::string_view settings = spec;
  const std::string_view end = take_until(settings, ':');
  if (!text::iequals(end, "eof") && end != "-1") {
    IEZ_TRY(const Bytes bytes, parse_bytes(end));
    component.extent.end = bytes.count;
  }
  while (!settings.empty()) IEZ_CHECK(apply_setting(component, take_until(settings, ',')));
  return component;
}

}  // namespace

Result<std::vector<OstIndex>> parse_ost_list(std::string_view text, char separator) {
  std::vector<OstIndex> osts;
  std::string_view rest = text;
  do {
    IEZ_CHECK(append_osts(text::trim(take_until(rest, separator)), osts));
  } while (!rest.empty());
  return osts;
}

Result<std::uint16_t> parse_stripe_count(std::string_view text) {
  if (text == "-1") return Component::kAllOsts;
  const auto count = text::parse_u64(text);
  if (!count || *count == 0 || *count > kMaxStripeCount) {
    return fail(Errc::invalid_argument,
                fmt::format("stripe count '{}': expected 1 to {}, or -1 for all OSTs", text, kMaxStripeCount));
  }
  return static_cast<std::uint16_t>(*count);
}

Result<Layout> parse_components(std::span<const std::string> specs) {
  Layout layout{.composite = true};
  std::uint64_t start = 0;
  for (const std::string& spec : specs) {
    auto component = parse_component(spec, start);
    if (!component) return with_context(std::move(component).error(), fmt::format("component '{}'", spec));
    if (start == Extent::kEof)
      return fail(Errc::invalid_argument, fmt::format("component '{}': the one before it has no end", spec));
    start = component->extent.end;
    layout.components.push_back(*std::move(component));
  }
  return layout;
}

std::string_view to_string(Pattern pattern) { return pattern == Pattern::mdt ? "mdt" : "raid0"; }

}  // namespace iez::model
