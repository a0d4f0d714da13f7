#include "repro_page.hpp"

#include <string_view>

#include <fmt/format.h>

#include "markup.hpp"

namespace iez::cli {

namespace {

constexpr std::string_view kTitle = "Published figures, and ours";
constexpr std::string_view kQuick = "This is a quick run: few rows, few seeds. Leave out --quick for all.";
constexpr std::string_view kKinds =
    "Fitted: a constant was chosen so that this comes out. Predicted: simulated, and nothing was fitted to it. Computed: from an "
    "equation, or "
    "by drawing placements. Bounded: likewise, and held to a bound of ours, since a published figure is none. Outside: the model "
    "does not hold what it would take. Rows that miss their target stay, and say so.";

constexpr std::string_view kStyle = R"(<style>
:root {
  color-scheme: light dark;
  --ink: #1c1e21; --soft: #5a6068; --page: #ffffff; --card: #f5f6f8; --line: #d9dce1; --good: #1a7f37; --bad: #c62828;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e8eb; --soft: #a0a7b0; --page: #14161a; --card: #1d2026; --line: #343941; --good: #5bc27b; --bad: #ff8a80;
  }
}
body {
  margin: 0 auto; padding: 1.5rem; max-width: 76rem;
  background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.7rem; margin: 0 0 .3rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .4rem; border-top: 1px solid var(--line); padding-top: 1.4rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
p { max-width: 60rem; }
p.soft { color: var(--soft); }
a { color: inherit; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td:first-child { min-width: 17rem; }
td.n { text-align: right; white-space: nowrap; }
th.n { text-align: right; }
td.note { color: var(--soft); min-width: 16rem; }
.holds { color: var(--good); font-weight: 600; }
.misses { color: var(--bad); font-weight: 600; }
figure { margin: 1.2rem 0; background: var(--card); border-radius: 8px; padding: .6rem; }
figure svg { width: 100%; height: auto; display: block; fill: var(--ink); }
figure svg > rect:first-of-type { fill: var(--card); }
figure svg text { fill: var(--ink); }
figure svg line { stroke: var(--line); }
figure svg path { stroke: var(--ink); }
</style>
)";

// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

void add_rows_html(std::string& out, const ReproSection& section) {
  out +=
      "<div class=\"wide\"><table>\n<tr><th>what</th><th class=\"n\">paper</th><th class=\"n\">ours</th><th "
      "class=\"n\">difference</th>"
      "<th>target</th><th></th><th>kind</th><th>note</th></tr>\n";
  for (const ReproRow& row : section.rows) {
    const ReproCells cells = cells_of(row);
    out += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td>"
        "<td class=\"{}\">{}</td><td>{}</td><td class=\"note\">{}</td></tr>\n",
        markup_escaped(row.what), markup_escaped(cells.paper), markup_escaped(cells.ours), markup_escaped(cells.difference),
        markup_escaped(cells.target), row.holds ? cells.holds : "none", cells.holds, to_string(row.kind),
        markup_escaped(row.note));
  }
  out += "</table></div>\n";
}

void add_table_html(std::string& out, const ReproTable& table) {
  out += fmt::format("<h3>{}</h3>\n<p>{}</p>\n<div class=\"wide\"><table>\n<tr>", markup_escaped(table.title),
                     markup_escaped(table.note));
  for (const std::string& title : table.columns) out += fmt::format("<th>{}</th>", markup_escaped(title));
  out += "</tr>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const std::string& text : row) out += fmt::format("<td>{}</td>", markup_escaped(text));
    out += "</tr>\n";
  }
  out += "</table></div>\n";
}

void add_constants_html(std::string& out, const ReproSection& section) {
  if (section.constants.empty()) return;
  out += "<h3>Constants</h3>\n<div class=\"wide\"><table>\n<tr><th>constant</th><th>value</th><th>where from</th></tr>\n";
  for (const ReproConstant& constant : section.constants) {
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", markup_escaped(constant.name),
                       markup_escaped(constant.value), markup_escaped(constant.origin));
  }
  out += "</table></div>\n";
}

void add_section_html(std::string& out, const ReproSection& section) {
  out += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p>{}</p>\n<p class=\"soft\">{}.</p>\n", markup_escaped(section.id),
                     markup_escaped(section.title), markup_escaped(section.text), summary(count({section})));
  for (const SvgChart& chart : section.charts) out += fmt::format("<figure>\n{}</figure>\n", to_svg(chart));
  add_rows_html(out, section);
  for (const ReproTable& table : section.tables) add_table_html(out, table);
  add_constants_html(out, section);
  out += "</section>\n";
}

void add_table_markdown(std::string& out, const std::vector<std::string>& columns,
                        const std::vector<std::vector<std::string>>& rows) {
  const auto line = [&out](const std::vector<std::string>& cells) {
    for (const std::string& text : cells) out += fmt::format("| {} ", cell(text));
    out += "|\n";
  };
  line(columns);
  line(std::vector<std::string>(columns.size(), "---"));
  for (const auto& row : rows) line(row);
  out += "\n";
}

void add_section_markdown(std::string& out, const ReproSection& section) {
  out += fmt::format("## {}\n\n{}\n\n{}.\n\n", section.title, section.text, summary(count({section})));
  std::vector<std::vector<std::string>> rows;
  rows.reserve(section.rows.size());
  for (const ReproRow& row : section.rows) {
    const ReproCells cells = cells_of(row);
    rows.push_back({row.what, cells.paper, cells.ours, cells.difference, cells.target,
                    row.holds == false ? "**misses**" : cells.holds, std::string(to_string(row.kind)), row.note});
  }
  add_table_markdown(out, {"what", "paper", "ours", "difference", "target", "holds", "kind", "note"}, rows);
  for (const ReproTable& table : section.tables) {
    out += fmt::format("### {}\n\n{}\n\n", table.title, table.note);
    add_table_markdown(out, table.columns, table.rows);
  }
  if (section.constants.empty()) return;
  rows.clear();
  for (const ReproConstant& constant : section.constants) rows.push_back({constant.name, constant.value, constant.origin});
  add_table_markdown(out, {"constant", "value", "where from"}, rows);
}

}  // namespace

std::string repro_html(const std::vector<ReproSection>& sections, bool quick) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, "
      "initial-scale=1\">\n<title>{0}</title>\n{1}</head>\n<body>\n<h1>{0}</h1>\n<p><strong>{2}.</strong></p>\n<p "
      "class=\"soft\">{3}</p>\n",
      kTitle, kStyle, summary(count(sections)), kKinds);
  if (quick) out += fmt::format("<p class=\"misses\">{}</p>\n", kQuick);
  out += "<ul>\n";
  for (const ReproSection& section : sections) {
    out += fmt::format("<li><a href=\"#{}\">{}</a>: {}</li>\n", markup_escaped(section.id), markup_escaped(section.title),
                       summary(count({section})));
  }
  out += "</ul>\n";
  for (const ReproSection& section : sections) add_section_html(out, section);
  out += "</body>\n</html>\n";
  return out;
}

std::string repro_markdown(const std::vector<ReproSection>& sections, bool quick) {
  std::string out = fmt::format("# {}\n\n{}.\n\n{}\n\n", kTitle, summary(count(sections)), kKinds);
  if (quick) out += fmt::format("{}\n\n", kQuick);
  for (const ReproSection& section : sections) add_section_markdown(out, section);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace iez::cli
