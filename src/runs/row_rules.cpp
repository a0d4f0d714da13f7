#include "runs/row_rules.hpp"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/binary_size.hpp"

namespace iez::runs {

namespace {

constexpr std::uint32_t kManyStripes = 2000;  // of a default of "all": planning takes as many as there are

const std::string& final_name(const store::FileRow& file) { return file.renamed.empty() ? file.name : file.renamed; }

// REQUIRES: the reason is not `none`.
std::uint64_t& count_of(LeftAlone& left, LeftReason reason) {
  switch (reason) {
    case LeftReason::small:
      return left.small;
    case LeftReason::existing:
      return left.existing;
    case LeftReason::kept:
      return left.kept;
    case LeftReason::directory:
      return left.directory;
    case LeftReason::site:
      return left.site;
    case LeftReason::program:
    case LeftReason::none:
      break;
  }
  return left.program;
}

bool was_there(const store::FileRow& file) { return !file.created && file.written.count > 0; }

}  // namespace

LeftAlone apply_rules(std::span<store::PredictionRow> rows, std::span<const store::FileRow> last, DirectoryDefaults& defaults,
                      const RowRules& rules) {
  std::unordered_map<std::string_view, const store::FileRow*> before;
  before.reserve(last.size());
  for (const store::FileRow& file : last) before.emplace(final_name(file), &file);
  std::unordered_set<std::uint32_t> of_large;  // phases
  for (const store::PredictionRow& row : rows) {
    if (row.bytes >= rules.least_file) of_large.insert(row.phase);
  }
  LeftAlone left;
  left.rows.reserve(rows.size());
  for (store::PredictionRow& row : rows) {
    const auto found = before.find(row.name);
    const store::FileRow* const seen = found == before.end() ? nullptr : found->second;
    const DirectoryDefault given = defaults.of_file(row.created_as.empty() ? row.name : row.created_as).at_size(row.bytes);
    const bool overridden = given.origin == DefaultOrigin::own && rules.override_directories;
    row.default_stripes = given.stripes == model::Component::kAllOsts ? kManyStripes : given.stripes;
    row.default_stripe_size = given.stripe_size;
    const bool replaced = given.origin == DefaultOrigin::site && (given.plain || !given.steps.empty()) && rules.free_layout;
    const bool chosen = given.origin == DefaultOrigin::built_in || replaced;
    row.stripe_count = chosen ? 0 : row.default_stripes;
    row.stripe_size = chosen || overridden ? Bytes{} : given.stripe_size;
    LeftReason reason = LeftReason::none;
    const bool together = row.bytes.count >= rules.least_file.count / kTogether && of_large.contains(row.phase);
    if (row.bytes < rules.least_file && !together) {
      reason = LeftReason::small;
    } else if (seen != nullptr && seen->own_layout) {
      reason = LeftReason::program;
    } else if (given.origin == DefaultOrigin::site && !given.plain && !replaced) {
      reason = LeftReason::site;
    } else if ((given.origin == DefaultOrigin::own && !overridden) || (!given.plain && !replaced)) {
      reason = LeftReason::directory;
    } else if (seen != nullptr && was_there(*seen) && seen->read.count > 0) {
      reason = LeftReason::kept;
    } else if (seen != nullptr && was_there(*seen) && !rules.replace) {
      reason = LeftReason::existing;
    }
    row.left_alone = reason != LeftReason::none;
    if (row.left_alone) count_of(left, reason) += row.files;
    left.rows.push_back(reason);
  }
  return left;
}

std::string left_alone_text(const LeftAlone& left, Bytes least_file) {
  std::string out;
  const auto add = [&out](std::uint64_t count, std::string_view what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(left.small, fmt::format("below {}", to_string(least_file)));
  add(left.existing, "written over in place");
  add(left.kept, "read and written over in place");
  add(left.directory, "in directories with a layout of their own");
  add(left.site, "where the site's default has several components or a pool");
  add(left.program, "whose stripes the program chooses");
  return out;
}

std::string default_stripes_text(const store::PredictionRow& row) {
  if (row.default_stripes >= kManyStripes) return "a stripe on each OST";
  return row.default_stripes == 1 ? "1 stripe" : fmt::format("{} stripes", row.default_stripes);
}

std::string left_reason_text(LeftReason reason, const store::PredictionRow& row, Bytes least_file) {
  const std::string stripes = default_stripes_text(row);
  switch (reason) {
    case LeftReason::none:
      return "";
    case LeftReason::small:
      return fmt::format("{} by Lustre: its {} are less than place.least_file ({}), and a layout would gain nothing", stripes,
                         to_binary_string(row.bytes), to_binary_string(least_file));
    case LeftReason::existing:
      return "as it is: the program writes over it in place, so that it keeps its OSTs (iez run --replace moves it aside)";
    case LeftReason::kept:
      return "as it is: the program reads it and writes over it in place, so that it keeps its OSTs";
    case LeftReason::directory:
      return fmt::format("{}: its directory has a layout of its own, which is kept", stripes);
    case LeftReason::site:
      return fmt::format("{}: the file system's default has several components or a pool, and is kept", stripes);
    case LeftReason::program:
      return "as the program has it: it chose the stripes itself in the last run";
  }
  return "";
}

}  // namespace iez::runs
