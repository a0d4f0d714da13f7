#include "lustre/params.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "lustre/version.hpp"

namespace iez::lustre {
namespace {

TEST(Params, EveryRowIsComplete) {
  std::set<std::string_view> names;
  for (const ParamRow& entry : param_table()) {
    EXPECT_FALSE(entry.names.empty());
    EXPECT_FALSE(entry.homes.empty());
    EXPECT_EQ(&row(entry.param), &entry);
    for (const std::string_view name : entry.names) {
      const bool has_device = name.find('*') != std::string_view::npos;
      EXPECT_EQ(has_device, entry.kind != DeviceKind::none) << name;
    }
  }
}

TEST(Params, DeviceNames) {
  const auto ost = parse_device("lustre-OST000a");
  ASSERT_TRUE(ost);
  EXPECT_EQ(ost->file_system, "lustre");
  EXPECT_EQ(ost->kind, DeviceKind::ost);
  EXPECT_EQ(ost->index, 10U);
  const auto osc = parse_device("lustre-OST0003-osc-ffff888111310800");
  ASSERT_TRUE(osc);
  EXPECT_EQ(osc->kind, DeviceKind::osc);
  EXPECT_EQ(osc->target, "lustre-OST0003");
  EXPECT_EQ(parse_device("lustre-OST0003-osc-MDT0001")->kind, DeviceKind::osp);
  EXPECT_EQ(parse_device("lustre-MDT0000")->kind, DeviceKind::mdt);
  EXPECT_EQ(parse_device("my-OST-fs-OST0001")->file_system, "my-OST-fs");
  for (const char* const name :
       {"", "MGS", "lustre", "lustre-OST", "lustre-OST00", "lustre-OST000g", "-OST0000", "lustre-OST0000-osc-", "lustre-OST0000x",
        "lustre-MDT0000-osc-ffff", "lustre-OST00000", "lustre-MDT0000-mdtlov"}) {
    EXPECT_FALSE(parse_device(name)) << name;
  }
}

TEST(Params, NamesWithDotsInTheirNids) {
  const auto match = match_name("obdfilter.*.exports.*.stats", "obdfilter.lustre-OST0000.exports.10.1.2.3@tcp.stats");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->device, "lustre-OST0000");
  EXPECT_EQ(match->client, "10.1.2.3@tcp");
  EXPECT_EQ(match_name("osd-*.*.kbytestotal", "osd-zfs.lustre-OST0000.kbytestotal")->device, "lustre-OST0000");
  EXPECT_TRUE(match_name("version", "version"));
  EXPECT_FALSE(match_name("obdfilter.*.stats", "obdfilter.lustre-OST0000.exports.10.1.2.3@tcp.stats"));
  EXPECT_FALSE(match_name("obdfilter.*.exports.*.stats", "obdfilter.lustre-OST0000.exports..stats"));
  EXPECT_FALSE(match_name("obdfilter.*.stats", "obdfilter..stats"));
  EXPECT_FALSE(match_name("obdfilter.*.stats", "obdfilter.x.statsx"));
  EXPECT_FALSE(match_name("osd-*.*.kbytestotal", "osd-"));
  EXPECT_FALSE(match_name("version", "versio"));
}

TEST(Version, AllFormsInTheField) {
  EXPECT_EQ(parse_version("2.17.0\n")->minor, 17U);
  EXPECT_EQ(parse_version("lustre: 2.10.1\nkernel: patchless")->patch, 1U);
  EXPECT_EQ(parse_version("2.14.0_ddn133")->text, "2.14.0_ddn133");
  EXPECT_EQ(parse_version("2.15.5.0")->patch, 5U);
  EXPECT_EQ(parse_version("2.15")->patch, 0U);
  for (const char* const text : {"", "2", "2.", "two.one", "lustre:", "2.x", "2.1."}) EXPECT_FALSE(parse_version(text)) << text;
}

TEST(Version, KnownOnes) {
  EXPECT_TRUE(known(*parse_version("2.10.1")));
  EXPECT_TRUE(known(*parse_version("2.18.0")));
  EXPECT_FALSE(known(*parse_version("2.9.0")));
  EXPECT_FALSE(known(*parse_version("2.99.1")));
  EXPECT_FALSE(known(*parse_version("3.0")));
}

}  // namespace
}  // namespace iez::lustre
