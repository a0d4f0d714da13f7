#include "runs/row_rules.hpp"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace iez::runs {

namespace {

constexpr std::uint32_t kManyStripes = 2000;  // of a default of "all": planning takes as many as there are

const std::string& final_name(const store::FileRow& file) { return file.renamed.empty() ? file.name : file.renamed; }

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
    std::uint64_t* reason = nullptr;
    const bool together = row.bytes.count >= rules.least_file.count / kTogether && of_large.contains(row.phase);
    if (row.bytes < rules.least_file && !together) {
      reason = &left.small;
    } else if (seen != nullptr && seen->own_layout) {
      reason = &left.program;
    } else if (given.origin == DefaultOrigin::site && !given.plain && !replaced) {
      reason = &left.site;
    } else if ((given.origin == DefaultOrigin::own && !overridden) || (!given.plain && !replaced)) {
      reason = &left.directory;
    } else if (seen != nullptr && was_there(*seen) && seen->read.count > 0) {
      reason = &left.kept;
    } else if (seen != nullptr && was_there(*seen) && !rules.replace) {
      reason = &left.existing;
    }
    row.left_alone = reason != nullptr;
    if (reason != nullptr) *reason += row.files;
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

}  // namespace iez::runs
