#include "runs/gather.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "lustre/layout_file.hpp"
#include "planning/phases.hpp"
#include "runs/helper_files.hpp"
#include "runs/mount_table.hpp"
#include "runs/row_rules.hpp"

namespace iez::runs {

namespace {

constexpr std::size_t kMaxLayouts = 4096;  // that are looked up: one round trip each
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kClockTick = 20'000'000;  // of times in files

// Traces of POSIX calls tell neither stripe counts nor OSTs; the files do, where they are still there.
void add_layouts(Gathered& out) {
  std::vector<GatheredWrite*> write_of(out.files.size());
  for (GatheredWrite& write : out.writes) write_of[write.row] = &write;
  std::size_t looked = 0;
  for (std::size_t i = 0; i < out.files.size(); ++i) {
    store::FileRow& file = out.files[i];
    const bool counts = file.stripe_count == 0 && file.created;
    if (!counts && write_of[i] == nullptr) continue;
    if (++looked > kMaxLayouts) return;
    const auto layout = lustre::read_layout(file.renamed.empty() ? file.name : file.renamed);
    if (!layout || layout->composite || layout->components.size() != 1) continue;
    const model::Component& component = layout->components.front();
    if (counts) file.stripe_count = component.stripe_count;
    if (write_of[i] == nullptr) continue;
    for (const model::StripeObject& object : component.objects) write_of[i]->osts.push_back(object.ost);
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

// Whether somebody has read the file since then: a kernel sets its time of access when it is first read after it was written.
bool accessed_since(const std::string& name, std::int64_t time_ns) {
  struct stat status{};
  if (::lstat(name.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const std::int64_t grain = status.st_atim.tv_nsec == 0 ? kSecond : kClockTick;  // Lustre keeps whole seconds
  return status.st_atim.tv_sec * kSecond + status.st_atim.tv_nsec + grain > time_ns;
}

Bytes read_from(const trace::TracedFile& file, Bytes held, Bytes least_file) {
  const bool written_over = file.creates == 0 && held.count > 0 && held.count >= least_file.count / kTogether;
  if (file.read.count > 0 || !written_over || !file.first_ns || trace::removed(file)) return file.read;
  return Bytes{accessed_since(trace::final_name(file), *file.first_ns) ? 1U : 0U};
}

// Where a file was written, or read, and when.
struct Part {
  std::uint32_t row = 0;
  planning::FileTime time;
  bool only_calls = true;
};

std::optional<planning::FileTime> time_of(const trace::TracedFile& file, std::optional<std::int64_t> first,
                                          std::optional<std::int64_t> last, bool seen, Bytes bytes) {
  if (!seen || !first || !last) {
    first = file.first_ns;
    last = file.last_ns;
  }
  if (!first || !last) return std::nullopt;
  return planning::FileTime{
      .begin = *first, .end = std::max(*first, *last), .rank = file.ranks == 1 ? file.rank : -1, .bytes = bytes};
}

std::optional<planning::FileTime> write_time(const trace::TracedFile& file) {
  const Bytes unseen = trace::unseen(file);
  const Bytes all = file.written + unseen;
  if (all.count == 0) return std::nullopt;
  return time_of(file, file.first_write_ns, file.last_write_ns, unseen.count == 0, all);
}

std::optional<planning::FileTime> read_time(const trace::TracedFile& file, Bytes least) {
  const bool input = file.creates == 0 || file.written.count == 0;
  if (!input || file.read.count == 0 || file.read < least) return std::nullopt;
  return time_of(file, file.first_read_ns, file.last_read_ns, true, file.read);
}

// The phases of one kind, and of which each row is. Those beyond `most` are one with the last.
void add_phases(std::span<const Part> parts, const planning::SeenPhases& seen, bool reads, std::size_t most, Gathered& out) {
  const std::size_t count = std::min(seen.phases.size(), most);
  const std::size_t first = out.phases.size();
  out.phases.resize(first + count, {.reads = reads});
  for (std::size_t i = 0; i < seen.phases.size(); ++i) {
    store::RunPhase& phase = out.phases[first + std::min(i, count - 1)];
    phase.seconds += seen.phases[i].seconds();
    phase.bytes += seen.phases[i].bytes;
    phase.files += seen.phases[i].files;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = static_cast<std::int32_t>(std::min<std::size_t>(seen.of_file[i], count - 1));
    store::FileRow& row = out.files[parts[i].row];
    (reads ? row.read_phase : row.phase) = number;
  }
}

planning::SeenPhases phases_of(std::span<const Part> parts) {
  std::vector<planning::FileTime> times;
  times.reserve(parts.size());
  for (const Part& part : parts) times.push_back(part.time);
  return planning::find_phases(times);
}

// Smaller files make no phases, but those that begin within one of them are written together with its files.
void join_phases(std::span<const Part> smaller, const planning::SeenPhases& seen, std::size_t most, Gathered& out) {
  const std::size_t count = std::min(seen.phases.size(), most);
  for (const Part& part : smaller) {
    const auto behind = std::ranges::upper_bound(seen.phases, part.time.begin, {}, &planning::SeenPhase::begin);
    if (behind == seen.phases.begin() || std::prev(behind)->end < part.time.begin) continue;
    const auto number = static_cast<std::size_t>(std::prev(behind) - seen.phases.begin());
    out.files[part.row].phase = static_cast<std::int32_t>(std::min(number, count - 1));
  }
}

// A folder as it was asked for, and what it is really called: names in traces have no links in their folders.
std::vector<std::string> with_real_names(std::span<const std::string> folders) {
  std::vector<std::string> out(folders.begin(), folders.end());
  for (const std::string& folder : folders) {
    std::error_code error;
    std::string real = std::filesystem::weakly_canonical(folder, error).string();
    if (!error && real != folder) out.push_back(std::move(real));
  }
  return out;
}

// What a file of the trace becomes.
struct Taken {
  std::int64_t first_ns = 0;
  std::int64_t opened_ns = 0;
  store::FileRow row;
  std::optional<planning::FileTime> write;
  bool only_calls = true;
  std::optional<planning::FileTime> read;
};

}  // namespace

void count_osts(Gathered& gathered) {
  std::vector<std::set<OstIndex>> osts(gathered.phases.size());
  std::vector<bool> known(gathered.phases.size(), true);
  for (const GatheredWrite& write : gathered.writes) {
    const auto phase = static_cast<std::size_t>(gathered.files[write.row].phase);
    if (write.osts.empty()) known[phase] = false;
    osts[phase].insert(write.osts.begin(), write.osts.end());
  }
  for (std::size_t i = 0; i < osts.size(); ++i) {
    if (known[i]) gathered.phases[i].osts = static_cast<std::uint32_t>(osts[i].size());
  }
}

Result<Gathered> gather(const std::string& trace_folder, std::span<const std::string> folders, Bytes least_file) {
  Gathered out;
  std::vector<Taken> taken;
  std::unordered_map<std::string, std::int64_t> removed;  // names, and when they were taken away
  Sizes sizes;
  const std::vector<std::string> below = with_real_names(folders);
  const auto take = [&](const trace::TracedFile& file) -> Result<void> {
    if (trace::removed(file)) removed.emplace(file.name, *file.removed_ns);
    if (file.creates == 0 && file.written.count == 0 && file.read.count == 0) return {};
    if (file.name.size() > store::kMaxName || file.renamed.size() > store::kMaxName) return {};
    if (std::ranges::none_of(below, [&](const std::string& folder) { return is_below(file.name, folder); })) return {};
    out.called.count += file.written.count;
    const Bytes held = sizes.held(file);
    const bool own_name = file.renamed.empty() || file.renamed == file.name;
    taken.push_back({.first_ns = file.first_ns.value_or(std::numeric_limits<std::int64_t>::max()),
                     .opened_ns = file.opened_ns.value_or(std::numeric_limits<std::int64_t>::min()),
                     .row = {.name = file.name,
                             .renamed = own_name ? std::string() : file.renamed,
                             .written = held,
                             .read = read_from(file, held, least_file),
                             .stripe_count = file.stripe_count,
                             .stripe_size = file.stripe_size,
                             .rank = file.rank,
                             .ranks = file.ranks,
                             .created = file.creates > 0,
                             .removed = trace::removed(file),
                             .own_layout = file.own_layout},
                     .write = write_time(file),
                     .only_calls = trace::unseen(file).count == 0 && file.first_write_ns && file.last_write_ns,
                     .read = read_time(file, least_file)});
    return {};
  };
  const std::array inputs{trace_folder};
  trace::MergeOptions options;
  options.temporary_directory = trace_folder;
  IEZ_TRY(out.summary, trace::merge_segments(inputs, options, take));
  std::ranges::sort(taken, {}, [](const Taken& one) { return std::tuple(one.first_ns, std::string_view(one.row.name)); });
  out.files.reserve(taken.size());
  std::vector<Part> writes;
  std::vector<Part> smaller;
  std::vector<Part> reads;
  for (Taken& one : taken) {
    store::FileRow& row = one.row;
    // Another process removed it by its new name.
    const auto gone = row.renamed.empty() ? removed.end() : removed.find(row.renamed);
    if (gone != removed.end() && gone->second >= one.opened_ns) row.removed = true;
    const auto number = static_cast<std::uint32_t>(out.files.size());
    const bool helper = is_helper_file(row.name);
    if (!row.removed && !helper && one.write)
      (row.written >= least_file ? writes : smaller).push_back({number, *one.write, one.only_calls});
    if (!row.removed && !helper && one.read) reads.push_back({number, *one.read});
    out.files.push_back(std::move(row));
  }
  const planning::SeenPhases written = phases_of(writes);
  const planning::SeenPhases read = phases_of(reads);
  const std::size_t for_reads =
      std::min(read.phases.size(),
               std::max(store::kMaxPhases - std::min(store::kMaxPhases, written.phases.size()), store::kMaxPhases / 2));
  add_phases(writes, written, false, store::kMaxPhases - for_reads, out);
  join_phases(smaller, written, store::kMaxPhases - for_reads, out);
  add_phases(reads, read, true, for_reads, out);
  for (const Part& part : writes) {
    out.writes.push_back({.row = part.row, .time = part.time, .osts = {}, .only_calls = part.only_calls});
  }
  add_layouts(out);
  count_osts(out);
  return out;
}

}  // namespace iez::runs
