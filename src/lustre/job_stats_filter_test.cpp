#include "lustre/job_stats_filter.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <gtest/gtest.h>

#include "input/stream_test_support.hpp"
#include "lustre/job_stats.hpp"

namespace iez::lustre {
namespace {

constexpr std::array<std::string_view, 2> kRows{"read_bytes", "write_bytes"};

std::string filtered(std::string_view text, const JobStatsFilter::Wanted& wanted) {
  const auto stream = input::memory_stream(text);
  JobStatsFilter filter(*stream, kRows, 1, wanted);
  std::string out;
  std::array<char, 7> piece{};
  while (true) {
    const auto got = filter.read(piece);
    EXPECT_TRUE(got);
    if (!got || *got == 0) return out;
    out.append(piece.data(), *got);
  }
}

constexpr std::string_view kText =
    "job_stats:\n"
    "- job_id:          dd.1000\n"
    "  snapshot_time:   1723114647\n"
    "  start_time:      1723114000\n"
    "  read_bytes:      { samples: 1, unit: bytes, min: 1, max: 1, sum: 1 }\n"
    "  punch:           { samples: 1, unit: reqs }\n"
    "- job_id:          \"a:b\\x20c\"\n"
    "  snapshot_time:   1723114648\n"
    "  write_bytes:     { samples: 2, unit: bytes, min: 1, max: 1, sum: 2 }\n";

TEST(JobStatsFilter, KeepsTheRowsThatAreAskedFor) {
  std::vector<std::string> ids;
  EXPECT_EQ(filtered(kText,
                     [&ids](std::string_view id, std::uint64_t) {
                       ids.emplace_back(id);
                       return true;
                     }),
            "job_stats:\n"
            "- job_id:          dd.1000\n"
            "  start_time:      1723114000\n"
            "  read_bytes:      { samples: 1, unit: bytes, min: 1, max: 1, sum: 1 }\n"
            "- job_id:          \"a:b\\x20c\"\n"
            "  write_bytes:     { samples: 2, unit: bytes, min: 1, max: 1, sum: 2 }\n");
  EXPECT_EQ(ids, (std::vector<std::string>{"dd.1000", "a:b c"}));
}

TEST(JobStatsFilter, LeavesOutWhatIsNotWanted) {
  EXPECT_EQ(filtered(kText, [](std::string_view id, std::uint64_t) { return id == "a:b c"; }),
            "job_stats:\n- job_id:          \"a:b\\x20c\"\n"
            "  write_bytes:     { samples: 2, unit: bytes, min: 1, max: 1, sum: 2 }\n");
}

TEST(JobStatsFilter, ADigestChangesWithItsRowsAlone) {
  const auto digests = [](std::string text) {
    std::map<std::string, std::uint64_t> found;
    filtered(text, [&found](std::string_view id, std::uint64_t digest) {
      found[std::string(id)] = digest;
      return false;
    });
    return found;
  };
  const auto before = digests(std::string(kText));
  std::string later(kText);
  later.replace(later.find("1723114647"), 10, "1723999999");
  later.replace(later.find("sum: 2"), 6, "sum: 3");
  const auto after = digests(later);
  EXPECT_EQ(before.at("dd.1000"), after.at("dd.1000"));
  EXPECT_NE(before.at("a:b c"), after.at("a:b c"));
  EXPECT_NE(digest_of("x", 1), digest_of("x", 2));
  EXPECT_NE(digest_of("", 1), digest_of(std::string_view("\0", 1), 1));
}

TEST(JobStatsFilter, WhatIsWrongIsPassedOn) {
  const auto all = [](std::string_view, std::uint64_t) { return true; };
  EXPECT_EQ(filtered("garbage\n- job_id: \"x\nno row\n", all), "garbage\n- job_id: \"x\nno row\n");
  EXPECT_EQ(filtered("- job_id: x\n  write_bytes: { sam", all), "- job_id: x\n  write_bytes: { sam");
  const std::string longest = "- job_id: x\n  write_bytes: " + std::string(1'000'000, 'y') + "\n- job_id: z\n";
  const std::string out = filtered(longest, all);
  EXPECT_LT(out.size(), 70'000U);
  EXPECT_TRUE(out.ends_with("y\n- job_id: z\n"));
}

TEST(JobStatsFilter, FailsWhereItsSourceDoes) {
  input::BrokenStream stream("- job_id: x\n");
  JobStatsFilter filter(stream, kRows, 1, [](std::string_view, std::uint64_t) { return true; });
  std::array<char, 100> piece{};
  EXPECT_FALSE(filter.read(piece));
}

// Of every job_stats that real servers printed: what comes through has the same bytes and calls as the whole.
TEST(JobStatsFilter, LosesNothingOfRealServers) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(IEZ_TEST_DATA) + "/captures")) {
    if (entry.path().filename() != "job_stats") continue;
    ++files;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto read = [](std::string_view from) {
      std::map<std::string, model::JobCounters> jobs;
      const auto stream = input::memory_stream(from);
      input::ParseReport report;
      EXPECT_TRUE(parse_job_stats(*stream, "f", report, [&jobs](const JobEntry& job) {
        model::JobCounters& sum = jobs[job.id];
        sum.read_bytes += counters(job).read_bytes;
        sum.write_bytes += counters(job).write_bytes;
        sum[model::Operation::write_bytes] += counters(job)[model::Operation::write_bytes];
      }));
      EXPECT_EQ(report.skipped, 0U);
      return jobs;
    };
    EXPECT_EQ(read(text), read(filtered(text, [](std::string_view, std::uint64_t) { return true; }))) << entry.path();
  }
  EXPECT_GT(files, 2U);
}

}  // namespace
}  // namespace iez::lustre
