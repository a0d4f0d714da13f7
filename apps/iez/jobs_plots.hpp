// Pictures of the analyses of jobs. Pure.
#pragma once

#include <string>
#include <vector>

#include "jobs/report.hpp"

namespace iez::cli {

// SVG, at least one for an analysis with rows; none for one without. A report of several clusters names them.
std::vector<std::string> plots_of(const jobs::Section& section, bool several_clusters);

}  // namespace iez::cli
