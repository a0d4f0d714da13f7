#include "plan_store_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/text.hpp"
#include "config/settings.hpp"
#include "json.hpp"
#include "lustre/layout_codec.hpp"
#include "lustre/layout_file.hpp"
#include "plan/plan_reader.hpp"
#include "runs/compile_plan.hpp"
#include "runs/model_text.hpp"
#include "runs/planner.hpp"
#include "runs/remote_plan.hpp"
#include "runs/run_folder.hpp"
#include "runs/run_life.hpp"
#include "store/store.hpp"
#include "store_command.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownByDefault = 20;

std::string time_text(std::int64_t nanoseconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(nanoseconds / 1'000'000'000)));
}

Result<std::unique_ptr<store::Store>> open_known_store(const std::string& flag, Context& context) {
  IEZ_TRY(const std::string url, store_url(flag));
  store::OpenOptions opening;
  opening.create = false;
  auto opened = store::Store::open(url, context.clock, opening);
  if (!opened && opened.error().code == Errc::not_found) {
    return with_context(std::move(opened).error(), "no interaction database yet; `iez run` makes one");
  }
  return opened;
}

// What is no application may have been meant as a file.
Result<store::Application> application_of(store::Store& store, const std::string& name, Naming naming = Naming::or_its_start) {
  auto found = application_named(store, current_user(), name, naming);
  if (!found && found.error().code == Errc::not_found) found.error().message += ", nor a plan file of that name";
  return found;
}

std::string ost_text(const store::StripeLayout& layout) {
  std::vector<std::uint32_t> osts;
  osts.reserve(layout.osts.size());
  for (const OstIndex ost : layout.osts) osts.push_back(ost.value);
  return fmt::format("{} of {} on OST {}", counted(osts.size(), "stripe"), to_binary_string(layout.stripe_size),
                     fmt::join(osts, ","));
}

ordered_json layout_json(const store::StripeLayout& layout) {
  ordered_json osts = ordered_json::array();
  for (const OstIndex ost : layout.osts) osts.push_back(ost.value);
  return {{"stripe_size", layout.stripe_size.count}, {"stripe_count", layout.osts.size()}, {"osts", std::move(osts)}};
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

}  // namespace

Result<std::string> plan_file_of(const std::string& name, const std::string& store, Context& context) {
  if (is_file(name) || name.find('/') != std::string::npos) return name;
  IEZ_TRY(const auto opened, open_known_store(store, context));
  IEZ_TRY(const store::Application application, application_of(*opened, name));
  IEZ_TRY(const auto all, opened->allocations(application.id));
  if (all.empty() || all.front().planned + all.front().created == 0) {
    return fail(Errc::not_found, fmt::format("{} has no plan: its next run learns", text::printable(name)));
  }
  IEZ_TRY(const std::string state, config::state_folder(config::default_sources()));
  const std::string path = runs::plan_path(state, application.name);
  const auto reader = plan::PlanReader::open(path);
  if (reader && reader->info().id == runs::plan_number(all.front().plan) && reader->info().created_ns == all.front().made_ns) {
    return path;
  }
  IEZ_TRY(const auto whole, opened->allocation(all.front().id));
  if (!whole) return fail(Errc::not_found, fmt::format("the plan of {} was taken back", text::printable(name)));
  IEZ_CHECK(runs::make_private_folder(state + "/plans"));
  IEZ_TRY([[maybe_unused]] const auto summary, runs::compile_plan(*whole, path));
  return path;
}

// ---- explain ----

namespace {

struct Found {
  store::Application application;
  store::Allocation allocation;  // without rows
  store::AllocationRow row;
  std::string name;
  bool by_pattern = false;
  std::size_t turn = 0;  // of its layouts
};

// Where a file lies, as far as it is there and can be told.
std::vector<OstIndex> present_osts(const std::string& path) {
  std::vector<OstIndex> osts;
  const auto layout = lustre::read_layout(path);
  if (!layout || layout->components.empty()) return osts;
  for (const model::StripeObject& object : layout->components.front().objects) osts.push_back(object.ost);
  return osts;
}

std::string osts_text(std::span<const OstIndex> osts) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(osts.size());
  for (const OstIndex ost : osts) numbers.push_back(ost.value);
  return fmt::format("{} on OST {}", counted(numbers.size(), "stripe"), fmt::join(numbers, ","));
}

bool follows(const store::AllocationRow& row, std::span<const OstIndex> osts) {
  return std::ranges::any_of(row.layouts,
                             [&](const store::StripeLayout& layout) { return std::ranges::equal(layout.osts, osts); });
}

// The row of a plan that a file of this name goes by: its own, or a pattern.
std::optional<Found> row_of(const store::Application& application, const store::Allocation& head, store::Allocation&& whole,
                            const std::string& name) {
  for (store::AllocationRow& row : whole.rows) {
    if (row.name == name || row.created_as == name)
      return Found{.application = application, .allocation = head, .row = std::move(row), .name = name};
  }
  for (store::AllocationRow& row : whole.rows) {
    const std::string& pattern = row.created_as.empty() ? row.name : row.created_as;
    if (pattern.find('{') == std::string::npos || !plan::final_name_of(pattern, pattern, name)) continue;
    return Found{.application = application, .allocation = head, .row = std::move(row), .name = name, .by_pattern = true};
  }
  return std::nullopt;
}

// The newest plan of an application that has the file; of the newest few, that which the file follows: after each run there is
// one for the next, and the file lies by an older one.
Result<std::optional<Found>> find_in(store::Store& store, const store::Application& application, const std::string& name) {
  constexpr std::size_t kLookedAt = 8;
  const std::vector<OstIndex> osts = present_osts(name);
  IEZ_TRY(const auto all, store.allocations(application.id));
  std::optional<Found> newest;
  std::size_t looked = 0;
  for (const store::Allocation& head : all) {
    if (head.row_count == 0) continue;
    if (newest && ++looked >= kLookedAt) break;
    IEZ_TRY(auto whole, store.allocation(head.id));
    if (!whole) continue;
    auto found = row_of(application, head, *std::move(whole), name);
    if (!found) continue;
    if (osts.empty() || follows(found->row, osts)) return found;
    if (!newest) newest = std::move(found);
  }
  return newest;
}

// What a name may stand under in a plan: as it was given, with its directory's real name as the preload library knows it, and, of
// a symbolic link, what it leads to.
std::vector<std::string> names_of(const std::string& given) {
  std::error_code error;
  const fs::path as_given = fs::absolute(given, error);
  std::vector<std::string> out{as_given.lexically_normal().string()};
  const auto add = [&](const fs::path& path) {
    if (!error && std::ranges::find(out, path.string()) == out.end()) out.push_back(path.string());
  };
  add(fs::weakly_canonical(as_given.parent_path(), error) / as_given.filename());
  add(fs::weakly_canonical(as_given, error));
  return out;
}

}  // namespace

Result<void> run_plan_explain(const PlanExplainOptions& options, Context& context) {
  const std::vector<std::string> names = names_of(options.file);
  IEZ_TRY(const auto opened, open_known_store(options.store, context));
  std::vector<store::Application> applications;
  if (!options.application.empty()) {
    IEZ_TRY(applications.emplace_back(), application_of(*opened, options.application));
  } else {
    IEZ_TRY(auto all, opened->applications(current_user()));
    std::ranges::sort(all, {}, [](const store::ApplicationSummary& one) { return -one.last_run_ns; });
    for (auto& one : all) applications.push_back(std::move(one.application));
  }
  std::optional<Found> found;
  for (const std::string& name : names) {
    for (const store::Application& one : applications) {
      IEZ_TRY(found, find_in(*opened, one, name));
      if (found) break;
    }
    if (found) break;
  }
  if (!found) {
    return fail(Errc::not_found, fmt::format("no plan has {}; files of other names are spread by weight, or left to Lustre",
                                             text::printable(names.front())));
  }
  const std::string& name = found->name;
  IEZ_TRY(const runs::PlanDetails details,
          runs::parse_details(found->allocation.details.empty() ? "{}" : found->allocation.details));
  const std::vector<OstIndex> osts = present_osts(name);
  const std::string present = osts.empty() ? "" : osts_text(osts);
  const bool as_planned = follows(found->row, osts);
  if (options.json) {
    ordered_json layouts = ordered_json::array();
    for (const store::StripeLayout& layout : found->row.layouts) layouts.push_back(layout_json(layout));
    return print(
        to_line({{"name", name},
                 {"application", found->application.name},
                 {"pattern", found->by_pattern ? ordered_json(found->row.name) : ordered_json(nullptr)},
                 {"created_as", found->row.created_as.empty() ? ordered_json(nullptr) : ordered_json(found->row.created_as)},
                 {"bytes", found->row.bytes.count},
                 {"layouts", std::move(layouts)},
                 {"reason", found->row.reason},
                 {"state", to_string(found->row.state)},
                 {"plan", found->allocation.plan},
                 {"made_ns", found->allocation.made_ns},
                 {"planner", found->allocation.planner},
                 {"policy", found->allocation.policy},
                 {"file_system", found->allocation.file_system},
                 {"ost_cost_before", details.ost_cost_before},
                 {"ost_cost_after", details.ost_cost_after},
                 {"oss_cost_before", details.oss_cost_before},
                 {"oss_cost_after", details.oss_cost_after},
                 {"notes", details.notes},
                 {"now", present.empty() ? ordered_json(nullptr) : ordered_json(present)},
                 {"follows", present.empty() ? ordered_json(nullptr) : ordered_json(as_planned)}}));
  }
  std::string out = fmt::format("{}\n", text::printable(name));
  if (found->by_pattern) out += fmt::format("by pattern  {}\n", text::printable(found->row.name));
  if (!found->row.created_as.empty()) out += fmt::format("created as  {}\n", text::printable(found->row.created_as));
  for (std::size_t i = 0; i < std::min<std::size_t>(found->row.layouts.size(), 8); ++i) {
    out += fmt::format("{}  {}\n", i == 0 ? "layout    " : "          ", ost_text(found->row.layouts[i]));
  }
  out += fmt::format("size        {} foretold\n", to_string(found->row.bytes));
  out += fmt::format("why         {}\n", found->row.reason);
  out += fmt::format("balance     OSTCost {:.4f} before, {:.4f} with the plan; OSSCost {:.4f}, {:.4f}\n", details.ost_cost_before,
                     details.ost_cost_after, details.oss_cost_before, details.oss_cost_after);
  out += fmt::format("plan        {} of {}, policy {}, by {}, {}\n", found->allocation.plan,
                     text::printable(found->application.name), found->allocation.policy,
                     text::printable(found->allocation.planner), time_text(found->allocation.made_ns));
  out += fmt::format("state       {}\n", to_string(found->row.state));
  if (!present.empty()) {
    out += fmt::format("now         {}{}\n", present,
                       as_planned ? "" : ": not by this plan (it is older, was written over in place, or another one's)");
  }
  for (const std::string& note : details.notes) out += fmt::format("note        {}\n", text::printable(note));
  return print(out);
}

// ---- diff ----

namespace {

using Entries = std::map<std::string, std::string>;  // name -> layouts

Result<Entries> entries_of(const std::string& path) {
  IEZ_TRY(const plan::PlanReader reader, plan::PlanReader::open(path));
  Entries out;
  const auto text_of = [](std::span<const std::byte> request) -> Result<std::string> {
    IEZ_TRY(const model::Layout layout, lustre::decode_layout(request));
    const model::Component& component = layout.components.front();
    if (component.osts.empty()) return fmt::format("{} by Lustre", counted(component.stripe_count, "stripe"));
    return ost_text({.stripe_size = component.stripe_size, .osts = component.osts});
  };
  IEZ_CHECK(reader.visit_files([&](const plan::ReadFile& file) -> Result<void> {
    IEZ_TRY(out[std::string(file.name)], text_of(file.request));
    return {};
  }));
  IEZ_CHECK(reader.visit_rules(1000, [&](const plan::ReadRule& rule) -> Result<void> {
    std::string text;
    for (const auto& request : rule.requests) {
      IEZ_TRY(const std::string one, text_of(request));
      text += (text.empty() ? "" : "; ") + one;
    }
    out[(rule.type == plan::RuleType::spread  ? "spread:"
         : rule.type == plan::RuleType::leave ? "leave:"
                                              : "") +
        rule.text] = std::move(text);
    return {};
  }));
  return out;
}

Entries entries_of(const store::Allocation& allocation) {
  Entries out;
  for (const store::AllocationRow& row : allocation.rows) {
    std::string text;
    for (const store::StripeLayout& layout : row.layouts) text += (text.empty() ? "" : "; ") + ost_text(layout);
    out[row.created_as.empty() ? row.name : row.created_as] = std::move(text);
  }
  return out;
}

}  // namespace

Result<void> run_plan_diff(const PlanDiffOptions& options, Context& context) {
  Entries before;
  Entries after;
  std::string first = options.first;
  std::string second = options.second;
  if (!options.second.empty()) {
    IEZ_TRY(const std::string a, plan_file_of(options.first, options.store, context));
    IEZ_TRY(const std::string b, plan_file_of(options.second, options.store, context));
    IEZ_TRY(before, entries_of(a));
    IEZ_TRY(after, entries_of(b));
  } else {
    IEZ_TRY(const auto opened, open_known_store(options.store, context));
    IEZ_TRY(const store::Application application, application_of(*opened, options.first));
    IEZ_TRY(const auto all, opened->allocations(application.id));
    if (all.size() < 2) {
      return fail(Errc::not_found,
                  fmt::format("{} has {}: two are needed", text::printable(options.first), counted(all.size(), "plan")));
    }
    IEZ_TRY(const auto older, opened->allocation(all[1].id));
    IEZ_TRY(const auto newer, opened->allocation(all[0].id));
    if (!older || !newer) return fail(Errc::not_found, "a plan was taken back meanwhile");
    before = entries_of(*older);
    after = entries_of(*newer);
    first = all[1].plan;
    second = all[0].plan;
  }
  struct Row {
    std::string_view change;
    std::string name;
    std::string before;
    std::string after;
  };
  std::vector<Row> rows;
  std::size_t same = 0;
  for (const auto& [name, text] : before) {
    const auto found = after.find(name);
    if (found == after.end()) {
      rows.push_back({"gone", name, text, ""});
    } else if (found->second != text) {
      rows.push_back({"moved", name, text, found->second});
    } else {
      ++same;
    }
  }
  for (const auto& [name, text] : after) {
    if (!before.contains(name)) rows.push_back({"new", name, "", text});
  }
  std::ranges::sort(rows, {}, [](const Row& row) { return std::string_view(row.name); });
  const std::size_t limit = options.limit.value_or(options.json ? 0 : kShownByDefault);
  const std::size_t shown = limit == 0 ? rows.size() : std::min(limit, rows.size());
  if (options.json) {
    ordered_json json{{"first", first}, {"second", second}, {"same", same}, {"changes", ordered_json::array()}};
    for (std::size_t i = 0; i < shown; ++i) {
      const Row& row = rows[i];
      json["changes"].push_back({{"change", row.change},
                                 {"name", row.name},
                                 {"before", row.before.empty() ? ordered_json(nullptr) : ordered_json(row.before)},
                                 {"after", row.after.empty() ? ordered_json(nullptr) : ordered_json(row.after)}});
    }
    return print(to_line(json));
  }
  Table table({{.title = "CHANGE"}, {.title = "NAME"}, {.title = "BEFORE"}, {.title = "AFTER"}});
  for (std::size_t i = 0; i < shown; ++i) {
    const Row& row = rows[i];
    table.add(
        {{std::string(row.change)}, {row.name}, {row.before.empty() ? "-" : row.before}, {row.after.empty() ? "-" : row.after}});
  }
  std::string out;
  if (!options.no_header) out = fmt::format("{} the same, {} differ\n\n", same, rows.size());
  if (shown > 0) out += table.render(context.terminal, !options.no_header);
  if (!options.no_header && shown < rows.size())
    out += fmt::format("... and {} more; --limit 0 shows all\n", rows.size() - shown);
  return print(out);
}

// ---- expire ----

Result<void> run_plan_expire(const PlanExpireOptions& options, Context& context) {
  if (options.application.empty() && !options.older_than) {
    return fail(Errc::invalid_argument, "expire: expected an application, or --older-than TIME for all");
  }
  IEZ_TRY(const auto settings, config::load_settings(config::default_sources()));
  IEZ_TRY(const auto opened, open_known_store(options.store, context));
  std::vector<store::Application> applications;
  if (!options.application.empty()) {
    IEZ_TRY(applications.emplace_back(), application_of(*opened, options.application, Naming::whole));
  } else {
    IEZ_TRY(auto all, opened->applications(current_user()));
    for (auto& one : all) applications.push_back(std::move(one.application));
  }
  const std::int64_t now = context.clock.wall().time_since_epoch().count();
  const std::int64_t before = options.older_than ? now - options.older_than->count() : now + 1;
  const auto state = config::state_folder(config::default_sources());
  std::uint64_t rows = 0;
  std::vector<std::string> names;
  for (const store::Application& one : applications) {
    IEZ_TRY(const auto all, opened->allocations(one.id));
    std::uint64_t expired = 0;
    for (const store::Allocation& allocation : all) {
      if (allocation.made_ns >= before || allocation.planned + allocation.created == 0) continue;
      IEZ_TRY(const std::uint64_t changed, opened->set_states(allocation.id, store::PlanState::expired));
      expired += changed;
      if (allocation.planner != runs::kLocalPlanner) runs::take_back(settings, allocation.plan);
    }
    if (expired == 0) continue;
    rows += expired;
    names.push_back(one.name);
    if (state) (void)::unlink(runs::plan_path(*state, one.name).c_str());
  }
  if (options.json) return print(to_line({{"applications", names}, {"files", rows}}));
  if (names.empty()) return print("nothing to expire\n");
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}: its plan is void, its next run learns\n", text::printable(name));
  return print(out);
}

}  // namespace iez::cli
