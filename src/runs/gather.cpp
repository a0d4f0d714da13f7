#include "runs/gather.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

#include "lustre/layout_file.hpp"
#include "runs/mount_table.hpp"

namespace iez::runs {

namespace {

constexpr std::size_t kMaxLayouts = 4096;  // that are looked up: one round trip each

// Traces of POSIX calls do not tell stripe counts; the files do, where they are still there.
void add_stripe_counts(std::vector<store::FileRow>& files) {
  std::size_t looked = 0;
  for (store::FileRow& file : files) {
    if (file.stripe_count != 0 || !file.created) continue;
    if (++looked > kMaxLayouts) return;
    const auto layout = lustre::read_layout(file.renamed.empty() ? file.name : file.renamed);
    if (!layout || layout->composite || layout->components.size() != 1) continue;
    file.stripe_count = layout->components.front().stripe_count;
  }
}

// Where a file was written over, or appended to by several processes, its own size says best what it holds.
class Sizes {
 public:
  Bytes held(const trace::TracedFile& file) {
    const Bytes guessed = trace::held(file);
    const Bytes all = file.written + trace::unseen(file);
    if (guessed == all || ++looked_ > kMaxLayouts) return guessed;
    struct stat status{};
    if (::lstat(trace::final_name(file).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return guessed;
    return std::min(all, std::max(guessed, Bytes{static_cast<std::uint64_t>(status.st_size)}));
  }

 private:
  std::size_t looked_ = 0;
};

}  // namespace

Result<Gathered> gather(const std::string& trace_folder, std::span<const std::string> folders) {
  Gathered out;
  std::vector<std::pair<std::int64_t, store::FileRow>> rows;
  Sizes sizes;
  const auto take = [&](const trace::TracedFile& file) -> Result<void> {
    if (file.creates == 0 && file.written.count == 0 && file.read.count == 0) return {};
    if (file.name.size() > store::kMaxName || file.renamed.size() > store::kMaxName) return {};
    if (std::ranges::none_of(folders, [&](const std::string& folder) { return is_below(file.name, folder); })) return {};
    rows.emplace_back(file.first_ns.value_or(std::numeric_limits<std::int64_t>::max()),
                      store::FileRow{.name = file.name,
                                     .renamed = file.renamed == file.name ? std::string() : file.renamed,
                                     .written = sizes.held(file),
                                     .read = file.read,
                                     .stripe_count = file.stripe_count,
                                     .stripe_size = file.stripe_size,
                                     .rank = file.rank,
                                     .ranks = file.ranks,
                                     .created = file.creates > 0});
    return {};
  };
  const std::array inputs{trace_folder};
  trace::MergeOptions options;
  options.temporary_directory = trace_folder;
  options.drop_unused = true;
  IEZ_TRY(out.summary, trace::merge_segments(inputs, options, take));
  std::ranges::sort(rows, {}, [](const auto& row) { return std::tuple(row.first, std::string_view(row.second.name)); });
  out.files.reserve(rows.size());
  for (auto& [time, row] : rows) out.files.push_back(std::move(row));
  add_stripe_counts(out.files);
  return out;
}

}  // namespace iez::runs
