#include "trace/darshan_text.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"
#include "trace/darshan_counters.hpp"
#include "trace/text_values.hpp"

namespace iez::trace {

namespace {

using Line = input::LineReader::Line;

constexpr std::size_t kMaxJob = 64;     // bytes
constexpr std::size_t kOldSuffix = 15;  // bytes of a name that 2.x keeps
constexpr std::int64_t kNanoseconds = 1'000'000'000;

// The layers of a file, the one that counts first.
enum Layer : std::uint8_t { direct, mpi_io, hdf5 };

struct File {
  std::string name;
  std::uint64_t id = 0;
  std::array<std::unique_ptr<DarshanTotals>, 3> layers;
  std::uint64_t stripe_size = 0;
  std::uint64_t stripe_count = 0;
  std::uint64_t renamed_from = 0;
  std::string renamed;
  bool folded = false;  // into the row of the name it had before

  DarshanTotals& totals(Layer layer) {
    auto& totals = layers[layer];
    if (!totals) totals = std::make_unique<DarshanTotals>();
    return *totals;
  }

  // The first layer that saw something; null if none did.
  DarshanTotals* counting() const {
    for (const auto& totals : layers) {
      if (totals && !totals->idle()) return totals.get();
    }
    return nullptr;
  }
};

// One line of counters: views into it.
struct Row {
  std::string_view head;  // all that tells one record from another
  std::string_view module;
  std::string_view rank;
  std::string_view id;
  std::string_view counter;
  std::string_view value;
  std::string_view name;
};

std::string_view take_column(std::string_view& text) {
  const std::size_t tab = std::min(text.find('\t'), text.size());
  const std::string_view column = text.substr(0, tab);
  text.remove_prefix(std::min(tab + 1, text.size()));
  return column;
}

// The mount point and the file system are behind the name, which may hold tabs itself.
std::optional<std::string_view> name_column(std::string_view text) {
  for (int column = 0; column < 2; ++column) {
    const std::size_t tab = text.rfind('\t');
    if (tab == std::string_view::npos) return std::nullopt;
    text = text.substr(0, tab);
  }
  return text;
}

std::optional<Row> split(std::string_view text) {
  Row row;
  const std::string_view whole = text;
  // Lines of 2.x start with the rank.
  const bool old = text.starts_with('-') || (!text.empty() && text::is_digit(text.front()));
  if (!old) row.module = take_column(text);
  row.rank = take_column(text);
  row.id = take_column(text);
  row.head = whole.substr(0, static_cast<std::size_t>(row.id.data() + row.id.size() - whole.data()));
  row.counter = take_column(text);
  row.value = take_column(text);
  const auto name = name_column(text);
  if (!name || row.counter.starts_with("CP_") != old) return std::nullopt;
  row.name = *name;
  return row;
}

bool all_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, text::is_digit); }

class Parser {
 public:
  Parser(std::string_view origin, input::ParseReport& report, const DarshanOptions& options)
      : origin_(origin), report_(report), options_(options) {}

  void line(const Line& line) {
    const std::string_view text = line.text;
    if (text.empty()) return;
    if (text.front() == '#') {
      header(line);
      return;
    }
    // Sums of --total, lists of --file-list, and the lines of darshan-dxt-parser tell nothing of one file that is needed here.
    if (in_list_ || text.starts_with("total_") || text::trim(text).starts_with("X_")) return;
    const auto row = line.cut ? std::nullopt : split(text);
    if (!row) {
      skip(line, "expected the columns of darshan-parser: module, rank, record, counter, value, file, mount point, file system");
      return;
    }
    if (row->head != head_ && !start_record(*row)) {
      skip(line, "expected a rank from -1 on and the number of a record");
      return;
    }
    if (module_ == DarshanModule::other || !used_) return;
    if (!record_.set(darshan_counter(row->counter), row->value)) {
      skip(line, "expected a number of at most 64 bits as value");
      return;
    }
    ++report_.rows;
  }

  Result<DarshanTrace> finish() {
    end_record();
    if (!seen_header_ && trace_.records + trace_.other_records == 0) {
      return fail(Errc::parse,
                  fmt::format("{}: found no counter and no header of Darshan, expected what 'darshan-parser LOG' prints",
                              text::printable(origin_)));
    }
    trace_.run.processes = nprocs_;
    trace_.run.communicator = nprocs_;
    if (start_) trace_.run.start_ns = *start_;
    if (end_) trace_.run.end_ns = *end_;
    follow_renames();
    trace_.files.reserve(files_.size());
    for (auto& [key, file] : files_) add_row(file);
    return std::move(trace_);
  }

 private:
  void skip(const Line& line, std::string_view why) {
    report_.skip(origin_, line.number, fmt::format("{}: '{}'", why, text::printable(input::excerpt(line.text))));
  }

  void header(const Line& line) {
    std::string_view text = line.text.substr(1);
    in_list_ = text.starts_with(" <record_id>\t") || text.starts_with(" <hash>\t");
    if ((text.find("*WARNING*") != std::string_view::npos || text.find("*ERROR*") != std::string_view::npos) &&
        text.find("incomplete") != std::string_view::npos) {
      report_.skip(origin_, line.number,
                   fmt::format("files are missing: Darshan ran out of memory for them: '{}'",
                               text::printable(text::trim(input::excerpt(text::trim(text))))));
      return;
    }
    const std::size_t colon = text.find(": ");
    if (colon == std::string_view::npos || !text.starts_with(' ')) return;
    const std::string_view key = text.substr(1, colon - 1);
    std::string_view value = text::trim(text.substr(colon + 2));
    if (key == "darshan log version") {
      seen_header_ = true;
      trace_.version = input::excerpt(value);
    } else if (key == "exe") {
      trace_.run.program = text::take_word(value).substr(0, kMaxPath);
      anonymous_ = all_digits(trace_.run.program);
      trace_.anonymous = anonymous_;
    } else if (key == "jobid") {
      trace_.run.job = value.substr(0, kMaxJob);
    } else if (key == "nprocs") {
      const auto count = text::parse_u64(value);
      if (count && *count <= std::numeric_limits<std::uint32_t>::max()) {
        nprocs_ = static_cast<std::uint32_t>(*count);
      } else {
        skip(line, "expected the number of processes");
      }
    } else if (key == "start_time" || key == "end_time") {
      read_time(line, value, key == "start_time" ? start_ : end_);
    }
  }

  void read_time(const Line& line, std::string_view value, std::optional<std::int64_t>& time) {
    const auto seconds = parse_i64(value);
    if (!seconds || *seconds < 0 || *seconds > std::numeric_limits<std::int64_t>::max() / kNanoseconds) {
      skip(line, "expected seconds since 1970");
      return;
    }
    if (*seconds > 0) time = *seconds * kNanoseconds;
  }

  // False: the record cannot be read; its lines are skipped.
  bool start_record(const Row& row) {
    end_record();
    const auto rank = parse_i64(row.rank);
    const auto id = text::parse_u64(row.id);
    if (!rank || *rank < -1 || *rank > std::numeric_limits<std::int32_t>::max() || !id) return false;
    head_ = row.head;
    rank_ = *rank;
    module_ = row.module.empty() ? DarshanModule::posix : darshan_module(row.module);
    if (module_ == DarshanModule::other) {
      ++trace_.other_records;
      return true;
    }
    ++trace_.records;
    used_ = name_of(row, *id);
    if (used_) id_ = *id;
    return true;
  }

  // False: it is no file that a program could open by this name.
  bool name_of(const Row& row, std::uint64_t id) {
    std::string_view name = row.name;
    if (row.module.empty()) {
      constexpr std::string_view kDots = "...";
      // Record 0 of 2.x is of all files of a rank together.
      if (id == 0 || !name.starts_with(kDots) || name.size() > kMaxPath || name.find('\0') != std::string_view::npos) {
        ++trace_.unnamed;
        return false;
      }
      const std::string_view suffix = name.substr(kDots.size());
      name_ = suffix.starts_with('/') && suffix.size() < kOldSuffix ? suffix : name;
      key_ = row.id;
      return true;
    }
    if (name == "<STDIN>" || name == "<STDOUT>" || name == "<STDERR>") {
      ++trace_.standard_streams;
      return false;
    }
    const bool number = options_.anonymous_names && all_digits(name) && name.size() <= kMaxPath;
    if (!number && !usable_path(name)) {
      ++trace_.unnamed;
      return false;
    }
    name_ = name;
    key_ = name;
    return true;
  }

  void end_record() {
    if (used_) {
      File& file = files_[key_];
      if (file.name.empty()) {
        file.name = name_;
        file.id = id_;
      }
      if (record_.stripe_count > file.stripe_count) {
        file.stripe_count = record_.stripe_count;
        file.stripe_size = record_.stripe_size;
      }
      if (file.renamed_from == 0) file.renamed_from = record_.renamed_from;
      any_rename_ = any_rename_ || record_.renamed_from != 0;
      if (module_ != DarshanModule::lustre) {
        const Layer layer = module_ == DarshanModule::mpi_io ? mpi_io : module_ == DarshanModule::hdf5 ? hdf5 : direct;
        file.totals(layer).add(record_, rank_);
      }
    }
    record_ = {};
    head_.clear();
    used_ = false;
  }

  // The target of a rename knows the number of its source.
  void follow_renames() {
    if (!any_rename_) return;
    std::map<std::uint64_t, File*> by_id;
    for (auto& [key, file] : files_) by_id.emplace(file.id, &file);
    for (auto& [key, target] : files_) {
      const auto found = by_id.find(target.renamed_from);
      if (target.renamed_from == 0 || found == by_id.end() || found->second == &target) continue;
      File& source = *found->second;
      if (!source.renamed.empty() || source.folded) continue;
      source.renamed = target.name;
      const DarshanTotals* const then = target.counting();
      if ((then != nullptr && then->wrote()) || !target.renamed.empty()) continue;
      if (then != nullptr) source.totals(direct).add(*then);
      if (source.stripe_count == 0) {
        source.stripe_count = target.stripe_count;
        source.stripe_size = target.stripe_size;
      }
      target.folded = true;
    }
  }

  void add_row(File& file) {
    if (file.folded) return;
    DarshanTotals* const totals = file.counting();
    if (totals == nullptr) {
      ++trace_.idle_files;
      return;
    }
    if (anonymous_ && !options_.anonymous_names) {
      ++trace_.anonymous_files;
      return;
    }
    const bool wrote = totals->wrote();
    TracedFile row{.name = file.name,
                   .renamed = file.renamed,
                   .written = {totals->bytes_written},
                   .read = {totals->bytes_read},
                   .write_calls = totals->writes,
                   .read_calls = totals->reads,
                   .sequential_writes = totals->consecutive_writes,
                   .sequential_reads = totals->consecutive_reads,
                   .largest_write = {totals->largest_write.value_or(0)},
                   .largest_read = {totals->largest_read.value_or(0)},
                   .opens = totals->real_opens(),
                   .communicator = nprocs_};
    // The counter is 0 both for no byte and for the first one; MPI-IO has none.
    if (totals->bytes_written > 0 && totals->max_byte_written) row.end = {saturating_add(*totals->max_byte_written, 1)};
    if (file.stripe_count <= std::numeric_limits<std::uint32_t>::max()) {
      row.stripe_count = static_cast<std::uint32_t>(file.stripe_count);
      row.stripe_size = {file.stripe_size};
    }
    set_ranks(row, wrote ? totals->writers : totals->readers);
    if (start_) {
      if (totals->first) row.first_ns = add_times(*start_, *totals->first);
      if (totals->last) row.last_ns = add_times(*start_, *totals->last);
      if (row.first_ns && row.last_ns) row.last_ns = std::max(*row.first_ns, *row.last_ns);
    }
    trace_.files.push_back(std::move(row));
  }

  void set_ranks(TracedFile& row, RankSet& ranks) const {
    if (ranks.empty()) return;
    if (ranks.all) {
      row.ranks = nprocs_;
      if (nprocs_ > 0) row.rank = 0;
      return;
    }
    ranks.arrange();
    row.ranks = static_cast<std::uint32_t>(ranks.single.size());
    row.rank = ranks.single.front();
  }

  std::string_view origin_;
  input::ParseReport& report_;
  const DarshanOptions& options_;
  DarshanTrace trace_;
  std::map<std::string, File, std::less<>> files_;  // by name; of 2.x, by hash
  bool seen_header_ = false;
  bool anonymous_ = false;
  bool any_rename_ = false;
  bool in_list_ = false;
  std::uint32_t nprocs_ = 0;
  std::optional<std::int64_t> start_;  // nanoseconds since 1970
  std::optional<std::int64_t> end_;

  // Of the record that is being read; head_ is empty before the first.
  std::string head_;
  std::string key_;
  std::string name_;
  DarshanModule module_ = DarshanModule::other;
  std::int64_t rank_ = 0;
  std::uint64_t id_ = 0;
  bool used_ = false;
  DarshanRecord record_;
};

}  // namespace

Result<DarshanTrace> read_darshan_text(input::ByteStream& stream, std::string_view origin, input::ParseReport& report,
                                       const DarshanOptions& options) {
  Parser parser(origin, report, options);
  input::LineReader lines(stream);
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) break;
    parser.line(*line);
  }
  return parser.finish();
}

}  // namespace iez::trace
