// A plan as `iez place` shows it: tables, JSON, CSV and a picture. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "json.hpp"
#include "placement/plan.hpp"
#include "svg_chart.hpp"

namespace iez::cli {

// Refers to what it shows.
struct PlanView {
  std::string_view cluster;
  bool servers_known = true;  // false: no sum by server
  std::uint64_t seed = 1;
  const placement::TargetTable& table;
  std::span<const placement::Request> requests;
  const placement::Plan& plan;
};

// limit: files to list.
std::string plan_text(const PlanView& view, std::size_t limit, bool header, const Terminal& terminal);
std::string plan_json(const PlanView& view, std::size_t limit);
ordered_json plan_document(const PlanView& view, std::size_t limit);  // the same, to be added to
std::string plan_csv(const PlanView& view, std::size_t limit);
SvgChart plan_chart(const PlanView& view);

// "0-3,7,9", in the order given: what `iez layout set --osts` takes.
std::string ost_list(std::span<const OstIndex> osts);

// used / capacity with so many bytes more; 0 for a target of no size.
double utilisation(const placement::Target& target, Bytes added);

// How far the largest utilisation is above what no placement can be below, as a share of it.
double above_bound(const placement::Plan& plan);

// "3 (inactive), 7-8 (full)"; empty if every target is usable.
std::string avoided_text(const placement::TargetTable& table, std::span<const std::uint32_t> members);

// "43.8 %", and "0.032 %" where that would be "0.0 %".
std::string use_text(double share);

// The same for Plan::bound, which is bisected from below: it must not look smaller than a plan that reaches it.
std::string bound_text(double bound);

// How targets are spread over utilisation, in at most 16 bins of equal width.
struct UtilisationBin {
  double from = 0;
  double to = 0;
  std::size_t targets = 0;
};
std::vector<UtilisationBin> utilisation_bins(std::span<const double> values);

}  // namespace iez::cli
