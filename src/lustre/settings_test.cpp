#include "lustre/settings.hpp"

#include <cerrno>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::lustre {
namespace {

using testing::HasSubstr;

constexpr const char* kDevice = "a-OST0000-osc-ffff888111310800";

// Behaves as the kernel was measured to: 1 to 256, and a raise of the one raises max_dirty_mb, a lowering does not lower it.
class FakeClient final : public ParamSource {
 public:
  Result<std::vector<Instance>> find(Param param) const override {
    if (param != Param::osc_max_rpcs_in_flight && param != Param::osc_max_dirty_mb) return std::vector<Instance>{};
    return std::vector<Instance>{{.param = param, .device = kDevice, .origin = "osc"}};
  }
  Result<std::unique_ptr<input::ByteStream>> open(const Instance& instance) const override {
    text_ = std::to_string(instance.param == Param::osc_max_rpcs_in_flight ? rpcs : dirty) + '\n';
    return input::memory_stream(text_);
  }
  Result<void> write(const Instance& instance, std::string_view value) override {
    const auto number = text::parse_u64(text::trim(value));
    if (!number) return fail_errno(EINVAL, "osc");
    if (instance.param == Param::osc_max_dirty_mb) {
      if (dirty_refusals > 0) {
        --dirty_refusals;
        return fail_errno(EIO, "osc max_dirty_mb");
      }
      dirty = *number;
      ++dirty_writes;
      return {};
    }
    if (deaf) return {};
    if (*number < 1 || *number > 256) return fail_errno(ERANGE, "osc");
    rpcs = *number;
    dirty = std::max(dirty, *number * 8);
    return {};
  }
  std::string name() const override { return "fake"; }

  std::uint64_t rpcs = 8;
  std::uint64_t dirty = 64;
  int dirty_writes = 0;
  int dirty_refusals = 0;
  bool deaf = false;

 private:
  mutable std::string text_;
};

TEST(Settings, RaisingPutsTheDirtyLimitBack) {
  FakeClient client;
  const auto limit = set_max_rpcs_in_flight(client, kDevice, 32);
  ASSERT_TRUE(limit) << limit.error().message;
  EXPECT_EQ(limit->max_rpcs_in_flight, 32U);
  EXPECT_EQ(limit->max_dirty_mb, 64U);
  EXPECT_EQ(client.dirty_writes, 1);
}

TEST(Settings, LoweringTouchesNothingElse) {
  FakeClient client;
  const auto limit = set_max_rpcs_in_flight(client, kDevice, 1);
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->max_rpcs_in_flight, 1U);
  EXPECT_EQ(client.dirty_writes, 0);
}

TEST(Settings, OutOfRangeChangesNothing) {
  FakeClient client;
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{257}, ~std::uint64_t{0}}) {
    const auto limit = set_max_rpcs_in_flight(client, kDevice, value);
    ASSERT_FALSE(limit);
    EXPECT_THAT(limit.error().message, HasSubstr("must be 1 to 256"));
  }
  EXPECT_EQ(client.rpcs, 8U);
}

TEST(Settings, AValueThatDoesNotStickIsAnError) {
  FakeClient client;
  client.deaf = true;
  const auto limit = set_max_rpcs_in_flight(client, kDevice, 16);
  ASSERT_FALSE(limit);
  EXPECT_THAT(limit.error().message, HasSubstr("wrote 16, reads 8"));
}

TEST(Settings, AFailureHalfWayIsUndone) {
  FakeClient client;
  client.dirty_refusals = 1;
  const auto limit = set_max_rpcs_in_flight(client, kDevice, 64);
  ASSERT_FALSE(limit);
  EXPECT_THAT(limit.error().message, HasSubstr("max_dirty_mb"));
  EXPECT_EQ(client.rpcs, 8U);
  EXPECT_EQ(client.dirty, 64U);
}

TEST(Settings, UnknownDevice) {
  FakeClient client;
  EXPECT_EQ(set_max_rpcs_in_flight(client, "a-OST0009-osc-ffff", 16).error().code, Errc::not_found);
}

// The same over real files; a client on an MDS has the MDS's own connections beside it.
TEST(Settings, OnATree) {
  TemporaryTree tree;
  for (const std::string device : {kDevice, "a-OST0000-osc-MDT0000"}) {
    tree.write("sys/fs/lustre/osc/" + device + "/max_rpcs_in_flight", "8\n");
    tree.write("sys/fs/lustre/osc/" + device + "/max_dirty_mb", "490\n");
  }
  const auto source = open_source(tree.root());
  const auto limits = read_rpc_limits(**source);
  ASSERT_TRUE(limits);
  ASSERT_EQ(limits->size(), 1U);
  EXPECT_EQ(limits->front().device, kDevice);
  EXPECT_EQ(limits->front().max_dirty_mb, 490U);
  ASSERT_TRUE(set_max_rpcs_in_flight(**source, kDevice, 256));
  EXPECT_EQ(tree.read(std::string("sys/fs/lustre/osc/") + kDevice + "/max_rpcs_in_flight"), "256\n");
  EXPECT_FALSE(set_max_rpcs_in_flight(**source, "a-OST0000-osc-MDT0000", 4)) << "never the MDS's own";
  EXPECT_EQ(tree.read("sys/fs/lustre/osc/a-OST0000-osc-MDT0000/max_rpcs_in_flight"), "8\n");
}

}  // namespace
}  // namespace iez::lustre
