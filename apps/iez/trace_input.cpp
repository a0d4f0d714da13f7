#include "trace_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "input/byte_stream.hpp"
#include "input/program_stream.hpp"
#include "program_file.hpp"
#include "text_file.hpp"
#include "trace/darshan_text.hpp"
#include "trace/recorder_text.hpp"
#include "trace/segment_format.hpp"
#include "trace/trace_csv.hpp"
#include "trace/trace_text.hpp"

namespace iez::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExpected =
    "segments (*.ieztrace), a merged run, CSV with a header line, a log of Darshan or its text, or a folder of recorder2text";
constexpr const char* kDarshanParser = "darshan-parser";
// Of what darshan-parser may print for each byte of a log, which is packed: logs of Darshan's own tests come to 400.
constexpr std::uint64_t kTextOfLog = 10'000;

std::string said(std::string_view path) { return path == kStandardStream ? "standard input" : text::printable(path); }

bool is_segment(std::string_view front) {
  std::uint64_t magic = 0;
  if (front.size() < sizeof magic) return false;
  std::memcpy(&magic, front.data(), sizeof magic);
  return magic == trace::abi::kMagic;
}

Result<std::string> front_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, path);
  auto stream = input::file_stream(input::UniqueFd(fd), path);
  std::string front(trace::kDetectFront, '\0');
  std::size_t size = 0;
  while (size < front.size()) {
    IEZ_TRY(const std::size_t got, stream->read(std::span(front).subspan(size)));
    if (got == 0) break;
    size += got;
  }
  front.resize(size);
  return front;
}

Result<std::unique_ptr<input::ByteStream>> open_stream(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, path);
  return input::file_stream(input::UniqueFd(fd), path);
}

Result<LoadedTrace> visit_segments(const std::string& path, const TraceInputOptions& options, input::ParseReport& report,
                                   const TraceVisitor& visit) {
  LoadedTrace loaded;
  const std::array inputs{path};
  // A name that was only taken away tells of files that other processes wrote: it is part of their rows.
  const auto visit_used = [&](const trace::TracedFile& file) -> Result<void> {
    const bool only_removed =
        file.removed_ns && file.opens == 0 && file.creates == 0 && file.written.count == 0 && file.read.count == 0;
    return only_removed ? Result<void>() : visit(file);
  };
  IEZ_TRY(auto summary, trace::merge_segments(inputs, options.merge, visit_used));
  report.merge(summary.report);
  if (summary.segments == 0) {
    return fail(Errc::parse, fmt::format("{}: found no segment that can be read, expected {}{}", said(path), kExpected,
                                         report.problems.empty() ? "" : "; " + input::to_string(report.problems.front())));
  }
  loaded.run = std::move(summary.run);
  loaded.form = "segments";
  loaded.notes = trace::clock_notes(summary);
  if (summary.dropped > 0) {
    loaded.notes.push_back(fmt::format("{} records found no room in their segments and are missing", summary.dropped));
  }
  if (loaded.run.unseen_descriptors > 0) {
    loaded.notes.push_back(
        fmt::format("{} descriptors were beyond the tables of their processes: what was done by them is missing",
                    loaded.run.unseen_descriptors));
  }
  if (summary.unclosed > 0)
    loaded.notes.push_back(fmt::format("{} of {} processes did not end by themselves", summary.unclosed, summary.segments));
  return loaded;
}

void sort_by_name(std::vector<trace::TracedFile>& files) {
  std::ranges::sort(files, {}, [](const trace::TracedFile& file) { return std::tie(file.name, file.renamed, file.rank); });
}

// Of rows without more: how many ranks, and when.
trace::RunInfo info_of(std::span<const trace::TracedFile> files) {
  trace::RunInfo info;
  std::int32_t highest = trace::kNoRank;
  for (const trace::TracedFile& file : files) {
    info.communicator = std::max(info.communicator, file.communicator);
    highest = std::max(highest, file.rank);
    if (file.first_ns && (info.start_ns == 0 || *file.first_ns < info.start_ns)) info.start_ns = *file.first_ns;
    if (file.last_ns) info.end_ns = std::max(info.end_ns, *file.last_ns);
  }
  if (info.communicator == 0 && highest >= 0) info.communicator = static_cast<std::uint32_t>(highest) + 1;
  return info;
}

Result<LoadedTrace> load_csv(std::string_view text, const std::string& path) {
  LoadedTrace loaded{.form = "csv"};
  IEZ_TRY(auto rows, trace::parse_trace_csv(text, said(path)));
  sort_by_name(rows);
  // A file may have a line for each rank.
  loaded.files.reserve(rows.size());
  for (trace::TracedFile& file : rows) {
    const bool again =
        !loaded.files.empty() && loaded.files.back().name == file.name && loaded.files.back().renamed == file.renamed;
    if (again) {
      trace::absorb(loaded.files.back(), file);
    } else {
      loaded.files.push_back(std::move(file));
    }
  }
  loaded.run = info_of(loaded.files);
  return loaded;
}

Result<LoadedTrace> load_darshan(input::ByteStream& stream, const std::string& path, input::ParseReport& report) {
  IEZ_TRY(auto read, trace::read_darshan_text(stream, said(path), report, {.anonymous_names = true}));
  LoadedTrace loaded{.run = std::move(read.run), .form = "darshan", .files = std::move(read.files)};
  if (!read.version.empty()) loaded.form += " " + text::printable(read.version);
  const auto left_out = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) loaded.notes.push_back(fmt::format("left out: {} {}", count, what));
  };
  if (read.anonymous) loaded.notes.emplace_back("the log was made anonymous: sizes are true, parts of names are numbers");
  left_out(read.standard_streams, "records of standard streams");
  left_out(read.unnamed, "records without a path");
  left_out(read.idle_files, "files that were not used");
  return loaded;
}

// A log in Darshan's own form, by the program that comes with it.
Result<LoadedTrace> load_darshan_log(const std::string& path, input::ParseReport& report) {
  const runs::ProgramProbe probe = program_probe();
  if (!probe.is_program(kDarshanParser)) {
    return fail(
        Errc::unsupported,
        fmt::format("{0}: a log of Darshan in its own form, and {1}, which reads it, is not in $PATH: install darshan-util "
                    "(a module of most sites, `spack install darshan-util`), or where it is: {1} {0} >log.txt",
                    said(path), kDarshanParser));
  }
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  if (error) return fail_errno(error.value(), path);
  const SystemClock clock;
  const input::ProgramLimits limits{.most = Bytes::mib(64) +
                                            Bytes{size * std::min(kTextOfLog, UINT64_MAX / std::max<std::uint64_t>(1, size))}};
  // By its whole path, so that no name is taken for an option.
  const std::vector<std::string> words{probe.canonical(kDarshanParser), fs::absolute(path, error).string()};
  auto stream = input::program_stream(words, limits, clock);
  if (!stream) return with_context(std::move(stream).error(), said(path));
  auto loaded = load_darshan(**stream, path, report);
  if (!loaded) {
    return with_context(std::move(loaded).error(),
                        fmt::format("{}: it is a log of Darshan, which {} is to read", said(path), words[0]));
  }
  return loaded;
}

struct RankFile {
  std::int32_t rank = 0;
  std::string path;
};

Result<std::vector<RankFile>> recorder_files(const std::string& folder) {
  std::vector<RankFile> files;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto rank = trace::recorder_rank(entry->path().filename().string());
    if (rank) files.push_back({.rank = *rank, .path = entry->path().string()});
  }
  if (error) return fail_errno(error.value(), folder);
  std::ranges::sort(files, {}, [](const RankFile& file) { return std::tie(file.rank, file.path); });
  const auto twice = std::ranges::adjacent_find(files, {}, &RankFile::rank);
  if (twice != files.end()) {
    return fail(Errc::parse, fmt::format("{}: found two files of rank {}, expected one", said(folder), twice->rank));
  }
  return files;
}

Result<LoadedTrace> load_recorder(std::span<const RankFile> files, input::ParseReport& report) {
  trace::RecorderCollector collector;
  for (const RankFile& file : files) {
    IEZ_TRY(const auto stream, open_stream(file.path));
    IEZ_CHECK(collector.add(*stream, file.rank, said(file.path), report));
  }
  auto read = collector.finish();
  LoadedTrace loaded{.run = std::move(read.run), .form = "recorder", .files = std::move(read.files)};
  if (read.unknown_files > 0) {
    loaded.notes.push_back(fmt::format("left out: {} calls on files whose open was not seen", read.unknown_files));
  }
  return loaded;
}

bool has_segments(const std::string& folder) {
  input::ParseReport walked;
  const std::array inputs{folder};
  return !trace::find_segments(inputs, walked).empty();
}

Result<LoadedTrace> load_recorder_folder(const std::string& path, input::ParseReport& report) {
  IEZ_TRY(const auto files, recorder_files(path));
  if (files.empty()) {
    return fail(Errc::not_found,
                fmt::format("{}: found neither *.ieztrace nor the files of recorder2text (0.txt, ...), expected {}", said(path),
                            kExpected));
  }
  return load_recorder(files, report);
}

TraceForm form_of(std::string_view front) {
  if (is_segment(front)) return TraceForm::segments;
  switch (trace::detect_text_format(front)) {
    case trace::TextFormat::csv:
      return TraceForm::csv;
    case trace::TextFormat::darshan:
      return TraceForm::darshan;
    case trace::TextFormat::recorder:
      return TraceForm::recorder;
    case trace::TextFormat::darshan_log:
    case trace::TextFormat::unknown:
      break;
  }
  return TraceForm::automatic;
}

std::unexpected<Error> no_trace(const std::string& path, std::string_view front) {
  if (front.empty()) return fail(Errc::parse, fmt::format("{}: found an empty file, expected {}", said(path), kExpected));
  if (trace::detect_text_format(front) == trace::TextFormat::darshan_log) {
    return fail(Errc::unsupported,
                fmt::format("{}: a log of Darshan in its own form cannot be piped, expected its path", said(path)));
  }
  return fail(Errc::parse, fmt::format("{}: found no trace of a known form, expected {}", said(path), kExpected));
}

Result<LoadedTrace> load_standard_input(const TraceInputOptions& options, input::ParseReport& report) {
  IEZ_TRY(const std::string text, read_text_file(std::string(kStandardStream)));
  const std::string_view front = std::string_view(text).substr(0, trace::kDetectFront);
  const TraceForm form = options.form == TraceForm::automatic ? form_of(front) : options.form;
  const std::string path(kStandardStream);
  const auto stream = input::memory_stream(text);
  if (trace::detect_text_format(front) == trace::TextFormat::darshan_log) return no_trace(path, front);
  if (form == TraceForm::darshan) return load_darshan(*stream, path, report);
  if (form == TraceForm::csv) return load_csv(text, path);
  if (form == TraceForm::automatic) return no_trace(path, front);
  return fail(Errc::unsupported, "standard input: segments and Recorder's files cannot be piped, expected their path");
}

// What is not made of segments.
Result<LoadedTrace> load_text(const std::string& path, TraceForm form, std::string_view front, input::ParseReport& report) {
  if (form == TraceForm::csv) {
    IEZ_TRY(const std::string text, read_text_file(path));
    return load_csv(text, path);
  }
  const bool log = trace::detect_text_format(front) == trace::TextFormat::darshan_log;
  if (log && (form == TraceForm::darshan || form == TraceForm::automatic)) return load_darshan_log(path, report);
  if (form == TraceForm::darshan) {
    IEZ_TRY(const auto stream, open_stream(path));
    return load_darshan(*stream, path, report);
  }
  if (form == TraceForm::recorder) {
    const auto rank = trace::recorder_rank(fs::path(path).filename().string());
    const std::array files{RankFile{.rank = rank.value_or(0), .path = path}};
    return load_recorder(files, report);
  }
  return no_trace(path, front);
}

}  // namespace

Result<LoadedTrace> visit_trace(const std::string& path, const TraceInputOptions& options, input::ParseReport& report,
                                const TraceVisitor& visit) {
  const auto give = [&](Result<LoadedTrace> loaded) -> Result<LoadedTrace> {
    if (!loaded) return loaded;
    for (const trace::TracedFile& file : loaded->files) IEZ_CHECK(visit(file));
    loaded->files.clear();
    return loaded;
  };
  if (path == kStandardStream) return give(load_standard_input(options, report));
  std::error_code error;
  TraceForm form = options.form;
  if (fs::is_directory(path, error)) {
    if (form == TraceForm::automatic) form = has_segments(path) ? TraceForm::segments : TraceForm::recorder;
    if (form == TraceForm::recorder) return give(load_recorder_folder(path, report));
    if (form == TraceForm::segments) return visit_segments(path, options, report, visit);
    return fail(Errc::invalid_argument, fmt::format("{}: found a folder, expected a file of this form", said(path)));
  }
  IEZ_TRY(const std::string front, front_of(path));
  if (form == TraceForm::automatic) form = form_of(front);
  if (form == TraceForm::segments) return visit_segments(path, options, report, visit);
  return give(load_text(path, form, front, report));
}

Result<LoadedTrace> load_trace(const std::string& path, const TraceInputOptions& options, input::ParseReport& report) {
  std::vector<trace::TracedFile> files;
  IEZ_TRY(LoadedTrace loaded, visit_trace(path, options, report, [&](const trace::TracedFile& file) -> Result<void> {
            files.push_back(file);
            return {};
          }));
  loaded.files = std::move(files);
  return loaded;
}

void sort_by_time(std::vector<trace::TracedFile>& files) {
  std::ranges::sort(files, {}, [](const trace::TracedFile& file) {
    return std::tuple(file.first_ns.value_or(std::numeric_limits<std::int64_t>::max()), std::string_view(file.name));
  });
}

}  // namespace iez::cli
