#include "layout.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "input/byte_stream.hpp"
#include "json.hpp"
#include "lustre/layout_codec.hpp"
#include "lustre/layout_file.hpp"
#include "lustre/layout_names.hpp"
#include "model/layout_spec.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

constexpr mode_t kFileMode = 0666;          // less the umask, as for any new file
constexpr std::size_t kMaxRaw = 1U << 20U;  // far above the largest attribute (64 KiB)

ordered_json to_json(const model::Component& component, bool composite) {
  ordered_json json;
  if (composite) {
    json["id"] = component.has_id ? ordered_json(component.id) : ordered_json(nullptr);
    json["mirror"] = component.has_id ? ordered_json(lustre::mirror_of(component)) : ordered_json(nullptr);
    json["flags"] = lustre::flag_names(component.flags);
    json["start"] = component.extent.start;
    json["end"] = component.extent.end == model::Extent::kEof ? ordered_json(nullptr) : ordered_json(component.extent.end);
    if (component.extension_size.count > 0) json["extension_size"] = component.extension_size.count;
  }
  json["pattern"] = model::to_string(component.pattern);
  json["overstriped"] = component.overstriped;
  json["released"] = component.released;
  json["stripe_size"] = component.stripe_size.count;
  json["stripe_count"] = component.stripe_count == model::Component::kAllOsts ? -1 : static_cast<int>(component.stripe_count);
  json["pool"] = component.pool.empty() ? ordered_json(nullptr) : ordered_json(component.pool);
  if (!component.osts.empty()) {
    json["osts"] = ordered_json::array();
    for (const OstIndex ost : component.osts) json["osts"].push_back(ost.value);
  }
  json["objects"] = ordered_json::array();
  for (const model::StripeObject& object : component.objects) {
    json["objects"].push_back({{"ost", object.ost.value}, {"object", lustre::object_name(object.id)}});
  }
  return json;
}

ordered_json to_json(const std::string& path, const model::Layout& layout) {
  ordered_json json{{"path", path}, {"composite", layout.composite}, {"generation", layout.generation}};
  if (layout.composite) json["mirrors"] = layout.mirror_count;
  json["components"] = ordered_json::array();
  for (const model::Component& component : layout.components) json["components"].push_back(to_json(component, layout.composite));
  return json;
}

std::string extent_text(const model::Extent& extent) {
  const std::string end = extent.end == model::Extent::kEof ? "EOF" : to_binary_string(Bytes{extent.end});
  return fmt::format("{} - {}", to_binary_string(Bytes{extent.start}), end);
}

std::string ost_text(const model::Component& component) {
  if (component.pattern == model::Pattern::mdt) return "on the MDT";
  std::vector<std::uint32_t> osts;
  osts.reserve(component.objects.size() + component.osts.size());
  for (const model::StripeObject& object : component.objects) osts.push_back(object.ost.value);
  for (const OstIndex ost : component.osts) osts.push_back(ost.value);
  if (!osts.empty()) return fmt::format("{}", fmt::join(osts, ","));
  return component.released ? "released" : "not yet chosen";
}

std::string count_text(const model::Component& component) {
  if (component.pattern == model::Pattern::mdt) return "-";
  if (component.stripe_count == model::Component::kAllOsts) return "all";
  return component.stripe_count == 0 ? "default" : fmt::to_string(component.stripe_count);
}

std::string to_text(const std::string& path, const model::Layout& layout, const Terminal& terminal) {
  Table table({{"EXTENT"}, {"STRIPES", Align::right}, {"STRIPE SIZE", Align::right}, {"POOL"}, {"FLAGS"}, {"OSTS"}});
  for (const model::Component& component : layout.components) {
    std::vector<std::string> flags = lustre::flag_names(component.flags);
    if (component.overstriped) flags.emplace_back("overstriped");
    if (layout.mirror_count > 1) flags.push_back(fmt::format("mirror {}", lustre::mirror_of(component)));
    table.add({{extent_text(component.extent)},
               {count_text(component)},
               {component.stripe_size.count == 0 ? "default" : to_binary_string(component.stripe_size)},
               {component.pool.empty() ? "-" : component.pool},
               {flags.empty() ? "-" : fmt::format("{}", fmt::join(flags, ","))},
               {ost_text(component)}});
  }
  return fmt::format("{}\n{}", path, table.render(terminal, true));
}

Result<std::vector<std::byte>> read_bytes(const std::string& path) {
  input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path);
  const auto stream = input::file_stream(std::move(fd), path);
  std::vector<std::byte> bytes;
  std::array<char, 4096> buffer{};
  while (true) {
    IEZ_TRY(const std::size_t got, stream->read(buffer));
    if (got == 0) return bytes;
    const auto part = std::as_bytes(std::span(buffer).first(got));
    bytes.insert(bytes.end(), part.begin(), part.end());
    if (bytes.size() > kMaxRaw) return fail(Errc::limit, fmt::format("{}: larger than any layout ({} bytes)", path, kMaxRaw));
  }
}

Result<model::Layout> requested(const LayoutSetOptions& options) {
  if (!options.components.empty()) return model::parse_components(options.components);
  model::Component component{.overstriped = options.overstripe, .pool = options.pool};
  if (options.count) {
    IEZ_TRY(component.stripe_count, model::parse_stripe_count(*options.count));
  }
  if (options.size) {
    IEZ_TRY(component.stripe_size, parse_bytes(*options.size));
  }
  if (options.osts) {
    IEZ_TRY(component.osts, model::parse_ost_list(*options.osts, ','));
    if (!options.count) component.stripe_count = static_cast<std::uint16_t>(component.osts.size());
  }
  model::Layout layout;
  layout.components.push_back(std::move(component));
  return layout;
}

}  // namespace

Result<model::Layout> load_layout(const std::string& path, bool raw) {
  if (!raw) return lustre::read_layout(path);
  IEZ_TRY(const auto bytes, read_bytes(path));
  auto layout = lustre::decode_layout(bytes);
  if (!layout) return with_context(std::move(layout).error(), path);
  return layout;
}

Result<void> run_layout_show(const LayoutShowOptions& options, Context& context) {
  std::optional<Error> failed;
  for (const std::string& path : options.paths) {
    auto layout = load_layout(path, options.raw);
    if (!layout) {
      // The other paths are still shown.
      if (failed) context.log.error(failed->message);
      failed = std::move(layout).error();
      continue;
    }
    IEZ_CHECK(print(options.json ? to_line(to_json(path, *layout)) : to_text(path, *layout, context.terminal)));
  }
  if (failed) return std::unexpected(*std::move(failed));
  return {};
}

Result<void> run_layout_set(const LayoutSetOptions& options, Context& context) {
  IEZ_TRY(model::Layout layout, requested(options));
  IEZ_CHECK(model::validate_request(layout));
  if (!options.dry_run) {
    IEZ_TRY(layout, lustre::create_with_layout(options.path, layout, kFileMode));
  }
  return print(options.json ? to_line(to_json(options.path, layout)) : to_text(options.path, layout, context.terminal));
}

}  // namespace iez::cli
