#include "program/sight.hpp"

#include <elf.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::program {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Elf ordinary() {
  return {.machine = EM_X86_64, .dynamic = true, .interpreter = "/lib64/ld-linux-x86-64.so.2", .needed = {"libc.so.6"}};
}

std::vector<std::string> names_of(const Report& report) {
  std::vector<std::string> names;
  names.reserve(report.findings.size());
  for (const Finding& finding : report.findings) names.push_back(finding.what);
  return names;
}

TEST(Sight, SeesAnOrdinaryProgram) {
  const Report report = judge(ordinary(), {});
  EXPECT_EQ(report.sight, Sight::all);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.mpi, "");
  EXPECT_FALSE(report.hdf5);
}

TEST(Sight, SaysWhyNothingIsSeen) {
  Elf elf = ordinary();
  elf.interpreter.clear();
  elf.go = true;
  const Report report = judge(elf, {.set_user = true, .capabilities = true});
  EXPECT_EQ(report.sight, Sight::none);
  EXPECT_THAT(names_of(report), ElementsAre("static program", "Go program", "setuid", "file capabilities"));
  for (const Finding& finding : report.findings) EXPECT_THAT(finding.why, HasSubstr("."));
}

TEST(Sight, ForeignLoadersAndMachines) {
  Elf elf = ordinary();
  elf.interpreter = "/lib/ld-musl-x86_64.so.1";
  EXPECT_THAT(names_of(judge(elf, {})), ElementsAre("musl"));
  elf = ordinary();
  elf.machine = EM_AARCH64;
  EXPECT_THAT(names_of(judge(elf, {})), ElementsAre("another processor"));
  EXPECT_THAT(names_of(judge(ordinary(), {.set_group = true})), ElementsAre("setgid"));
}

TEST(Sight, SomeCallsPassTheLibraryBy) {
  Elf elf = ordinary();
  elf.needed.emplace_back("liburing.so.2");
  elf.imports = {"syscall", "mmap64", "write"};
  const Report report = judge(elf, {});
  EXPECT_EQ(report.sight, Sight::part);
  EXPECT_THAT(names_of(report), ElementsAre("io_uring", "syscall()", "mmap()"));
}

TEST(Sight, KnowsWhoseMpiItIs) {
  Elf elf = ordinary();
  elf.needed = {"libmpi.so.40", "libhdf5_openmpi.so.103"};
  EXPECT_EQ(judge(elf, {}).mpi, "openmpi");
  EXPECT_TRUE(judge(elf, {}).hdf5);
  elf.needed = {"libmpich.so.12"};
  EXPECT_EQ(judge(elf, {}).mpi, "mpich");
  elf.needed = {"libmpi.so.12"};
  EXPECT_EQ(judge(elf, {}).mpi, "mpich");
}

}  // namespace
}  // namespace iez::program
