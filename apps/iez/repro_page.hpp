// The report of a reproduction as a page (one file, no scripts, light and dark) and as Markdown.
//
// Deterministic, and nothing of the machine it ran on. Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "repro_rows.hpp"

namespace iez::cli {

std::string repro_html(const std::vector<ReproSection>& sections, bool quick);
std::string repro_markdown(const std::vector<ReproSection>& sections, bool quick);

}  // namespace iez::cli
