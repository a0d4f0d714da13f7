#include "plan_store_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
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
#include "plan/plan_format.hpp"
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

// Whether a plan file is meant. A program in the current directory often has the name of its application.
bool is_plan_file(const std::string& name, const std::string& flag, Context& context) {
  if (name.find('/') != std::string::npos) return true;
  std::error_code error;
  if (!fs::is_regular_file(name, error)) return false;
  std::uint64_t magic = 0;
  std::ifstream(name, std::ios::binary).read(reinterpret_cast<char*>(&magic), sizeof magic);
  if (magic == plan::abi::kMagic) return true;
  const auto store = open_known_store(flag, context);
  return !store || !application_named(**store, current_user(), name, Naming::whole);
}

}  // namespace

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
Result<store::Application> application_of(store::Store& store, const std::string& name, Naming naming) {
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

Result<std::string> plan_file_of(const std::string& name, const std::string& store, Context& context) {
  if (is_plan_file(name, store, context)) return name;
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

Result<std::vector<PlanReason>> plan_reasons(const std::string& name, const std::string& store, Context& context) {
  std::vector<PlanReason> out;
  if (is_plan_file(name, store, context)) return out;  // a plan file does not tell
  IEZ_TRY(const auto opened, open_known_store(store, context));
  IEZ_TRY(const store::Application application, application_of(*opened, name));
  IEZ_TRY(const auto plan, opened->latest_allocation(application.id));
  if (!plan) return out;
  for (const store::AllocationRow& row : plan->rows) {
    const auto found = std::ranges::find(out, row.reason, &PlanReason::reason);
    if (found != out.end()) {
      found->files += row.files;
    } else {
      out.push_back({.reason = row.reason, .files = row.files});
    }
  }
  std::ranges::stable_sort(out, {}, [](const PlanReason& one) { return ~one.files; });
  return out;
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
