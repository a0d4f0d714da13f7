#include "demo_report.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "demo_stage.hpp"
#include "markup.hpp"
#include "page.hpp"

namespace iez::cli {

namespace {

constexpr std::string_view kCommand = "iez demo";
constexpr std::string_view kNote =
    "OSTCost: the fullest OST over the mean; 1 is perfectly even. Published: what the paper measured on its testbed. The lab's "
    "default is "
    "Lustre's own round robin, which for files of one size is much more even than the paper's was: there is little left to gain. "
    "With files of unequal sizes, each on one OST as Lustre has it by default, there is. A tie: the medians differ by less than "
    "2\u00a0%, or one lies within what the other way had, too.";

std::string gain(const DemoGain& gain) { return gain.is_tie ? "tie" : fmt::format("{:+.0f} %", (gain.factor - 1) * 100); }

// "100 (95..104)"; of a single run "100".
std::string rate(const DemoRates& rates) {
  if (rates.least() == rates.most()) return fmt::format("{:.0f}", rates.median());
  return fmt::format("{:.0f} ({:.0f}..{:.0f})", rates.median(), rates.least(), rates.most());
}

// The same for the page, with the spread below.
std::string rate_cell(const DemoRates& rates) {
  if (rates.least() == rates.most()) return fmt::format("{:.0f}", rates.median());
  return fmt::format("{:.0f}<small>{:.0f}–{:.0f}</small>", rates.median(), rates.least(), rates.most());
}

std::string number_or_dash(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

std::string cost_or_dash(const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : "-"; }

// "1.47 -> 1.01"
std::string published(const DemoCase& about) {
  if (!about.published_default) return "-";
  return fmt::format("{} -> {}", number_or_dash(about.published_default), number_or_dash(about.published_iez));
}

// Of which case, and what it gained or lost.
struct Told {
  const DemoOutcome* outcome = nullptr;
  DemoGain gain;
};

struct Best {
  Told write;
  Told read;
  Told least;
};

// REQUIRES: there is a case. Ties are neither gains nor losses, however they came out.
Best best_of(const DemoReport& report) {
  const auto is_less = [](const Told& a, const Told& b) { return a.gain.told() < b.gain.told(); };
  Best best;
  for (const DemoOutcome& outcome : report.outcomes) {
    const Told write{&outcome, outcome.write_gain()};
    const Told read{&outcome, outcome.read_gain()};
    if (best.least.outcome == nullptr) best = {.write = write, .read = read, .least = write};
    best.write = std::max(best.write, write, is_less);
    best.read = std::max(best.read, read, is_less);
    best.least = std::min({best.least, write, read}, is_less);
  }
  return best;
}

// The case whose files Lustre placed least evenly, of what is possible with them. None: no case has an optimum.
const DemoOutcome* least_even(const DemoReport& report) {
  const auto excess = [](const DemoOutcome& outcome) {
    return outcome.optimum ? outcome.by_default.ost_cost / *outcome.optimum : 0;
  };
  const auto found = std::ranges::max_element(report.outcomes, {}, excess);
  return found != report.outcomes.end() && found->optimum ? &*found : nullptr;
}

std::string card_of(const Told& told, std::string_view what) {
  constexpr double kGood = 1.05;
  return page_card(gain(told.gain), fmt::format("{}: {}", what, told.outcome->about.title),
                   told.gain.told() > kGood ? CardMood::good : CardMood::plain);
}

ordered_json way_json(const DemoWay& way) {
  return {{"ost_cost", way.ost_cost},
          {"oss_cost", way.oss_cost},
          {"write_mb_s", way.write_mb_s.median()},
          {"write_mb_s_least", way.write_mb_s.least()},
          {"write_mb_s_most", way.write_mb_s.most()},
          {"read_mb_s", way.read_mb_s.median()},
          {"read_mb_s_least", way.read_mb_s.least()},
          {"read_mb_s_most", way.read_mb_s.most()},
          {"used_bytes", way.used}};
}

// A panel of one way: bars of all OSTs, servers a little apart, the mean as a dashed line.
constexpr double kPanel = 250;
constexpr double kTop = 38;
constexpr double kBars = 110;
constexpr double kBottom = 22;
constexpr double kServerGap = 10;

// series: whose colour the bars have. largest: what the highest bar of both panels stands for.
std::string panel(const DemoWay& way, std::string_view title, int series, double largest) {
  const std::size_t count = way.used.size();
  const double servers = static_cast<double>((count + kDemoOstsPerServer - 1) / kDemoOstsPerServer);
  const double step = (kPanel - (kServerGap * (servers - 1))) / static_cast<double>(std::max<std::size_t>(count, 1));
  double sum = 0;
  for (const std::uint64_t used : way.used) sum += static_cast<double>(used);
  const double mean = count > 0 ? sum / static_cast<double>(count) : 0;
  std::string out = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Bytes on each OST\">\n"
      "<text class=\"title\" x=\"0\" y=\"13\">{}</text><text class=\"soft\" x=\"0\" y=\"30\">OSTCost {:.3f}, OSSCost "
      "{:.3f}</text>\n",
      kPanel, kTop + kBars + kBottom, title, way.ost_cost, way.oss_cost);
  for (std::size_t i = 0; i < count; ++i) {
    const double height = largest > 0 ? kBars * static_cast<double>(way.used[i]) / largest : 0;
    const double x = (step * static_cast<double>(i)) + (kServerGap * static_cast<double>(i / kDemoOstsPerServer));
    out += fmt::format(
        "<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"1.5\"><title>OST {}: {:.1f} "
        "MB</title></rect>\n",
        series, x, kTop + kBars - height, step - 2.5, height, i, static_cast<double>(way.used[i]) / 1e6);
  }
  for (std::size_t server = 0; server < static_cast<std::size_t>(servers); ++server) {
    const double width = step * kDemoOstsPerServer;
    const double x = static_cast<double>(server) * (width + kServerGap);
    out += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">oss{}</text>\n", x + (width / 2),
                       kTop + kBars + 15, server);
  }
  const double base = kTop + kBars;
  const double level = largest > 0 ? base - (kBars * mean / largest) : base;
  out += fmt::format("<path class=\"axis\" d=\"M0 {:.1f}H{:.1f}\"/>\n", base, kPanel);
  out += fmt::format("<path class=\"mean\" d=\"M0 {:.1f}H{:.1f}\"/>\n</svg>\n", level, kPanel);
  return out;
}

std::string panels(const DemoOutcome& outcome) {
  constexpr int kDefault = 6;
  constexpr int kPlaced = 0;
  double largest = 0;
  for (const DemoWay* way : {&outcome.by_default, &outcome.by_iez}) {
    for (const std::uint64_t used : way->used) largest = std::max(largest, static_cast<double>(used));
  }
  return "<div class=\"pair\">\n" + panel(outcome.by_default, "Lustre's default", kDefault, largest) +
         panel(outcome.by_iez, "iez", kPlaced, largest) + "</div>\n";
}

void add_table(std::string& out, const DemoReport& report) {
  out +=
      "<div class=\"wide\"><table>\n<tr><th></th><th class=\"middle\" colspan=\"4\">OSTCost</th><th class=\"middle\" "
      "colspan=\"2\">OSSCost</th>"
      "<th class=\"middle\" colspan=\"3\">write, MB/s</th><th class=\"middle\" colspan=\"3\">read, MB/s</th></tr>\n"
      "<tr><th>case</th>";
  for (const std::string_view column :
       {"default", "iez", "optimum", "published", "default", "iez", "default", "iez", "gain", "default", "iez", "gain"}) {
    out += fmt::format("<th class=\"right\">{}</th>", column);
  }
  out += "</tr>\n";
  for (const DemoOutcome& outcome : report.outcomes) {
    const DemoWay& a = outcome.by_default;
    const DemoWay& b = outcome.by_iez;
    out += fmt::format("<tr><td class=\"text\">{}</td>", markup_escaped(outcome.about.title));
    const auto cell = [&out](std::string_view text, bool strong) {
      out += fmt::format("<td class=\"right{}\">{}</td>", strong ? " strong" : "", text);
    };
    const std::string told =
        outcome.about.published_default
            ? fmt::format("{} → {}", number_or_dash(outcome.about.published_default), number_or_dash(outcome.about.published_iez))
            : std::string("–");
    cell(fmt::format("{:.3f}", a.ost_cost), false);
    cell(fmt::format("{:.3f}", b.ost_cost), true);
    cell(outcome.optimum ? cost_or_dash(outcome.optimum) : "–", false);
    cell(told, false);
    cell(fmt::format("{:.3f}", a.oss_cost), false);
    cell(fmt::format("{:.3f}", b.oss_cost), false);
    cell(rate_cell(a.write_mb_s), false);
    cell(rate_cell(b.write_mb_s), false);
    cell(gain(outcome.write_gain()), true);
    cell(rate_cell(a.read_mb_s), false);
    cell(rate_cell(b.read_mb_s), false);
    cell(gain(outcome.read_gain()), true);
    out += "</tr>\n";
  }
  out += "</table></div>\n";
}

}  // namespace

std::string demo_text(const DemoReport& report, const Terminal& terminal) {
  Table table({{"CASE"},
               {"OSTCost: DEFAULT", Align::right},
               {"iez", Align::right},
               {"OPTIMUM", Align::right},
               {"PUBLISHED", Align::right},
               {"OSSCost", Align::right},
               {"WRITE MB/s", Align::right},
               {"GAIN", Align::right},
               {"READ MB/s", Align::right},
               {"GAIN", Align::right},
               {"iez"}});
  for (const DemoOutcome& outcome : report.outcomes) {
    const DemoWay& a = outcome.by_default;
    const DemoWay& b = outcome.by_iez;
    table.add({{outcome.about.title},
               {fmt::format("{:.3f}", a.ost_cost)},
               {fmt::format("{:.3f}", b.ost_cost), Colour::bold},
               {cost_or_dash(outcome.optimum)},
               {published(outcome.about)},
               {fmt::format("{:.3f} -> {:.3f}", a.oss_cost, b.oss_cost)},
               {fmt::format("{} -> {}", rate(a.write_mb_s), rate(b.write_mb_s))},
               {gain(outcome.write_gain()), Colour::bold},
               {fmt::format("{} -> {}", rate(a.read_mb_s), rate(b.read_mb_s))},
               {gain(outcome.read_gain()), Colour::bold},
               {b.said}});
  }
  std::string out =
      fmt::format("Every application ran, unchanged, as Lustre places files and as iez does: {} each way, in turn.\n\n",
                  report.repetitions == 1 ? "once" : fmt::format("{} times", report.repetitions));
  out += table.render(terminal, true);
  out +=
      "\nOSTCost is the fullest OST over the mean: 1 is even. Published: the paper's testbed, round robin -> its allocator.\n"
      "Lustre's own round robin, which the lab has, is nearly even for files of one size; there is little left to gain.\n"
      "Files of unequal sizes, or two applications at once, are where it is not.\n";
  out += report.quick ? "This was a quick run: files too small for rates that mean something.\n"
                      : "Rates are medians (least..most). A tie: the medians differ by less than 2 %, or one lies within what "
                        "the other way had.\n";
  out +=
      "\nWhat next\n"
      "  iez run -- mpirun -n 64 ./your_program     twice: the second run is placed (docs/guide/try-it.md)\n"
      "  iez lab up; iez lab exec -- sh             a lab of your own to play with (docs/guide/lab.md)\n"
      "  iez sim list; iez advise --help            what if: larger machines, other stripe counts\n"
      "  iez status; iez top --watch                on a Lustre server or client\n";
  return out;
}

ordered_json demo_json(const DemoReport& report) {
  ordered_json json{{"quick", report.quick},
                    {"coordinator", !report.local},
                    {"repetitions", report.repetitions},
                    {"seconds", report.seconds},
                    {"cases", ordered_json::array()}};
  for (const DemoOutcome& outcome : report.outcomes) {
    json["cases"].push_back({{"case", outcome.about.id},
                             {"title", outcome.about.title},
                             {"unequal", outcome.about.unequal},
                             {"files", outcome.files},
                             {"bytes", outcome.bytes},
                             {"published_default", or_null(outcome.about.published_default)},
                             {"published_iez", or_null(outcome.about.published_iez)},
                             {"optimum", or_null(outcome.optimum)},
                             {"default", way_json(outcome.by_default)},
                             {"iez", way_json(outcome.by_iez)},
                             {"write_gain", outcome.write_gain().factor},
                             {"write_tie", outcome.write_gain().is_tie},
                             {"read_gain", outcome.read_gain().factor},
                             {"read_tie", outcome.read_gain().is_tie},
                             {"said", outcome.by_iez.said}});
  }
  return json;
}

std::string demo_page(const DemoReport& report) {
  std::uint64_t files = 0;
  for (const DemoOutcome& outcome : report.outcomes) files += outcome.files;
  std::string out = page_head(
      {.command = kCommand,
       .title = "The same programs, two ways",
       .about = fmt::format(
           "A lab of 3 OSSs with 5 OSTs each and two client nodes. Every application ran under Lustre's default allocation while "
           "iez watched, and, unchanged, with its files placed by iez{}: {} each way, in turn. All bytes were read back and "
           "compared. It took {:.0f} s.",
           report.local ? "" : " through a coordinator that heard from an agent on every server",
           report.repetitions == 1 ? "once" : fmt::format("{} times", report.repetitions), report.seconds)});
  if (report.quick) out += "<p class=\"banner\">A quick run: files too small for rates that mean something.</p>\n";
  out += "<div class=\"cards\">\n";
  if (!report.outcomes.empty()) {
    const Best best = best_of(report);
    out += card_of(best.write, "write rate, best case");
    out += card_of(best.read, "read rate, best case");
    if (best.least.gain.told() < 1) {
      out += card_of(best.least, "worst case");
    } else {
      out += page_card("none", "of the cases is slower");
    }
  }
  if (const DemoOutcome* const outcome = least_even(report); outcome != nullptr) {
    const double before = outcome->by_default.ost_cost;
    const double after = outcome->by_iez.ost_cost;
    out += page_card(fmt::format("{:.2f} → {:.2f}", before, after),
                     fmt::format("OSTCost, least even case: {}", outcome->about.title),
                     after < before ? CardMood::good : CardMood::plain);
  }
  out += page_card(std::to_string(files), "files, none of them changed by hand");
  out += "</div>\n<h2>All cases</h2>\n";
  add_table(out, report);
  out +=
      fmt::format("<p class=\"quiet\">{}</p>\n<h2>How full each OST was</h2>\n<div class=\"charts\">\n", markup_escaped(kNote));
  for (const DemoOutcome& outcome : report.outcomes) {
    out += fmt::format("<figure><figcaption>{}<span>{} {}, {:.0f} MB; write {}, read {}; {}</span></figcaption>\n{}</figure>\n",
                       markup_escaped(outcome.about.title), outcome.files, outcome.files == 1 ? "file" : "files",
                       static_cast<double>(outcome.bytes) / 1e6, gain(outcome.write_gain()), gain(outcome.read_gain()),
                       markup_escaped(outcome.by_iez.said), panels(outcome));
  }
  out +=
      "</div>\n<p class=\"quiet\">The dashed line is the mean: a perfectly even placement ends there. An application is done "
      "when "
      "its fullest "
      "OST is.</p>\n<h2>What next</h2>\n<pre>iez run -- mpirun -n 64 ./your_program     # twice: the second run is placed\n"
      "iez lab up; iez lab exec -- sh             # a lab of your own\n"
      "iez status; iez top --watch                # on a Lustre server or client</pre>\n";
  return out + page_foot(kCommand);
}

}  // namespace iez::cli
