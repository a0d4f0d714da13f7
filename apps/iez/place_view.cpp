#include "place_view.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "base/text.hpp"
#include "json.hpp"
#include "plot.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

using placement::Balance;
using placement::Exclusion;
using placement::Plan;
using placement::Planned;
using placement::Target;

constexpr std::size_t kTargetsInFull = 40;  // more are shown in bins
constexpr std::size_t kMostBins = 16;
constexpr unsigned kBarWidth = 30;
constexpr std::size_t kListWidth = 60;  // of OSTs, on a terminal
constexpr double kWarm = 0.75;          // coloured from here on
constexpr double kHot = 0.90;

Colour heat(double value) {
  if (value >= kHot) return Colour::red;
  return value >= kWarm ? Colour::yellow : Colour::none;
}

std::vector<std::uint32_t> everything(const placement::TargetTable& table) {
  std::vector<std::uint32_t> all(table.targets.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

// The planned pieces of the first `limit` files: they stand in the order of the requests.
std::span<const Planned> pieces_shown(const PlanView& view, std::size_t limit) {
  const auto& files = view.plan.files;
  const auto end = std::partition_point(files.begin(), files.end(), [&](const Planned& file) { return file.request < limit; });
  return {files.begin(), end};
}

Bytes total_bytes(const PlanView& view) {
  Bytes total;
  for (const placement::Request& request : view.requests) total += request.bytes;
  return total;
}

std::string end_text(std::uint64_t end) { return end == model::Extent::kEof ? "eof" : to_binary_string(Bytes{end}); }

std::string shortened(std::string list) {
  if (list.size() <= kListWidth) return list;
  list.resize(list.rfind(',', kListWidth - 4) + 1);
  return list + "...";
}

std::string file_table(const PlanView& view, std::size_t limit, bool header, const Terminal& terminal) {
  const auto pieces = pieces_shown(view, limit);
  const bool progressive =
      std::ranges::any_of(pieces, [&](const Planned& piece) { return !view.requests[piece.request].components.empty(); });
  std::vector<Table::Column> columns{{"FILE"}};
  if (progressive) columns.push_back({"UP TO", Align::right});
  columns.insert(columns.end(), {{"BYTES", Align::right}, {"STRIPES", Align::right}, {"STRIPE SIZE", Align::right}, {"OSTS"}});
  Table table(columns);
  const std::string unplanned = progressive ? "(not reached)" : "(left to Lustre)";
  for (const Planned& piece : pieces) {
    std::vector<Cell> row{{view.requests[piece.request].name}};
    if (progressive) row.push_back({end_text(piece.extent.end)});
    row.push_back({to_string(piece.bytes)});
    row.push_back({fmt::to_string(piece.stripes > 0 ? piece.stripes : piece.wanted)});
    row.push_back({to_binary_string(piece.stripe_size)});
    const std::string list = piece.stripes > 0 ? ost_list(view.plan.osts_of(piece)) : unplanned;
    row.push_back({terminal.interactive ? shortened(list) : list});
    table.add(std::move(row));
  }
  return table.render(terminal, header);
}

std::string note_of(const Target& target, Bytes added) {
  if (target.exclusion != Exclusion::none) return std::string(to_string(target.exclusion));
  if (added > target.available) return fmt::format("{} too much", to_string(added - target.available));
  return target.degraded ? "degraded" : "";
}

std::string target_table(const PlanView& view, bool header, const Terminal& terminal) {
  bool noted = false;
  for (std::size_t j = 0; j < view.table.targets.size(); ++j) {
    noted = noted || !note_of(view.table.targets[j], view.plan.added[j]).empty();
  }
  Table table({{"OST", Align::right},
               {"SERVER"},
               {"ADDED", Align::right},
               {"BEFORE", Align::right},
               {"AFTER", Align::right},
               {""},
               {noted ? "NOTE" : ""}});
  for (std::size_t j = 0; j < view.table.targets.size(); ++j) {
    const Target& target = view.table.targets[j];
    const double before = utilisation(target, {});
    const double after = utilisation(target, view.plan.added[j]);
    table.add({{fmt::to_string(target.ost.value)},
               {view.table.servers[target.server].name},
               {to_string(view.plan.added[j])},
               {use_text(before), heat(before)},
               {use_text(after), heat(after)},
               {two_part_bar(before, after, kBarWidth, terminal), heat(after)},
               {note_of(target, view.plan.added[j]), Colour::yellow}});
  }
  return table.render(terminal, header);
}

std::vector<double> utilisations(const PlanView& view, bool after) {
  std::vector<double> values;
  for (std::size_t j = 0; j < view.table.targets.size(); ++j) {
    const Target& target = view.table.targets[j];
    if (target.capacity.count > 0) values.push_back(utilisation(target, after ? view.plan.added[j] : Bytes{}));
  }
  return values;
}

std::string range_text(std::vector<double> values) {
  if (values.empty()) return "-";
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{} to {}", use_text(least), use_text(most));
}

std::string bin_chart(const PlanView& view, bool header, const Terminal& terminal) {
  const std::vector<double> after = utilisations(view, true);
  const std::vector<UtilisationBin> bins = utilisation_bins(after);
  std::vector<Bar> bars;
  bars.reserve(bins.size());
  const int decimals = bins.empty() || bins.front().to - bins.front().from > 0.0095 ? 0 : 2;
  for (const UtilisationBin& bin : bins) {
    bars.push_back({.label = fmt::format("{0:>6.{2}f} - {1:>6.{2}f} %", 100 * bin.from, 100 * bin.to, decimals),
                    .value = static_cast<double>(bin.targets),
                    .note = fmt::to_string(bin.targets)});
  }
  std::string out;
  if (header) {
    out = fmt::format("Use of the {}: {} before, {} after; how many are how full:\n", counted(after.size(), "OST"),
                      range_text(utilisations(view, false)), range_text(after));
  }
  return out + bar_chart(bars, kBarWidth, terminal);
}

std::string summary(const PlanView& view, const Terminal& terminal) {
  const Balance& before = view.plan.before;
  const Balance& after = view.plan.after;
  const auto server_cost = [&](const Balance& balance) {
    return view.servers_known ? fmt::format("{:.3f}", balance.oss_cost) : std::string("-");
  };
  Table table({{""}, {"BEFORE", Align::right}, {"AFTER", Align::right}});
  table.add({{"OSTCost"}, {fmt::format("{:.3f}", before.ost_cost)}, {fmt::format("{:.3f}", after.ost_cost)}});
  table.add({{"OSSCost"}, {server_cost(before)}, {server_cost(after)}});
  table.add({{"largest use"}, {use_text(before.max_utilisation)}, {use_text(after.max_utilisation)}});
  table.add({{"mean use"}, {use_text(before.mean_utilisation)}, {use_text(after.mean_utilisation)}});
  std::string out = table.render(terminal, true);
  const double above = above_bound(view.plan);
  if (view.plan.bound > 0 || view.plan.files.empty()) {
    out += fmt::format("No placement of these files has a largest use below {}: this one {}\n", bound_text(view.plan.bound),
                       above < 5e-5 ? "is as good as any" : fmt::format("is {:.2f} % above", 100 * above));
  }
  const std::string avoided = avoided_text(view.table, everything(view.table));
  if (!avoided.empty()) out += fmt::format("Avoided OSTs: {}\n", avoided);
  if (!view.plan.over.empty()) out += fmt::format("OSTs that would run out of space: {}\n", ost_list(view.plan.over));
  return out;
}

ordered_json balance_json(const Balance& balance, bool servers_known) {
  return {{"ost_cost", balance.ost_cost},
          {"oss_cost", servers_known ? ordered_json(balance.oss_cost) : ordered_json(nullptr)},
          {"largest_utilisation", balance.max_utilisation},
          {"mean_utilisation", balance.mean_utilisation}};
}

ordered_json piece_json(const PlanView& view, const Planned& piece) {
  ordered_json json{{"start", piece.extent.start},
                    {"end", piece.extent.end == model::Extent::kEof ? ordered_json(nullptr) : ordered_json(piece.extent.end)},
                    {"bytes", piece.bytes.count},
                    {"stripe_count", piece.stripes > 0 ? piece.stripes : piece.wanted},
                    {"stripe_size", piece.stripe_size.count},
                    {"object_bytes", piece.object_bytes.count},
                    {"pool", view.table.pools[piece.pool].name},
                    {"osts", ordered_json::array()}};
  for (const OstIndex ost : view.plan.osts_of(piece)) json["osts"].push_back(ost.value);
  const bool left_alone = piece.stripes == 0 && view.requests[piece.request].components.empty();
  json["reason"] = left_alone ? "too small to be planned: left to Lustre" : to_string(piece.reason, piece.stripes);
  return json;
}

ordered_json target_json(const PlanView& view, std::size_t j) {
  const Target& target = view.table.targets[j];
  const Bytes added = view.plan.added[j];
  const bool usable = target.exclusion == Exclusion::none;
  return {{"index", target.ost.value},
          {"server", view.table.servers[target.server].name},
          {"total_bytes", target.capacity.count},
          {"used_bytes", target.used.count},
          {"available_bytes", target.available.count},
          {"added_bytes", added.count},
          {"utilisation_before", utilisation(target, {})},
          {"utilisation_after", utilisation(target, added)},
          {"degraded", target.degraded},
          {"avoided", usable ? ordered_json(nullptr) : ordered_json(to_string(target.exclusion))},
          {"runs_out_of_space", usable && added > target.available}};
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

}  // namespace

std::string use_text(double share) {
  constexpr double kTiny = 0.01;
  return share > 0 && share < kTiny ? fmt::format("{:.2g} %", 100 * share) : percent(share);
}

std::string bound_text(double bound) { return use_text(bound * (1 + 1e-6)); }

std::string ost_list(std::span<const OstIndex> osts) {
  std::string out;
  for (std::size_t i = 0; i < osts.size();) {
    std::size_t last = i;
    while (last + 1 < osts.size() && osts[last + 1].value == osts[last].value + 1) ++last;
    if (!out.empty()) out += ',';
    if (last - i < 2) last = i;  // two are no shorter as a range
    out += last == i ? fmt::to_string(osts[i].value) : fmt::format("{}-{}", osts[i].value, osts[last].value);
    i = last + 1;
  }
  return out;
}

double utilisation(const Target& target, Bytes added) {
  if (target.capacity.count == 0) return 0;
  return static_cast<double>((target.used + added).count) / static_cast<double>(target.capacity.count);
}

double above_bound(const Plan& plan) { return plan.bound > 0 ? std::max(0.0, plan.after.max_utilisation / plan.bound - 1) : 0; }

std::string avoided_text(const placement::TargetTable& table, std::span<const std::uint32_t> members) {
  std::map<Exclusion, std::vector<OstIndex>> kinds;
  for (const std::uint32_t at : members) {
    const Target& target = table.targets[at];
    if (target.exclusion != Exclusion::none) kinds[target.exclusion].push_back(target.ost);
  }
  std::string out;
  for (const auto& [why, osts] : kinds) out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", ost_list(osts), to_string(why));
  return out;
}

std::vector<UtilisationBin> utilisation_bins(std::span<const double> values) {
  if (values.empty()) return {};
  const auto [least, most] = std::ranges::minmax(values);
  constexpr double kMost = 1e9;  // hopelessly over: all the same
  // In ten thousandths, so that ends are exact: bins of 0.01 %, 0.02 %, 0.05 %, 0.1 %, ...
  std::uint64_t width = 1;
  const auto bin_of = [&](double value) {
    return static_cast<std::uint64_t>(std::clamp(value, 0.0, kMost) * 1e4 + 1e-6) / width;
  };
  for (unsigned step = 1; bin_of(most) - bin_of(least) >= kMostBins; ++step) width = step % 3 == 2 ? width / 2 * 5 : width * 2;
  const std::uint64_t first = bin_of(least);
  std::vector<UtilisationBin> bins(bin_of(most) - first + 1);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    bins[i].from = static_cast<double>((first + i) * width) / 1e4;
    bins[i].to = static_cast<double>((first + i + 1) * width) / 1e4;
  }
  for (const double value : values) ++bins[bin_of(value) - first].targets;
  return bins;
}

std::string plan_text(const PlanView& view, std::size_t limit, bool header, const Terminal& terminal) {
  const std::size_t shown = std::min(limit, view.requests.size());
  std::string out;
  if (header) {
    out += fmt::format("{}{}, {}, on {} ({}, {}), policy {}\n\n", counted(view.requests.size(), "file"),
                       shown < view.requests.size() ? fmt::format(" ({} shown)", shown) : "", to_string(total_bytes(view)),
                       text::printable(view.cluster), counted(view.table.targets.size(), "OST"),
                       counted(view.table.servers.size(), "server"), view.plan.policy);
  }
  if (shown > 0) out += file_table(view, limit, header, terminal);
  if (!header) return out;  // rows only
  if (shown > 0) out += '\n';
  out += view.table.targets.size() <= kTargetsInFull ? target_table(view, header, terminal) : bin_chart(view, header, terminal);
  return out + '\n' + summary(view, terminal);
}

ordered_json plan_document(const PlanView& view, std::size_t limit) {
  ordered_json json{{"cluster", view.cluster},
                    {"policy", view.plan.policy},
                    {"seed", view.seed},
                    {"file_count", view.requests.size()},
                    {"total_file_bytes", total_bytes(view).count},
                    {"before", balance_json(view.plan.before, view.servers_known)},
                    {"after", balance_json(view.plan.after, view.servers_known)},
                    {"bound", view.plan.bound > 0 ? ordered_json(view.plan.bound) : ordered_json(nullptr)},
                    {"above_bound", view.plan.bound > 0 ? ordered_json(above_bound(view.plan)) : ordered_json(nullptr)},
                    {"targets", ordered_json::array()}};
  for (std::size_t j = 0; j < view.table.targets.size(); ++j) json["targets"].push_back(target_json(view, j));
  json["files"] = ordered_json::array();
  for (const Planned& piece : pieces_shown(view, limit)) {
    const placement::Request& request = view.requests[piece.request];
    if (piece.extent.start == 0) {
      json["files"].push_back({{"name", request.name}, {"bytes", request.bytes.count}, {"components", ordered_json::array()}});
    }
    json["files"].back()["components"].push_back(piece_json(view, piece));
  }
  return json;
}

std::string plan_json(const PlanView& view, std::size_t limit) { return to_line(plan_document(view, limit)); }

std::string plan_csv(const PlanView& view, std::size_t limit) {
  std::string out = "name,start,end,bytes,stripe_count,stripe_size,pool,osts\n";
  for (const Planned& piece : pieces_shown(view, limit)) {
    out += fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(view.requests[piece.request].name), piece.extent.start,
                       piece.extent.end == model::Extent::kEof ? "eof" : fmt::to_string(piece.extent.end), piece.bytes.count,
                       piece.stripes > 0 ? piece.stripes : piece.wanted, piece.stripe_size.count,
                       csv_field(view.table.pools[piece.pool].name), csv_field(ost_list(view.plan.osts_of(piece))));
  }
  return out;
}

SvgChart plan_chart(const PlanView& view) {
  constexpr std::size_t kMostBars = 300;
  SvgChart chart{
      .title = fmt::format("{}: {} by policy {}", view.cluster, counted(view.requests.size(), "file"), view.plan.policy),
      .subtitle = fmt::format("{}; OSTCost {:.3f} before, {:.3f} after; largest use {}", to_string(total_bytes(view)),
                              view.plan.before.ost_cost, view.plan.after.ost_cost, use_text(view.plan.after.max_utilisation))};
  if (view.plan.bound > 0) chart.subtitle += fmt::format(", at least {} is needed", bound_text(view.plan.bound));
  if (view.table.targets.size() <= kMostBars) {
    chart.axis = "use of the OST in percent";
    chart.decimals = 1;
    chart.series = {{.name = "before"}, {.name = "after"}};
    for (std::size_t j = 0; j < view.table.targets.size(); ++j) {
      const Target& target = view.table.targets[j];
      chart.categories.push_back(fmt::to_string(target.ost.value));
      chart.series[0].bars.emplace_back(SvgBar{.value = 100 * utilisation(target, {})});
      chart.series[1].bars.emplace_back(SvgBar{.value = 100 * utilisation(target, view.plan.added[j])});
    }
    return chart;
  }
  chart.axis = "OSTs that are so full afterwards";
  chart.decimals = 0;
  chart.series = {{.name = "OSTs"}};
  for (const UtilisationBin& bin : utilisation_bins(utilisations(view, true))) {
    chart.categories.push_back(fmt::format("{:.4g}-{:.4g} %", 100 * bin.from, 100 * bin.to));
    chart.series[0].bars.emplace_back(SvgBar{.value = static_cast<double>(bin.targets)});
  }
  return chart;
}

}  // namespace iez::cli
