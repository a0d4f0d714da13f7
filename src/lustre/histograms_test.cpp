#include "lustre/histograms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/stream_test_support.hpp"
#include "lustre/parser_test_support.hpp"

namespace iez::lustre {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Bucket = Histogram::Bucket;
using Columns = Histogram::Columns;

constexpr std::string_view kTime = "snapshot_time: 1.000000000 secs.nsecs\n";
constexpr std::string_view kTitle = "pages per rpc         rpcs   % cum % |       rpcs   % cum %\n";

Histograms parse_clean(std::string_view path) {
  input::ParseReport report;
  auto parsed = parse_text(parse_histograms, fixture(path), &report);
  EXPECT_TRUE(parsed) << path;
  EXPECT_EQ(report.skipped, 0U) << path;
  return parsed ? *std::move(parsed) : Histograms{};
}

// One table with these rows.
Histogram parse_rows(std::string_view rows, input::ParseReport& report) {
  const auto parsed = parse_text(parse_histograms, fmt::format("{}{}{}", kTime, kTitle, rows), &report);
  EXPECT_TRUE(parsed);
  EXPECT_EQ(parsed->sections.size(), 1U);
  return parsed->sections.at(0);
}

std::vector<std::string> names(const Histograms& parsed) {
  std::vector<std::string> out;
  out.reserve(parsed.sections.size());
  for (const Histogram& histogram : parsed.sections) out.push_back(histogram.name);
  return out;
}

TEST(Histograms, BrwStatsOfLdiskfs) {
  const Histograms parsed = parse_clean("capture-2.17.0/after/osd-ldiskfs/lustre-OST0001/brw_stats");
  EXPECT_EQ(parsed.snapshot_time, (WallTime{seconds{1794728866} + nanoseconds{635480854}}));
  EXPECT_EQ(parsed.start_time, (WallTime{seconds{1794728288} + nanoseconds{35472834}}));
  EXPECT_EQ(parsed.elapsed, (seconds{578} + nanoseconds{600008020}));
  EXPECT_THAT(names(parsed),
              ElementsAre("pages per bulk r/w", "discontiguous pages", "discontiguous blocks", "disk fragmented I/Os",
                          "disk I/Os in flight", "I/O time (1/1000s)", "disk I/O size", "block maps msec"));
  ASSERT_NE(parsed.find("disk I/O size"), nullptr);
  EXPECT_THAT(parsed.find("disk I/O size")->buckets,
              ElementsAre(Bucket{65536, 0, 1}, Bucket{131072, 0, 0}, Bucket{262144, 0, 0}, Bucket{524288, 0, 0},
                          Bucket{1U << 20U, 2, 39}, Bucket{1U << 21U, 0, 3}, Bucket{1U << 22U, 2, 10}));
  EXPECT_EQ(total(*parsed.find("pages per bulk r/w"), Direction::read), 4U);
  EXPECT_EQ(total(*parsed.find("pages per bulk r/w"), Direction::write), 50U);
  EXPECT_EQ(parsed.find("pages per bulk r/w")->buckets.back().bound, 1024U);
}

TEST(Histograms, BrwStatsOfZfsByAnOldServer) {
  const Histograms parsed = parse_clean("hpe/osd-zfs/lustrefs-OST0000/brw_stats");
  EXPECT_EQ(parsed.snapshot_time, (WallTime{seconds{1510782606} + nanoseconds{797216394}}));
  EXPECT_FALSE(parsed.start_time);
  EXPECT_FALSE(parsed.elapsed);
  EXPECT_EQ(parsed.sections.size(), 5U);
  // All requests have pages and are discontiguous in some number of places: the same total.
  EXPECT_EQ(total(*parsed.find("pages per bulk r/w"), Direction::write),
            total(*parsed.find("discontiguous pages"), Direction::write));
  EXPECT_EQ(parsed.find("discontiguous pages")->buckets.size(), 32U);
  EXPECT_EQ(parsed.find("disk I/O size")->buckets.front(), (Bucket{8, 4, 0}));
  EXPECT_EQ(parsed.find("disk I/O size")->buckets.back(), (Bucket{4U << 20U, 0, 4059303}));
}

TEST(Histograms, RpcStatsOfAnOsc) {
  const Histograms parsed = parse_clean("capture-2.17.0/after/osc/lustre-OST0002-osc-ffff888111310800/rpc_stats");
  EXPECT_THAT(parsed.gauges,
              ElementsAre(Gauge{"read RPCs in flight", 0}, Gauge{"write RPCs in flight", 0}, Gauge{"DIO RPCs in flight", 0},
                          Gauge{"pending write pages", 0}, Gauge{"pending read pages", 0}));
  EXPECT_THAT(names(parsed), ElementsAre("pages per rpc", "rpcs in flight", "offset", "RPC latency (us)"));
  EXPECT_EQ(parsed.find("RPC latency (us)")->buckets.size(), 32U);
  EXPECT_EQ(parsed.find("RPC latency (us)")->buckets.back().bound, 1U << 30U);
  EXPECT_THAT(parsed.find("rpcs in flight")->buckets, ElementsAre(Bucket{1, 185, 11}, Bucket{2, 0, 1}));
}

TEST(Histograms, RpcStatsOfABusyOsc) {
  const Histograms parsed = parse_clean("hpe/osc/lustrefs-OST0000-osc-ffff88105db50000/rpc_stats");
  EXPECT_EQ(parsed.gauge("write RPCs in flight"), 6U);
  EXPECT_EQ(parsed.gauge("pending write pages"), 1244U);
  EXPECT_FALSE(parsed.gauge("pending"));
  EXPECT_EQ(total(*parsed.find("pages per rpc"), Direction::write), total(*parsed.find("rpcs in flight"), Direction::write));
  EXPECT_EQ(total(*parsed.find("pages per rpc"), Direction::write), total(*parsed.find("offset"), Direction::write));
}

TEST(Histograms, RpcStatsOfAnMdcHaveATableOfOneColumn) {
  const Histograms old = parse_clean("hpe/mdc/lustrefs-MDT0000-mdc-ffff88105db50000/rpc_stats");
  EXPECT_EQ(old.find("rpcs in flight"), nullptr);
  const Histogram* const modify = old.find("rpcs in flight", Columns::single);
  ASSERT_NE(modify, nullptr);
  EXPECT_THAT(modify->buckets, ElementsAre(Bucket{0, 0, 0}, Bucket{1, 0, 90}, Bucket{2, 0, 13}, Bucket{3, 0, 12},
                                           Bucket{4, 0, 11}, Bucket{5, 0, 9}, Bucket{6, 0, 8}, Bucket{7, 0, 53}));
  EXPECT_EQ(old.gauge("modify_RPCs_in_flight"), 0U);
}

TEST(Histograms, RpcStatsOfANewMdcHaveBothForms) {
  const Histograms parsed = parse_clean("capture-2.17.0/after/mdc/lustre-MDT0000-mdc-ffff888111310800/rpc_stats");
  EXPECT_THAT(names(parsed), ElementsAre("rpcs in flight", "pages per rpc", "rpcs in flight", "offset"));
  EXPECT_THAT(parsed.find("rpcs in flight", Columns::single)->buckets, ElementsAre(Bucket{0, 0, 0}, Bucket{1, 0, 672}));
  EXPECT_THAT(parsed.find("rpcs in flight")->buckets, ElementsAre(Bucket{1, 0, 1}));
  EXPECT_EQ(parsed.gauges.size(), 5U);
}

TEST(Histograms, TablesWithoutBuckets) {
  for (const std::string_view path : {"whamcloud/brw_stats_empty.txt", "whamcloud/brw_stats_with_start_and_elapsed_time.txt",
                                      "whamcloud/valid/ai400-OST0001.brw_stats"}) {
    const Histograms parsed = parse_clean(path);
    EXPECT_GE(parsed.sections.size(), 7U) << path;
    for (const Histogram& histogram : parsed.sections) EXPECT_TRUE(histogram.buckets.empty()) << path << histogram.name;
  }
}

TEST(Histograms, EveryOtherFixtureIsClean) {
  for (const std::string_view path :
       {"whamcloud/brw_stats_with_data.txt", "hpe/osd-zfs/MGS/brw_stats", "hpe/osd-zfs/lustrefs-MDT0000/brw_stats",
        "hpe/osc/lustrefs-OST0001-osc-ffff88105db50000/rpc_stats", "capture-2.17.0/after/osd-ldiskfs/lustre-MDT0000/brw_stats",
        "capture-2.17.0/before/osd-ldiskfs/lustre-OST0001/brw_stats",
        "capture-2.17.0/before/osc/lustre-OST0001-osc-ffff888111310800/rpc_stats"}) {
    EXPECT_FALSE(parse_clean(path).sections.empty()) << path;
  }
}

// Every count that another parser found in the same text, and no other.
struct Series {
  std::string target;
  std::string metric;
  std::string operation;
  std::uint64_t size = 0;

  friend auto operator<=>(const Series&, const Series&) = default;
};
using Counts = std::map<Series, std::uint64_t>;

std::uint64_t number(std::string_view digits) {
  const auto value = text::parse_u64(digits);
  EXPECT_TRUE(value) << digits;
  return value.value_or(0);
}

std::string label(std::string_view line, std::string_view key) {
  const std::string opening = fmt::format("{}=\"", key);
  const std::size_t begin = line.find(opening) + opening.size();
  return std::string(line.substr(begin, line.find('"', begin) - begin));
}

// metric{component="ost",operation="read",size="1",target="ai400x2-OST0000"} 8747797
Counts read_metrics(std::string_view path) {
  Counts counts;
  const std::string text = fixture(path);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const Series series{.target = label(line, "target"),
                        .metric = std::string(line.substr(0, line.find('{'))),
                        .operation = label(line, "operation"),
                        .size = number(label(line, "size"))};
    EXPECT_TRUE(counts.emplace(series, number(line.substr(line.rfind(' ') + 1))).second) << line;
  }
  return counts;
}

void add_metrics(Counts& counts, const std::string& target, const Histograms& parsed) {
  const std::map<std::string, std::string> metrics{{"pages per bulk r/w", "lustre_pages_per_bulk_rw_total"},
                                                   {"discontiguous pages", "lustre_discontiguous_pages_total"},
                                                   {"discontiguous blocks", "lustre_discontiguous_blocks_total"},
                                                   {"disk fragmented I/Os", "lustre_dio_frags"},
                                                   {"disk I/Os in flight", "lustre_disk_io"},
                                                   {"I/O time (1/1000s)", "lustre_io_time_milliseconds_total"},
                                                   {"disk I/O size", "lustre_disk_io_total"},
                                                   {"block maps msec", "lustre_block_maps_milliseconds_total"}};
  for (const Histogram& histogram : parsed.sections) {
    for (const Bucket& bucket : histogram.buckets) {
      counts.emplace(Series{target, metrics.at(histogram.name), "read", bucket.bound}, bucket.read);
      counts.emplace(Series{target, metrics.at(histogram.name), "write", bucket.bound}, bucket.write);
    }
  }
}

TEST(Histograms, AgreeWithAnotherParserOnEveryBucketOfABusyServer) {
  Counts counts;
  for (const std::string target : {"ai400x2-OST0000", "ai400x2-OST0001"}) {
    add_metrics(counts, target, parse_clean(fmt::format("whamcloud/2.14.0_ddn133/{}.brw_stats", target)));
  }
  EXPECT_EQ(counts.size(), 648U);
  EXPECT_EQ(counts, read_metrics("whamcloud/2.14.0_ddn133/brw_stats.prom"));
}

TEST(Histograms, AgreeWithAnotherParserOnEveryBucketOfASmallServer) {
  Counts counts;
  for (const std::string target : {"ai400-OST0000", "ai400-OST0001"}) {
    add_metrics(counts, target, parse_clean(fmt::format("whamcloud/valid/{}.brw_stats", target)));
  }
  EXPECT_EQ(counts.size(), 82U);
  EXPECT_EQ(counts, read_metrics("whamcloud/valid/brw_stats.prom"));
}

TEST(Histograms, TotalsAndMeans) {
  input::ParseReport report;
  const Histogram histogram = parse_rows("1: 1 25 25 | 0 0 0\n1K: 3 75 100 | 0 0 0\n", report);
  EXPECT_EQ(total(histogram, Direction::read), 4U);
  EXPECT_DOUBLE_EQ(weighted_mean(histogram, Direction::read).value_or(-1), (1.0 + 3 * 1024.0) / 4);
  EXPECT_FALSE(weighted_mean(histogram, Direction::write));
  EXPECT_FALSE(weighted_mean({}, Direction::read));
}

TEST(Histograms, ATotalTooLargeStaysAtTheGreatestNumber) {
  input::ParseReport report;
  const Histogram histogram = parse_rows(
      "1: 18446744073709551615 50 50 | 0 0 0\n"
      "8191P: 18446744073709551615 50 100 | 1 0 0\n",
      report);
  EXPECT_EQ(report.skipped, 0U);
  EXPECT_EQ(total(histogram, Direction::read), std::numeric_limits<std::uint64_t>::max());
  EXPECT_GT(weighted_mean(histogram, Direction::read).value_or(-1), 1e18);
}

TEST(Histograms, MalformedBucketsAreSkippedAndCounted) {
  for (const std::string_view row : {"1: 0 0 0 |\n",
                                     "1: 0 0 0\n",
                                     "1: 0 0 0 | 1 2\n",
                                     "1: 0 0 | 0 0 0\n",
                                     "1: 0 0 0 0 | 0 0 0\n",
                                     "1: 0 0 0 | 0 0 0 0\n",
                                     "1: -1 0 0 | 0 0 0\n",
                                     "1: 0 0 0 | -1 0 0\n",
                                     "1: 0 -1 0 | 0 0 0\n",
                                     "1: x 0 0 | 0 0 0\n",
                                     "1: 0x1 0 0 | 0 0 0\n",
                                     "1: 18446744073709551616 0 0 | 0 0 0\n",
                                     "18446744073709551616: 0 0 0 | 0 0 0\n",
                                     "8E: 0 0 0 | 0 0 0\n",
                                     "99999999999P: 0 0 0 | 0 0 0\n",
                                     "1KB: 0 0 0 | 0 0 0\n",
                                     "1KiB: 0 0 0 | 0 0 0\n",
                                     "1.5K: 0 0 0 | 0 0 0\n",
                                     "1X: 0 0 0 | 0 0 0\n",
                                     "1 K: 0 0 0 | 0 0 0\n",
                                     "1 0 0 0 | 0 0 0\n",
                                     "1: 0 0 0 : 0 0 0\n",
                                     "-1: 0 0 0 | 0 0 0\n"}) {
    input::ParseReport report;
    EXPECT_TRUE(parse_rows(row, report).buckets.empty()) << row;
    EXPECT_EQ(report.skipped, 1U) << row;
    EXPECT_EQ(report.rows, 1U) << row;  // the time
    EXPECT_EQ(report.problems.at(0).line, 3U) << row;
    EXPECT_EQ(report.problems.at(0).origin, "the/file") << row;
  }
}

TEST(Histograms, LabelsOutOfOrderOrRepeatedAreSkipped) {
  input::ParseReport report;
  const Histogram histogram =
      parse_rows("2: 1 0 0 | 1 0 0\n1: 9 0 0 | 9 0 0\n2: 9 0 0 | 9 0 0\n1K: 3 0 0 | 3 0 0\n1024: 9 0 0 | 9 0 0\n", report);
  EXPECT_THAT(histogram.buckets, ElementsAre(Bucket{2, 1, 1}, Bucket{1024, 3, 3}));
  EXPECT_EQ(report.skipped, 3U);
}

TEST(Histograms, PercentagesMayContradictTheCounts) {
  input::ParseReport report;
  EXPECT_THAT(parse_rows("1: 5 0 101 | 7 100 3\n", report).buckets, ElementsAre(Bucket{1, 5, 7}));
  EXPECT_EQ(report.skipped, 0U);
}

TEST(Histograms, ARowOfTheOtherFormIsSkipped) {
  input::ParseReport report;
  const auto parsed =
      parse_text(parse_histograms, fmt::format("{}rpcs in flight rpcs % cum %\n1: 1 1 1 | 2 2 2\n2: 3 3 3\n", kTime), &report);
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->sections.at(0).buckets, ElementsAre(Bucket{2, 0, 3}));
  EXPECT_EQ(report.skipped, 1U);
}

TEST(Histograms, BucketsBeforeAnyTableAreSkipped) {
  input::ParseReport report;
  const auto parsed = parse_text(parse_histograms, fmt::format("{}1: 1 1 1 | 2 2 2\n", kTime), &report);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->sections.empty());
  EXPECT_EQ(report.skipped, 1U);
}

TEST(Histograms, TimesAndGaugesAreChecked) {
  input::ParseReport report;
  const auto parsed = parse_text(parse_histograms,
                                 "snapshot_time: yesterday\n"
                                 "start_time: 5\n"
                                 "start_time: 6\n"
                                 "elapsed_time: -3.000000000 secs.nsecs\n"
                                 "read RPCs in flight: -1\n"
                                 "write RPCs in flight: 18446744073709551616\n"
                                 "pending read pages:\n"
                                 ": 7\n"
                                 "pending write pages: 7\n",
                                 &report);
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->snapshot_time);
  EXPECT_EQ(parsed->start_time, WallTime{seconds{5}});
  EXPECT_FALSE(parsed->elapsed);
  EXPECT_THAT(parsed->gauges, ElementsAre(Gauge{"pending write pages", 7}));
  EXPECT_EQ(report.rows, 2U);
  EXPECT_EQ(report.skipped, 7U);
}

TEST(Histograms, NamesAreBounded) {
  const std::string longest(Histogram::kMaxName, 'n');
  input::ParseReport report;
  const auto parsed = parse_text(parse_histograms,
                                 fmt::format("{0}{1} ios % cum % | ios % cum %\n1: 1 1 1 | 1 1 1\n"
                                             "{1}x ios % cum % | ios % cum %\n2: 2 2 2 | 2 2 2\n"
                                             "ios % cum % | ios % cum %\n3: 3 3 3 | 3 3 3\n"
                                             "e\x1b[2J ios % cum % | ios % cum %\n{1}: 5\n{1}x: 5\nu\x80: 5\n",
                                             kTime, longest),
                                 &report);
  ASSERT_TRUE(parsed);
  EXPECT_THAT(names(*parsed), ElementsAre(longest));
  EXPECT_THAT(parsed->sections[0].buckets, ElementsAre(Bucket{1, 1, 1}));  // none of the tables refused
  EXPECT_THAT(parsed->gauges, ElementsAre(Gauge{longest, 5}));
  EXPECT_EQ(report.skipped, 7U);
}

TEST(Histograms, NumbersOfThingsAreBounded) {
  std::string text(kTime);
  for (std::size_t i = 0; i < Histograms::kMaxGauges + 5; ++i) text += fmt::format("gauge {}x: 1\n", i);
  for (std::size_t i = 0; i < Histograms::kMaxSections + 3; ++i) {
    text += fmt::format("table {} ios % cum % | ios % cum %\n", i);
    for (std::size_t j = 0; j < Histogram::kMaxBuckets + 2; ++j) text += fmt::format("{}: {} 0 0 | 0 0 0\n", j, i);
  }
  input::ParseReport report;
  const auto parsed = parse_text(parse_histograms, text, &report);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->gauges.size(), Histograms::kMaxGauges);
  EXPECT_EQ(parsed->sections.size(), Histograms::kMaxSections);
  for (const Histogram& histogram : parsed->sections) EXPECT_EQ(histogram.buckets.size(), Histogram::kMaxBuckets);
  EXPECT_EQ(report.skipped, 5 + 2 * Histograms::kMaxSections + 3 * (1 + Histogram::kMaxBuckets + 2));
  EXPECT_EQ(parsed->sections.back().buckets.back().read, Histograms::kMaxSections - 1);  // none of the tables refused
  EXPECT_EQ(report.problems.size(), input::ParseReport::kKept);
}

TEST(Histograms, OtherFilesAreRefusedWithWhatWasFound) {
  const auto broken_link = parse_text(parse_histograms, fixture("hpe/obdfilter/lustrefs-OST0000/brw_stats"));
  ASSERT_FALSE(broken_link);
  EXPECT_EQ(broken_link.error().code, Errc::parse);
  EXPECT_EQ(broken_link.error().message,
            "the/file: not brw_stats or rpc_stats: expected 'snapshot_time:', found '../../osd-zfs/lustrefs-OST0000/brw_stats'");
  for (const std::string_view text :
       {"", "\n\n  \n", "snapshot_time             1.0 secs.nsecs\n", "import:\n", "snapshot_tim"}) {
    const auto parsed = parse_text(parse_histograms, text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::parse) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("the/file")) << text;
  }
}

TEST(Histograms, BinaryIsRefusedAndShownSafely) {
  const auto parsed = parse_text(parse_histograms, std::string_view("\x7f"
                                                                    "ELF\0\0\x1b[2J",
                                                                    10));
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, HasSubstr("\\x7fELF\\x00\\x00\\x1b"));
}

TEST(Histograms, AnErrorOfTheStreamIsPassedOn) {
  const std::string text = fixture("whamcloud/brw_stats_with_data.txt");
  for (const std::size_t front : {std::size_t{0}, text.size() / 2, text.size()}) {
    input::BrokenStream stream(std::string_view(text).substr(0, front));
    input::ParseReport report;
    const auto parsed = parse_histograms(stream, "the/file", report);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().message, "the device is gone");
  }
}

// What a front of the text yields is a front of what the whole yields: nothing is invented.
void expect_front_of(const Histograms& front, const Histograms& whole, std::size_t length) {
  const auto kept = [](const auto& part, const auto& all) { return !part || part == all; };
  ASSERT_TRUE(kept(front.snapshot_time, whole.snapshot_time)) << length;
  ASSERT_TRUE(kept(front.start_time, whole.start_time)) << length;
  ASSERT_TRUE(kept(front.elapsed, whole.elapsed)) << length;
  ASSERT_LE(front.gauges.size(), whole.gauges.size());
  ASSERT_TRUE(std::ranges::equal(front.gauges, std::span(whole.gauges).first(front.gauges.size()))) << length;
  ASSERT_LE(front.sections.size(), whole.sections.size());
  for (std::size_t i = 0; i < front.sections.size(); ++i) {
    const Histogram& part = front.sections[i];
    const Histogram& all = whole.sections[i];
    ASSERT_EQ(part.name, all.name) << length;
    ASSERT_EQ(part.columns, all.columns) << length;
    ASSERT_LE(part.buckets.size(), all.buckets.size()) << length;
    ASSERT_TRUE(std::ranges::equal(part.buckets, std::span(all.buckets).first(part.buckets.size()))) << length;
  }
}

TEST(Histograms, TextCutAtAnyByteInventsNothing) {
  for (const std::string_view path :
       {"capture-2.17.0/after/mdc/lustre-MDT0000-mdc-ffff888111310800/rpc_stats", "whamcloud/valid/ai400-OST0000.brw_stats",
        "hpe/osc/lustrefs-OST0000-osc-ffff88105db50000/rpc_stats"}) {
    const std::string text = fixture(path);
    const Histograms whole = parse_clean(path);
    for (std::size_t length = 0; length < text.size(); ++length) {
      const auto front = parse_text(parse_histograms, std::string_view(text).substr(0, length));
      if (front) expect_front_of(*front, whole, length);
    }
  }
}

TEST(Histograms, ALastRowWithoutItsNewlineCounts) {
  input::ParseReport report;
  EXPECT_THAT(parse_rows("1: 5 100 100 | 7 100 100", report).buckets, ElementsAre(Bucket{1, 5, 7}));
}

TEST(Histograms, NulBytesSpoilOnlyTheirLine) {
  input::ParseReport report;
  const std::string rows = std::string("1: 5 0 0 | 7 0 0\n") + std::string("2: 5 0 0 |\0 7 0 0\n", 18) + "4: 5 0 0 | 7 0 0\n";
  EXPECT_THAT(parse_rows(rows, report).buckets, ElementsAre(Bucket{1, 5, 7}, Bucket{4, 5, 7}));
  EXPECT_EQ(report.skipped, 1U);
}

TEST(Histograms, LinesWithoutEnd) {
  input::ParseReport report;
  input::EndlessStream stream('a', 10'000'000);
  const auto parsed = parse_histograms(stream, "the/file", report);
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().message.size(), 200U);

  const std::string million = fmt::format("{}{}\npending read pages: 1\n", kTime, std::string(1'000'000, '1'));
  const auto survived = parse_text(parse_histograms, million, &report);
  ASSERT_TRUE(survived);
  EXPECT_EQ(survived->gauge("pending read pages"), 1U);
  EXPECT_EQ(report.skipped, 1U);
}

}  // namespace
}  // namespace iez::lustre
