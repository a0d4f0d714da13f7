#include "log_command.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"
#include "json.hpp"
#include "log_flattening.hpp"
#include "progress.hpp"
#include "rank_log/log_check.hpp"
#include "rank_log/log_files.hpp"
#include "rank_log/log_report.hpp"
#include "rank_log/log_survey.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

using rank_log::LogPaths;
using rank_log::LogSurvey;
using rank_log::RankCounts;

constexpr std::size_t kShownByDefault = 20;

struct Ranks {
  std::size_t kept = 0;  // at most so many in `counts`
  std::vector<RankCounts> counts;
  std::vector<std::string> damage;  // the first ones
  bool whole = true;
};

void keep_rank(void* context, const RankCounts& counts) {
  auto& ranks = *static_cast<Ranks*>(context);
  if (ranks.counts.size() < ranks.kept) ranks.counts.push_back(counts);
  if (std::string damage = rank_log::damage_of(counts); !damage.empty()) {
    ranks.whole = false;
    if (ranks.damage.size() < input::ParseReport::kKept) ranks.damage.push_back(std::move(damage));
  }
}

Result<LogSurvey> survey(int folder, const LogPaths& paths, Ranks& ranks) {
  LogSurvey found;
  const rank_log::RankVisitor visitor{.take = keep_rank, .context = &ranks};
  if (const auto problem = rank_log::survey_log(folder, {}, found, visitor)) return std::unexpected(error_of(problem, paths));
  return found;
}

std::string sums_text(const LogPaths& paths, const LogSurvey& sums) {
  std::string out =
      fmt::format("{}: {} in {} of {}; the file becomes {}\n", text::printable(paths.folder), to_string(Bytes{sums.bytes}),
                  counted(sums.writes, "record"), counted(sums.ranks, "rank"), to_string(Bytes{size_to_be(paths, sums)}));
  if (sums.pieces > sums.writes) out += fmt::format("pieces: {}\n", sums.pieces);
  if (sums.sizes > 0) out += fmt::format("new sizes of the file: {}, the least {} bytes\n", sums.sizes, sums.least_size);
  if (sums.torn > 0) out += fmt::format("torn: {} at the end of logs; their writers were killed\n", counted(sums.torn, "record"));
  if (sums.damaged + sums.damaged_indexes > 0) {
    out +=
        fmt::format("damaged: {}, {} as a whole\n", counted(sums.damaged, "record"), counted(sums.damaged_indexes, "index file"));
  }
  if (sums.strangers > 0) out += fmt::format("strangers: {} in the folder that no log has\n", counted(sums.strangers, "name"));
  return out;
}

ordered_json sums_json(const LogPaths& paths, const LogSurvey& sums) {
  return {{"file", paths.file},
          {"folder", paths.folder},
          {"ranks", sums.ranks},
          {"records", sums.writes},
          {"pieces", sums.pieces},
          {"bytes", sums.bytes},
          {"sizes", sums.sizes},
          {"final_size", size_to_be(paths, sums)},
          {"last_sequence", sums.last_sequence},
          {"torn", sums.torn},
          {"damaged", sums.damaged},
          {"damaged_indexes", sums.damaged_indexes},
          {"strangers", sums.strangers}};
}

std::string state_of(const RankCounts& counts) {
  if (counts.header_fault == rank_log::HeaderFault::unfinished) return "not begun";
  if (!counts.sound()) return "damaged";
  return counts.torn > 0 ? "torn end" : "whole";
}

std::string ranks_text(const Ranks& ranks, std::uint64_t all, const Terminal& terminal, bool header) {
  Table table({{.title = "RANK", .align = Align::right},
               {.title = "BYTES", .align = Align::right},
               {.title = "RECORDS", .align = Align::right},
               {.title = "PIECES", .align = Align::right},
               {.title = "SEQUENCE", .align = Align::right},
               {.title = "STATE"}});
  for (const RankCounts& counts : ranks.counts) {
    table.add({{fmt::to_string(counts.rank)},
               {to_string(Bytes{counts.bytes})},
               {fmt::to_string(counts.writes)},
               {fmt::to_string(counts.pieces)},
               {fmt::to_string(counts.last_sequence)},
               {state_of(counts)}});
  }
  std::string out = table.render(terminal, header);
  if (header && ranks.counts.size() < all)
    out += fmt::format("... and {} more; --limit 0 shows all\n", all - ranks.counts.size());
  return out;
}

ordered_json ranks_json(const Ranks& ranks) {
  ordered_json rows = ordered_json::array();
  for (const RankCounts& counts : ranks.counts) {
    rows.push_back({{"rank", counts.rank},
                    {"bytes", counts.bytes},
                    {"records", counts.writes},
                    {"pieces", counts.pieces},
                    {"sizes", counts.sizes},
                    {"last_sequence", counts.last_sequence},
                    {"torn", counts.torn},
                    {"damaged", counts.damaged},
                    {"orphans", counts.data_size - std::min(counts.data_size, counts.data_used)},
                    {"state", state_of(counts)}});
  }
  return rows;
}

Result<void> show_one(const std::string& path, const LogShowOptions& options, Context& context) {
  const LogPaths paths = rank_log::log_paths(path);
  rank_log::Descriptor folder;
  IEZ_CHECK(open_log(paths, folder));
  const std::size_t limit = options.limit.value_or(options.json ? 0 : kShownByDefault);
  Ranks ranks{.kept = limit == 0 ? rank_log::kMaxRank : limit};
  IEZ_TRY(const LogSurvey sums, survey(folder.get(), paths, ranks));
  for (const std::string& damage : ranks.damage) context.log.warning(fmt::format("{}/{}", paths.folder, damage));
  if (options.json) {
    ordered_json json = sums_json(paths, sums);
    json["rows"] = ranks_json(ranks);
    return print(to_line(json));
  }
  std::string out;
  if (!options.no_header) out = sums_text(paths, sums) + '\n';
  return print(out + ranks_text(ranks, sums.ranks, context.terminal, !options.no_header));
}

// False: damaged, and told.
Result<bool> check_one(const std::string& path, const LogCheckOptions& options, Context& context) {
  const LogPaths paths = rank_log::log_paths(path);
  rank_log::Descriptor folder;
  IEZ_CHECK(open_log(paths, folder));
  Ranks ranks;
  IEZ_TRY(const LogSurvey sums, survey(folder.get(), paths, ranks));
  for (const std::string& damage : ranks.damage) context.log.error(fmt::format("{}/{}", paths.folder, damage));
  rank_log::DataCheck data;
  if (!options.quick) {
    IEZ_TRY(data, check_log_data(folder.get(), paths, sums, context));
  }
  const bool whole = ranks.whole && data.wrong == 0;
  if (options.json) {
    ordered_json json = sums_json(paths, sums);
    json["whole"] = whole;
    json["compared"] = data.bytes;
    json["unchecked"] = data.unchecked;
    json["wrong"] = data.wrong;
    IEZ_CHECK(print(to_line(json)));
    return whole;
  }
  std::string out = sums_text(paths, sums);
  if (!options.quick) {
    out += fmt::format("compared: {} of data, {} wrong", to_string(Bytes{data.bytes}), counted(data.wrong, "record"));
    if (data.unchecked > 0) out += fmt::format("; {} without a checksum", counted(data.unchecked, "record"));
    out += '\n';
  }
  IEZ_CHECK(print(out + (whole ? "whole\n" : "")));
  return whole;
}

}  // namespace

Result<void> run_log_show(const LogShowOptions& options, Context& context) {
  for (const std::string& path : options.paths) IEZ_CHECK(show_one(path, options, context));
  return {};
}

Result<void> run_log_check(const LogCheckOptions& options, Context& context) {
  std::size_t damaged = 0;
  for (const std::string& path : options.paths) {
    IEZ_TRY(const bool whole, check_one(path, options, context));
    if (!whole) ++damaged;
  }
  if (damaged > 0) return fail(Errc::parse, fmt::format("{} of {} damaged", damaged, counted(options.paths.size(), "log")));
  return {};
}

}  // namespace iez::cli
