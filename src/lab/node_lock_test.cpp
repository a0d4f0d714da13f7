#include "lab/node_lock.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include <gmock/gmock.h>

#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

using testing::HasSubstr;

class NodeLockTest : public testing::Test {
 protected:
  lustre::TemporaryTree tree_;
  const std::string path_ = tree_.path("oss0.lock");
};

TEST_F(NodeLockTest, NobodyHoldsWhatIsNotThereOrWasLeft) {
  EXPECT_EQ(NodeLock::holder(path_), 0);
  tree_.write("oss0.lock", std::to_string(::getpid()));
  EXPECT_EQ(NodeLock::holder(path_), 0) << "a number without a lock is an old one";
}

TEST_F(NodeLockTest, IsHeldUntilItIsGivenUp) {
  {
    const auto lock = NodeLock::take(path_);
    ASSERT_TRUE(lock) << lock.error().message;
    EXPECT_EQ(NodeLock::holder(path_), ::getpid());
    const auto second = NodeLock::take(path_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::exists);
    EXPECT_THAT(second.error().message, HasSubstr("held by process " + std::to_string(::getpid())));
  }
  EXPECT_EQ(NodeLock::holder(path_), 0);
  EXPECT_TRUE(NodeLock::take(path_));
}

TEST_F(NodeLockTest, AKilledHolderHoldsNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = NodeLock::take(path_);
    if (!lock) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  for (int i = 0; i < 1000 && NodeLock::holder(path_) == 0; ++i) ::usleep(10'000);
  EXPECT_EQ(NodeLock::holder(path_), child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(NodeLock::holder(path_), 0);
  EXPECT_TRUE(NodeLock::take(path_));
}

TEST_F(NodeLockTest, AHeldFileWithoutANumberHasNoHolder) {
  const auto lock = NodeLock::take(path_);
  ASSERT_TRUE(lock);
  for (const std::string text : {"", "x", "-5", "99999999999"}) {
    tree_.write("oss0.lock", text);
    EXPECT_EQ(NodeLock::holder(path_), 0) << text;
  }
}

TEST_F(NodeLockTest, AFolderThatIsNotThereIsAnError) {
  const auto lock = NodeLock::take(tree_.path("none/x.lock"));
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, Errc::not_found);
}

}  // namespace
}  // namespace iez::lab
