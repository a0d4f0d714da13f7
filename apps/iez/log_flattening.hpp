// What `iez log check` and `iez log flatten` do to a log, with progress.
#pragma once

#include <cstdint>

#include "command.hpp"
#include "rank_log/log_check.hpp"
#include "rank_log/log_files.hpp"
#include "rank_log/log_report.hpp"
#include "rank_log/log_survey.hpp"

namespace iez::cli {

// Says that there is no log, if so, and what that means.
[[nodiscard]] Result<void> open_log(const rank_log::LogPaths& paths, rank_log::Descriptor& folder);

// Bytes of FILE when the log is in it. FILE need not be there.
std::uint64_t size_to_be(const rank_log::LogPaths& paths, const rank_log::LogSurvey& sums);

// Tells the first record whose data is wrong.
[[nodiscard]] Result<rank_log::DataCheck> check_log_data(int folder, const rank_log::LogPaths& paths,
                                                         const rank_log::LogSurvey& sums, Context& context);

}  // namespace iez::cli
