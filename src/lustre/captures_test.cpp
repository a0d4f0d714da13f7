// Every parameter of every capture through its parser: what real servers of these versions printed has no row that iez cannot
// read.
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lustre/histograms.hpp"
#include "lustre/import.hpp"
#include "lustre/job_stats.hpp"
#include "lustre/param_source.hpp"
#include "lustre/stats.hpp"

namespace iez::lustre {
namespace {

using Parse = std::function<bool(input::ByteStream&, const std::string&, input::ParseReport&)>;

bool parse_counters(input::ByteStream& stream, const std::string& origin, input::ParseReport& report) {
  return parse_stats(stream, origin, report, [](const CounterRow&) {}).has_value();
}

bool parse_jobs(input::ByteStream& stream, const std::string& origin, input::ParseReport& report) {
  const auto summary = parse_job_stats(stream, origin, report, [](const JobEntry&) {});
  return summary && summary->unknown_rows == 0;
}

const std::vector<std::pair<Param, Parse>>& parsers() {
  static const std::vector<std::pair<Param, Parse>> kParsers{
      {Param::ost_stats, parse_counters},
      {Param::ost_export_stats, parse_counters},
      {Param::ost_io_stats, parse_counters},
      {Param::mdt_stats, parse_counters},
      {Param::llite_stats, parse_counters},
      {Param::ost_job_stats, parse_jobs},
      {Param::mdt_job_stats, parse_jobs},
      {Param::ost_brw_stats, [](input::ByteStream& stream, const std::string& origin,
                                input::ParseReport& report) { return parse_histograms(stream, origin, report).has_value(); }},
      {Param::osc_rpc_stats, [](input::ByteStream& stream, const std::string& origin,
                                input::ParseReport& report) { return parse_histograms(stream, origin, report).has_value(); }},
      {Param::osc_import, [](input::ByteStream& stream, const std::string& origin,
                             input::ParseReport& report) { return parse_import(stream, origin, report).has_value(); }},
      {Param::osp_import, [](input::ByteStream& stream, const std::string& origin,
                             input::ParseReport& report) { return parse_import(stream, origin, report).has_value(); }},
  };
  return kParsers;
}

// Instances read of each parameter.
std::map<Param, std::size_t> parse_all(const std::string& path, input::ParseReport& report) {
  std::map<Param, std::size_t> read;
  const auto source = open_source(path);
  EXPECT_TRUE(source) << path;
  for (const auto& [param, parse] : parsers()) {
    const auto instances = (*source)->find(param);
    EXPECT_TRUE(instances) << path;
    for (const Instance& instance : *instances) {
      const auto stream = (*source)->open(instance);
      EXPECT_TRUE(stream) << instance.origin;
      EXPECT_TRUE(parse(**stream, instance.origin, report)) << instance.origin;
      ++read[param];
    }
  }
  return read;
}

std::string captures() { return std::string(IEZ_TEST_DATA) + "/captures/"; }

TEST(Captures, TreesAreReadWhole) {
  for (const char* const name : {"lustre-2.10.1", "lustre-2.17.0-before", "lustre-2.17.0-after"}) {
    input::ParseReport report;
    const auto read = parse_all(captures() + name, report);
    for (const Param param : {Param::ost_stats, Param::ost_export_stats, Param::ost_brw_stats, Param::ost_job_stats,
                              Param::osc_import, Param::osp_import, Param::osc_rpc_stats, Param::llite_stats, Param::mdt_stats}) {
      EXPECT_TRUE(read.contains(param)) << name << ": " << row(param).names.front();
    }
    EXPECT_EQ(report.skipped, 0U) << to_string(report.problems.front());
    EXPECT_GT(report.rows, 100U);
  }
}

TEST(Captures, DumpsAreReadWhole) {
  std::size_t dumps = 0;
  for (const auto& entry : std::filesystem::directory_iterator(captures() + "get_param")) {
    ++dumps;
    input::ParseReport report;
    static_cast<void>(parse_all(entry.path(), report));
    // One dump was cut by whoever took it, at 60,000 bytes a parameter.
    if (entry.path().filename().string().find("2.17.0") != std::string::npos) continue;
    EXPECT_EQ(report.skipped, 0U) << to_string(report.problems.front());
  }
  EXPECT_GE(dumps, 10U);
}

// The counters of a server and of each of its clients, as another project's exporter prints them: every line of its recorded
// output must come out of our parser, and no other.
TEST(Captures, CountersAgreeWithAnExporter) {
  std::set<std::string> expected;
  std::ifstream file(captures() + "expected/2.14.0_ddn133_export_stats.prom");
  for (std::string line; std::getline(file, line);) expected.insert(line);
  ASSERT_GT(expected.size(), 300U);

  const auto source = open_source(captures() + "get_param/2.14.0_ddn133_exports.txt");
  ASSERT_TRUE(source);
  std::set<std::string> printed;
  const auto each = [&](Param param, const std::function<void(const Instance&, const CounterRow&)>& visit) {
    const auto instances = (*source)->find(param);
    ASSERT_TRUE(instances);
    for (const Instance& instance : *instances) {
      input::ParseReport report;
      const auto stream = (*source)->open(instance);
      ASSERT_TRUE(parse_stats(**stream, instance.origin, report, [&](const CounterRow& row) { visit(instance, row); }));
      EXPECT_EQ(report.skipped, 0U);
    }
  };
  each(Param::ost_export_stats, [&](const Instance& instance, const CounterRow& row) {
    const std::string labels = fmt::format(R"({{component="ost",name="{}",nid="{}",target="{}",units="{}"}})", row.name,
                                           instance.client, instance.device, row.unit);
    printed.insert(fmt::format("lustre_client_export_stats{} {}", labels, row.samples));
    if (row.unit == "bytes") printed.insert(fmt::format("lustre_client_export_bytes_total{} {}", labels, row.sum.value_or(0)));
  });
  each(Param::ost_stats, [&](const Instance& instance, const CounterRow& row) {
    if (!row.name.ends_with("_bytes")) return;
    const std::string_view operation = row.name.substr(0, row.name.size() - 6);
    const std::string labels = fmt::format(R"({{component="ost",operation="{}",target="{}"}})", operation, instance.device);
    printed.insert(fmt::format("lustre_{}_samples_total{} {}", operation, labels, row.samples));
    printed.insert(fmt::format("lustre_{}_bytes_total{} {}", operation, labels, row.sum.value_or(0)));
  });
  each(Param::mdt_stats, [&](const Instance& instance, const CounterRow& row) {
    printed.insert(fmt::format(R"(lustre_stats_total{{component="mdt",operation="{}",target="{}"}} {})", row.name,
                               instance.device, row.samples));
  });
  EXPECT_EQ(printed, expected);
}

}  // namespace
}  // namespace iez::lustre
