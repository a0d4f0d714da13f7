// Rows of jobs as JSON and as tables.
#pragma once

#include <span>
#include <string>

#include "command.hpp"
#include "jobs/node_report.hpp"
#include "jobs/rows.hpp"
#include "json.hpp"

namespace iez::cli {

ordered_json job_row_json(const jobs::JobRow& row);
ordered_json series_row_json(const jobs::SeriesRow& row);
ordered_json node_report_json(const jobs::NodeReport& report);

std::string job_table(std::span<const jobs::JobRow> rows, const Terminal& terminal, bool header);

}  // namespace iez::cli
