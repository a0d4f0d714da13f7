#include "place_explain.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/text.hpp"
#include "json.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

using placement::Exclusion;
using placement::Planned;
using placement::Target;

std::span<const Planned> pieces_of(const placement::Plan& plan, std::uint32_t request) {
  const auto range = std::ranges::equal_range(plan.files, request, {}, &Planned::request);
  return {range.begin(), range.end()};
}

bool size_given(const placement::Request& request, std::size_t piece) {
  return (request.components.empty() ? request.stripe_size : request.components[piece].stripe_size).has_value();
}

std::uint64_t rounds_of(const Planned& piece) {
  const std::uint64_t round = piece.stripe_size.count * piece.stripes;
  return piece.bytes.count / round + (piece.bytes.count % round != 0 ? 1 : 0);
}

std::size_t position_of(const placement::TargetTable& table, OstIndex ost) {
  return static_cast<std::size_t>(std::ranges::lower_bound(table.targets, ost, {}, &Target::ost) - table.targets.begin());
}

// Targets that the piece could not or did not have to take, and why.
struct Unconsidered {
  OstIndex ost;
  std::string_view why;
};

std::vector<Unconsidered> unconsidered(const PlanView& view, const Planned& piece) {
  const auto& members = view.table.pools[piece.pool].members;
  std::vector<Unconsidered> out;
  for (std::uint32_t at = 0; at < view.table.targets.size(); ++at) {
    const Target& target = view.table.targets[at];
    if (!std::ranges::binary_search(members, at)) {
      out.push_back({target.ost, "outside the pool"});
    } else if (target.exclusion != Exclusion::none) {
      out.push_back({target.ost, to_string(target.exclusion)});
    } else if (target.degraded && piece.reason.second_choice == 0) {
      out.push_back({target.ost, "degraded, and the others suffice"});
    }
  }
  return out;
}

std::string unconsidered_text(std::span<const Unconsidered> targets) {
  std::vector<std::pair<std::string_view, std::vector<OstIndex>>> kinds;
  for (const Unconsidered& target : targets) {
    auto found = std::ranges::find(kinds, target.why, &decltype(kinds)::value_type::first);
    if (found == kinds.end()) found = kinds.insert(kinds.end(), {target.why, {}});
    found->second.push_back(target.ost);
  }
  if (kinds.empty()) return "Every OST was considered.\n";
  std::string out = "Not considered:";
  for (const auto& [why, osts] : kinds) out += fmt::format("\n  {}: {}", why, ost_list(osts));
  return out + '\n';
}

std::string extent_text(const model::Extent& extent) {
  return fmt::format("bytes {} to {}", extent.start, extent.end == model::Extent::kEof ? "eof" : fmt::to_string(extent.end));
}

std::string target_table(const PlanView& view, const Planned& piece, const Terminal& terminal) {
  Table table({{"STRIPE", Align::right},
               {"OST", Align::right},
               {"SERVER"},
               {"BEFORE", Align::right},
               {"AFTER", Align::right},
               {"RANK BEFORE", Align::right},
               {"RANK AFTER", Align::right}});
  const auto before = ranks(view.table, {});
  const auto after = ranks(view.table, view.plan.added);
  const auto osts = view.plan.osts_of(piece);
  for (std::size_t i = 0; i < osts.size(); ++i) {
    const std::size_t at = position_of(view.table, osts[i]);
    const Target& target = view.table.targets[at];
    table.add({{fmt::to_string(i)},
               {fmt::to_string(osts[i].value)},
               {view.table.servers[target.server].name},
               {use_text(utilisation(target, {}))},
               {use_text(utilisation(target, view.plan.added[at]))},
               {fmt::to_string(before[at])},
               {fmt::to_string(after[at])}});
  }
  return table.render(terminal, true);
}

std::string piece_text(const PlanView& view, const Planned& piece, std::size_t number, bool header, const Terminal& terminal) {
  const placement::Request& request = view.requests[piece.request];
  std::string out;
  if (!request.components.empty()) out += fmt::format("\nComponent {}, {}:\n", number + 1, extent_text(piece.extent));
  out += fmt::format("Why: {}.\n", to_string(piece.reason, piece.stripes));
  if (piece.stripes == 0) return out;
  out += fmt::format("Stripe size: {}.\n", stripe_size_text(piece, size_given(request, number)));
  if (header) {
    out += fmt::format("\nIts OSTs in stripe order, when all files are written; rank 1 is the least used of {}:\n",
                       view.table.targets.size());
  }
  out += target_table(view, piece, terminal) + '\n';
  return out + unconsidered_text(unconsidered(view, piece));
}

std::string osts_text(const placement::Plan& plan, std::uint32_t request) {
  std::string out;
  for (const Planned& piece : pieces_of(plan, request)) {
    if (piece.stripes > 0) out += fmt::format("{}{}", out.empty() ? "" : " | ", ost_list(plan.osts_of(piece)));
  }
  return out;
}

}  // namespace

std::vector<std::size_t> ranks(const placement::TargetTable& table, std::span<const Bytes> added) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t at = 0; at < table.targets.size(); ++at) {
    if (table.targets[at].capacity.count == 0) continue;
    order.emplace_back(utilisation(table.targets[at], added.empty() ? Bytes{} : added[at]), at);
  }
  std::ranges::sort(order);
  std::vector<std::size_t> ranks(table.targets.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool tied = i > 0 && order[i].first == order[i - 1].first;
    ranks[order[i].second] = tied ? ranks[order[i - 1].second] : i + 1;
  }
  return ranks;
}

std::string stripe_size_text(const Planned& piece, bool given) {
  const std::uint64_t rounds = rounds_of(piece);
  const std::string dealing =
      rounds == 1 ? std::string("each object gets one stripe")
                  : fmt::format("the {} go round the {} {} times", to_string(piece.bytes),
                                piece.stripes == 1 ? std::string("object") : fmt::format("{} objects", piece.stripes), rounds);
  const std::string size = fmt::format("{} ({} x 64 KiB)", to_binary_string(piece.stripe_size), piece.stripe_size.count >> 16U);
  if (given) {
    return fmt::format("{}, as the request asks; {}, the largest object has {}", size, dealing, to_string(piece.object_bytes));
  }
  return fmt::format("{}, chosen so that the largest object is as small as it can be, {}; {}", size,
                     to_string(piece.object_bytes), dealing);
}

std::string explain_text(const PlanView& view, std::uint32_t request, std::span<const OtherPlan> others, bool header,
                         const Terminal& terminal) {
  const placement::Request& file = view.requests[request];
  std::string out;
  if (header) {
    out = fmt::format("{}: {}, file {} of {}, policy {}\n", text::printable(file.name), to_string(file.bytes), request + 1,
                      view.requests.size(), view.plan.policy);
  }
  const auto pieces = pieces_of(view.plan, request);
  for (std::size_t i = 0; i < pieces.size(); ++i) out += piece_text(view, pieces[i], i, header, terminal);
  if (others.empty()) return out;
  out += fmt::format("\nWhat the other policies do with all files{}:\n",
                     header ? fmt::format(" (the OSTCost of {} is {:.3f})", view.plan.policy, view.plan.after.ost_cost) : "");
  Table table({{"POLICY"}, {"OSTCOST", Align::right}, {"OSSCOST", Align::right}, {"OSTS OF THIS FILE"}});
  for (const OtherPlan& other : others) {
    if (other.plan) {
      table.add({{other.policy},
                 {fmt::format("{:.3f}", other.plan->after.ost_cost)},
                 {view.servers_known ? fmt::format("{:.3f}", other.plan->after.oss_cost) : "-"},
                 {osts_text(*other.plan, request)}});
    } else {
      table.add({{other.policy}, {"-"}, {"-"}, {other.plan.error().message}});
    }
  }
  return out + table.render(terminal, true);
}

std::string explain_json(const PlanView& view, std::uint32_t request, std::span<const OtherPlan> others) {
  const placement::Request& file = view.requests[request];
  ordered_json json{{"cluster", view.cluster},  {"policy", view.plan.policy},          {"seed", view.seed},
                    {"name", file.name},        {"bytes", file.bytes.count},           {"ost_cost", view.plan.after.ost_cost},
                    {"bound", view.plan.bound}, {"components", ordered_json::array()}, {"others", ordered_json::array()}};
  const auto before = ranks(view.table, {});
  const auto after = ranks(view.table, view.plan.added);
  const auto pieces = pieces_of(view.plan, request);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Planned& piece = pieces[i];
    ordered_json component{
        {"start", piece.extent.start},
        {"end", piece.extent.end == model::Extent::kEof ? ordered_json(nullptr) : ordered_json(piece.extent.end)},
        {"bytes", piece.bytes.count},
        {"stripe_count", piece.stripes > 0 ? piece.stripes : piece.wanted},
        {"stripe_size", piece.stripe_size.count},
        {"stripe_size_given", size_given(file, i)},
        {"rounds", piece.stripes > 0 ? rounds_of(piece) : 0},
        {"object_bytes", piece.object_bytes.count},
        {"pool", view.table.pools[piece.pool].name},
        {"reason", to_string(piece.reason, piece.stripes)},
        {"targets", ordered_json::array()},
        {"not_considered", ordered_json::array()}};
    for (const OstIndex ost : view.plan.osts_of(piece)) {
      const std::size_t at = position_of(view.table, ost);
      component["targets"].push_back({{"index", ost.value},
                                      {"server", view.table.servers[view.table.targets[at].server].name},
                                      {"utilisation_before", utilisation(view.table.targets[at], {})},
                                      {"utilisation_after", utilisation(view.table.targets[at], view.plan.added[at])},
                                      {"rank_before", before[at]},
                                      {"rank_after", after[at]}});
    }
    for (const Unconsidered& target : unconsidered(view, piece)) {
      component["not_considered"].push_back({{"index", target.ost.value}, {"why", target.why}});
    }
    json["components"].push_back(std::move(component));
  }
  for (const OtherPlan& other : others) {
    ordered_json row{{"policy", other.policy}};
    row["ost_cost"] = other.plan ? ordered_json(other.plan->after.ost_cost) : ordered_json(nullptr);
    row["oss_cost"] = other.plan && view.servers_known ? ordered_json(other.plan->after.oss_cost) : ordered_json(nullptr);
    row["osts"] = ordered_json::array();
    if (other.plan) {
      for (const Planned& piece : pieces_of(*other.plan, request)) {
        for (const OstIndex ost : other.plan->osts_of(piece)) row["osts"].push_back(ost.value);
      }
    }
    row["refused"] = other.plan ? ordered_json(nullptr) : ordered_json(other.plan.error().message);
    json["others"].push_back(std::move(row));
  }
  return to_line(json);
}

}  // namespace iez::cli
