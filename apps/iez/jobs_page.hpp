// A report on jobs as a page of HTML, as Markdown, as JSON, as CSV, and for a terminal. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.hpp"
#include "jobs/report.hpp"
#include "json.hpp"

namespace iez::cli {

std::string report_html(const jobs::Report& report);  // one file, nothing to load, no script
std::string report_markdown(const jobs::Report& report);
// Advice and findings, in lines of 80 columns, or a little more where the terminal has them.
std::string report_text(const jobs::Report& report, const Terminal& terminal);
ordered_json report_json(const jobs::Report& report);
// "03_write_efficiency.classes.csv" and its text, for each table.
std::vector<std::pair<std::string, std::string>> report_csv(const jobs::Report& report);

// A value for people, by what its column holds: bytes, shares, counts.
std::string shown(const jobs::Value& value, std::string_view column);
ordered_json value_json(const jobs::Value& value);

// At most `most` rows of a table for a terminal. 0: all.
std::string table_text(const jobs::ResultTable& table, std::size_t most, bool header, const Terminal& terminal);

ordered_json table_json(const jobs::ResultTable& table);
ordered_json advice_json(const std::vector<jobs::Advice>& advice);

}  // namespace iez::cli
