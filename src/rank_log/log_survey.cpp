#include "rank_log/log_survey.hpp"

#include <algorithm>

#include "rank_log/log_files.hpp"
#include "rank_log/pattern.hpp"

namespace iez::rank_log {

namespace {

// When something was written, against everything else.
struct Moment {
  std::uint64_t sequence = 0;
  std::uint32_t rank = 0;
  std::uint64_t number = 0;

  friend auto operator<=>(const Moment&, const Moment&) = default;
};

template <typename Take>
Problem each_record(IndexCursor& cursor, int folder, std::uint32_t rank, Take take) {
  if (const Problem problem = cursor.open(folder, rank)) return problem;
  for (;;) {
    Record record{};
    std::uint64_t number = 0;
    bool more = false;
    if (const Problem problem = cursor.next(record, number, more)) return problem;
    if (!more) return {};
    take(record, Moment{.sequence = record.sequence, .rank = rank, .number = number});
  }
}

}  // namespace

Problem survey_log(int folder, const FileStamp& file, LogSurvey& survey, const RankVisitor& visitor) {
  survey = {};
  GrowingArray<std::uint32_t> ranks;
  if (const int error = list_ranks(folder, ranks, survey.strangers)) {
    return {.error = error, .place = Place::folder, .action = Action::read};
  }
  survey.ranks = ranks.size();
  Moment last;
  IndexCursor cursor;
  for (const std::uint32_t rank : ranks) {
    const Problem problem = each_record(cursor, folder, rank, [&](const Record& record, const Moment& moment) {
      if (record.kind != kKindSize) {
        survey.end = std::max(survey.end, end_of(pattern_of(record)));
        return;
      }
      survey.least_size = survey.sized == 0 ? record.offset : std::min(survey.least_size, record.offset);
      if (survey.sized == 0 || last < moment) {
        last = moment;
        survey.final_size = record.offset;
      }
      survey.sized = 1;
    });
    if (problem) return problem;
    const RankCounts& counts = cursor.counts();
    survey.writes += counts.writes;
    survey.sizes += counts.sizes;
    survey.pieces += counts.pieces;
    survey.bytes += counts.bytes;
    survey.torn += counts.torn;
    survey.damaged += counts.damaged;
    survey.last_sequence = std::max(survey.last_sequence, counts.last_sequence);
    if (counts.header_fault != HeaderFault::none && counts.header_fault != HeaderFault::unfinished) ++survey.damaged_indexes;
    const FileStamp of_log{.inode = counts.header.file_inode, .born_ns = counts.header.file_born_ns};
    if (counts.header_fault == HeaderFault::none && !may_be_same(of_log, file)) ++survey.other_files;
    if (visitor.take != nullptr) visitor.take(visitor.context, counts);
  }
  if (survey.sized == 0) {
    survey.final_size = survey.end;
    return {};
  }
  for (const std::uint32_t rank : ranks) {
    const Problem problem = each_record(cursor, folder, rank, [&](const Record& record, const Moment& moment) {
      if (record.kind != kKindSize && last < moment) survey.final_size = std::max(survey.final_size, end_of(pattern_of(record)));
    });
    if (problem) return problem;
  }
  return {};
}

}  // namespace iez::rank_log
