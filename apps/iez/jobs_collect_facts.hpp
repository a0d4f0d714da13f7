// What the scheduler knows of jobs, for sums of reports.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "input/parse_report.hpp"
#include "jobs/rows.hpp"

namespace iez::cli {

[[nodiscard]] Result<std::vector<jobs::JobRow>> read_sacct_facts(const std::string& path, const std::string& zone,
                                                                 input::ParseReport& problems);

}  // namespace iez::cli
