#include "lustre/import.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "input/stream_test_support.hpp"
#include "lustre/parser_test_support.hpp"

namespace iez::lustre {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Import parse_clean(std::string_view path) {
  input::ParseReport report;
  auto parsed = parse_text(parse_import, fixture(path), &report);
  EXPECT_TRUE(parsed) << path;
  EXPECT_EQ(report.skipped, 0U) << path;
  return parsed ? *std::move(parsed) : Import{};
}

Import parse_lines(std::string_view lines, input::ParseReport& report) {
  const auto parsed = parse_text(parse_import, fmt::format("import:\n{}", lines), &report);
  EXPECT_TRUE(parsed);
  return *parsed;
}

TEST(Import, OfAnOsc) {
  const Import import = parse_clean("capture-2.17.0/after/osc/lustre-OST0000-osc-ffff888111310800/import");
  EXPECT_EQ(import.name, "lustre-OST0000-osc-ffff888111310800");
  EXPECT_EQ(import.target, "lustre-OST0000");
  EXPECT_EQ(import.state, ImportState::full);
  EXPECT_EQ(import.state_text, "FULL");
  EXPECT_EQ(import.target_version, "2.17.0.0");
  EXPECT_EQ(import.current_connection, "0@lo");
  EXPECT_THAT(import.failover_nids, ElementsAre("0@lo"));
  EXPECT_EQ(import.max_brw_size, Bytes::mib(4));
  EXPECT_EQ(import.idle, seconds{8});
  EXPECT_EQ(import.inflight, 0U);
  EXPECT_EQ(import.unregistering, 0U);
  EXPECT_EQ(import.timeouts, 0U);
  EXPECT_EQ(import.avg_waittime, microseconds{44907});
  EXPECT_EQ(import.service_estimate, seconds{5});
  EXPECT_EQ(import.network_estimate, seconds{5});
  EXPECT_EQ(import.read, (Import::Averages{Bytes{2796202}, microseconds{165601}, BytesPerSecond{16.88e6}}));
  EXPECT_EQ(import.write, (Import::Averages{Bytes{4194304}, microseconds{216369}, BytesPerSecond{19.38e6}}));
}

TEST(Import, OfAnOldOsc) {
  const Import import = parse_clean("hpe/osc/lustrefs-OST0000-osc-ffff88105db50000/import");
  EXPECT_EQ(import.target, "lustrefs-OST0000");
  EXPECT_EQ(import.target_version, "2.10.1.0");
  EXPECT_EQ(import.current_connection, "172.20.20.5@o2ib");
  EXPECT_THAT(import.failover_nids, ElementsAre("172.20.20.5@o2ib", "172.20.20.6@o2ib"));
  EXPECT_EQ(import.inflight, 8U);
  EXPECT_EQ(import.avg_waittime, microseconds{6054});
  EXPECT_FALSE(import.idle);
  EXPECT_FALSE(import.read);
  EXPECT_EQ(import.write, (Import::Averages{Bytes{3585782}, microseconds{6055}, BytesPerSecond{592.2e6}}));
}

TEST(Import, OfOthers) {
  const Import idle = parse_clean("capture-2.17.0/before/osc/lustre-OST0001-osc-ffff888111310800/import");
  EXPECT_EQ(idle.state, ImportState::idle);
  EXPECT_EQ(idle.idle, seconds{40});
  EXPECT_FALSE(idle.write);

  const Import osp = parse_clean("hpe/osp/lustrefs-OST0000-osc-MDT0000/import");
  EXPECT_EQ(osp.name, "lustrefs-OST0000-osc-MDT0000");
  EXPECT_EQ(osp.timeouts, 21U);
  EXPECT_FALSE(osp.max_brw_size);
  EXPECT_EQ(parse_clean("capture-2.17.0/after/osp/lustre-OST0000-osc-MDT0000/import").idle, seconds{1});

  const Import mdc = parse_clean("capture-2.17.0/after/mdc/lustre-MDT0000-mdc-ffff888111310800/import");
  EXPECT_EQ(mdc.target, "lustre-MDT0000");
  EXPECT_EQ(mdc.write, (Import::Averages{Bytes{3}, microseconds{35602}, BytesPerSecond{0}}));
  EXPECT_EQ(parse_clean("hpe/mdc/lustrefs-MDT0000-mdc-ffff88105db50000/import").avg_waittime, microseconds{408});

  const Import mgc = parse_clean("hpe/mgc/MGC172.20.20.1@o2ib/import");
  EXPECT_EQ(mgc.target, "MGS");
  EXPECT_FALSE(mgc.inflight);
  EXPECT_EQ(parse_clean("capture-2.17.0/after/mgc/MGC10.0.2.15@tcp/import").idle, seconds{138});
  EXPECT_EQ(parse_clean("hpe/osc/lustrefs-OST0001-osc-ffff88105db50000/import").current_connection, "172.20.20.6@o2ib");
}

TEST(Import, EveryStateAndItsName) {
  for (const std::string_view name : {"CLOSED", "NEW", "DISCONN", "CONNECTING", "REPLAY", "REPLAY_LOCKS", "REPLAY_WAIT",
                                      "RECOVER", "FULL", "EVICTED", "IDLE"}) {
    input::ParseReport report;
    const Import import = parse_lines(fmt::format("    state: {}\n", name), report);
    EXPECT_NE(import.state, ImportState::unknown) << name;
    EXPECT_EQ(to_string(import.state), name);
  }
  EXPECT_EQ(to_string(ImportState::unknown), "<UNKNOWN>");
}

TEST(Import, AStateOfTheFutureIsKeptAsText) {
  input::ParseReport report;
  const Import import = parse_lines("    state: HIBERNATING\n", report);
  EXPECT_EQ(import.state, ImportState::unknown);
  EXPECT_EQ(import.state_text, "HIBERNATING");
  EXPECT_EQ(report.skipped, 0U);
}

TEST(Import, MissingIsNotZero) {
  input::ParseReport report;
  EXPECT_EQ(parse_lines("", report), Import{});
  EXPECT_EQ(report.rows, 0U);
  EXPECT_EQ(report.skipped, 0U);
}

TEST(Import, UnknownKeysAreIgnored) {
  input::ParseReport report;
  const Import import = parse_lines(
      "    shoe_size: 43\n    inflight: 9\n    wings:\n       inflight: 5\n       rpcs:\n          inflight: 6\n    rpcs:\n"
      "       hue: red\n       inflight: 7\n       deep:\n          deeper:\n             deepest:\n                abyss:\n"
      "                   inflight: 8\n       timeouts: 2\n",
      report);
  EXPECT_EQ(import.inflight, 7U);
  EXPECT_EQ(import.timeouts, 2U);
  EXPECT_EQ(report.rows, 2U);
  EXPECT_EQ(report.skipped, 0U);
}

TEST(Import, NobodyToTalkTo) {
  for (const std::string_view none : {"<none>", "\"<none>\""}) {
    input::ParseReport report;
    const Import import =
        parse_lines(fmt::format("    connection:\n       failover_nids: [ ]\n       current_connection: {}\n", none), report);
    EXPECT_EQ(import.current_connection, "");
    EXPECT_THAT(import.failover_nids, IsEmpty());
    EXPECT_EQ(report.skipped, 0U);
  }
}

TEST(Import, NidsOfEveryKind) {
  input::ParseReport report;
  const Import import =
      parse_lines("    connection:\n       failover_nids: [10.0.0.1@tcp,\"fe80::1%2@tcp1\" , 0x17@gni]\n", report);
  EXPECT_THAT(import.failover_nids, ElementsAre("10.0.0.1@tcp", "fe80::1%2@tcp1", "0x17@gni"));
}

TEST(Import, MalformedValuesAreSkippedAndCounted) {
  for (const std::string_view line : {"    name: \n",
                                      "    name: two words\n",
                                      "    state: \x01\n",
                                      "    connect_data:\n       max_brw_size: -1\n",
                                      "    connect_data:\n       max_brw_size: 4M\n",
                                      "    connect_data:\n       max_brw_size: 18446744073709551616\n",
                                      "    rpcs:\n       inflight: -1\n",
                                      "    rpcs:\n       inflight: 1 2\n",
                                      "    rpcs:\n       inflight:\n",
                                      "    rpcs:\n       avg_waittime: 5\n",
                                      "    rpcs:\n       avg_waittime: 5 furlongs\n",
                                      "    rpcs:\n       avg_waittime: -5 usec\n",
                                      "    rpcs:\n       avg_waittime: 9223372036854776 usec\n",
                                      "    service_estimates:\n       services: sec\n",
                                      "    service_estimates:\n       network: 9223372037 sec\n",
                                      "    connection:\n       idle: -3 sec\n",
                                      "    connection:\n       failover_nids: 0@lo\n",
                                      "    connection:\n       failover_nids: [ 0@lo\n",
                                      "    connection:\n       failover_nids: [ , ]\n",
                                      "    connection:\n       failover_nids: [\n",
                                      "    connection:\n       failover_nids: [ a b ]\n",
                                      "    read_data_averages:\n       MB_per_sec: 592.4294967290\n",
                                      "    read_data_averages:\n       MB_per_sec: 592\n",
                                      "    read_data_averages:\n       MB_per_sec: -1.00\n",
                                      "    read_data_averages:\n       MB_per_sec: .00\n",
                                      "    read_data_averages:\n       bytes_per_rpc: lots\n",
                                      "    read_data_averages:\n       usecs_per_rpc: 1 usec\n",
                                      "    key\n"}) {
    input::ParseReport report;
    EXPECT_EQ(parse_lines(line, report), Import{}) << line;
    EXPECT_EQ(report.skipped, 1U) << line;
    EXPECT_EQ(report.rows, 0U) << line;
    EXPECT_EQ(report.problems.at(0).origin, "the/file");
  }
}

TEST(Import, ARepeatedValueDoesNotReplaceTheFirst) {
  input::ParseReport report;
  // When no byte was written, Lustre prints the time of writes without a heading, and so under that of reads.
  const Import import = parse_lines(
      "    name: a\n    name: b\n    read_data_averages:\n       bytes_per_rpc: 4096\n       usecs_per_rpc: 7\n"
      "       usecs_per_rpc: 9\n",
      report);
  EXPECT_EQ(import.name, "a");
  EXPECT_EQ(import.read, (Import::Averages{Bytes{4096}, microseconds{7}, std::nullopt}));
  EXPECT_FALSE(import.write);
  EXPECT_EQ(report.skipped, 2U);
}

TEST(Import, TextsAndListsAreBounded) {
  const std::string longest(Import::kMaxText, 'n');
  std::string nids = "0@lo";
  for (std::size_t i = 1; i < Import::kMaxNids; ++i) nids += ", 0@lo";
  input::ParseReport report;
  const Import full =
      parse_lines(fmt::format("    name: {}\n    connection:\n       failover_nids: [ {} ]\n", longest, nids), report);
  EXPECT_EQ(full.name, longest);
  EXPECT_EQ(full.failover_nids.size(), Import::kMaxNids);
  EXPECT_EQ(report.skipped, 0U);
  const Import over =
      parse_lines(fmt::format("    name: {}n\n    connection:\n       failover_nids: [ {}, 0@lo ]\n", longest, nids), report);
  EXPECT_EQ(over, Import{});
  EXPECT_EQ(report.skipped, 2U);
}

TEST(Import, OtherFilesAreRefused) {
  for (const std::string_view text :
       {"", "\n \n", "impor", "imports:\n", "snapshot_time: 1\n", "../../osc/x/import", "\x7f\105LF"}) {
    const auto parsed = parse_text(parse_import, text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::parse);
    EXPECT_THAT(parsed.error().message, HasSubstr("the/file: "));
    EXPECT_THAT(parsed.error().message, HasSubstr("expected 'import:'"));
  }
}

TEST(Import, AnErrorOfTheStreamIsPassedOn) {
  input::BrokenStream stream("import:\n    name: a\n");
  input::ParseReport report;
  const auto parsed = parse_import(stream, "the/file", report);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "the device is gone");
}

// Each field of the front is missing, or that of the whole.
void expect_front_of(const Import& front, const Import& whole, std::size_t length) {
  const auto kept = [](const auto& part, const auto& all) {
    return part == std::remove_cvref_t<decltype(part)>{} || part == all;
  };
  const auto averages_kept = [&](const std::optional<Import::Averages>& part, const std::optional<Import::Averages>& all) {
    return !part || (all && kept(part->bytes_per_rpc, all->bytes_per_rpc) && kept(part->time_per_rpc, all->time_per_rpc) &&
                     kept(part->rate, all->rate));
  };
  ASSERT_TRUE(kept(front.name, whole.name) && kept(front.target, whole.target) && kept(front.state, whole.state)) << length;
  ASSERT_TRUE(kept(front.state_text, whole.state_text) && kept(front.target_version, whole.target_version)) << length;
  ASSERT_TRUE(kept(front.current_connection, whole.current_connection)) << length;
  ASSERT_TRUE(kept(front.failover_nids, whole.failover_nids) && kept(front.max_brw_size, whole.max_brw_size)) << length;
  ASSERT_TRUE(kept(front.idle, whole.idle) && kept(front.inflight, whole.inflight)) << length;
  ASSERT_TRUE(kept(front.unregistering, whole.unregistering) && kept(front.timeouts, whole.timeouts)) << length;
  ASSERT_TRUE(kept(front.avg_waittime, whole.avg_waittime) && kept(front.service_estimate, whole.service_estimate)) << length;
  ASSERT_TRUE(kept(front.network_estimate, whole.network_estimate)) << length;
  ASSERT_TRUE(averages_kept(front.read, whole.read) && averages_kept(front.write, whole.write)) << length;
}

TEST(Import, TextCutAtAnyByteInventsNothing) {
  for (const std::string_view path : {"capture-2.17.0/after/osc/lustre-OST0000-osc-ffff888111310800/import",
                                      "hpe/osc/lustrefs-OST0000-osc-ffff88105db50000/import"}) {
    const std::string text = fixture(path);
    const Import whole = parse_clean(path);
    for (std::size_t length = 0; length < text.size(); ++length) {
      const auto front = parse_text(parse_import, std::string_view(text).substr(0, length));
      if (front) expect_front_of(*front, whole, length);
    }
  }
}

TEST(Import, NulBytesSpoilOnlyTheirLine) {
  input::ParseReport report;
  const Import import =
      parse_lines(std::string_view("    connect_flags: [ a, \0\0, b ]\n    name: a\0b\n    state: FULL\n", 62), report);
  EXPECT_EQ(import.name, "");
  EXPECT_EQ(import.state, ImportState::full);
  EXPECT_EQ(report.skipped, 1U);
}

TEST(Import, LinesWithoutEnd) {
  input::ParseReport report;
  input::EndlessStream stream('a', 10'000'000);
  const auto parsed = parse_import(stream, "the/file", report);
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().message.size(), 200U);
  const Import survived = parse_lines(fmt::format("    name: {}\n    state: FULL\n", std::string(1'000'000, 'a')), report);
  EXPECT_EQ(survived.name, "");
  EXPECT_EQ(survived.state, ImportState::full);
  EXPECT_EQ(report.skipped, 1U);
}

}  // namespace
}  // namespace iez::lustre
