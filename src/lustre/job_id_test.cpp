#include "lustre/job_id.hpp"

#include <string>

#include <gtest/gtest.h>

namespace iez::lustre {
namespace {

JobIdFormat node_local(const char* name) { return JobIdFormat::from_settings("nodelocal", name); }

TEST(JobId, ByTheSiteSetting) {
  const auto procname = JobIdFormat::from_settings("procname_uid", std::nullopt).identify("my.prog.1000");
  EXPECT_EQ(procname.program, "my.prog");
  EXPECT_EQ(procname.uid, 1000U);

  const auto colons = node_local("%e:%u:%H").identify("ior:1000:node7.site");
  EXPECT_EQ(colons.program, "ior");
  EXPECT_EQ(colons.uid, 1000U);
  EXPECT_EQ(colons.host, "node7.site");

  const auto groups = node_local("u%u.g%g").identify("u1000.g100");
  EXPECT_EQ(groups.uid, 1000U);
  EXPECT_EQ(groups.gid, 100U);

  const auto slurm = JobIdFormat::from_settings("SLURM_JOB_ID", "%e.%u").identify("4711");
  EXPECT_EQ(slurm.job, "4711") << "a name without %j is ignored by Lustre";
  EXPECT_FALSE(slurm.uid);

  const auto both = JobIdFormat::from_settings("SLURM_JOB_ID", "%j:%e:%u").identify("4711:ior:5");
  EXPECT_EQ(both.job, "4711");
  EXPECT_EQ(both.program, "ior");
  EXPECT_EQ(both.uid, 5U);
  EXPECT_FALSE(JobIdFormat::from_settings("SLURM_JOB_ID", "%j:%e:%u").identify(":dd:0").job) << "an unset variable";
}

// A process outside any job has no SLURM_JOB_ID, and Lustre then takes jobid_name.
TEST(JobId, WhereTheVariableIsNotSet) {
  const auto format = JobIdFormat::from_settings("SLURM_JOB_ID", "%e.%u");
  EXPECT_EQ(format.identify("dd.1000").uid, 1000U);
  EXPECT_FALSE(format.identify("dd.1000").job);
  EXPECT_EQ(format.identify("4711").job, "4711");
  EXPECT_EQ(JobIdFormat::from_settings("PBS_JOBID", std::nullopt).identify("4711.server").job, "4711.server");
}

TEST(JobId, WidthsAndAlternatives) {
  EXPECT_EQ(node_local("%.3e-%u").identify("abc-7").program, "abc");
  EXPECT_EQ(node_local("%j?%H:%u").identify("4711:7").job, "4711");
  EXPECT_EQ(node_local("%j?%H:%u").identify("node7:7").host, "node7");
  EXPECT_EQ(node_local("%j?%H:%u").identify("node7:7").uid, 7U);
}

TEST(JobId, GuessesTheCommonForms) {
  const JobIdFormat unknown;
  EXPECT_EQ(unknown.identify("dd.1000").uid, 1000U);
  EXPECT_EQ(unknown.identify("dd.1000").program, "dd");
  EXPECT_EQ(unknown.identify("4711").job, "4711");
  EXPECT_EQ(unknown.identify("SLURM_JOB10:0:es18").uid, 0U);
  EXPECT_EQ(unknown.identify("SLURM_JOB10:0:es18").host, "es18");
  EXPECT_EQ(unknown.identify("4711:1000:node7").job, "4711");
  EXPECT_EQ(unknown.identify("4242:dd:1000").uid, 1000U);
  EXPECT_EQ(unknown.identify("4242:dd:1000").program, "dd");
  EXPECT_EQ(unknown.identify("4242:dd:1000").job, "4242");
  EXPECT_FALSE(unknown.identify(":dd:0").job) << "an unset job variable";
  EXPECT_EQ(unknown.identify("u1000.g100").gid, 100U);
  EXPECT_FALSE(unknown.identify("my-session-job").uid);
  EXPECT_FALSE(unknown.identify("1.2").uid) << "a version is no program of a user";
  EXPECT_FALSE(unknown.identify("").job);
  EXPECT_FALSE(unknown.identify("a.99999999999").uid) << "beyond any uid";
}

TEST(JobId, AnIdThatDoesNotFitTheSettingIsGuessed) {
  EXPECT_EQ(node_local("u%u.g%g").identify("kworker.0").uid, 0U);
  EXPECT_EQ(node_local("%z").identify("dd.7").uid, 7U) << "a code of a version to come";
}

// A matcher that backtracks would still be at it when ctest gives up.
TEST(JobId, HostileIdsAreNotExponential) {
  const auto format = node_local("%e%e%e%e%e%e%e%e%e%e%e%u");
  EXPECT_FALSE(format.identify(std::string(1024, '1') + "x").uid);
  EXPECT_FALSE(format.identify(std::string(256, 'a')).uid);
}

}  // namespace
}  // namespace iez::lustre
