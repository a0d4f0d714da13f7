#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "config/request_csv.hpp"
#include "model/layout.hpp"

namespace iez::config {

namespace {

using placement::Request;
using placement::RequestComponent;

// Quoted where RFC 4180 asks for it. A brace is doubled, so that no name is taken for a range.
void write_name(std::string& out, std::string_view name) {
  const bool quotes = name.find_first_of(",\"\r\n") != std::string_view::npos;
  if (quotes) out += '"';
  for (const char c : name) {
    if (c == '"' || c == '{') out += c;
    out += c;
  }
  if (quotes) out += '"';
}

// The form that model::parse_components() reads. Settings are joined by commas, so the field needs quotes.
void write_components(std::string& out, std::span<const RequestComponent> components) {
  if (components.empty()) return;
  std::string text;
  for (const RequestComponent& component : components) {
    if (!text.empty()) text += ' ';
    text += component.end == model::Extent::kEof ? "eof" : fmt::format("{}", component.end);
    fmt::format_to(std::back_inserter(text), ":count={}", component.stripe_count);
    if (component.stripe_size) fmt::format_to(std::back_inserter(text), ",size={}", component.stripe_size->count);
    if (!component.pool.empty()) fmt::format_to(std::back_inserter(text), ",pool={}", component.pool);
  }
  fmt::format_to(std::back_inserter(out), "\"{}\"", text);
}

void write_phase(std::string& out, const std::optional<std::uint32_t>& phase) {
  out += ',';
  if (phase) out += fmt::to_string(*phase);
}

}  // namespace

std::string to_csv(std::span<const Request> requests) {
  const bool sizes = std::ranges::any_of(requests, [](const Request& request) { return request.stripe_size.has_value(); });
  const bool pools = std::ranges::any_of(requests, [](const Request& request) { return !request.pool.empty(); });
  const bool overstripe = std::ranges::any_of(requests, &Request::overstripe);
  const bool progressive = std::ranges::any_of(requests, [](const Request& request) { return !request.components.empty(); });
  const bool phases = std::ranges::any_of(requests, [](const Request& request) { return request.phase.has_value(); });
  const bool read = std::ranges::any_of(requests, [](const Request& request) { return request.read_phase.has_value(); });
  std::string out = fmt::format("name,bytes,stripe_count{}{}{}{}{}{}\n", sizes ? ",stripe_size" : "", pools ? ",pool" : "",
                                overstripe ? ",overstripe" : "", progressive ? ",components" : "", phases ? ",phase" : "",
                                read ? ",read_phase" : "");
  for (const Request& request : requests) {
    const bool plain = request.components.empty();
    write_name(out, request.name);
    fmt::format_to(std::back_inserter(out), ",{},", request.bytes.count);
    if (plain) fmt::format_to(std::back_inserter(out), "{}", request.stripe_count);
    if (sizes) out += ',';
    if (plain && request.stripe_size) fmt::format_to(std::back_inserter(out), "{}", request.stripe_size->count);
    if (pools) out += ',';
    if (plain) out += request.pool;
    if (overstripe) out += request.overstripe ? ",yes" : ",no";
    if (progressive) out += ',';
    write_components(out, request.components);
    if (phases) write_phase(out, request.phase);
    if (read) write_phase(out, request.read_phase);
    out += '\n';
  }
  return out;
}

}  // namespace iez::config
