#include "runs/model_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace iez::runs {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr std::size_t kTemplates = 200;  // kept in the model: those with the most bytes

constexpr double kMaxRevision = 1e15;
constexpr std::uint64_t kMaxOst = 999'999;

// Names need not be UTF-8; what is shown of them must be.
std::string said(std::string_view name) { return text::printable(name); }

double number_or(const json& from, const char* key, double otherwise) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number() ? found->get<double>() : otherwise;
}

}  // namespace

std::string model_text(const forecast::NextRun& next, std::span<const forecast::RenameRule> rules) {
  ordered_json out{{"runs", next.runs},
                   {"ranks", next.ranks},
                   {"files", next.files.size()},
                   {"bytes", next.total.count},
                   {"high", next.total_high.count},
                   {"templates", ordered_json::array()},
                   {"renames", ordered_json::array()},
                   {"notes", ordered_json::array()}};
  for (const forecast::PredictedTemplate& one : next.templates) {
    if (out["templates"].size() == kTemplates) break;
    out["templates"].push_back({{"pattern", said(one.name.pattern())},
                                {"files", one.files},
                                {"bytes", one.bytes.count},
                                {"rank_exponent", one.exponent},
                                {"rank_exponent_fitted", one.fitted}});
  }
  for (const forecast::RenameRule& rule : rules) {
    if (out["renames"].size() == kTemplates) break;
    out["renames"].push_back(
        {{"temporary", said(rule.temporary.pattern())}, {"final", said(rule.final.pattern())}, {"pairs", rule.pairs}});
  }
  for (const std::string& note : next.notes) out["notes"].push_back(said(note));
  return out.dump();
}

std::string to_text(const PlanDetails& details) {
  ordered_json out;
  out["osts"] = ordered_json::array();
  for (const OstIndex ost : details.osts) out["osts"].push_back(ost.value);
  out["before"] = {{"ost", details.ost_cost_before}, {"oss", details.oss_cost_before}};
  out["after"] = {{"ost", details.ost_cost_after}, {"oss", details.oss_cost_after}};
  if (details.run_cost_before) out["run"]["before"] = *details.run_cost_before;
  if (details.run_cost_after) out["run"]["after"] = *details.run_cost_after;
  if (details.file_system_osts > 0) out["run"]["osts"] = details.file_system_osts;
  out["revision"] = details.revision;
  out["notes"] = details.notes;
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<PlanDetails> parse_details(std::string_view text) {
  const json in = json::parse(text, nullptr, false);
  if (!in.is_object()) return fail(Errc::parse, "details of a plan: found no JSON object");
  PlanDetails details;
  const auto list = [&](const char* key, const auto& take) {
    const auto found = in.find(key);
    if (found == in.end() || !found->is_array()) return;
    for (const json& item : *found) take(item);
  };
  list("osts", [&](const json& item) {
    if (item.is_number_unsigned() && item.get<std::uint64_t>() <= kMaxOst) {
      details.osts.push_back(OstIndex{static_cast<std::uint32_t>(item.get<std::uint64_t>())});
    }
  });
  list("notes", [&](const json& item) {
    if (item.is_string()) details.notes.push_back(item.get<std::string>());
  });
  details.revision = static_cast<std::uint64_t>(std::clamp(number_or(in, "revision", 1), 0.0, kMaxRevision));
  const auto costs = [&](const char* key, double& ost, double& oss) {
    const auto found = in.find(key);
    if (found == in.end() || !found->is_object()) return;
    ost = number_or(*found, "ost", 1);
    oss = number_or(*found, "oss", 1);
  };
  costs("before", details.ost_cost_before, details.oss_cost_before);
  costs("after", details.ost_cost_after, details.oss_cost_after);
  if (const auto run = in.find("run"); run != in.end() && run->is_object()) {
    const auto cost = [&](const char* key) {
      const double value = number_or(*run, key, 0);
      return value >= 1 ? std::optional(value) : std::nullopt;
    };
    details.run_cost_before = cost("before");
    details.run_cost_after = cost("after");
    details.file_system_osts = static_cast<std::uint64_t>(std::clamp(number_or(*run, "osts", 0), 0.0, double{kMaxOst}));
  }
  return details;
}

}  // namespace iez::runs
