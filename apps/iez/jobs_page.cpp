#include "jobs_page.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "jobs_command.hpp"
#include "jobs_plots.hpp"
#include "markup.hpp"
#include "page.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kMostRows = 12;  // of a table on the page, before it is cut
constexpr std::size_t kMostAdvice = 30;
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

std::string html_table(const jobs::ResultTable& table, std::size_t most) {
  std::string out = "<div class=\"wide\"><table>\n<thead><tr>";
  const auto right = [&](std::size_t column) { return !table.rows.empty() && is_number(table.rows[0][column]); };
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    out += fmt::format("<th{}>{}</th>", right(i) ? " class=\"right\"" : "", markup_escaped(heading_of(table.columns[i])));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < std::min(most, table.rows.size()); ++row) {
    out += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      out += fmt::format("<td{}>{}</td>", right(i) ? " class=\"right\"" : "",
                         markup_escaped(shown(table.rows[row][i], table.columns[i])));
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table></div>\n";
  if (table.rows.size() > most) {
    out += fmt::format("<p class=\"quiet\">... and {} more rows: <code>iez jobs report --csv DIR</code> writes all.</p>\n",
                       table.rows.size() - most);
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
  if (report.synthetic) out += fmt::format("<p class=\"banner\">{}</p>\n", markup_escaped(kSynthetic));
  out += "<div class=\"cards\">\n" + page_card(jobs::count_text(totals.jobs), "jobs") +
         page_card(jobs::count_text(totals.users), "users") + page_card(jobs::bytes_text(totals.read), "read") +
         page_card(jobs::bytes_text(totals.written), "written") +
         page_card(jobs::percent_text(totals.jobs > 0 ? totals.io_jobs / totals.jobs : 0), "of jobs do I/O") +
         page_card(jobs::count_text(totals.series), "rows of time series") + "</div>\n";
  return out;
}

std::string html_section(const jobs::Section& section, std::size_t number) {
  std::string out =
      fmt::format("<section id=\"{0}\">\n<h2><span class=\"number\">{1}</span>{2}</h2>\n<p class=\"finding\">{3}</p>\n",
                  section.name, number, markup_escaped(section.title), markup_escaped(section.finding));
  const auto plots = plots_of(section);
  if (!plots.empty()) {
    out += "<div class=\"charts\">\n";
    for (const std::string& plot : plots) out += plot;
    out += "</div>\n";
  }
  for (const jobs::AnswerTable& table : section.answer.tables) {
    if (table.table.rows.empty()) continue;
    const bool small = table.table.rows.size() <= kMostRows;
    out += fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", small ? " open" : "", markup_escaped(table.caption),
                       html_table(table.table, kMostRows));
  }
  out += fmt::format("<p class=\"quiet\">Asked by <code>{}.sql</code>.</p>\n</section>\n", markup_escaped(section.answer.sql));
  return out;
}

std::string html_advice(const std::vector<jobs::Advice>& advice) {
  std::string out;
  for (const auto& [audience, title] :
       {std::pair{jobs::Audience::administrator, "For administrators"}, std::pair{jobs::Audience::user, "For users"}}) {
    std::string items;
    std::size_t count = 0;
    for (const jobs::Advice& item : advice) {
      if (item.audience != audience) continue;
      ++count;
      if (count > kMostAdvice) continue;
      const std::string who = item.who.empty() ? item.cluster : fmt::format("{}, user {}", item.cluster, item.who);
      items += fmt::format("<li><span class=\"tag\">{}</span><span class=\"tag\">{}</span><br>{}</li>\n",
                           markup_escaped(item.topic), markup_escaped(who), markup_escaped(item.text));
    }
    if (items.empty()) continue;
    out += fmt::format("<h3>{}</h3>\n<ul class=\"advice\">\n{}</ul>\n", title, items);
    if (count > kMostAdvice)
      out += fmt::format("<p class=\"quiet\">... and {} more, with <code>--json</code>.</p>\n", count - kMostAdvice);
  }
  return out;
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

std::string markdown_cell(const jobs::Value& value, std::string_view column) {
  std::string out;
  for (const char c : text::printable(shown(value, column))) {
    if (c == '|' || c == '<' || c == '*' || c == '`') out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_table(const jobs::ResultTable& table) {
  std::string out = "|";
  std::string line = "|";
  for (const std::string& column : table.columns) {
    out += fmt::format(" {} |", heading_of(column));
    line += " --- |";
  }
  out += '\n' + line + '\n';
  for (std::size_t row = 0; row < std::min(kMostRows, table.rows.size()); ++row) {
    out += '|';
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      out += fmt::format(" {} |", markdown_cell(table.rows[row][i], table.columns[i]));
    out += '\n';
  }
  if (table.rows.size() > kMostRows) out += fmt::format("\n... and {} more rows.\n", table.rows.size() - kMostRows);
  return out;
}

}  // namespace

std::string shown(const jobs::Value& value, std::string_view column) {
  if (std::holds_alternative<std::monostate>(value)) return "-";
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  const double number = number_of(value);
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
  out += "<ol class=\"findings\">\n";
  for (const jobs::Section& section : report.sections) {
    out += fmt::format("<li><a href=\"#{}\">{}</a>: {}</li>\n", section.name, markup_escaped(section.title),
                       markup_escaped(section.finding));
  }
  out += "</ol>\n";
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    out += html_section(report.sections[i], i + 1);
    if (report.sections[i].name == "advice") out += html_advice(report.advice);
  }
  out += "<h2>Thresholds</h2>\n<p class=\"quiet\">";
  for (const auto& [name, value] : jobs::option_values(report.options))
    out += fmt::format("{} {:g}; ", markup_escaped(heading_of(name)), value);
  return out + "</p>\n" + page_foot(kCommand);
}

std::string report_markdown(const jobs::Report& report) {
  const Totals totals = totals_of(report);
  std::string out = "# What jobs do to the file system\n\n";
  if (report.synthetic) out += fmt::format("**{}**\n\n", kSynthetic);
  out += fmt::format("{} jobs of {} users read {} and wrote {}; {} of them do I/O.\n", jobs::count_text(totals.jobs),
                     jobs::count_text(totals.users), jobs::bytes_text(totals.read), jobs::bytes_text(totals.written),
                     jobs::percent_text(totals.jobs > 0 ? totals.io_jobs / totals.jobs : 0));
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    const jobs::Section& section = report.sections[i];
    out += fmt::format("\n## {}. {}\n\n{}\n", i + 1, section.title, text::printable(section.finding));
    for (const jobs::AnswerTable& table : section.answer.tables) {
      if (!table.table.rows.empty()) out += fmt::format("\n{}:\n\n{}", table.caption, markdown_table(table.table));
    }
  }
  out += "\n## Advice\n\n";
  for (const jobs::Advice& advice : report.advice) {
    out += fmt::format("- {}{}: {}\n", advice.who.empty() ? advice.cluster : fmt::format("user {}", text::printable(advice.who)),
                       advice.audience == jobs::Audience::administrator ? " (administrators)" : "", text::printable(advice.text));
  }
  return out;
}

std::string report_text(const jobs::Report& report) {
  std::string out;
  if (report.synthetic) out += std::string(kSynthetic) + "\n\n";
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    out += fmt::format("{:2}. {}\n    {}\n", i + 1, report.sections[i].title, text::printable(report.sections[i].finding));
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
                        {"finding", section.finding},
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
