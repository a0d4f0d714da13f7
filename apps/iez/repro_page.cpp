#include "repro_page.hpp"

#include <string_view>

#include <fmt/format.h>

#include "markup.hpp"
#include "page.hpp"

namespace iez::cli {

namespace {

constexpr std::string_view kCommand = "iez repro";
constexpr std::string_view kTitle = "Published figures, and ours";
constexpr std::string_view kQuick = "This is a quick run: few rows, few seeds. Leave out --quick for all.";
constexpr std::string_view kKinds =
    "Fitted: a constant was chosen so that this comes out. Predicted: simulated, and nothing was fitted to it. Computed: from an "
    "equation, or "
    "by drawing placements. Bounded: likewise, and held to a bound of ours, since a published figure is none. Outside: the model "
    "does not hold what it would take. Rows that miss their target stay, and say so.";

// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string_view verdict_class(const ReproRow& row) {
  if (!row.holds) return "quiet";
  return *row.holds ? "good" : "bad strong";
}

std::string set_on_page(std::string_view text) { return markup_escaped(typeset(text)); }

void add_rows_html(std::string& out, const ReproSection& section) {
  out +=
      "<div class=\"wide\"><table>\n<tr><th>what</th><th class=\"right\">paper</th><th class=\"right\">ours</th><th "
      "class=\"right\">difference</th>"
      "<th>target</th><th></th><th>kind</th><th>note</th></tr>\n";
  for (const ReproRow& row : section.rows) {
    const ReproCells cells = cells_of(row);
    out += fmt::format(
        "<tr><td class=\"text\">{}</td><td class=\"right\">{}</td><td class=\"right\">{}</td><td "
        "class=\"right\">{}</td><td>{}</td>"
        "<td class=\"{}\">{}</td><td>{}</td><td class=\"text quiet\">{}</td></tr>\n",
        markup_escaped(row.what), set_on_page(cells.paper), set_on_page(cells.ours), markup_escaped(cells.difference),
        set_on_page(cells.target), verdict_class(row), cells.holds, to_string(row.kind), set_on_page(row.note));
  }
  out += "</table></div>\n";
}

void add_table_html(std::string& out, const ReproTable& table) {
  out += fmt::format("<h3>{}</h3>\n<p>{}</p>\n<div class=\"wide\"><table>\n<tr>", markup_escaped(table.title),
                     set_on_page(table.note));
  for (const std::string& title : table.columns) out += fmt::format("<th>{}</th>", markup_escaped(title));
  out += "</tr>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const std::string& text : row) out += fmt::format("<td>{}</td>", set_on_page(text));
    out += "</tr>\n";
  }
  out += "</table></div>\n";
}

void add_constants_html(std::string& out, const ReproSection& section) {
  if (section.constants.empty()) return;
  out += "<h3>Constants</h3>\n<div class=\"wide\"><table>\n<tr><th>constant</th><th>value</th><th>where from</th></tr>\n";
  for (const ReproConstant& constant : section.constants) {
    out += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>\n", markup_escaped(constant.name),
                       set_on_page(constant.value), set_on_page(constant.origin));
  }
  out += "</table></div>\n";
}

void add_section_html(std::string& out, const ReproSection& section) {
  out += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p>{}</p>\n<p class=\"quiet\">{}.</p>\n", markup_escaped(section.id),
                     markup_escaped(section.title), set_on_page(section.text), summary(count({section})));
  if (!section.charts.empty()) out += "<div class=\"charts alone\">\n";
  for (const SvgChart& chart : section.charts) out += to_svg(chart, SvgUse::page);
  if (!section.charts.empty()) out += "</div>\n";
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
  std::string out = page_head({.command = kCommand, .title = kTitle, .about = kKinds});
  out += fmt::format("<p class=\"strong\">{}.</p>\n", summary(count(sections)));
  if (quick) out += fmt::format("<p class=\"banner\">{}</p>\n", kQuick);
  out += "<ul>\n";
  for (const ReproSection& section : sections) {
    out += fmt::format("<li><a href=\"#{}\">{}</a>: {}</li>\n", markup_escaped(section.id), markup_escaped(section.title),
                       summary(count({section})));
  }
  out += "</ul>\n";
  for (const ReproSection& section : sections) add_section_html(out, section);
  return out + page_foot(kCommand);
}

std::string repro_markdown(const std::vector<ReproSection>& sections, bool quick) {
  std::string out = fmt::format("# {}\n\n{}.\n\n{}\n\n", kTitle, summary(count(sections)), kKinds);
  if (quick) out += fmt::format("{}\n\n", kQuick);
  for (const ReproSection& section : sections) add_section_markdown(out, section);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace iez::cli
