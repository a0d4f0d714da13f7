#include "plan_command.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/text.hpp"
#include "json.hpp"
#include "lustre/layout_codec.hpp"
#include "plan/plan_csv.hpp"
#include "plan/plan_reader.hpp"
#include "plan/plan_writer.hpp"
#include "plan_store_command.hpp"
#include "table.hpp"
#include "text_file.hpp"
#include "wrap.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kShownByDefault = 20;
constexpr std::size_t kShownLayouts = 8;    // of a rule, in text
constexpr std::size_t kJsonLayouts = 1000;  // and in JSON

double bytes_per_file(std::uint64_t bytes, std::uint64_t names, std::uint64_t files) {
  return files == 0 ? 0 : static_cast<double>(bytes - std::min(bytes, names)) / static_cast<double>(files);
}

std::string id_text(std::uint64_t id) { return fmt::format("{:016x}", id); }

std::string time_text(std::int64_t nanoseconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(nanoseconds / 1'000'000'000)));
}

// ---- Layouts ----

std::string count_text(const model::Component& component) {
  if (component.stripe_count == model::Component::kAllOsts) return "all OSTs";
  if (component.stripe_count == 0) return "default count";
  return counted(component.stripe_count, "stripe");
}

std::string component_text(const model::Component& component) {
  std::string out = component.pattern == model::Pattern::mdt ? "on the MDT" : count_text(component);
  if (component.stripe_size.count != 0) out += " of " + to_binary_string(component.stripe_size);
  if (!component.pool.empty()) out += fmt::format(" in pool {}", component.pool);
  if (!component.osts.empty()) {
    std::vector<std::uint32_t> osts;
    osts.reserve(component.osts.size());
    for (const OstIndex ost : component.osts) osts.push_back(ost.value);
    out += fmt::format(" on OST {}", fmt::join(osts, ","));
  } else if (component.first_ost) {
    out += fmt::format(" from OST {} on", component.first_ost->value);
  }
  return out;
}

std::string layout_text(const model::Layout& layout) {
  if (!layout.composite) return component_text(layout.components[0]);
  std::string out;
  for (const model::Component& component : layout.components) {
    if (!out.empty()) out += "; ";
    out += component.extent.end == model::Extent::kEof ? "rest"
                                                       : fmt::format("to {}", to_binary_string(Bytes{component.extent.end}));
    out += ": " + component_text(component);
  }
  return out;
}

ordered_json component_json(const model::Component& component, bool composite) {
  ordered_json json;
  if (composite) {
    json["start"] = component.extent.start;
    json["end"] = component.extent.end == model::Extent::kEof ? ordered_json(nullptr) : ordered_json(component.extent.end);
  }
  json["stripe_size"] = component.stripe_size.count;
  json["stripe_count"] = component.stripe_count == model::Component::kAllOsts ? -1 : static_cast<int>(component.stripe_count);
  json["overstriped"] = component.overstriped;
  json["pool"] = component.pool.empty() ? ordered_json(nullptr) : ordered_json(component.pool);
  json["first_ost"] = component.first_ost ? ordered_json(component.first_ost->value) : ordered_json(nullptr);
  json["osts"] = ordered_json::array();
  for (const OstIndex ost : component.osts) json["osts"].push_back(ost.value);
  return json;
}

ordered_json layout_json(const model::Layout& layout) {
  ordered_json json{{"composite", layout.composite}, {"components", ordered_json::array()}};
  for (const model::Component& component : layout.components) {
    json["components"].push_back(component_json(component, layout.composite));
  }
  return json;
}

Result<model::Layout> decoded(std::span<const std::byte> request, std::string_view of) {
  auto layout = lustre::decode_layout(request);
  if (!layout) return with_context(std::move(layout).error(), fmt::format("the layout of {}", text::printable(of)));
  return layout;
}

std::string_view word(plan::RuleType type) {
  switch (type) {
    case plan::RuleType::pattern:
      return "pattern";
    case plan::RuleType::spread:
      return "spread";
    case plan::RuleType::leave:
      return "leave";
  }
  return "?";
}

std::string_view word(const plan::Explanation& explanation) {
  switch (explanation.found) {
    case plan::Found::file:
      return "file";
    case plan::Found::pattern:
      return "pattern";
    case plan::Found::spread:
      return "spread";
    case plan::Found::nothing:
    case plan::Found::damaged:
      break;
  }
  return explanation.left_alone ? "leave" : "nothing";
}

// ---- What is in a plan ----

struct Shown {
  std::string name;
  std::string_view kind;
  std::string text;  // of its layouts
  ordered_json json;
};

Result<Shown> shown_rule(const plan::ReadRule& rule) {
  Shown shown{.name = rule.text, .kind = word(rule.type), .text = {}, .json = {{"name", rule.text}, {"kind", word(rule.type)}}};
  if (!rule.final_text.empty()) shown.name += " -> " + rule.final_text;
  shown.json["final_name"] = rule.final_text.empty() ? ordered_json(nullptr) : ordered_json(rule.final_text);
  shown.json["turn"] = rule.turn.empty() ? ordered_json(nullptr) : ordered_json(rule.turn);
  shown.json["turns"] = rule.turns;
  shown.json["layouts"] = ordered_json::array();
  for (const auto& request : rule.requests) {
    IEZ_TRY(const model::Layout layout, decoded(request, rule.text));
    const std::size_t number = shown.json["layouts"].size();
    if (number < kShownLayouts) {
      if (number != 0) shown.text += "; ";
      shown.text += layout_text(layout);
    }
    shown.json["layouts"].push_back(layout_json(layout));
  }
  if (rule.turns > kShownLayouts) shown.text += fmt::format("; ... {} in turn", rule.turns);
  if (rule.requests.empty()) shown.text = "as the directory says";
  return shown;
}

Result<Shown> shown_file(const plan::ReadFile& file) {
  IEZ_TRY(const model::Layout layout, decoded(file.request, file.name));
  Shown shown{.name = std::string(file.name),
              .kind = "file",
              .text = layout_text(layout),
              .json = {{"name", file.name}, {"kind", "file"}}};
  if (!file.final_name.empty()) shown.name += fmt::format(" -> {}", file.final_name);
  shown.json["final_name"] = file.final_name.empty() ? ordered_json(nullptr) : ordered_json(file.final_name);
  shown.json["turn"] = nullptr;
  shown.json["turns"] = 1;
  shown.json["layouts"] = ordered_json::array({layout_json(layout)});
  return shown;
}

// Rules first: there are fewer, and they say more.
Result<std::vector<Shown>> entries(const plan::PlanReader& reader, std::size_t limit, bool json) {
  std::vector<Shown> all;
  constexpr std::string_view kEnough = "enough";
  const auto full = [&all, limit] { return limit != 0 && all.size() >= limit; };
  const auto rule = [&](const plan::ReadRule& one) -> Result<void> {
    if (full()) return {};
    IEZ_TRY(all.emplace_back(), shown_rule(one));
    return {};
  };
  IEZ_CHECK(reader.visit_rules(json ? kJsonLayouts : kShownLayouts, rule));
  const auto file = [&](const plan::ReadFile& one) -> Result<void> {
    if (full()) return fail(Errc::limit, std::string(kEnough));
    IEZ_TRY(all.emplace_back(), shown_file(one));
    return {};
  };
  if (const auto visited = reader.visit_files(file); !visited && visited.error().message != kEnough) {
    return std::unexpected(visited.error());
  }
  return all;
}

ordered_json info_json(const std::string& path, const plan::PlanInfo& info) {
  return {{"path", path},
          {"id", id_text(info.id)},
          {"created_ns", info.created_ns},
          {"version", fmt::format("{}.{}", info.version, info.minor_version)},
          {"files", info.files},
          {"rules", info.rules},
          {"bytes", info.bytes},
          {"name_bytes", info.name_bytes},
          {"bytes_per_file", bytes_per_file(info.bytes, info.name_bytes, info.files)}};
}

std::string info_text(const plan::PlanInfo& info) {
  std::string out =
      fmt::format("{}, {}; {}", counted(info.files, "file"), counted(info.rules, "rule"), to_string(Bytes{info.bytes}));
  if (info.files != 0)
    out += fmt::format(", {:.1f} bytes a file and its name", bytes_per_file(info.bytes, info.name_bytes, info.files));
  return out + fmt::format("\nid {}, made {}\n", id_text(info.id), time_text(info.created_ns));
}

// Why files have their stripes, where that is known: the most frequent reasons.
std::string reasons_text(std::span<const PlanReason> reasons) {
  constexpr std::size_t kShownReasons = 5;
  constexpr std::size_t kWidth = 80;
  std::string out;
  for (std::size_t i = 0; i < std::min(reasons.size(), kShownReasons); ++i) {
    const std::string text = fmt::format("{}: {}", counted(reasons[i].files, "file"), text::printable(reasons[i].reason));
    out += fmt::format("{}  {}\n", i == 0 ? "\nwhy" : "   ", wrapped(text, 5, 5, kWidth));
  }
  if (reasons.size() > kShownReasons) {
    out += fmt::format("     ... and {} more reasons; `iez plan explain FILE` tells that of a file\n",
                       reasons.size() - kShownReasons);
  }
  return out;
}

Result<void> show_entries(const plan::PlanReader& reader, const PlanShowOptions& options, const Context& context,
                          std::span<const PlanReason> reasons) {
  const plan::PlanInfo& info = reader.info();
  const std::size_t limit = options.limit.value_or(options.json ? 0 : kShownByDefault);
  IEZ_TRY(std::vector<Shown> all, entries(reader, limit, options.json));
  if (options.json) {
    ordered_json json = info_json(options.path, info);
    json["entries"] = ordered_json::array();
    for (Shown& shown : all) json["entries"].push_back(std::move(shown.json));
    json["reasons"] = ordered_json::array();
    for (const PlanReason& one : reasons) json["reasons"].push_back({{"reason", one.reason}, {"files", one.files}});
    return print(to_line(json));
  }
  Table table({{.title = "KIND"}, {.title = "NAME"}, {.title = "LAYOUT"}});
  const std::uint64_t more = info.files + info.rules - all.size();
  for (Shown& shown : all) table.add({{std::string(shown.kind)}, {std::move(shown.name)}, {std::move(shown.text)}});
  std::string out;
  if (!options.no_header) out = info_text(info) + '\n';
  out += table.render(context.terminal, !options.no_header);
  if (!options.no_header && more != 0) out += fmt::format("... and {} more; --limit 0 shows all\n", more);
  if (!options.no_header) out += reasons_text(reasons);
  return print(out);
}

// ---- What names would get ----

Result<void> show_matches(const plan::PlanReader& reader, const PlanShowOptions& options, const Context& context) {
  Table table(
      {{.title = "NAME"}, {.title = "BY"}, {.title = "RULE"}, {.title = "TURN", .align = Align::right}, {.title = "LAYOUT"}});
  ordered_json json = info_json(options.path, reader.info());
  json["matches"] = ordered_json::array();
  for (const std::string& name : options.names) {
    IEZ_TRY(const plan::Explanation found, reader.explain(name));
    std::string text = found.left_alone ? "as the directory says" : "not planned";
    ordered_json layout = nullptr;
    if (!found.request.empty()) {
      IEZ_TRY(const model::Layout request, decoded(found.request, name));
      text = layout_text(request);
      layout = layout_json(request);
    }
    const bool takes_turns = found.turns > 0;
    json["matches"].push_back({{"name", name},
                               {"by", word(found)},
                               {"rule", found.rule.empty() ? ordered_json(nullptr) : ordered_json(found.rule)},
                               {"turn", takes_turns ? ordered_json(found.turn) : ordered_json(nullptr)},
                               {"turns", takes_turns ? ordered_json(found.turns) : ordered_json(nullptr)},
                               {"final_name", found.final_name.empty() ? ordered_json(nullptr) : ordered_json(found.final_name)},
                               {"layout", std::move(layout)}});
    table.add({{found.final_name.empty() ? name : fmt::format("{} -> {}", name, found.final_name)},
               {std::string(word(found))},
               {found.rule.empty() ? "-" : found.rule},
               {takes_turns ? fmt::format("{} of {}", found.turn + 1, found.turns) : "-"},
               {std::move(text)}});
  }
  return print(options.json ? to_line(json) : table.render(context.terminal, !options.no_header));
}

}  // namespace

Result<void> run_plan_compile(const PlanCompileOptions& options, Context& context) {
  IEZ_TRY(const std::string text, read_text_file(options.input));
  const std::string origin = options.input == kStandardStream ? "standard input" : options.input;
  plan::PlanWriter::Options writing;
  writing.created_ns = context.clock.wall().time_since_epoch().count();
  plan::PlanWriter writer(options.output, writing);
  IEZ_CHECK(plan::read_plan_csv(text, origin, writer));
  auto summary = writer.finish();
  // What was planned twice is in the input; all else is told of the output.
  if (!summary && summary.error().code == Errc::parse) return with_context(std::move(summary).error(), text::printable(origin));
  if (!summary) return std::unexpected(std::move(summary).error());
  const double each = bytes_per_file(summary->bytes, summary->name_bytes, summary->files);
  if (options.json) {
    return print(to_line({{"path", options.output},
                          {"id", id_text(summary->id)},
                          {"files", summary->files},
                          {"rules", summary->rules},
                          {"bytes", summary->bytes},
                          {"name_bytes", summary->name_bytes},
                          {"bytes_per_file", each}}));
  }
  std::string out = fmt::format("{}: {}, {}; {}", text::printable(options.output), counted(summary->files, "file"),
                                counted(summary->rules, "rule"), to_string(Bytes{summary->bytes}));
  if (summary->files != 0) out += fmt::format(", {:.1f} bytes a file and its name", each);
  return print(out + '\n');
}

Result<void> run_plan_show(const PlanShowOptions& options, Context& context) {
  PlanShowOptions shown = options;
  IEZ_TRY(shown.path, plan_file_of(options.path, options.store, context));
  IEZ_TRY(const plan::PlanReader reader, plan::PlanReader::open(shown.path));
  if (!options.names.empty()) return show_matches(reader, shown, context);
  IEZ_TRY(const auto reasons, plan_reasons(options.path, options.store, context));
  return show_entries(reader, shown, context, reasons);
}

Result<void> run_plan_check(const PlanCheckOptions& options, Context& /*context*/) {
  for (const std::string& path : options.paths) {
    IEZ_TRY(const plan::PlanReader reader, plan::PlanReader::open(path));
    IEZ_CHECK(reader.check());
    if (options.json) {
      ordered_json json = info_json(path, reader.info());
      json["whole"] = true;
      IEZ_CHECK(print(to_line(json)));
    } else {
      IEZ_CHECK(print(fmt::format("{}: whole: {}", text::printable(path), info_text(reader.info()))));
    }
  }
  return {};
}

}  // namespace iez::cli
