#include "coordinator/ledger.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "coordinator/view_test_support.hpp"

namespace iez::coordinator {
namespace {

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() {
    std::string name = "/tmp/iez-ledger-XXXXXX";
    folder_ = std::string(::mkdtemp(name.data())) + "/state";
    EXPECT_TRUE(view_.set_cluster(make_cluster("lab", 1, 4, 1U << 30U), {}));
  }
  ~LedgerTest() override { std::filesystem::remove_all(std::filesystem::path(folder_).parent_path()); }

  PlanPointer plan(std::uint64_t id) {
    return std::make_shared<const StoredPlan>(view_.plan(make_request("a", 3, 1U << 20U, 2), "u", id, 1, 2).value());
  }
  auto open() { return Ledger::open(folder_, sql::Durability::process); }

  std::string folder_;
  GlobalView view_;
};

TEST_F(LedgerTest, KeepsWhatWasCommitted) {
  const auto queued = std::make_shared<const Queued>(Queued{.id = 9, .turn = 1, .made_ns = 5, .user = "u", .body = "{}"});
  {
    const auto ledger = open().value();
    ASSERT_TRUE(ledger->commit(std::vector<Change>{{.id = 1, .plan_after = plan(1)}, {.id = 2, .plan_after = plan(2)}}));
    ASSERT_TRUE(ledger->commit(std::vector<Change>{{.id = 9, .queued_after = queued}}));
    ASSERT_TRUE(ledger->commit(std::vector<Change>{{.id = 1, .plan_before = plan(1)}}));
    EXPECT_EQ(open().error().code, Errc::exists) << "one coordinator for a folder";
  }
  const auto ledger = open().value();
  std::vector<StoredPlan> plans;
  std::vector<Queued> waiting;
  ASSERT_TRUE(ledger->load([&](StoredPlan&& stored) { plans.push_back(std::move(stored)); },
                           [&](Queued&& entry) { waiting.push_back(std::move(entry)); }));
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0], *plan(2));
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].body, "{}");
  struct stat info{};
  for (const char* file : {"/coordinator.db", "/coordinator.db-wal", "/coordinator.lock"}) {
    ASSERT_EQ(::stat((folder_ + file).c_str(), &info), 0) << file;
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << file;
  }
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(LedgerTest, DamageIsTold) {
  {
    const auto ledger = open().value();
    ASSERT_TRUE(ledger->commit(std::vector<Change>{{.id = 1, .plan_after = plan(1)}}));
  }
  {
    const auto database = sql::Database::open(folder_ + "/coordinator.db", sql::Durability::process).value();
    database->run("UPDATE plans SET plan = x'7f'");
  }
  const auto ledger = open().value();
  const auto loaded = ledger->load([](StoredPlan&&) {}, [](Queued&&) {});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message,
            "the ledger: plan 0000000000000001 cannot be read: a plan of version 127; this program reads versions 1 to 5; move "
            "the ledger "
            "away to start without it");
}

}  // namespace
}  // namespace iez::coordinator
