// The metadata server and object servers together: free space, objects of files that are gone, servers that come and go.
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab/mds_test_support.hpp"
#include "lab/oss.hpp"
#include "lustre/layout_codec.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

class RunningOss {
 public:
  RunningOss(const Config& config, std::uint32_t index)
      : oss_(Oss::create(config, index, log_).value()), thread_([this] { (void)oss_->run(); }) {}
  ~RunningOss() {
    oss_->stop();
    thread_.join();
  }
  RunningOss(const RunningOss&) = delete;
  RunningOss& operator=(const RunningOss&) = delete;

 private:
  Logger log_ = quiet_log();
  std::unique_ptr<Oss> oss_;
  std::thread thread_;
};

class MdsOssTest : public testing::Test {
 protected:
  nlohmann::json describe() { return nlohmann::json::parse(peer_.ask<DescribeAnswer>(Op::describe, Empty{}).value().json); }

  // What the server does in its own time, it does within a second or two; a loaded machine may take longer.
  template <typename Condition>
  bool wait_for(Condition condition) {
    for (int i = 0; i < 600; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  bool wait_for_connected(std::size_t ost, bool connected) {
    return wait_for([&] { return describe()["osts"][ost]["connected"] == connected; });
  }
  Entry create(const std::string& name) {
    return peer_.ask<Entry>(Op::make, MakeRequest{.parent = kRootInode, .name = name, .mode = S_IFREG | 0644, .open = 1}).value();
  }
  static std::vector<ObjectName> objects_of(const Entry& entry) {
    std::vector<ObjectName> names;
    const auto layout = lustre::decode_layout(entry.layout).value();
    names.reserve(layout.components[0].objects.size());
    for (const auto& object : layout.components[0].objects) names.push_back({.ost = object.ost.value, .object = object.id.low});
    return names;
  }
  void write(const ObjectName& name) {
    const std::string node = config_.oss_of(name.ost) == 0 ? "oss0" : "oss1";
    const auto fd = connect_to(socket_path(config_, node)).value();
    const std::vector<std::byte> data(Bytes::mib(1).count, std::byte{1});
    const auto frame = request_frame(Op::write, 1, WriteRequest{.name = name, .offset = 0, .job = "j"}, data);
    std::size_t sent = 0;
    while (sent < frame.size()) {
      const ssize_t done = ::send(fd.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
      ASSERT_GT(done, 0);
      sent += static_cast<std::size_t>(done);
    }
    std::byte answer[sizeof(Frame) + 8];
    ASSERT_EQ(::recv(fd.get(), answer, sizeof answer, MSG_WAITALL), static_cast<ssize_t>(sizeof answer));
  }

  lustre::TemporaryTree tree_;
  Config config_ = small_lab(tree_.root());
  RunningMds mds_{config_};
  MdsPeer peer_{config_, 1, 1};
};

TEST_F(MdsOssTest, servers_come_and_go) {
  EXPECT_EQ(describe()["osts"][0]["connected"], false);
  {
    const RunningOss first(config_, 0);
    ASSERT_TRUE(wait_for_connected(0, true));
    EXPECT_EQ(describe()["osts"][5]["connected"], false);
    for (int i = 0; i < 12; ++i) {
      for (const ObjectName& name : objects_of(create("f" + std::to_string(i)))) EXPECT_LT(name.ost, 3U) << "oss1 is not there";
    }
  }
  EXPECT_TRUE(wait_for_connected(0, false));
}

TEST_F(MdsOssTest, objects_of_removed_files_are_destroyed) {
  const RunningOss first(config_, 0);
  auto second = std::make_unique<RunningOss>(config_, 1);
  ASSERT_TRUE(wait_for_connected(0, true));
  ASSERT_TRUE(wait_for_connected(5, true));
  std::vector<ObjectName> names;
  for (int i = 0; i < 6; ++i) {
    const Entry entry = create("f" + std::to_string(i));
    for (const ObjectName& name : objects_of(entry)) names.push_back(name);
    ASSERT_TRUE(peer_.ask<Empty>(Op::close, InodeRequest{.inode = entry.attributes.inode}).has_value());
  }
  ASSERT_EQ(names.size(), 6U);
  for (const ObjectName& name : names) write(name);
  const auto objects = [&] {
    std::uint64_t sum = 0;
    const nlohmann::json described = describe();
    for (const auto& ost : described["osts"]) sum += ost["objects"].get<std::uint64_t>();
    return sum;
  };
  ASSERT_TRUE(wait_for([&] { return objects() == 6; }));
  EXPECT_LT(describe()["osts"][names[0].ost]["free"].get<std::uint64_t>(), config_.ost_size.count);

  second.reset();
  ASSERT_TRUE(wait_for_connected(5, false));
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(peer_.ask<Empty>(Op::unlink, NameRequest{.parent = kRootInode, .name = "f" + std::to_string(i)}).has_value());
  }
  EXPECT_TRUE(wait_for([&] { return describe()["doomed_objects"] == 3; })) << "those of oss1 wait for it";
  second = std::make_unique<RunningOss>(config_, 1);
  EXPECT_TRUE(wait_for([&] { return describe()["doomed_objects"] == 0; }));
  EXPECT_TRUE(wait_for([&] { return objects() == 0; }));
}

}  // namespace
}  // namespace iez::lab
