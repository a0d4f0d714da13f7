#include <fmt/format.h>

#include "base/text.hpp"
#include "store/rows.hpp"

namespace iez::store {

namespace {

constexpr std::size_t kMaxReason = 4096;
constexpr std::size_t kMaxTurns = 100'000;
constexpr std::size_t kMaxOsts = 10'000;

std::string shown(std::string_view text) {
  return text.size() <= 80 ? text::printable(text) : text::printable(text.substr(0, 80)) + "...";
}

Result<void> fits(std::string_view field, std::string_view text, std::size_t most) {
  if (text.size() <= most) return {};
  return fail(Errc::limit, fmt::format("{} has {} bytes, and at most {} are kept: {}", field, text.size(), most, shown(text)));
}

Result<void> is_name(std::string_view field, std::string_view text, std::size_t most) {
  if (text.empty()) return fail(Errc::invalid_argument, fmt::format("{} is empty", field));
  if (text.find('\0') != std::string_view::npos) {
    return fail(Errc::invalid_argument, fmt::format("{} has a zero byte: {}", field, shown(text)));
  }
  return fits(field, text, most);
}

Result<void> is_key(std::string_view key) {
  if (key.empty()) return {};
  const bool right = key.size() == 32 && key.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (right) return {};
  return fail(Errc::invalid_argument, fmt::format("key '{}' is not one of 32 hexadecimal digits", shown(key)));
}

}  // namespace

Result<void> validate(const Application& application) {
  IEZ_CHECK(is_name("the owner of the application", application.owner, kMaxAppName));
  IEZ_CHECK(is_name("the name of the application", application.name, kMaxAppName));
  return fits("the fingerprint of the application", application.fingerprint, kMaxShort);
}

Result<void> validate(const Run& run, std::span<const FileRow> files, std::span<const Miss> misses) {
  IEZ_CHECK(is_key(run.key));
  IEZ_CHECK(fits("the command of the run", run.command, kMaxText));
  IEZ_CHECK(fits("the host of the run", run.host, kMaxShort));
  IEZ_CHECK(fits("the job of the run", run.job, kMaxShort));
  IEZ_CHECK(fits("the plan of the run", run.plan, kMaxShort));
  for (const FileRow& file : files) {
    IEZ_CHECK(is_name("the name of a file", file.name, kMaxName));
    IEZ_CHECK(fits("the new name of a file", file.renamed, kMaxName));
  }
  for (const Miss& miss : misses) {
    IEZ_CHECK(is_name("the name of a missed file", miss.name, kMaxName));
    IEZ_CHECK(fits("the reason of a miss", miss.why, kMaxShort));
  }
  return {};
}

Result<void> validate(const Prediction& prediction) {
  IEZ_CHECK(is_key(prediction.key));
  IEZ_CHECK(fits("the model", prediction.model, kMaxText));
  IEZ_CHECK(fits("the verdict", prediction.verdict, kMaxShort));
  for (const PredictionRow& row : prediction.rows) {
    IEZ_CHECK(is_name("the name of a predicted file", row.name, kMaxName));
    IEZ_CHECK(fits("the name that a predicted file is created by", row.created_as, kMaxName));
  }
  return {};
}

Result<void> validate(const Allocation& allocation) {
  IEZ_CHECK(is_key(allocation.key));
  IEZ_CHECK(fits("the id of the plan", allocation.plan, kMaxShort));
  IEZ_CHECK(fits("the planner", allocation.planner, kMaxShort));
  IEZ_CHECK(fits("the policy", allocation.policy, kMaxShort));
  IEZ_CHECK(fits("the file system", allocation.file_system, kMaxShort));
  IEZ_CHECK(fits("the details", allocation.details, kMaxText));
  std::int64_t before = -1;
  for (const AllocationRow& row : allocation.rows) {
    if (row.row <= before) {
      return fail(Errc::invalid_argument,
                  fmt::format("row {} of the allocation comes after row {}; expected them in ascending order", row.row, before));
    }
    before = row.row;
    IEZ_CHECK(fits("the reason of an allocation", row.reason, kMaxReason));
    if (row.layouts.empty() || row.layouts.size() > kMaxTurns) {
      return fail(Errc::invalid_argument,
                  fmt::format("row {} of the allocation has {} layouts, not 1 to {}", row.row, row.layouts.size(), kMaxTurns));
    }
    for (const StripeLayout& layout : row.layouts) {
      if (layout.osts.empty() || layout.osts.size() > kMaxOsts) {
        return fail(Errc::invalid_argument, fmt::format("a layout of row {} of the allocation has {} OSTs, not 1 to {}", row.row,
                                                        layout.osts.size(), kMaxOsts));
      }
    }
  }
  return {};
}

}  // namespace iez::store
