#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/text.hpp"
#include "config/settings.hpp"
#include "json.hpp"
#include "lustre/layout_file.hpp"
#include "plan/plan_reader.hpp"
#include "plan_store_command.hpp"
#include "planning/planner.hpp"
#include "runs/directory_defaults.hpp"
#include "runs/guard_history.hpp"
#include "runs/model_text.hpp"
#include "runs/mount_table.hpp"
#include "runs/row_rules.hpp"
#include "store/store.hpp"
#include "store_command.hpp"
#include "table.hpp"
#include "wrap.hpp"

namespace iez::cli {

namespace {

namespace fs = std::filesystem;

std::string time_text(std::int64_t nanoseconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(nanoseconds / 1'000'000'000)));
}

ordered_json layout_json(const store::StripeLayout& layout) {
  ordered_json osts = ordered_json::array();
  for (const OstIndex ost : layout.osts) osts.push_back(ost.value);
  return {{"stripe_size", layout.stripe_size.count}, {"stripe_count", layout.osts.size()}, {"osts", std::move(osts)}};
}

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

// ---- Files without a plan ----

// One that the newest prediction of an application has, and no plan: left to Lustre, or all of them are.
struct Unplanned {
  store::Application application;
  std::int64_t made_ns = 0;  // the prediction
  store::PredictionRow row;
  bool by_pattern = false;
  std::string reason;
  bool left_alone = false;  // this file, by the rules for files; else no file of the run has a plan
};

bool names_row(const store::PredictionRow& row, const std::string& name) {
  if (row.name == name || row.created_as == name) return true;
  const std::string& pattern = row.created_as.empty() ? row.name : row.created_as;
  return row.open && plan::final_name_of(pattern, pattern, name).has_value();
}

// Why it is left to Lustre is told by the rules that the next plan will be made by, as directories are now.
Result<std::optional<Unplanned>> unplanned_in(store::Store& store, const store::Application& application, const std::string& name,
                                              const config::Settings& settings) {
  IEZ_TRY(auto prediction, store.latest_prediction(application.id));
  if (!prediction) return std::nullopt;
  const auto found =
      std::ranges::find_if(prediction->rows, [&](const store::PredictionRow& row) { return names_row(row, name); });
  if (found == prediction->rows.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(found - prediction->rows.begin());
  const auto mounts = runs::read_mounts();
  IEZ_TRY(const auto last, store.files(prediction->run));
  const std::vector<runs::LayoutMount> none;
  runs::DirectoryDefaults defaults(mounts ? *mounts : none, lustre::read_layout);
  const runs::LeftAlone left = runs::apply_rules(prediction->rows, last, defaults,
                                                 {.least_file = settings.place.least_file, .free_layout = settings.place.free});
  Unplanned out{.application = application, .made_ns = prediction->made_ns, .row = prediction->rows[at]};
  out.by_pattern = out.row.name != name && out.row.created_as != name;
  out.left_alone = out.row.left_alone;
  out.reason = runs::left_reason_text(left.rows[at], out.row, settings.place.least_file);
  if (out.reason.empty()) {
    out.reason = fmt::format("{} by Lustre's default: {}", runs::default_stripes_text(out.row),
                             prediction->verdict.empty() ? "the plan of its run is not made yet" : prediction->verdict);
  }
  return out;
}

// A row of what is told: the label, and its text in lines that fit.
std::string told(std::string_view label, std::string_view text) {
  constexpr std::size_t kIndent = 12;
  constexpr std::size_t kWidth = 80;
  return fmt::format("{:<10}  {}\n", label, wrapped(text, kIndent, kIndent, kWidth));
}

Result<void> print_unplanned(const Unplanned& found, const std::string& name, bool json) {
  const std::vector<OstIndex> osts = present_osts(name);
  const std::string present = osts.empty() ? "" : osts_text(osts);
  if (json) {
    ordered_json out{{"name", name},
                     {"application", found.application.name},
                     {"pattern", found.by_pattern ? ordered_json(found.row.name) : ordered_json(nullptr)},
                     {"created_as", found.row.created_as.empty() ? ordered_json(nullptr) : ordered_json(found.row.created_as)},
                     {"bytes", found.row.bytes.count},
                     {"layouts", ordered_json::array()},
                     {"reason", found.reason},
                     {"state", "unplanned"},
                     {"plan", nullptr},
                     {"made_ns", found.made_ns}};
    for (const char* key : {"planner", "policy", "file_system", "ost_cost_before", "ost_cost_after", "all_files"})
      out[key] = nullptr;
    out["measured"] = nullptr;
    out["notes"] = ordered_json::array();
    out["now"] = present.empty() ? ordered_json(nullptr) : ordered_json(present);
    out["follows"] = nullptr;
    return print(to_line(out));
  }
  std::string out = fmt::format("{}\n", text::printable(name));
  if (found.by_pattern) out += told("by pattern", text::printable(found.row.name));
  out += told("layout", "Lustre's: no plan has it");
  out += told("size", fmt::format("{} predicted", to_string(found.row.bytes)));
  out += told("why", text::printable(found.reason));
  out += told("of", fmt::format("{}, predicted {}", text::printable(found.application.name), time_text(found.made_ns)));
  if (!present.empty()) out += told("now", present);
  return print(out);
}

// ---- Files with one ----

ordered_json costs_json(const runs::PlanDetails& details) {
  return {{"ost_before", details.ost_cost_before},
          {"ost_after", details.ost_cost_after},
          {"oss_before", details.oss_cost_before},
          {"oss_after", details.oss_cost_after}};
}

// What runs of the application have shown until now of the gain that its plans promise.
Result<runs::GuardAnswer> judged(store::Store& store, const store::Application& application) {
  IEZ_TRY(const auto history, store.runs(application.id, runs::kLookedAt));
  if (history.empty()) return runs::GuardAnswer{};
  return runs::judge_history(history, runs::shape_of(history.front()), runs::stored_facts(store));
}

std::string balance_text(const runs::PlanDetails& details) {
  if (!details.run_cost_after) return "";
  const std::string after = fmt::format("{:.3f} with the plan", *details.run_cost_after);
  return details.run_cost_before ? fmt::format("OSTCost {:.3f} in the run before, {}", *details.run_cost_before, after)
                                 : fmt::format("OSTCost {}", after);
}

Result<void> print_found(store::Store& store, const Found& found, const PlanExplainOptions& options) {
  const std::string& name = found.name;
  IEZ_TRY(const runs::PlanDetails details,
          runs::parse_details(found.allocation.details.empty() ? "{}" : found.allocation.details));
  IEZ_TRY(const runs::GuardAnswer guard, judged(store, found.application));
  const std::string measured = runs::gain_text(guard);
  std::vector<std::string> notes;
  notes.reserve(details.notes.size());
  for (const std::string& note : details.notes) {
    notes.push_back(note.starts_with(planning::kPromise) ? runs::told_promise(note, guard) : note);
  }
  const std::vector<OstIndex> osts = present_osts(name);
  const std::string present = osts.empty() ? "" : osts_text(osts);
  const bool as_planned = follows(found.row, osts);
  if (options.json) {
    ordered_json layouts = ordered_json::array();
    for (const store::StripeLayout& layout : found.row.layouts) layouts.push_back(layout_json(layout));
    return print(
        to_line({{"name", name},
                 {"application", found.application.name},
                 {"pattern", found.by_pattern ? ordered_json(found.row.name) : ordered_json(nullptr)},
                 {"created_as", found.row.created_as.empty() ? ordered_json(nullptr) : ordered_json(found.row.created_as)},
                 {"bytes", found.row.bytes.count},
                 {"layouts", std::move(layouts)},
                 {"reason", found.row.reason},
                 {"state", to_string(found.row.state)},
                 {"plan", found.allocation.plan},
                 {"made_ns", found.allocation.made_ns},
                 {"planner", found.allocation.planner},
                 {"policy", found.allocation.policy},
                 {"file_system", found.allocation.file_system},
                 {"ost_cost_before", or_null(details.run_cost_before)},
                 {"ost_cost_after", or_null(details.run_cost_after)},
                 {"all_files", costs_json(details)},
                 {"measured", measured.empty() ? ordered_json(nullptr) : ordered_json(measured)},
                 {"notes", notes},
                 {"now", present.empty() ? ordered_json(nullptr) : ordered_json(present)},
                 {"follows", present.empty() ? ordered_json(nullptr) : ordered_json(as_planned)}}));
  }
  std::string out = fmt::format("{}\n", text::printable(name));
  if (found.by_pattern) out += told("by pattern", text::printable(found.row.name));
  if (!found.row.created_as.empty()) out += told("created as", text::printable(found.row.created_as));
  for (std::size_t i = 0; i < std::min<std::size_t>(found.row.layouts.size(), 8); ++i) {
    out += told(i == 0 ? "layout" : "", ost_text(found.row.layouts[i]));
  }
  out += told("size", fmt::format("{} predicted", to_string(found.row.bytes)));
  out += told("why", text::printable(found.row.reason));
  if (const std::string balance = balance_text(details); !balance.empty()) out += told("balance", balance);
  out += told("all files",
              fmt::format("OSTCost {:.4f} before, {:.4f} with the plan; OSSCost {:.4f}, {:.4f}", details.ost_cost_before,
                          details.ost_cost_after, details.oss_cost_before, details.oss_cost_after));
  if (!measured.empty()) out += told("measured", measured);
  out += told("plan", fmt::format("{} of {}, policy {}, by {}, {}", found.allocation.plan,
                                  text::printable(found.application.name), found.allocation.policy,
                                  text::printable(found.allocation.planner), time_text(found.allocation.made_ns)));
  out += told("state", to_string(found.row.state));
  if (!present.empty()) {
    out += told("now",
                fmt::format("{}{}", present,
                            as_planned ? "" : ": not by this plan (it is older, was written over in place, or another one's)"));
  }
  for (const std::string& note : notes) out += told("note", text::printable(note));
  return print(out);
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
  const auto first_with = [&](const auto& look) -> decltype(look(applications.front(), names.front())) {
    for (const std::string& name : names) {
      for (const store::Application& one : applications) {
        IEZ_TRY(auto found, look(one, name));
        if (found) return found;
      }
    }
    return std::nullopt;
  };
  IEZ_TRY(const auto found,
          first_with([&](const store::Application& one, const std::string& name) { return find_in(*opened, one, name); }));
  const std::vector<OstIndex> osts = found ? present_osts(found->name) : std::vector<OstIndex>();
  const bool in_force = found && found->row.state != store::PlanState::expired;
  if (in_force && (osts.empty() || follows(found->row, osts))) return print_found(*opened, *found, options);
  // It lies otherwise than by a plan, or none that holds has it: the newest prediction may tell that it is Lustre's business.
  auto settings = config::load_settings(config::default_sources());
  const config::Settings by = settings ? *std::move(settings) : config::Settings{};
  IEZ_TRY(const auto unplanned, first_with([&](const store::Application& one, const std::string& name) {
            return unplanned_in(*opened, one, name, by);
          }));
  if (unplanned && (!found || unplanned->left_alone)) {
    const auto named = std::ranges::find_if(names, [&](const std::string& name) { return names_row(unplanned->row, name); });
    return print_unplanned(*unplanned, named == names.end() ? names.front() : *named, options.json);
  }
  if (found) return print_found(*opened, *found, options);
  return fail(Errc::not_found, fmt::format("no plan has {}; files of other names are spread by weight, or left to Lustre",
                                           text::printable(names.front())));
}

}  // namespace iez::cli
