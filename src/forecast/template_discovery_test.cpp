#include "forecast/template_discovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "forecast/template_index.hpp"

namespace iez::forecast {
namespace {

using testing::Contains;
using testing::ElementsAre;

// Owns the texts of the names.
struct Names {
  std::deque<std::string> texts;
  std::vector<ObservedName> seen;

  void add(std::string name, int rank = -1, std::uint32_t run = 0) {
    texts.push_back(std::move(name));
    seen.push_back({texts.back(), rank, run});
  }
  void forget_ranks() {
    for (ObservedName& name : seen) name.rank = -1;
  }
};

std::vector<std::string> patterns(const Discovery& found) {
  std::vector<std::string> result;
  result.reserve(found.templates.size());
  for (const NameTemplate& one : found.templates) result.push_back(one.pattern());
  return result;
}

// Every name must match its own template, and be written again from its values.
Discovery discovered(const Names& names) {
  Discovery found = discover(names.seen);
  const TemplateIndex index(found.templates);
  for (std::size_t i = 0; i < names.seen.size(); ++i) {
    const auto match = index.match(names.seen[i].name);
    EXPECT_TRUE(match) << names.seen[i].name;
    if (!match) continue;
    const NameTemplate& one = found.templates[match->name_template];
    EXPECT_EQ(match->name_template, found.template_of[i]) << names.seen[i].name;
    EXPECT_EQ(render(one, match->values), names.seen[i].name);
    for (std::size_t f = 0; f < one.fields.size(); ++f) {
      if (one.fields[f].kind != FieldKind::word) {
        EXPECT_EQ(found.value(i, f), match->values[f].number);
      }
    }
  }
  return found;
}

std::vector<std::string> next(const NameTemplate& one, const NextRunShape& shape) {
  std::vector<std::string> result;
  enumerate(one, shape, [&](const NextName& name) {
    result.emplace_back(name.name);
    return true;
  });
  return result;
}

TEST(TemplateDiscovery, HaccIoPartsFollowTheNumberOfRanks) {
  Names names;
  for (int rank = 0; rank < 64; ++rank) names.add(fmt::format("hacc-io.file-Part{:08}-of-{:08}.data", rank, 64), rank);
  for (const bool known : {true, false}) {
    if (!known) names.forget_ranks();
    const Discovery found = discovered(names);
    ASSERT_THAT(patterns(found), ElementsAre("hacc-io.file-Part{rank:8}-of-{count:8}.data"));
    const auto coming = next(found.templates[0], {.ranks = 128});
    ASSERT_EQ(coming.size(), 128U);
    EXPECT_EQ(coming[127], "hacc-io.file-Part00000127-of-00000128.data");
  }
}

TEST(TemplateDiscovery, FlashCheckpointsAndPlots) {
  Names names;
  for (int step = 0; step < 5; ++step) {
    names.add(fmt::format("run_hdf5_chk_{:04}", step));
    names.add(fmt::format("run_hdf5_plt_cnt_{:04}", 10 * step));
  }
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("run_hdf5_chk_{step:4}", "run_hdf5_plt_cnt_{step:4}"));
  EXPECT_EQ(found.templates[1].fields[0].series.stride, 10);
  EXPECT_EQ(next(found.templates[1], {.steps = 7}).back(), "run_hdf5_plt_cnt_0060");
}

TEST(TemplateDiscovery, TheFiveOfHdf5IsNoNumberOfRanks) {
  Names names;
  for (int rank = 0; rank < 5; ++rank) names.add(fmt::format("out_hdf5_r{}_h5", rank), rank);
  EXPECT_THAT(patterns(discovered(names)), ElementsAre("out_hdf5_r{rank}_h5"));
}

TEST(TemplateDiscovery, LammpsDumpsAndRestarts) {
  Names names;
  for (int step = 0; step < 5; ++step) {
    names.add(fmt::format("dump.{}.gz", 1000 * step));
    for (int rank = 0; rank < 4; ++rank) names.add(fmt::format("restart.{}.{}", 100'000 * (step + 1), rank));
  }
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("dump.{step}.gz", "restart.{step}.{rank}"));
  EXPECT_EQ(next(found.templates[1], {.ranks = 6, .steps = 6}).back(), "restart.600000.5");
}

TEST(TemplateDiscovery, OpenFoamTimesAreOneSeriesAndFieldsAreNot) {
  Names names;
  for (const char* time : {"0", "0.05", "0.1", "0.15", "0.2"}) {
    for (int rank = 0; rank < 16; ++rank) {
      for (const char* field : {"U", "p", "phi"}) names.add(fmt::format("/c/processor{}/{}/{}", rank, time, field), rank);
    }
  }
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("/c/processor{rank}/{step:fraction}/U", "/c/processor{rank}/{step:fraction}/p",
                                           "/c/processor{rank}/{step:fraction}/phi"));
  const auto coming = next(found.templates[0], {.steps = 21});
  EXPECT_EQ(coming.back(), "/c/processor15/1/U");
  EXPECT_THAT(coming, Contains("/c/processor3/0.65/U"));
  EXPECT_EQ(found.templates[0].coverage, 1);
}

TEST(TemplateDiscovery, WholeNumbersAroundAPointAreTwoFields) {
  Names names;
  for (int step = 1; step <= 3; ++step) {
    for (int rank = 0; rank < 12; ++rank) names.add(fmt::format("/o/{}.{}", 100 * step, rank), rank);
  }
  EXPECT_THAT(patterns(discovered(names)), ElementsAre("/o/{step}.{rank}"));
  Names few;
  for (int step = 1; step <= 3; ++step) {
    for (int rank = 0; rank < 4; ++rank) few.add(fmt::format("/o/{}.{}", 100 * step, rank), rank);
  }
  EXPECT_THAT(patterns(discovered(few)), ElementsAre("/o/{step}.{rank}"));
}

TEST(TemplateDiscovery, FractionsInsideAName) {
  Names names;
  for (const char* time : {"0.05", "0.1", "0.15", "0.2", "1.0"}) names.add(fmt::format("sol_t{}.vtk", time));
  EXPECT_THAT(patterns(discovered(names)), ElementsAre("sol_t{step:fraction}.vtk"));
}

TEST(TemplateDiscovery, WrfDates) {
  Names names;
  for (int hour = 0; hour < 48; hour += 6) {
    for (int domain = 1; domain <= 2; ++domain) {
      names.add(fmt::format("wrfout_d{:02}_2024-01-{:02}_{:02}:00:00", domain, 30 + hour / 24, hour % 24));
    }
  }
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("wrfout_d{part:2}_{step:date}"));
  EXPECT_EQ(found.templates[0].fields[1].series.stride, 6 * 3600);
  EXPECT_EQ(next(found.templates[0], {.steps = 9}).back(), "wrfout_d02_2024-02-01_00:00:00");
}

TEST(TemplateDiscovery, MonthlyDatesAndACounterBehindADate) {
  Names names;
  for (int month = 1; month <= 6; ++month) names.add(fmt::format("mean.2023{:02}01.nc", month));
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("mean.{step:date}.nc"));
  EXPECT_EQ(next(found.templates[0], {.steps = 13}).back(), "mean.20240101.nc");
  Names counters;
  for (int step = 0; step < 20; ++step) counters.add(fmt::format("out_20240101_{:04}", step));
  EXPECT_THAT(patterns(discovered(counters)), ElementsAre("out_20240101_{step:4}"));
}

TEST(TemplateDiscovery, AmrexPlots) {
  Names names;
  for (int step = 0; step < 6; ++step) {
    names.add(fmt::format("plt{:05}/Header", 10 * step), 0);
    for (int level = 0; level < 2; ++level) {
      for (int rank = 0; rank < 8; ++rank) names.add(fmt::format("plt{:05}/Level_{}/Cell_D_{:05}", 10 * step, level, rank), rank);
    }
  }
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("plt{step:5}/Header", "plt{step:5}/Level_{part}/Cell_D_{rank:5}"));
  EXPECT_EQ(next(found.templates[1], {.ranks = 9, .steps = 7}).back(), "plt00060/Level_1/Cell_D_00008");
}

TEST(TemplateDiscovery, NamesThatAreAloneStayLiteral) {
  Names names;
  for (const char* name : {"mol.movecs", "mol.db", "mol.zmat", "testFile"}) names.add(name, 0);
  for (int rank = 0; rank < 12; ++rank) names.add(fmt::format("mol.aoints.{:03}", rank), rank);
  EXPECT_THAT(patterns(discovered(names)), ElementsAre("mol.movecs", "mol.db", "mol.zmat", "testFile", "mol.aoints.{rank:3}"));
}

TEST(TemplateDiscovery, PyTorchInAnyOrderOfRanks) {
  Names names;
  for (int step = 0; step < 4; ++step) {
    for (int rank = 7; rank >= 0; --rank) names.add(fmt::format("rank_{}_step_{}.pt", rank, 1000 * step));
  }
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("rank_{rank}_step_{step}.pt"));
  std::int64_t last_rank = -1;
  std::uint64_t last_step = 0;
  enumerate(found.templates[0], {}, [&](const NextName& name) {
    last_rank = name.rank;
    last_step = name.step;
    return true;
  });
  EXPECT_EQ(last_rank, 7);
  EXPECT_EQ(last_step, 3U);
}

TEST(TemplateDiscovery, IorFilePerProcess) {
  Names names;
  for (const int rank : {3, 0, 2, 1, 5, 4, 7, 6}) names.add(fmt::format("testFile.{:08}", rank), rank);
  EXPECT_THAT(patterns(discovered(names)), ElementsAre("testFile.{rank:8}"));
  names.forget_ranks();
  EXPECT_THAT(patterns(discovered(names)), ElementsAre("testFile.{rank:8}")) << "a race shows that it is no step";
}

TEST(TemplateDiscovery, TiedFieldsMustAgree) {
  Names names;
  for (int step = 0; step < 4; ++step) {
    for (int rank = 0; rank < 8; ++rank) names.add(fmt::format("snapdir_{:03}/snap_{:03}.{}.hdf5", step, step, rank), rank);
  }
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("snapdir_{step:3}/snap_{step:3}.{rank}.hdf5"));
  const TemplateIndex index(found.templates);
  EXPECT_TRUE(index.match("snapdir_077/snap_077.3.hdf5"));
  EXPECT_FALSE(index.match("snapdir_077/snap_078.3.hdf5"));
  EXPECT_EQ(next(found.templates[0], {.steps = 6}).size(), 48U);
}

TEST(TemplateDiscovery, NodesAndLocalRanks) {
  Names names;
  for (int rank = 0; rank < 16; ++rank) {
    for (int step = 0; step < 3; ++step) names.add(fmt::format("/o/node{:02}/local{}/f.{}", rank / 4, rank % 4, step), rank);
  }
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("/o/node{rank:2}/local{rank}/f.{step}"));
  EXPECT_EQ(found.templates[0].fields[0].divisor, 4U);
  EXPECT_EQ(found.templates[0].fields[1].modulus, 4U);
  const auto coming = next(found.templates[0], {.ranks = 24});
  EXPECT_EQ(coming.size(), 72U);
  EXPECT_EQ(coming.back(), "/o/node05/local3/f.2");
}

TEST(TemplateDiscovery, OneFilePerNode) {
  Names names;
  for (int rank = 0; rank < 32; rank += 8) names.add(fmt::format("node.{}", rank / 8), rank);
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("node.{rank}"));
  EXPECT_EQ(found.templates[0].variables[0].slots.stride, 8);
  EXPECT_THAT(next(found.templates[0], {.ranks = 41}), ElementsAre("node.0", "node.1", "node.2", "node.3", "node.4", "node.5"));
}

TEST(TemplateDiscovery, JobNumbersStayOpenUnlessTheyCount) {
  for (const bool counts : {false, true}) {
    Names names;
    std::uint32_t run = 0;
    for (const int job : {4711, 4712, counts ? 4713 : 4790}) {
      for (int step = 0; step < 4; ++step) names.add(fmt::format("/scratch/u/run.{}/ckpt.{:04}", job, step), 0, run);
      ++run;
    }
    const Discovery found = discovered(names);
    ASSERT_THAT(patterns(found),
                ElementsAre(counts ? "/scratch/u/run.{run}/ckpt.{step:4}" : "/scratch/u/run.{run*}/ckpt.{step:4}"));
    EXPECT_EQ(next(found.templates[0], {})[3], counts ? "/scratch/u/run.4714/ckpt.0003" : "/scratch/u/run.*/ckpt.0003");
    const FieldValue known{.number = 5000};
    if (!counts) {
      EXPECT_EQ(next(found.templates[0], {.open_values = std::span(&known, 1)})[0], "/scratch/u/run.5000/ckpt.0000");
    }
    EXPECT_TRUE(TemplateIndex(found.templates).match("/scratch/u/run.9999/ckpt.0100"));
  }
}

TEST(TemplateDiscovery, RunDirectoriesThatAreWords) {
  Names names;
  std::uint32_t run = 0;
  for (const char* directory : {"base", "variant-b"}) {
    for (int step = 0; step < 4; ++step) {
      for (int rank = 0; rank < 3; ++rank) names.add(fmt::format("/s/{}/p{}/ckpt.{:04}", directory, rank, step), rank, run);
    }
    ++run;
  }
  const Discovery found = discovered(names);
  ASSERT_THAT(patterns(found), ElementsAre("/s/{run*}/p{rank}/ckpt.{step:4}"));
  EXPECT_TRUE(TemplateIndex(found.templates).match("/s/third try/p1/ckpt.0009"));
}

TEST(TemplateDiscovery, ARestartGoesOnWhereTheLastRunEnded) {
  Names names;
  for (std::uint32_t run = 0; run < 2; ++run) {
    for (unsigned step = 0; step < 5; ++step) names.add(fmt::format("ckpt.{}", 10 * (5 * run + step)), 0, run);
  }
  const Discovery found = discovered(names);
  EXPECT_THAT(next(found.templates[0], {}), ElementsAre("ckpt.100", "ckpt.110", "ckpt.120", "ckpt.130", "ckpt.140"));
  EXPECT_EQ(next(found.templates[0], {.runs_ahead = 0}).front(), "ckpt.50");
}

TEST(TemplateDiscovery, RandomWords) {
  Names names;
  int step = 0;
  for (const char* word : {"XyZ12", "a9B3d", "qW2rT", "Zz9aB", "abcde"}) names.add(fmt::format(".ckpt.{}.{}", step++, word));
  const Discovery found = discovered(names);
  EXPECT_THAT(patterns(found), ElementsAre(".ckpt.{step}.{other*}"));
  Names uuids;
  for (const char* uuid :
       {"550e8400-e29b-41d4-a716-446655440000", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "00000000-0000-4000-8000-000000000000"}) {
    uuids.add(fmt::format("f-{}.bin", uuid));
  }
  EXPECT_THAT(patterns(discovered(uuids)), ElementsAre("f-{other*}.bin"));
}

TEST(TemplateDiscovery, StepAndDateMoveTogether) {
  Names names;
  for (int step = 0; step < 5; ++step) names.add(fmt::format("out_{:04}_2024-01-{:02}", 24 * step, 1 + step));
  const Discovery found = discovered(names);
  ASSERT_EQ(found.templates.size(), 1U);
  EXPECT_EQ(found.templates[0].variables.size(), 1U);
  EXPECT_EQ(next(found.templates[0], {.steps = 6}).back(), "out_0120_2024-01-06");
}

TEST(TemplateDiscovery, RanksRace) {
  Names names;
  std::vector<int> step(16, 0);
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Rng rng(kSeed);
  for (int written = 0; written < 16 * 10;) {
    const auto rank = static_cast<std::size_t>(rng.below(16));
    if (step[rank] == 10) continue;
    names.add(fmt::format("out.{}.{}", step[rank]++, rank), static_cast<int>(rank));
    ++written;
  }
  EXPECT_THAT(patterns(discovered(names)), ElementsAre("out.{step}.{rank}"));
}

TEST(TemplateDiscovery, HostileNames) {
  Names names;
  names.add("");
  names.add(std::string(4096, '7'));
  names.add(std::string(4096, '\xff') + "1\n2");
  std::string digits;
  for (int i = 0; i < 100'000; ++i) digits += fmt::format("{}x", i % 10);
  names.add(digits);
  digits[0] = '5';
  names.add(digits);
  names.add(digits + "3");
  names.add("a/" + std::string(30, '9') + "/1");
  names.add("a/" + std::string(30, '9') + "/2");
  names.add("..//0.0.0//.1.");
  names.add("0007.1");
  names.add("18446744073709551616");
  names.add("9223372036854775807");
  names.add("01");
  names.add("1");
  EXPECT_TRUE(discover({}).templates.empty());
  discovered(names);
}

}  // namespace
}  // namespace iez::forecast
