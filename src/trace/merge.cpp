#include "trace/merge.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "trace/host_clocks.hpp"
#include "trace/segment_format.hpp"
#include "trace/segment_reader.hpp"
#include "trace/segment_writer.hpp"

namespace iez::trace {

namespace {

namespace fs = std::filesystem;

// A segment is added as a whole, so that a file listed twice can be seen, unless it is larger than any arena should be.
constexpr Bytes kOneSegment = Bytes::mib(64);

bool is_bad_name(const std::string& name) { return name.size() > abi::kMaxNameSize || name.find('\0') != std::string::npos; }

bool is_unused(const FileCounters& counters) { return counters.creates == 0 && use_of(counters) == FileUse::neither; }

// Directory by directory, so that one which cannot be read hides no other.
void walk(const std::string& top, std::vector<std::string>& found, input::ParseReport& report) {
  std::vector<fs::path> todo{top};
  while (!todo.empty()) {
    const fs::path directory = std::move(todo.back());
    todo.pop_back();
    std::error_code error;
    fs::directory_iterator entry(directory, error);
    while (!error && entry != fs::directory_iterator()) {
      std::error_code gone;  // an entry may vanish meanwhile
      if (entry->is_directory(gone)) {
        if (!entry->is_symlink(gone)) todo.push_back(entry->path());
      } else if (entry->path().native().ends_with(abi::kSuffix)) {
        found.push_back(entry->path().native());
      }
      entry.increment(error);
    }
    if (error) report.skip(directory.native(), 0, fmt::format("cannot read the directory: {}", error.message()));
  }
}

}  // namespace

std::vector<std::string> find_segments(std::span<const std::string> inputs, input::ParseReport& report) {
  std::vector<std::string> found;
  for (const std::string& input : inputs) {
    std::error_code error;
    if (fs::is_directory(input, error)) {
      walk(input, found, report);
    } else {
      found.push_back(input);
    }
  }
  for (std::string& path : found) path = fs::path(path).lexically_normal().native();
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<std::string> clock_notes(const MergeSummary& summary) {
  std::vector<std::string> notes;
  for (const auto& [host, ahead] : summary.clocks_ahead) {
    notes.push_back(fmt::format("the clock of {} is {:.0f} s {} the others; its times were corrected", text::printable(host),
                                std::abs(static_cast<double>(ahead)) * 1e-9, ahead > 0 ? "ahead of" : "behind"));
  }
  return notes;
}

Merger::Merger(MergeOptions options) : options_(std::move(options)), spill_(options_.temporary_directory) {}

void Merger::add_info(const SegmentInfo& info) {
  RunInfo& run = summary_.run;
  const auto order = [](std::int32_t rank, const std::string& host, const std::string& program, const std::string& job) {
    return std::tuple(rank < 0, rank, std::string_view(host), std::string_view(program), std::string_view(job));
  };
  if (!has_info_ || order(info.rank, info.host, info.program, info.job) < order(summary_.rank, run.host, run.program, run.job)) {
    summary_.rank = info.rank;
    run.host = info.host;
    run.program = info.program;
    run.job = info.job;
  }
  run.start_ns = has_info_ ? std::min(run.start_ns, info.start_ns) : info.start_ns;
  const std::int64_t end = info.end_ns.value_or(info.start_ns);
  run.end_ns = has_info_ ? std::max(run.end_ns, end) : end;
  run.processes = saturating_add(run.processes, info.processes);
  run.communicator = std::max(run.communicator, info.communicator);
  has_info_ = true;
  ++summary_.segments;
  if (!info.closed) ++summary_.unclosed;
  summary_.dropped = saturating_add(summary_.dropped, info.dropped);
  absorb(run.layouts, info.layouts);
  run.unseen_descriptors = saturating_add(run.unseen_descriptors, info.unseen_descriptors);
}

void Merger::add(const TracedFile& file, std::uint32_t source) {
  ++summary_.rows;
  table_.add(counters_of(file), file.name, file.renamed, source);
}

Result<void> Merger::add_segment(const std::string& path) {
  auto reader = SegmentReader::open(path);
  if (!reader) {
    ++summary_.bad_segments;
    summary_.report.skip(path, 0, reader.error().message);
    return {};
  }
  const bool merged = reader->info().kind == SegmentKind::run;
  if (!merged) {
    const auto ahead = summary_.clocks_ahead.find(reader->info().host);
    if (ahead != summary_.clocks_ahead.end()) reader->correct_clock(ahead->second);
    // 0 means none, so it is passed over; 2^32 segments apart, two processes are not taken for one.
    if (++source_ == 0) ++source_;
  }
  const Bytes allowed = merged ? options_.memory : options_.memory + kOneSegment;
  Result<void> spilled;
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();
  const auto take = [&](std::uint32_t /*slot*/, const TracedFile& file) {
    if (!spilled) return;
    latest = std::max(latest, file.last_ns.value_or(latest));
    add(file, merged ? 0 : source_);
    spilled = spill_if_over(allowed);
  };
  const auto stats = reader->read({.file = take, .call = {}}, summary_.report);
  IEZ_CHECK(spilled);
  // What was read before an error of the disk stays; the rest is missed, and that is said.
  if (!stats) summary_.report.skip(path, 0, stats.error().message);
  add_info(reader->info());
  summary_.run.end_ns = std::max(summary_.run.end_ns, latest);
  return spill_if_over(options_.memory);
}

Result<void> Merger::add_row(const TracedFile& file) {
  if (file.name.empty() || is_bad_name(file.name) || is_bad_name(file.renamed)) {
    summary_.report.skip("row", summary_.rows + 1,
                         fmt::format("has a name that is empty, longer than {} bytes, or has a zero byte", abi::kMaxNameSize));
    return {};
  }
  add(file, 0);
  return spill_if_over(options_.memory);
}

Result<void> Merger::spill_if_over(Bytes allowed) {
  if (table_.memory() <= allowed.count && table_.size() < FileTable::kMaxRows) return {};
  return table_.size() == 0 ? Result<void>() : spill();
}

Result<void> Merger::spill() {
  IEZ_CHECK(spill_.add_run(table_.sorted()));
  table_.clear();
  ++summary_.spills;
  return {};
}

Result<void> Merger::give(const PackedRow& row, const Visitor& visitor) {
  if (options_.drop_unused && is_unused(row.counters)) return {};
  ++summary_.files;
  unpack(row, row_);
  return visitor(row_);
}

Result<void> Merger::finish(const Visitor& visitor) {
  if (spill_.runs() == 0) {
    for (const PackedRow* row : table_.sorted()) IEZ_CHECK(give(*row, visitor));
    table_ = {};
    return {};
  }
  if (table_.size() > 0) IEZ_CHECK(spill());
  table_ = {};  // its memory is for the buffers now
  return spill_.merge(options_.memory, [&](const PackedRow& row) { return give(row, visitor); });
}

namespace {

Result<void> add_all(Merger& merger, const std::vector<std::string>& paths, const MergeOptions& options) {
  HostClocks clocks;
  for (const std::string& path : std::span(paths).first(paths.size() > 1 ? paths.size() : 0)) {
    if (const auto info = SegmentReader::read_info(path)) clocks.add(*info);  // what cannot be read is told when it is added
  }
  merger.correct_clocks(clocks.ahead());
  std::size_t done = 0;
  for (const std::string& path : paths) {
    IEZ_CHECK(merger.add_segment(path));
    if (options.progress) options.progress(++done, paths.size());
  }
  return {};
}

MergeSummary with_report(MergeSummary summary, const input::ParseReport& search) {
  summary.report.merge(search);
  return summary;
}

}  // namespace

Result<MergeSummary> merge_segments(std::span<const std::string> inputs, const MergeOptions& options,
                                    const Merger::Visitor& visitor) {
  input::ParseReport search;
  Merger merger(options);
  IEZ_CHECK(add_all(merger, find_segments(inputs, search), options));
  IEZ_CHECK(merger.finish(visitor));
  return with_report(merger.summary(), search);
}

namespace {

// A run without any process would replace a good one.
std::unexpected<Error> nothing_read(std::span<const std::string> inputs, const MergeSummary& summary) {
  std::string message = inputs.empty() ? "" : inputs.front() + (inputs.size() > 1 ? " and others: " : ": ");
  message += "found no segment that can be read, expected at least one *.ieztrace";
  if (!summary.report.problems.empty()) message += "; " + input::to_string(summary.report.problems.front());
  return fail(Errc::not_found, message);
}

}  // namespace

Result<MergeSummary> merge_to_file(std::span<const std::string> inputs, const std::string& output, const MergeOptions& options) {
  input::ParseReport search;
  Merger merger(options);
  IEZ_CHECK(add_all(merger, find_segments(inputs, search), options));
  const MergeSummary& summary = merger.summary();
  if (summary.segments == 0) return nothing_read(inputs, with_report(summary, search));
  IEZ_TRY(SegmentWriter writer, SegmentWriter::create(output, {.kind = SegmentKind::run,
                                                               .processes = summary.run.processes,
                                                               .rank = summary.rank,
                                                               .communicator = summary.run.communicator,
                                                               .host = summary.run.host,
                                                               .job = summary.run.job,
                                                               .program = summary.run.program,
                                                               .start_ns = summary.run.start_ns,
                                                               .end_ns = summary.run.end_ns,
                                                               .dropped = summary.dropped,
                                                               .layouts = summary.run.layouts,
                                                               .unseen_descriptors = summary.run.unseen_descriptors}));
  IEZ_CHECK(merger.finish([&](const TracedFile& file) -> Result<void> {
    IEZ_TRY([[maybe_unused]] const std::uint32_t slot, writer.add(file));
    return {};
  }));
  IEZ_CHECK(writer.finish());
  return with_report(merger.summary(), search);
}

}  // namespace iez::trace
