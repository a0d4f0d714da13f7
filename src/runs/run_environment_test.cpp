#include "runs/run_environment.hpp"

#include <gtest/gtest.h>

#include <map>

namespace iez::runs {
namespace {

Variables made(const RunEnvironment& run, std::map<std::string, std::string, std::less<>> present = {}) {
  return variables_for(run, [&](std::string_view name) -> std::optional<std::string> {
    const auto found = present.find(name);
    return found == present.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(RunEnvironment, PutsTheLibraryBeforeOthers) {
  const RunEnvironment run{
      .libraries = {"/l/a.so", "/l/b.so"}, .trace_folder = "/t", .plan = "/p", .folders = {"/x", "/y"}, .osts = 0};
  EXPECT_EQ(
      made(run, {{"LD_PRELOAD", "/old.so"}}),
      (Variables{{"LD_PRELOAD", "/l/a.so:/l/b.so:/old.so"}, {"IEZ_TRACE", "/t"}, {"IEZ_PLAN", "/p"}, {"IEZ_ONLY", "/x:/y"}}));
}

TEST(RunEnvironment, LeavesWhatTheUserSet) {
  const RunEnvironment run{.libraries = {"/a.so"}, .trace_folder = "/t", .plan = "", .folders = {"/x"}, .osts = 0};
  EXPECT_EQ(made(run, {{"IEZ_ONLY", "/mine"}, {"LD_PRELOAD", ""}}), (Variables{{"LD_PRELOAD", "/a.so"}, {"IEZ_TRACE", "/t"}}));
}

TEST(RunEnvironment, TellsTheNumberOfOstsToWhoChooses) {
  const RunEnvironment run{.libraries = {"/a.so"}, .trace_folder = "/t", .plan = "", .folders = {}, .osts = 15};
  const auto hints = [&run](const std::string& given) {
    const Variables all = made(run, {{"IEZ_COLLECTIVE", given}});
    return all.size() == 3 ? all.back() : Variables::value_type();
  };
  EXPECT_EQ(hints("CO=2;iez_mode=choose"), Variables::value_type("IEZ_COLLECTIVE", "CO=2;iez_mode=choose;iez_osts=15"));
  EXPECT_EQ(hints("iez_mode=choose;iez_osts=3"), Variables::value_type()) << "what the user says stays";
  EXPECT_EQ(hints("iez_mode=log"), Variables::value_type());
}

TEST(RunEnvironment, NothingToDoIsNoVariable) {
  EXPECT_TRUE(made({.libraries = {}, .trace_folder = "/t", .plan = "/p", .folders = {}, .osts = 0}).empty());
  EXPECT_TRUE(made({.libraries = {"/a.so"}, .trace_folder = "", .plan = "", .folders = {"/x"}, .osts = 0}).empty());
}

TEST(RunEnvironment, FlavoursOfLaunchers) {
  EXPECT_EQ(mpi_of_launcher("orterun"), "openmpi");
  EXPECT_EQ(mpi_of_launcher("mpirun.openmpi"), "openmpi");
  EXPECT_EQ(mpi_of_launcher("prterun"), "openmpi");
  EXPECT_EQ(mpi_of_launcher("mpiexec.hydra"), "mpich");
  EXPECT_EQ(mpi_of_launcher("srun"), "");
}

}  // namespace
}  // namespace iez::runs
