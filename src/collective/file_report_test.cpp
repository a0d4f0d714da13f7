#include "collective/file_report.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <type_traits>

namespace iez::collective {
namespace {

static_assert(std::is_trivially_copyable_v<RankReport>);

RankReport rank(std::uint64_t bytes, bool aggregator, const Times& times) {
  RankReport report;
  report.counters = {.calls = 3,
                     .writes = 2,
                     .reads = 1,
                     .aside = 4,
                     .compared = 3,
                     .unasked = 6,
                     .guessed = 1,
                     .portions = 5,
                     .written = 600,
                     .bytes = bytes,
                     .shared = bytes / 2,
                     .sent = 7,
                     .transfers = aggregator ? 4U : 0U,
                     .transferred = aggregator ? 1200U : 0U,
                     .whole = aggregator ? 3U : 0U,
                     .copy_ns = times.copy,
                     .wait_ns = times.wait,
                     .send_ns = times.send,
                     .file_ns = times.file};
  report.is_aggregator = aggregator ? 1 : 0;
  return report;
}

FileReport two_ranks() {
  FileReport report;
  report.path = "/scratch/out";
  report.nodes = 2;
  report.aggregators = 1;
  report.window_bytes = 4194304;
  report.layout = {
      .ranges = {{.begin = 0, .end = 10, .stripe_size = 65536, .osts = {4, 5}}, {.begin = 10, .stripe_size = 65536, .osts = {6}}},
      .striped = true};
  report.largest_write = {.interleaved = true,
                          .ranks_with_data = 2,
                          .bytes = 400,
                          .shortest_piece = 10,
                          .longest_piece = 20,
                          .begin = 100,
                          .end = 500};
  report.passed = 9;
  const CallKind small{.write = true, .piece = 12, .bytes = 16};
  report.contest.begin(small, Way::collect, 0);
  report.contest.took(small, Way::collect, 4096, 1000);
  report.contest.step_aside({.write = false, .piece = 20, .bytes = 20}, 0);
  const std::array ranks{rank(100, true, {.copy = 1'000'000, .wait = 2'000'000, .send = 500'000, .file = 6'500'000}),
                         rank(300, false, {.copy = 1'500'000, .wait = 9'000'000, .send = 0, .file = 0})};
  report.take(ranks);
  return report;
}

// Without the hints, which are the last.
std::string but_hints(const FileReport& report) {
  const std::string line = to_json_line(report);
  return line.substr(0, line.find(",\"hints\""));
}

TEST(FileReport, IsALineOfJson) {
  EXPECT_EQ(
      but_hints(two_ranks()),
      R"({"version":1,"path":"/scratch/out","ranks":2,"nodes":2,"aggregators":1,"aggregator_ranks":1,"window_bytes":4194304,)"
      R"("striped":true,"components":[{"start":0,"stripe_size":65536,"osts":[4,5]},{"start":10,"stripe_size":65536,"osts":[6]}],)"
      R"("calls":3,"collected_writes":2,"collected_reads":1,"independent":0,"aside":4,"unasked":6,"compared":3,"passed":9,"guessed":1,"portions":5,)"
      R"("written_bytes":600,"bytes":400,"shared_bytes":200,"sent_bytes":14,"transfers":4,"rpc_transfers":3,"transferred_bytes":1200,)"
      R"("seconds":{"copy":{"sum":0.002500000,"largest":0.001500000,"aggregators":0.001000000},)"
      R"("wait":{"sum":0.011000000,"largest":0.009000000,"aggregators":0.002000000},)"
      R"("send":{"sum":0.000500000,"largest":0.000500000,"aggregators":0.000500000},)"
      R"("file":{"sum":0.006500000,"largest":0.006500000,"aggregators":0.006500000}},)"
      R"("communication_share":0.3500,)"
      R"("largest_write":{"begin":100,"end":500,"bytes":400,"ranks":2,"shortest_piece":10,"longest_piece":20,"interleaved":true},)"
      R"("ways":[{"write":true,"interleaved":false,"piece":4096,"call":65536,"kept":"none","tried":true,)"
      R"("collected_ns_per_kib":250,"passed_ns_per_kib":null,"dropped":0},)"
      R"({"write":false,"interleaved":false,"piece":1048576,"call":1048576,"kept":"pass","tried":false,)"
      R"("collected_ns_per_kib":null,"passed_ns_per_kib":null,"dropped":0}])");
}

TEST(FileReport, HintsAreThoseInForce) {
  FileReport report = two_ranks();
  report.hints.aggregators = 8;
  const std::string line = to_json_line(report);
  EXPECT_NE(line.find(R"("hints":[{"key":"iez_mode","value":"auto"},)"), std::string::npos) << line;
  EXPECT_NE(line.find(R"({"key":"cb_nodes","value":"8"},)"), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("\"}]}\n")) << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(FileReport, NothingIsWritten) {
  FileReport report;
  report.take({});
  EXPECT_TRUE(but_hints(report).ends_with(R"("communication_share":0.0000,"largest_write":null,"ways":[])")) << but_hints(report);
  EXPECT_NE(but_hints(report).find(R"("striped":false,"components":[],)"), std::string::npos);
}

TEST(FileReport, ShareOfCommunication) {
  EXPECT_EQ(communication_share({}), 0U);
  EXPECT_EQ(communication_share({.copy = 5'000'000}), 10000U);
  EXPECT_EQ(communication_share({.file = 5'000'000}), 0U);
  EXPECT_EQ(communication_share({.copy = 1'000'000, .wait = 1'000'000, .send = 1'000'000, .file = 7'000'000}), 3000U);
  EXPECT_EQ(communication_share({.wait = 1, .file = 2}), 3333U);
  // Ten thousand ranks, five days.
  constexpr std::uint64_t kLong = 432'000ULL * 1'000'000'000 * 10'000;
  EXPECT_EQ(communication_share({.wait = kLong, .file = kLong}), 5000U);
}

TEST(FileReport, PathsAreText) {
  const auto path_of = [](std::string path) {
    FileReport report;
    report.path = std::move(path);
    const std::string line = to_json_line(report);
    const std::size_t from = line.find("\"path\":") + 7;
    return line.substr(from, line.find(",\"ranks\"") - from);
  };
  EXPECT_EQ(path_of("a\"b\\c\n\x1f"), R"("a\"b\\c\u000a\u001f")");
  EXPECT_EQ(path_of("gr\xc3\xb6\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x93\x81"),
            "\"gr\xc3\xb6\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x93\x81\"");
  // Latin-1; a sequence that is cut; a longer form than needed; half of a surrogate; beyond the last.
  EXPECT_EQ(path_of("gr\xf6n"), R"("gr\ufffdn")");
  EXPECT_EQ(path_of("x\xe2\x82"), R"("x\ufffd\ufffd")");
  EXPECT_EQ(path_of("\xc0\xaf"), R"("\ufffd\ufffd")");
  EXPECT_EQ(path_of("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(path_of("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
}

}  // namespace
}  // namespace iez::collective
