#include "lab/job_of.hpp"

#include <string>

#include <gtest/gtest.h>

#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

using namespace std::string_literals;

class JobOfTest : public testing::Test {
 protected:
  void process(int pid, const std::string& program, const std::string& environment = {}) const {
    proc_.write(std::to_string(pid) + "/comm", program + '\n');
    proc_.write(std::to_string(pid) + "/environ", environment);
  }

  lustre::TemporaryTree proc_;
};

TEST_F(JobOfTest, WithoutAVariableItIsProgramAndUser) {
  process(7, "dd", "SLURM_JOB_ID=5\0"s);
  JobOf job("", proc_.root());
  EXPECT_EQ(job(7, 1000), "dd.1000");
  EXPECT_EQ(job(0, 0), "kworker.0") << "the kernel's own requests";
  EXPECT_EQ(job(8, 3), "kworker.3") << "a process that is gone";
}

TEST_F(JobOfTest, TheVariableIsTakenWhole) {
  process(7, "dd", "XSLURM_JOB_ID=1\0SLURM_JOB_ID_X=2\0SLURM_JOB_ID=4711\0SLURM_JOB_ID=9\0"s);
  process(8, "cp", "SLURM_JOB_ID=\0"s);
  process(9, "cp", "NO");
  JobOf job("SLURM_JOB_ID", proc_.root());
  EXPECT_EQ(job(7, 0), "4711");
  EXPECT_EQ(job(8, 1), "cp.1") << "empty is not set";
  EXPECT_EQ(job(9, 1), "cp.1");
}

TEST_F(JobOfTest, IsShapedAsLustreDoes) {
  process(7, "my program", "J=a b\tc\x7f" + std::string(40, 'x') + '\0');
  EXPECT_EQ(JobOf("", proc_.root())(7, 1), "myprogram.1");
  const std::string job = JobOf("J", proc_.root())(7, 1);
  EXPECT_EQ(job, "abc" + std::string(28, 'x'));
}

TEST_F(JobOfTest, AnEnvironmentIsRememberedUntilTheProgramChanges) {
  process(7, "sh", "J=one\0"s);
  JobOf job("J", proc_.root());
  EXPECT_EQ(job(7, 1), "one");
  process(7, "sh", "J=two\0"s);
  EXPECT_EQ(job(7, 1), "one");
  process(7, "dd", "J=two\0"s);
  EXPECT_EQ(job(7, 1), "two") << "exec, or another process of that number";
}

}  // namespace
}  // namespace iez::lab
