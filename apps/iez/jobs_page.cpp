#include "jobs_page.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"
#include "jobs_command.hpp"
#include "jobs_plots.hpp"
#include "jobs_tables.hpp"
#include "markup.hpp"
#include "page.hpp"
#include "table.hpp"
#include "wrap.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kMostRows = 12;   // of a table on the page, before it is cut
constexpr std::size_t kMostUsers = 10;  // whose advice is shown before it is folded
constexpr std::size_t kNarrow = 80;     // columns of text
constexpr std::size_t kWide = 100;
constexpr std::string_view kCommand = "iez jobs report";

bool is_number(const jobs::Value& value) { return !std::holds_alternative<std::string>(value); }

double number_of(const jobs::Value& value) {
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  return 0;
}

std::string heading_of(std::string_view column) {
  std::string out(column);
  std::ranges::replace(out, '_', ' ');
  return out;
}

std::string html_table(const PageTable& table) {
  std::string out = "<div class=\"wide\"><table>\n<thead><tr>";
  const auto mark = [&](std::size_t column) { return table.right[column] ? " class=\"right\"" : ""; };
  for (std::size_t i = 0; i < table.titles.size(); ++i) {
    out += fmt::format("<th{}>{}</th>", mark(i), markup_escaped(table.titles[i]));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) out += fmt::format("<td{}>{}</td>", mark(i), markup_escaped(row[i]));
    out += "</tr>\n";
  }
  out += "</tbody>\n</table></div>\n";
  if (table.left_out > 0) {
    out += fmt::format("<p class=\"quiet\">... and {} more, which <code>--csv DIR</code> writes.</p>\n", table.left_out);
  }
  return out;
}

struct Totals {
  double jobs = 0;
  double users = 0;
  double read = 0;
  double written = 0;
  double io_jobs = 0;
  double series = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::string clusters;
};

Totals totals_of(const jobs::Report& report) {
  Totals totals;
  const jobs::ResultTable& summary = report.summary["summary"];
  const jobs::ResultTable& series = report.summary["series"];
  for (std::size_t row = 0; row < summary.rows.size(); ++row) {
    totals.jobs += summary.number(row, "jobs");
    totals.users += summary.number(row, "users");
    totals.io_jobs += summary.number(row, "io_jobs");
  }
  for (std::size_t row = 0; row < series.rows.size(); ++row) totals.series += series.number(row, "rows");
  // Where no job told anything, servers may have.
  const jobs::ResultTable& told = summary.rows.empty() ? series : summary;
  for (std::size_t row = 0; row < told.rows.size(); ++row) {
    totals.read += told.number(row, "read_bytes");
    totals.written += told.number(row, "write_bytes");
    totals.first = row == 0 ? told.integer(row, "first") : std::min(totals.first, told.integer(row, "first"));
    totals.last = std::max(totals.last, told.integer(row, "last"));
    totals.clusters += (row == 0 ? "" : ", ") + told.text(row, "cluster");
  }
  return totals;
}

constexpr std::string_view kNoAdvice = "Nothing of what the counters tell calls for advice.";

// Of jobs, and of servers that tell no jobs apart.
bool has_several_clusters(const jobs::Report& report) {
  std::set<std::string> names;
  for (const std::string_view table : {"summary", "series"}) {
    const jobs::ResultTable& clusters = report.summary[table];
    for (std::size_t row = 0; row < clusters.rows.size(); ++row) names.insert(clusters.text(row, "cluster"));
  }
  return names.size() > 1;
}

// A sentence each; the cluster is named where there are several.
std::vector<std::string> said(const std::vector<jobs::Finding>& findings, bool several) {
  std::vector<std::string> sentences;
  for (const jobs::Finding& finding : findings) {
    const bool named = several && !finding.cluster.empty();
    sentences.push_back(named ? fmt::format("{}: {}.", finding.cluster, finding.text) : jobs::sentence(finding.text));
  }
  return sentences;
}

std::string counted_text(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", jobs::count_text(static_cast<double>(count)), what, count == 1 ? "" : "s");
}

std::string counted_text(double count, std::string_view what) { return counted_text(static_cast<std::size_t>(count), what); }

// For a page, where a number and its sign stay on one line, and what is within backticks is code.
std::string html_text(std::string_view text) {
  std::string out;
  bool in_code = false;
  for (const char c : markup_escaped(text)) {
    if (c == '`') {
      out += in_code ? "</code>" : "<code>";
      in_code = !in_code;
    } else if (c == '%' && out.ends_with(' ')) {
      out.replace(out.size() - 1, 1, "&#160;%");
    } else {
      out += c;
    }
  }
  return in_code ? out + "</code>" : out;
}

// "51 jobs moved 1.65 PB, 22.4 % of all bytes"
std::string extent_text(const jobs::UserAdvice& user) {
  return fmt::format("{} moved {}, {} of all bytes", counted_text(user.jobs, "job"), jobs::bytes_text(user.bytes),
                     jobs::percent_text(user.share));
}

std::string extent_text(const jobs::TopicAdvice& topic) {
  return fmt::format("{} with {}", counted_text(topic.users, "user"), counted_text(topic.jobs, "job"));
}

// Only those who move the most are looked at.
std::string looked_at_text(const jobs::Report& report, const jobs::AdviceGroups& groups) {
  return fmt::format("Of the {} who move the most, {} can do better.",
                     counted_text(report.sections.back().answer["users"].rows.size(), "user"),
                     jobs::count_text(static_cast<double>(groups.users.size())));
}

std::string totals_text(const jobs::Report& report) {
  const Totals totals = totals_of(report);
  return fmt::format("{}{} of {} read {} and wrote {}; {} of them do I/O.", totals.clusters.empty() ? "" : totals.clusters + ": ",
                     counted_text(totals.jobs, "job"), counted_text(totals.users, "user"), jobs::bytes_text(totals.read),
                     jobs::bytes_text(totals.written), jobs::percent_text(totals.jobs > 0 ? totals.io_jobs / totals.jobs : 0));
}

constexpr std::string_view kSynthetic =
    "Synthetic data: made by `iez jobs synth` in the shape of published figures. Nobody measured this.";

std::string html_head(const jobs::Report& report) {
  const Totals totals = totals_of(report);
  const std::string range = totals.last == 0
                                ? std::string("nothing in this range")
                                : fmt::format("{} from {} to {} (UTC)", totals.jobs > 0 ? "jobs that started" : "samples",
                                              time_text(totals.first), time_text(totals.last));
  std::string out =
      page_head({.command = kCommand,
                 .title = "What jobs do to the file system",
                 .about = fmt::format("{}; {}; days and hours in {}.", totals.clusters.empty() ? "no cluster" : totals.clusters,
                                      range, report.time_zone)});
  if (report.synthetic) out += fmt::format("<p class=\"banner\">{}</p>\n", html_text(kSynthetic));
  out += "<div class=\"cards\">\n" + page_card(jobs::count_text(totals.jobs), "jobs") +
         page_card(jobs::count_text(totals.users), "users") + page_card(jobs::bytes_text(totals.read), "read") +
         page_card(jobs::bytes_text(totals.written), "written") +
         page_card(jobs::percent_text(totals.jobs > 0 ? totals.io_jobs / totals.jobs : 0), "of jobs do I/O") +
         page_card(jobs::count_text(totals.series), "rows of time series") + "</div>\n";
  return out;
}

std::string html_details(std::string_view summary, const std::string& body, bool open) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", open ? " open" : "", markup_escaped(summary), body);
}

std::string html_answer(const jobs::Section& section, const jobs::Report& report, bool open) {
  std::string out;
  const auto plots = plots_of(section, has_several_clusters(report));
  if (!plots.empty()) {
    out += "<div class=\"charts\">\n";
    for (const std::string& plot : plots) out += plot;
    out += "</div>\n";
  }
  for (const jobs::AnswerTable& answer : section.answer.tables) {
    const auto table = page_table(section.answer.sql, answer, report.options, has_several_clusters(report));
    if (!table) continue;
    const bool small = table->rows.size() <= kMostRows && table->left_out == 0;
    out += html_details(table->caption, html_table(*table), open && small);
  }
  return out;
}

std::string html_section(const jobs::Section& section, std::size_t number, const jobs::Report& report) {
  std::string out = fmt::format("<section id=\"{}\">\n<h2><span class=\"number\">{}</span>{}</h2>\n<p class=\"finding\">",
                                section.name, number, markup_escaped(section.title));
  std::string_view between;
  for (const std::string& finding : said(section.findings, has_several_clusters(report))) {
    out += fmt::format("{}{}", between, html_text(finding));
    between = "<br>\n";
  }
  return out + "</p>\n" + html_answer(section, report, true) + "</section>\n";
}

std::string tag(const std::string& cluster, bool several) {
  return several ? fmt::format("<span class=\"tag\">{}</span>", markup_escaped(cluster)) : std::string{};
}

std::string html_users(std::span<const jobs::UserAdvice> users, bool several) {
  std::string out = "<ul class=\"advice\">\n";
  for (const jobs::UserAdvice& user : users) {
    out += fmt::format("<li><b>User {}:</b> {}<span class=\"quiet\">{}</span>\n", markup_escaped(user.who),
                       tag(user.cluster, several), html_text(extent_text(user)));
    for (const jobs::Advice& advice : user.advice) {
      out += fmt::format("<br><b>{}.</b> {}\n", markup_escaped(advice.action), html_text(jobs::sentence(advice.reason)));
    }
    out += "</li>\n";
  }
  return out + "</ul>\n";
}

std::string html_advice(const jobs::Report& report, const jobs::Section& section) {
  const jobs::AdviceGroups groups = jobs::grouped(report);
  const bool several = has_several_clusters(report);
  std::string out = "<section id=\"advice\">\n<h2>What to do</h2>\n";
  if (report.advice.empty()) out += fmt::format("<p>{}</p>\n", markup_escaped(kNoAdvice));
  if (!groups.administrators.empty()) {
    out += "<h3>For administrators</h3>\n<ul class=\"advice\">\n";
    for (const jobs::Advice& advice : groups.administrators) {
      out += fmt::format("<li>{}<b>{}</b> ({}).<br>{}</li>\n", tag(advice.cluster, several), markup_escaped(advice.action),
                         markup_escaped(advice.how), html_text(jobs::sentence(advice.reason)));
    }
    out += "</ul>\n";
  }
  if (!groups.users.empty()) {
    out += "<h3>For users</h3>\n<ul class=\"advice\">\n";
    for (const jobs::TopicAdvice& topic : groups.topics) {
      out += fmt::format("<li>{}<b>{}</b> ({}).<br>{}: {}</li>\n", tag(topic.cluster, several), markup_escaped(topic.action),
                         markup_escaped(topic.how), html_text(extent_text(topic)), html_text(jobs::sentence(topic.reason)));
    }
    out += "</ul>\n<h3>User by user</h3>\n";
    out += fmt::format("<p class=\"quiet\">{} <code>iez jobs user NAME</code> prints what to send to one of them.</p>\n",
                       markup_escaped(looked_at_text(report, groups)));
    const std::span users(groups.users);
    const std::size_t first = std::min(kMostUsers, users.size());
    out += html_users(users.first(first), several);
    if (users.size() > first) {
      out += html_details(counted_text(users.size() - first, "more user"), html_users(users.subspan(first), several), false);
    }
  }
  return out + html_answer(section, report, false) + "</section>\n";
}

std::string html_thresholds(const jobs::Report& report) {
  std::string out = "<h2>How it was counted</h2>\n<div class=\"wide\"><table>\n<tbody>\n";
  for (const Threshold& threshold : thresholds(report.options)) {
    out += fmt::format("<tr><td>{}</td><td class=\"right\">{}</td><td><code>{}</code></td></tr>\n",
                       markup_escaped(threshold.what), markup_escaped(threshold.value), threshold.option);
  }
  return out +
         "</tbody>\n</table></div>\n<p class=\"quiet\"><code>--csv DIR</code> writes every table whole, <code>iez jobs "
         "sql</code> prints the SQL that asked.</p>\n";
}

std::string csv_cell(const jobs::Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return {};
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* const real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  const std::string& text = std::get<std::string>(value);
  if (text.find_first_of("\",\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += c;
    out += c;
  }
  return out + '"';
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : text::printable(text)) {
    if (c == '|' || c == '<' || c == '*' || c == '`') out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_table(const PageTable& table) {
  std::string out = "|";
  std::string line = "|";
  for (std::size_t i = 0; i < table.titles.size(); ++i) {
    out += fmt::format(" {} |", table.titles[i]);
    line += table.right[i] ? " ---: |" : " --- |";
  }
  out += '\n' + line + '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (const std::string& cell : row) out += fmt::format(" {} |", markdown_text(cell));
    out += '\n';
  }
  if (table.left_out > 0) out += fmt::format("\n... and {} more, which `--csv DIR` writes.\n", table.left_out);
  return out;
}

std::string markdown_tables(const jobs::Section& section, const jobs::Report& report) {
  std::string out;
  for (const jobs::AnswerTable& answer : section.answer.tables) {
    const auto table = page_table(section.answer.sql, answer, report.options, has_several_clusters(report));
    if (table) out += fmt::format("\n{}:\n\n{}", table->caption, markdown_table(*table));
  }
  return out;
}

std::string markdown_advice(const jobs::Report& report) {
  const jobs::AdviceGroups groups = jobs::grouped(report);
  const bool several = has_several_clusters(report);
  std::string out = "\n## What to do\n";
  if (report.advice.empty()) out += fmt::format("\n{}\n", kNoAdvice);
  const auto where = [&](const std::string& cluster) { return several ? markdown_text(cluster) + ": " : std::string{}; };
  if (!groups.administrators.empty()) out += "\n### For administrators\n\n";
  for (const jobs::Advice& advice : groups.administrators) {
    out += fmt::format("- {}**{}** ({}). {}\n", where(advice.cluster), markdown_text(advice.action), advice.how,
                       markdown_text(jobs::sentence(advice.reason)));
  }
  if (groups.users.empty()) return out;
  out += "\n### For users\n\n";
  for (const jobs::TopicAdvice& topic : groups.topics) {
    out += fmt::format("- {}**{}** ({}). {}: {}\n", where(topic.cluster), markdown_text(topic.action), topic.how,
                       extent_text(topic), jobs::sentence(topic.reason));
  }
  out += fmt::format("\n### User by user\n\n{}\n\n", looked_at_text(report, groups));
  for (const jobs::UserAdvice& user : groups.users) {
    out += fmt::format("- {}**User {}**: {}\n", where(user.cluster), markdown_text(user.who), extent_text(user));
    for (const jobs::Advice& advice : user.advice) {
      out += fmt::format("  - **{}.** {}\n", markdown_text(advice.action), jobs::sentence(advice.reason));
    }
  }
  return out;
}

}  // namespace

std::string shown(const jobs::Value& value, std::string_view column) {
  if (std::holds_alternative<std::monostate>(value)) return "-";
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  const double number = number_of(value);
  if (column == "hours") return jobs::hours_text(number);
  const bool share =
      column == "share" || column.starts_with("share_") || column.ends_with("_share") || column == "below" || column == "io_time";
  if (share) return jobs::percent_text(number);
  if (column.contains("bytes") || column.ends_with("_call") || column == "memory") return jobs::bytes_text(number);
  if (column == "first" || column == "last") return time_text(static_cast<std::int64_t>(number));
  if (std::holds_alternative<std::int64_t>(value) || (number == std::floor(number) && std::abs(number) >= 1000))
    return jobs::count_text(number);
  return fmt::format("{:.4g}", number);
}

ordered_json value_json(const jobs::Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return nullptr;
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  return std::get<std::string>(value);
}

std::string table_text(const jobs::ResultTable& table, std::size_t most, bool header, const Terminal& terminal) {
  std::vector<std::string> titles;
  titles.reserve(table.columns.size());
  for (const std::string& column : table.columns) {
    titles.push_back(heading_of(column));
    std::ranges::transform(titles.back(), titles.back().begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  }
  std::vector<Table::Column> columns;
  columns.reserve(titles.size());
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const bool right = !table.rows.empty() && is_number(table.rows[0][i]);
    columns.push_back({.title = titles[i], .align = right ? Align::right : Align::left});
  }
  Table text(std::move(columns));
  const std::size_t rows = most == 0 ? table.rows.size() : std::min(most, table.rows.size());
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<Cell> cells;
    cells.reserve(table.columns.size());
    for (std::size_t i = 0; i < table.columns.size(); ++i) cells.push_back({shown(table.rows[row][i], table.columns[i])});
    text.add(std::move(cells));
  }
  std::string out = text.render(terminal, header);
  if (rows < table.rows.size()) out += fmt::format("... and {} more\n", table.rows.size() - rows);
  return out;
}

std::string report_html(const jobs::Report& report) {
  std::string out = html_head(report);
  std::string contents;
  std::string sections;
  std::size_t number = 0;
  for (const jobs::Section& section : report.sections) {
    if (section.name == "advice") {
      out += html_advice(report, section);
      continue;
    }
    ++number;
    contents += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.name, markup_escaped(section.title));
    sections += html_section(section, number, report);
  }
  out += "<h2>What was found</h2>\n<ol class=\"findings\">\n" + contents + "</ol>\n" + sections;
  return out + html_thresholds(report) + page_foot(kCommand);
}

std::string report_markdown(const jobs::Report& report) {
  std::string out = "# What jobs do to the file system\n\n";
  if (report.synthetic) out += fmt::format("**{}**\n\n", kSynthetic);
  out += markdown_text(totals_text(report)) + '\n' + markdown_advice(report);
  std::size_t number = 0;
  for (const jobs::Section& section : report.sections) {
    if (section.name == "advice") continue;
    out += fmt::format("\n## {}. {}\n", ++number, section.title);
    for (const std::string& finding : said(section.findings, has_several_clusters(report)))
      out += fmt::format("\n{}\n", markdown_text(finding));
    out += markdown_tables(section, report);
  }
  out += "\n## Who moves the most\n" + markdown_tables(report.sections.back(), report);
  out += "\n## How it was counted\n\n| Threshold | Value | Option |\n| --- | ---: | --- |\n";
  for (const Threshold& threshold : thresholds(report.options))
    out += fmt::format("| {} | {} | `{}` |\n", threshold.what, threshold.value, threshold.option);
  return out;
}

std::string report_text(const jobs::Report& report, const Terminal& terminal) {
  const std::size_t width = std::clamp<std::size_t>(terminal.columns, kNarrow, kWide);
  const bool several = has_several_clusters(report);
  const jobs::AdviceGroups groups = jobs::grouped(report);
  std::string out;
  const auto line = [&](std::size_t indent, std::string_view mark, std::string_view text) {
    const std::size_t at = indent + mark.size();
    // A number and its sign stay together.
    constexpr char kGlue = '\x01';
    std::string glued = text::printable(text);
    for (std::size_t i = glued.find(" %"); i != std::string::npos; i = glued.find(" %", i)) glued[i] = kGlue;
    std::string broken = wrapped(glued, at, at, width);
    std::ranges::replace(broken, kGlue, ' ');
    out += fmt::format("{:{}}{}{}\n", "", indent, mark, broken);
  };
  const auto where = [&](const std::string& cluster) { return several ? cluster + ": " : std::string{}; };
  if (report.synthetic) line(0, "", kSynthetic);
  line(0, "", totals_text(report));
  out += groups.administrators.empty() ? "\nWhat to do\n" : "\nWhat administrators should do\n";
  if (report.advice.empty()) line(0, "", kNoAdvice);
  for (const jobs::Advice& advice : groups.administrators) {
    line(0, "- ", fmt::format("{}{} ({}): {}.", where(advice.cluster), advice.action, advice.how, advice.reason));
  }
  if (!groups.users.empty()) {
    out += groups.administrators.empty() ? "" : "\nWhat users should do\n";
    for (const jobs::TopicAdvice& topic : groups.topics) {
      line(0, "- ",
           fmt::format("{}{} ({}). {}: {}.", where(topic.cluster), topic.action, topic.how, extent_text(topic), topic.reason));
    }
    out += '\n';
    line(0, "", looked_at_text(report, groups));
    const std::size_t first = std::min(kMostUsers, groups.users.size());
    for (std::size_t i = 0; i < first; ++i) {
      const jobs::UserAdvice& user = groups.users[i];
      const std::string place = several ? fmt::format(" ({})", user.cluster) : std::string{};
      line(0, "", fmt::format("user {}{}: {}", user.who, place, extent_text(user)));
      for (const jobs::Advice& advice : user.advice) line(2, "- ", fmt::format("{}: {}.", advice.action, advice.reason));
    }
    if (groups.users.size() > first)
      line(0, "", fmt::format("... and {}: --out FILE has them all", counted_text(groups.users.size() - first, "more user")));
  }
  out += "\nWhat was found\n";
  std::size_t number = 0;
  for (const jobs::Section& section : report.sections) {
    if (section.name == "advice") continue;
    line(0, fmt::format("{:2}. ", ++number), section.title);
    for (const std::string& finding : said(section.findings, several)) line(4, "", finding);
  }
  return out;
}

ordered_json table_json(const jobs::ResultTable& table) {
  ordered_json rows = ordered_json::array();
  for (const auto& row : table.rows) {
    ordered_json cells = ordered_json::array();
    for (const jobs::Value& value : row) cells.push_back(value_json(value));
    rows.push_back(std::move(cells));
  }
  return {{"columns", table.columns}, {"rows", std::move(rows)}};
}

ordered_json advice_json(const std::vector<jobs::Advice>& advice) {
  ordered_json json = ordered_json::array();
  for (const jobs::Advice& item : advice) {
    ordered_json evidence = ordered_json::array();
    for (const auto& [name, value] : item.evidence) evidence.push_back({{"name", name}, {"value", value}});
    json.push_back({{"audience", item.audience == jobs::Audience::user ? "user" : "administrator"},
                    {"cluster", item.cluster},
                    {"who", item.who},
                    {"topic", item.topic},
                    {"text", item.text},
                    {"evidence", std::move(evidence)}});
  }
  return json;
}

ordered_json report_json(const jobs::Report& report) {
  ordered_json sections = ordered_json::array();
  const auto tables_of = [](const jobs::Answer& answer) {
    ordered_json tables = ordered_json::array();
    for (const jobs::AnswerTable& table : answer.tables) {
      ordered_json json{{"name", table.name}, {"caption", table.caption}};
      json.update(table_json(table.table));
      tables.push_back(std::move(json));
    }
    return tables;
  };
  for (const jobs::Section& section : report.sections) {
    sections.push_back({{"name", section.name},
                        {"title", section.title},
                        {"finding", jobs::finding_text(section.findings)},
                        {"sql", section.answer.sql},
                        {"tables", tables_of(section.answer)}});
  }
  ordered_json thresholds = ordered_json::array();
  for (const auto& [name, value] : jobs::option_values(report.options)) thresholds.push_back({{"name", name}, {"value", value}});
  return {{"synthetic", report.synthetic},        {"from", or_null(report.range.from)},   {"to", or_null(report.range.to)},
          {"time_zone", report.time_zone},        {"summary", tables_of(report.summary)}, {"analyses", std::move(sections)},
          {"advice", advice_json(report.advice)}, {"thresholds", std::move(thresholds)}};
}

std::vector<std::pair<std::string, std::string>> report_csv(const jobs::Report& report) {
  std::vector<std::pair<std::string, std::string>> files;
  const auto add = [&](const jobs::Answer& answer) {
    for (const jobs::AnswerTable& table : answer.tables) {
      std::string text;
      for (std::size_t i = 0; i < table.table.columns.size(); ++i) text += (i == 0 ? "" : ",") + table.table.columns[i];
      text += '\n';
      for (const auto& row : table.table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
          if (i > 0) text += ',';
          text += csv_cell(row[i]);
        }
        text += '\n';
      }
      files.emplace_back(fmt::format("{}.{}.csv", answer.sql, table.name), std::move(text));
    }
  };
  add(report.summary);
  for (const jobs::Section& section : report.sections) add(section.answer);
  return files;
}

}  // namespace iez::cli
