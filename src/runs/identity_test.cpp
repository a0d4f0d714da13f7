#include "runs/identity.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <vector>

namespace iez::runs {
namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> out;
  for (std::string word; stream >> word;) out.push_back(word);
  return out;
}

// Programs are what is named here, and everything with a slash.
ProgramProbe probe() {
  static const std::set<std::string, std::less<>> kPrograms{"mpirun", "srun", "ior",  "dd",      "sh",      "bash",   "python3",
                                                            "env",    "time", "nice", "numactl", "timeout", "taskset"};
  ProgramProbe out;
  out.is_program = [](std::string_view word) { return kPrograms.contains(word) || word.find('/') != std::string_view::npos; };
  out.canonical = [](std::string_view word) {
    if (word.starts_with("./")) return "/home/u/" + std::string(word.substr(2));
    return word.find('/') == std::string_view::npos ? "/usr/bin/" + std::string(word) : std::string(word);
  };
  return out;
}

CommandIdentity of(const std::string& line) { return identify(words(line), probe()); }

struct Row {
  const char* command;
  const char* program;  // its name
  const char* launcher;
};

TEST(Identity, FindsTheProgramBehindLaunchersAndWrappers) {
  const Row rows[] = {
      {"./app", "app", ""},
      {"/opt/sim/bin/solver -i in.nml", "solver", ""},
      {"mpirun -n 8 ./app", "app", "mpirun"},
      {"/usr/bin/mpirun -np 8 ./app 100", "app", "mpirun"},
      {"mpirun --mca btl self,tcp -n 4 ./app", "app", "mpirun"},
      {"mpirun -x IEZ_TRACE -x LD_PRELOAD -n 4 ./app", "app", "mpirun"},
      {"mpirun --oversubscribe --allow-run-as-root -n 8 ./app", "app", "mpirun"},
      {"mpiexec.hydra -genv A b -ppn 2 -n 4 ./app", "app", "mpiexec.hydra"},
      {"mpiexec -hostfile hosts -n 4 ./app", "app", "mpiexec"},
      {"srun -N 4 --ntasks=32 --export=ALL ./app", "app", "srun"},
      {"srun -n 8 numactl --interleave=all ./app", "app", "srun"},
      {"flux run -n 4 ./app", "app", "flux"},
      {"srun --mpi=pmix -- ./app -x", "app", "srun"},
      {"env A=1 B=/tmp/x ./app", "app", ""},
      {"nice -n 5 ./app", "app", ""},
      {"timeout 30 ./app", "app", ""},
      {"taskset 0x3 ./app", "app", ""},
      {"time mpirun -n 2 ./app", "app", "mpirun"},
      {"env A=1 srun -n 15 ./app", "app", "srun"},
      {"nice -n 5 mpirun -n 8 ./app", "app", "mpirun"},
      {"jsrun --nrs 4 --tasks_per_rs 6 ./app", "app", "jsrun"},
      {"mpirun -n 2 python3 -u train.py --epochs 3", "train.py", "mpirun"},
      {"python3 /home/u/train.py", "train.py", ""},
      {"bash job.sh", "job.sh", ""},
      {"sh -c true", "sh", ""},
      {"mpirun", "mpirun", "mpirun"},
      {"mpirun -n 8", "mpirun", "mpirun"},
      {"mpirun -n 8 notthere", "notthere", "mpirun"},
      {"dd if=/dev/zero of=x bs=1M count=3", "dd", ""},
      {"ior -a POSIX -b 16m", "ior", ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.command);
    const CommandIdentity found = of(row.command);
    EXPECT_EQ(found.program_name, row.program);
    EXPECT_EQ(found.launcher, row.launcher);
    EXPECT_EQ(found.application, found.program_name + "-" + found.fingerprint.substr(0, 8));
    EXPECT_TRUE(valid_application(found.application));
  }
}

TEST(Identity, TellsWhichWordTheLauncherIs) {
  const std::vector<std::string> command = words("env A=1 srun -n 15 nice -n 5 ./app -n 3");
  const CommandIdentity found = identify(command, probe());
  EXPECT_EQ(found.launcher_at, 2U);
  const auto launch = launch_of(command, found.program);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->at, 2U);
  EXPECT_EQ(launch->starts, 5U);
  EXPECT_FALSE(launch_of(words("nice -n 5 ./app"), 3));
}

TEST(Identity, StaysFromRunToRun) {
  const std::vector<std::vector<std::string>> same = {
      {"./app 100", "./app 200", "mpirun -n 8 ./app 100", "srun -n 1024 ./app 7", "env X=1 ./app 12k", "./app 1e-3",
       "./app 8x8x8"},
      {"./app -n 5 --out /scratch/a", "./app -n 6 --out /scratch/b", "./app -n 6 --out ../c.h5"},
      {"./app --steps=10 --dir=/x", "./app --steps=20 --dir=/y"},
      {"dd if=/dev/zero of=out.7 bs=1M count=10", "dd if=/dev/zero of=out.8 bs=4M count=20"},
      {"python3 train.py --epochs 3", "python3 -u train.py --epochs 4"},
  };
  for (const auto& group : same) {
    for (const std::string& command : group) {
      EXPECT_EQ(of(command).application, of(group.front()).application) << command;
    }
  }
}

TEST(Identity, TellsProgramsApart) {
  const std::vector<std::string> different = {"./app",        "./other",           "/opt/app",         "./app write",
                                              "./app read",   "./app --write",     "./app --read",     "ior -a POSIX",
                                              "ior -a MPIIO", "sh -c true",        "python3 a.py",     "python3 b.py",
                                              "bash a.py",    "./app --mode=fast", "./app --mode=slow"};
  std::set<std::string> seen;
  for (const std::string& command : different) seen.insert(of(command).application);
  // A script is one, whoever reads it.
  EXPECT_EQ(seen.size(), different.size() - 1);
  EXPECT_EQ(of("python3 a.py").application, of("bash a.py").application);
}

TEST(Identity, TextOfAShellCountsWithoutItsNumbers) {
  const auto shell = [](const std::string& text) {
    const std::vector<std::string> command{"sh", "-c", text};
    return identify(command, probe()).application;
  };
  EXPECT_EQ(shell("for i in 1 2; do ./app $i; done"), shell("for i in 10 200; do ./app $i; done"));
  EXPECT_NE(shell("./app"), shell("./other"));
}

TEST(Identity, NamesOfApplications) {
  for (const char* const good : {"a", "hacc-io", "IOR_3.1", "x+y@z:1", "0"}) EXPECT_TRUE(valid_application(good)) << good;
  for (const char* const bad : {"", ".", "-x", "a/b", "a b", "\xc3\xa4", "a\n"}) {
    EXPECT_FALSE(valid_application(bad)) << bad;
    EXPECT_TRUE(valid_application(made_valid(bad))) << bad;
  }
  EXPECT_FALSE(valid_application(std::string(129, 'a')));
  EXPECT_TRUE(valid_application(made_valid(std::string(300, '.'))));
  EXPECT_EQ(made_valid("a b"), "a_b");
}

TEST(Identity, AnyWordsAreAnApplication) {
  const std::vector<std::string> odd{"", "-", "--", "=", "/", "mpirun", "-n", "env", "sh", "-c", "\xff"};
  for (const std::string& a : odd) {
    for (const std::string& b : odd) {
      for (const std::string& c : odd) {
        const std::vector<std::string> command{a, b, c};
        EXPECT_TRUE(valid_application(identify(command, probe()).application)) << a << ' ' << b << ' ' << c;
      }
    }
  }
}

}  // namespace
}  // namespace iez::runs
