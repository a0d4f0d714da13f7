#include "lustre/job_stats.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::lustre {
namespace {

using model::Operation;
using testing::HasSubstr;

struct Parsed {
  std::vector<JobEntry> jobs;
  JobStatsSummary summary;
  input::ParseReport report;
};

Parsed parse(std::string_view text) {
  Parsed parsed;
  const auto stream = input::memory_stream(text);
  const auto summary =
      parse_job_stats(*stream, "job_stats", parsed.report, [&](const JobEntry& entry) { parsed.jobs.push_back(entry); });
  EXPECT_TRUE(summary);
  parsed.summary = *summary;
  return parsed;
}

// Lustre 2.14 and later.
constexpr std::string_view kHistogram =
    R"(job_stats:
- job_id:          "SLURM_JOB10:0:es18kxe-co-client"
  snapshot_time:   1723114647.887515895 secs.nsecs
  start_time:      1723102025.057286226 secs.nsecs
  elapsed_time:    12622.830229669 secs.nsecs
  read_bytes:      { samples:           0, unit: bytes, min:        0, max:        0, sum:                0, sumsq:                  0, hist: {  } }
  write_bytes:     { samples:         861, unit: bytes, min:    24576, max: 16777216, sum:      11025514496, sumsq: 166242808078794752, hist: { 32K: 1, 64K: 1, 128K: 4, 16M: 855 } }
  punch:           { samples:          85, unit: usecs, min:       96, max:      354, sum:            16840, sumsq:            3813568 }
- job_id:          plain
  snapshot_time:   1723114647.887515895 secs.nsecs
  open:            { samples:           2, unit: usecs, min:       96, max:      354, sum:            16840, sumsq:            3813568 }
)";

TEST(JobStats, EntriesWithHistograms) {
  const Parsed parsed = parse(kHistogram);
  ASSERT_EQ(parsed.jobs.size(), 2U);
  const JobEntry& job = parsed.jobs[0];
  EXPECT_EQ(job.id, "SLURM_JOB10:0:es18kxe-co-client");
  EXPECT_EQ(job.times.elapsed->count(), 12622830229669);
  const model::JobCounters sum = counters(job);
  EXPECT_EQ(sum.write_bytes, Bytes{11025514496});
  EXPECT_EQ(sum[Operation::write_bytes], 861U);
  EXPECT_EQ(sum[Operation::punch], 85U);
  EXPECT_TRUE(job.has_sizes);
  EXPECT_EQ(job.write_sizes[15], 1U) << "32K";
  EXPECT_EQ(job.write_sizes[17], 4U) << "128K";
  EXPECT_EQ(job.write_sizes[24], 855U) << "16M";
  EXPECT_EQ(parsed.jobs[1].id, "plain");
  EXPECT_FALSE(parsed.jobs[1].has_sizes) << "nothing stays from the job before";
  EXPECT_EQ(parsed.jobs[1].write_sizes[24], 0U);
  EXPECT_EQ(parsed.report.skipped, 0U);
  EXPECT_EQ(parsed.summary.bytes, kHistogram.size());
}

TEST(JobStats, FormOf210) {
  const Parsed parsed = parse(
      "job_stats:\n- job_id:          24\n  snapshot_time:   1510782606\n"
      "  write_bytes:     { samples:       64575, unit: bytes, min:    4096, max: 4194304, sum:    215147593728 }\n"
      "  punch:           { samples:           1, unit:  reqs }\n");
  ASSERT_EQ(parsed.jobs.size(), 1U);
  EXPECT_EQ(parsed.jobs[0].times.snapshot->time_since_epoch(), std::chrono::seconds(1510782606));
  EXPECT_FALSE(parsed.jobs[0].times.start);
  EXPECT_EQ(counters(parsed.jobs[0]).write_bytes, Bytes{215147593728});
  EXPECT_EQ(counters(parsed.jobs[0])[Operation::punch], 1U);
}

TEST(JobStats, NoJobs) {
  EXPECT_TRUE(parse("").jobs.empty()) << "what a new server shows";
  EXPECT_TRUE(parse("job_stats:\n").jobs.empty());
  EXPECT_EQ(parse("job_stats:\n").report.skipped, 0U);
}

std::string id_of(std::string_view written) {
  const Parsed parsed = parse(fmt::format("job_stats:\n- job_id:          {}\n", written));
  return parsed.jobs.size() == 1 ? parsed.jobs[0].id : "(skipped)";
}

TEST(JobStats, IdsAreUnescaped) {
  EXPECT_EQ(id_of("dd.1000"), "dd.1000");
  EXPECT_EQ(id_of("\"a:b\""), "a:b");
  EXPECT_EQ(id_of("\"@leading\""), "@leading");
  EXPECT_EQ(id_of(R"("tab\x09and\x22quote\\")"), "tab\tand\"quote\\");
  EXPECT_EQ(id_of(R"("\"")"), "\"");
  EXPECT_EQ(id_of("\"\""), "");
  EXPECT_EQ(id_of(""), "") << "an unset job variable";
  EXPECT_EQ(id_of(":dd:0"), ":dd:0");
  EXPECT_EQ(id_of(R"("high\xff")"), "high\xff");
}

TEST(JobStats, IdsThatCannotBeReadSkipTheirJob) {
  for (const char* const bad : {"\"open", R"("bad\q")", R"("short\x4")", R"("a"b)", R"("\)"})
    EXPECT_EQ(id_of(bad), "(skipped)") << bad;
  EXPECT_EQ(id_of(std::string(2000, 'x')), "(skipped)");
  const Parsed parsed = parse(
      "job_stats:\n- job_id: \"open\n  open: { samples: 1, unit: reqs }\n  close: { samples: 1, unit: reqs }\n- job_id: b\n  "
      "open: { samples: 2, unit: reqs }\n");
  ASSERT_EQ(parsed.jobs.size(), 1U);
  EXPECT_EQ(parsed.jobs[0].id, "b");
  EXPECT_EQ(parsed.report.skipped, 1U) << "the job, once";
  EXPECT_THAT(to_string(parsed.report.problems[0]), HasSubstr("job_stats line 2: the job id cannot be read"));
}

TEST(JobStats, BadRowsLeaveTheOthers) {
  const Parsed parsed = parse(
      "job_stats:\n- job_id: a\n"
      "  open: { samples: x, unit: reqs }\n"                      // no number
      "  close: { samples: 18446744073709551616, unit: reqs }\n"  // too large
      "  write_bytes: { samples: 3, unit: bytes }\n"              // bytes without a sum
      "  mkdir: { unit: reqs }\n"                                 // no samples
      "  rmdir: { samples: 1, unit: reqs\n"                       // not closed
      "  rename: { samples: 1, unit: reqs } trailing\n"
      "  link: samples 1\n"
      "  read_bytes: { samples: 1, unit: bytes, sum: 7, hist: { 4Q: 1 } }\n"
      "  mknod: { samples: 5, unit: reqs }\n"
      "  from_2_30: { samples: 1, unit: reqs }\n");
  ASSERT_EQ(parsed.jobs.size(), 1U);
  EXPECT_EQ(counters(parsed.jobs[0])[Operation::mknod], 5U);
  EXPECT_EQ(model::operations(counters(parsed.jobs[0])), 5U);
  EXPECT_EQ(parsed.report.skipped, 8U);
  EXPECT_EQ(parsed.summary.unknown_rows, 1U) << "an operation of a version to come is no defect";
}

TEST(JobStats, NewFieldsOfARowAreHarmless) {
  const Parsed parsed = parse("job_stats:\n- job_id: a\n  open: { samples: 4, unit: reqs, median: 3 }\n");
  EXPECT_EQ(counters(parsed.jobs[0])[Operation::open], 4U);
  EXPECT_EQ(parsed.report.skipped, 0U);
}

TEST(JobStats, TextOfAnotherKind) {
  const Parsed parsed = parse("snapshot_time 1.0 secs.nsecs\nread_bytes 3 samples [bytes] 1 2 3\n");
  EXPECT_TRUE(parsed.jobs.empty());
  EXPECT_EQ(parsed.report.skipped, 2U);
  EXPECT_EQ(parse("  open: { samples: 1, unit: reqs }\n").report.skipped, 1U) << "a counter without a job";
}

TEST(JobStats, NoPrefixInventsANumber) {
  const Parsed whole = parse(kHistogram);
  for (std::size_t length = 0; length < kHistogram.size(); ++length) {
    const Parsed part = parse(kHistogram.substr(0, length));
    ASSERT_LE(part.jobs.size(), whole.jobs.size());
    for (std::size_t i = 0; i < part.jobs.size(); ++i) {
      ASSERT_EQ(part.jobs[i].id, whole.jobs[i].id) << length;
      for (const OperationRow& row : part.jobs[i].rows) {
        const auto& rows = whole.jobs[i].rows;
        ASSERT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const OperationRow& other) {
          return other.operation == row.operation && other.samples == row.samples && other.sum == row.sum;
        })) << length;
      }
    }
  }
}

// Whatever is written in Lustre's form is read back.
TEST(JobStats, RandomEntriesAreReadBack) {
  constexpr std::uint64_t kSeed = 2026;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  std::string text = "job_stats:\n";
  std::vector<std::string> ids;
  std::vector<model::JobCounters> expected;
  for (int i = 0; i < 500; ++i) {
    std::string id;
    std::string written = "\"";
    for (std::uint64_t n = rng.below(33); n > 0; --n) {
      const char c = static_cast<char>(rng.below(256));
      id += c;
      const bool plain = c > ' ' && c < 127 && c != '"' && c != '\\';
      written += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text += "- job_id:          " + written + "\"\n";
    model::JobCounters sum;
    for (std::size_t k = 0; k < model::kOperationCount; ++k) {
      if (rng.chance(0.5)) continue;
      const auto operation = static_cast<Operation>(k);
      const bool bytes = operation == Operation::read_bytes || operation == Operation::write_bytes;
      sum[operation] = rng.bits() >> rng.below(64);
      const std::uint64_t total = rng.bits() >> rng.below(64);
      if (operation == Operation::read_bytes) sum.read_bytes = Bytes{total};
      if (operation == Operation::write_bytes) sum.write_bytes = Bytes{total};
      text += fmt::format("  {}: {{ samples: {:>11}, unit: {}, min: 0, max: 1, sum: {}, sumsq: {} }}\n",
                          model::to_string(operation), sum[operation], bytes ? "bytes" : "usecs", total, rng.bits());
    }
    ids.push_back(id);
    expected.push_back(sum);
  }
  const Parsed parsed = parse(text);
  ASSERT_EQ(parsed.report.skipped, 0U) << to_string(parsed.report.problems.front());
  ASSERT_EQ(parsed.jobs.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(parsed.jobs[i].id, ids[i]);
    EXPECT_EQ(counters(parsed.jobs[i]), expected[i]);
  }
}

}  // namespace
}  // namespace iez::lustre
