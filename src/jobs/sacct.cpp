#include "jobs/sacct.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"

namespace iez::jobs {

namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
constexpr std::size_t kMaxRow = std::size_t{1} << 20U;  // bytes of a row that newlines broke

enum class Column : std::size_t { id, cluster, user, start, end, nodes, alloc_tres, req_mem, cpus, read, written };
constexpr std::size_t kColumns = 11;

// Of each column two names; the first that is there counts.
using ColumnNames = std::array<std::string_view, 2>;
constexpr std::array<ColumnNames, kColumns> kNames{{{"JobIDRaw", "JobID"},
                                                    {"Cluster", "Cluster"},
                                                    {"UID", "User"},
                                                    {"Start", "Start"},
                                                    {"End", "End"},
                                                    {"NNodes", "AllocNodes"},
                                                    {"AllocTRES", "AllocTRES"},
                                                    {"ReqMem", "ReqMem"},
                                                    {"NCPUS", "AllocCPUS"},
                                                    {"TRESUsageInTot", "TRESUsageInTot"},
                                                    {"TRESUsageOutTot", "TRESUsageOutTot"}}};

constexpr std::size_t index_of(Column column) { return static_cast<std::size_t>(column); }

std::vector<std::string_view> split(std::string_view row, std::string_view delimiter) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t at = row.find(delimiter);
    fields.push_back(row.substr(0, at));
    if (at == std::string_view::npos) return fields;
    row.remove_prefix(at + delimiter.size());
  }
}

bool is_unknown(std::string_view time) { return time.empty() || text::iequals(time, "Unknown") || text::iequals(time, "None"); }

class Parser {
 public:
  Parser(std::string_view origin, const SacctOptions& options, input::ParseReport& report, const JobRowVisitor& visit)
      : origin_(origin), options_(options), report_(report), visit_(visit) {}

  Result<void> set_header(const std::vector<std::string_view>& names) {
    count_ = names.size();
    for (std::size_t i = 0; i < kColumns; ++i) {
      for (const std::string_view wanted : kNames[i]) {
        const auto found =
            std::ranges::find_if(names, [wanted](std::string_view name) { return text::iequals(text::trim(name), wanted); });
        if (found == names.end()) continue;
        at_[i] = static_cast<std::size_t>(found - names.begin());
        break;
      }
    }
    for (const Column needed : {Column::id, Column::start, Column::end}) {
      if (at_[index_of(needed)]) continue;
      return fail(Errc::parse,
                  fmt::format("{}: no column {}; run sacct with --parsable2 and --format=JobIDRaw,Cluster,UID,Start,End,NNodes,"
                              "AllocTRES,TRESUsageInTot,TRESUsageOutTot",
                              origin_, kNames[index_of(needed)].back()));
    }
    return {};
  }

  Result<void> line(std::string_view text, std::uint64_t number, bool cut) {
    if (count_ == 0) return set_header(without_end(split(text, options_.delimiter)));
    if (text.empty() && pending_.empty()) return {};
    if (cut || pending_.size() + text.size() > kMaxRow) {
      pending_.clear();
      report_.skip(origin_, number, "the row is too long");
      return {};
    }
    const auto alone = without_end(split(text, options_.delimiter));
    if (pending_.empty()) return whole(alone, text, number);
    // A newline stood in a field, unless this line is a row by itself.
    if (alone.size() == count_) {
      report_.skip(origin_, pending_line_, fmt::format("'{}': too few fields", text::printable(input::excerpt(pending_))));
      pending_.clear();
      return whole(alone, text, number);
    }
    pending_ += '\n';
    pending_ += text;
    const std::string joined = std::exchange(pending_, {});
    return whole(without_end(split(joined, options_.delimiter)), joined, pending_line_);
  }

  Result<void> finish() {
    if (!pending_.empty()) report_.skip(origin_, pending_line_, "the last row is cut off");
    return flush();
  }

  SacctSummary& summary() { return summary_; }

 private:
  // --parsable, other than --parsable2, ends each row with a delimiter.
  std::vector<std::string_view> without_end(std::vector<std::string_view> fields) const {
    if (count_ != 0 ? fields.size() == count_ + 1 && fields.back().empty() : fields.size() > 1 && fields.back().empty())
      fields.pop_back();
    return fields;
  }

  std::string_view field(const std::vector<std::string_view>& fields, Column column) const {
    const auto& at = at_[index_of(column)];
    return at ? text::trim(fields[*at]) : std::string_view{};
  }

  Result<void> whole(const std::vector<std::string_view>& fields, std::string_view row, std::uint64_t number) {
    if (fields.size() < count_) {
      pending_ = row;
      pending_line_ = number;
      return {};
    }
    if (fields.size() > count_) {
      report_.skip(origin_, number,
                   fmt::format("{} fields, expected {}: a name has '{}' in it; use --delimiter of sacct", fields.size(), count_,
                               text::printable(options_.delimiter)));
      return {};
    }
    const std::string_view name = field(fields, Column::id);
    if (name.empty()) {
      report_.skip(origin_, number, "no job id");
      return {};
    }
    const std::size_t dot = name.find('.');
    if (dot != std::string_view::npos) return step(fields, name.substr(0, dot), number);
    IEZ_CHECK(flush());
    return job(fields, name, number);
  }

  Result<void> step(const std::vector<std::string_view>& fields, std::string_view of, std::uint64_t number) {
    ++summary_.steps;
    if (passed_over_ == of) return {};
    if (!job_ || job_->id != of) {
      report_.skip(origin_, number,
                   fmt::format("a step of job {}, which does not stand before it", text::printable(input::excerpt(of))));
      return {};
    }
    add_usage(fields, *job_);
    return {};
  }

  void add_usage(const std::vector<std::string_view>& fields, JobRow& job) const {
    const auto bytes = [](std::string_view list) { return parse_slurm_size(tres_value(list, "fs/disk")).value_or(0); };
    job.data.read_bytes = saturating_add(job.data.read_bytes, bytes(field(fields, Column::read)));
    job.data.write_bytes = saturating_add(job.data.write_bytes, bytes(field(fields, Column::written)));
  }

  Result<void> job(const std::vector<std::string_view>& fields, std::string_view name, std::uint64_t number) {
    passed_over_ = name;
    if (is_unknown(field(fields, Column::start)) || is_unknown(field(fields, Column::end))) {
      ++summary_.unfinished;
      return {};
    }
    const auto started = parse_time(field(fields, Column::start), options_.zone);
    const auto ended = parse_time(field(fields, Column::end), options_.zone);
    if (!started || !ended || *ended < *started) {
      report_.skip(origin_, number,
                   fmt::format("job {}: from '{}' to '{}' is no time", text::printable(input::excerpt(name)),
                               text::printable(input::excerpt(field(fields, Column::start))),
                               text::printable(input::excerpt(field(fields, Column::end)))));
      return {};
    }
    passed_over_.clear();
    const std::string_view cluster_name = field(fields, Column::cluster);
    JobRow row{.cluster = cluster_name.empty() ? options_.cluster : std::string(cluster_name),
               .id = std::string(name),
               .user = std::string(field(fields, Column::user)),
               .started = *started,
               .ended = *ended};
    row.nodes = nodes_of(fields);
    row.silent_nodes = row.nodes;  // what nodes counted themselves says more
    row.memory = memory_of(fields, row.nodes);
    add_usage(fields, row);
    job_ = std::move(row);
    ++report_.rows;
    return {};
  }

  std::uint32_t nodes_of(const std::vector<std::string_view>& fields) const {
    auto count = text::parse_u64(field(fields, Column::nodes));
    if (!count) count = text::parse_u64(tres_value(field(fields, Column::alloc_tres), "node"));
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(count.value_or(0), 0xFFFFFFFFU));
  }

  // Of the whole job. ReqMem of old versions is for each node ("4Gn") or core ("2Gc").
  std::optional<std::uint64_t> memory_of(const std::vector<std::string_view>& fields, std::uint32_t nodes) const {
    if (const auto allocated = parse_slurm_size(tres_value(field(fields, Column::alloc_tres), "mem"), kMebibyte))
      return allocated;
    std::string_view asked = field(fields, Column::req_mem);
    if (asked.empty()) return std::nullopt;
    std::uint64_t times = 1;
    if (asked.back() == 'n' || asked.back() == 'c') {
      times = asked.back() == 'n' ? nodes : text::parse_u64(field(fields, Column::cpus)).value_or(0);
      asked.remove_suffix(1);
    }
    const auto each = parse_slurm_size(asked, kMebibyte);
    if (!each || *each == 0 || times == 0 || *each > ~std::uint64_t{0} / times) return std::nullopt;
    return *each * times;
  }

  Result<void> flush() {
    if (!job_) return {};
    ++summary_.jobs;
    const JobRow row = *std::move(job_);
    job_.reset();
    return visit_(row);
  }

  std::string_view origin_;
  const SacctOptions& options_;
  input::ParseReport& report_;
  const JobRowVisitor& visit_;
  std::array<std::optional<std::size_t>, kColumns> at_{};
  std::size_t count_ = 0;  // fields of a row; 0: the header has not come
  std::optional<JobRow> job_;
  std::string passed_over_;  // a job whose steps are passed over, too
  std::string pending_;      // a row that is not whole
  std::uint64_t pending_line_ = 0;
  SacctSummary summary_;
};

}  // namespace

std::optional<std::uint64_t> parse_slurm_size(std::string_view text, std::uint64_t bare) {
  constexpr std::string_view kSuffixes = "KMGTPE";
  double factor = static_cast<double>(bare);
  if (!text.empty()) {
    const std::size_t power = kSuffixes.find(text.back());
    if (power != std::string_view::npos) {
      factor = std::ldexp(1.0, static_cast<int>(10 * (power + 1)));
      text.remove_suffix(1);
    }
  }
  const auto number = text::parse_double(text);
  if (!number || *number < 0) return std::nullopt;
  const double bytes = std::round(*number * factor);
  constexpr double kMost = 18446744073709549568.0;  // the largest that fits
  if (bytes > kMost) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string_view tres_value(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view one = list.substr(0, comma);
    const std::size_t equals = one.find('=');
    if (equals != std::string_view::npos && one.substr(0, equals) == name) return one.substr(equals + 1);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return {};
}

Result<SacctSummary> parse_sacct(input::ByteStream& stream, std::string_view origin, const SacctOptions& options,
                                 input::ParseReport& report, const JobRowVisitor& visit) {
  if (options.delimiter.empty()) return fail(Errc::invalid_argument, "the delimiter of sacct has no character");
  Parser parser(origin, options, report, visit);
  if (!options.fields.empty()) {
    IEZ_CHECK(parser.set_header({options.fields.begin(), options.fields.end()}));
  }
  input::LineReader lines(stream);
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) break;
    IEZ_CHECK(parser.line(line->text, line->number, line->cut));
  }
  IEZ_CHECK(parser.finish());
  return parser.summary();
}

}  // namespace iez::jobs
