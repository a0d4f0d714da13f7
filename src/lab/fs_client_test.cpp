#include "lab/fs_client.hpp"

#include <fcntl.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "lab/mds_test_support.hpp"
#include "lab/oss.hpp"
#include "lustre/layout_codec.hpp"

namespace iez::lab {
namespace {

// The servers of a lab in threads, and two clients.
class Cluster {
 public:
  Cluster() {
    std::string pattern = (std::filesystem::temp_directory_path() / "iez-fs-XXXXXX").string();
    config_ = small_lab(::mkdtemp(pattern.data()));
    EXPECT_TRUE(save_config(config_));
    mds_ = std::make_unique<RunningMds>(config_);
    for (std::uint32_t i = 0; i < config_.oss_count; ++i) start(i);
    for (std::uint64_t i = 0; i < 2; ++i) {
      clients_.push_back(std::make_unique<FsClient>(
          FsClient::Options{.config = config_, .node = "client" + std::to_string(i), .client = 100 + i, .session = 1 + i}));
    }
  }
  ~Cluster() {
    clients_.clear();
    for (std::uint32_t i = 0; i < config_.oss_count; ++i) stop(i);
    mds_.reset();
    std::filesystem::remove_all(config_.dir);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  FsClient& client(std::size_t which) { return *clients_[which]; }
  const Config& config() const { return config_; }

  void start(std::uint32_t oss) {
    servers_.resize(config_.oss_count);
    Server& server = servers_[oss];
    server.oss = Oss::create(config_, oss, log_).value();
    server.thread = std::thread([&server] { EXPECT_TRUE(server.oss->run()); });
  }
  void stop(std::uint32_t oss) {
    servers_[oss].oss->stop();
    servers_[oss].thread.join();
    servers_[oss].oss.reset();
  }

 private:
  struct Server {
    std::unique_ptr<Oss> oss;
    std::thread thread;
  };
  Logger log_ = quiet_log();
  Config config_;
  std::unique_ptr<RunningMds> mds_;
  std::vector<Server> servers_;
  std::vector<std::unique_ptr<FsClient>> clients_;
};

// Plain, overstriped, or of two components.
std::vector<std::byte> draw_layout(Rng& rng, const Config& config) {
  const auto component = [&](std::uint64_t start, std::uint64_t end) {
    model::Component made;
    made.extent = {.start = start, .end = end};
    made.stripe_size = {rng.between(1, 3) * 65536};
    const std::uint64_t count = rng.between(1, config.ost_count());
    if (rng.chance(0.5)) {
      made.overstriped = true;
      for (std::uint64_t i = 0; i < count; ++i) made.osts.push_back({static_cast<std::uint32_t>(rng.below(config.ost_count()))});
    }
    made.stripe_count = static_cast<std::uint16_t>(count);
    return made;
  };
  model::Layout layout;
  layout.composite = rng.chance(0.3);
  if (layout.composite) {
    constexpr std::uint64_t kBorder = 6 * 65536;  // a multiple of every stripe size above
    layout.components = {component(0, kBorder), component(kBorder, model::Extent::kEof)};
  } else {
    layout.components = {component(0, model::Extent::kEof)};
  }
  auto bytes = lustre::encode_request(layout);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes ? *bytes : std::vector<std::byte>{};
}

std::vector<std::byte> draw_bytes(Rng& rng, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (i % 8 == 0) word = rng.bits();
    bytes[i] = static_cast<std::byte>(word >> (i % 8 * 8));
  }
  return bytes;
}

constexpr std::uint64_t kReach = 900'000;

void write_and_read(Rng& rng, Cluster& cluster, std::uint64_t inode) {
  std::vector<std::byte> model;
  for (int step = 0; step < 10; ++step) {
    FsClient& client = cluster.client(rng.below(2));
    const std::uint64_t at = rng.below(kReach);
    const std::size_t length = rng.chance(0.5) ? rng.between(1, 5000) : rng.between(1, 400'000);
    const std::uint64_t what = rng.below(10);
    if (what < 5) {
      const auto data = draw_bytes(rng, length);
      const bool append = what == 0;
      const auto written = client.write({}, inode, at, data, append ? FsClient::WriteKind::append : FsClient::WriteKind::plain);
      ASSERT_TRUE(written) << written.error();
      ASSERT_EQ(written->size, length);
      const std::uint64_t to = append ? model.size() : at;
      if (model.size() < to + length) model.resize(to + length);
      std::ranges::copy(data, model.begin() + static_cast<std::ptrdiff_t>(to));
    } else if (what == 5) {
      const auto cut = client.change({}, {.inode = inode}, 0, at);
      ASSERT_TRUE(cut) << cut.error();
      model.resize(at);
    } else {
      const auto read = client.read({}, inode, at, length);
      ASSERT_TRUE(read) << read.error();
      const std::uint64_t end = std::min<std::uint64_t>(model.size(), at + length);
      const std::size_t expected = end <= at ? 0 : end - at;
      ASSERT_EQ(read->bytes.size(), expected) << "step " << step;
      ASSERT_TRUE(std::equal(read->bytes.begin(), read->bytes.end(),
                             model.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(at, model.size()))))
          << "step " << step << " at " << at;
    }
    const auto state = cluster.client(rng.below(2)).state({}, inode);
    ASSERT_TRUE(state);
    ASSERT_EQ(state->attributes.size, model.size()) << "step " << step;
  }
}

// 1000 files with random layouts, each written, cut and read by two clients in turn; in eight parts, for slow builds.
class FsClientModel : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Part, FsClientModel, ::testing::Range<std::uint64_t>(0, 8));

TEST_P(FsClientModel, BytesAreThoseOfTheModel) {
  Cluster cluster;
  for (std::uint64_t seed = GetParam() * 125; seed < (GetParam() + 1) * 125; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const std::string name = fmt::format("f{}", seed);
    FsClient& maker = cluster.client(0);
    const auto made = maker.make({}, kRootInode, name, S_IFREG | 0644, 0, "");
    ASSERT_TRUE(made) << made.error();
    const std::uint64_t inode = made->attributes.inode;
    const auto set = maker.set_xattr({}, inode, "lustre.lov", draw_layout(rng, cluster.config()), 0);
    ASSERT_TRUE(set) << set.error();
    ASSERT_TRUE(cluster.client(1).lookup({}, kRootInode, name));
    ASSERT_TRUE(cluster.client(0).open({}, inode));
    ASSERT_TRUE(cluster.client(1).open({}, inode));
    write_and_read(rng, cluster, inode);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
    for (std::size_t i = 0; i < 2; ++i) {
      cluster.client(i).close({}, inode);
      cluster.client(i).forget(inode, 1);
    }
    ASSERT_TRUE(maker.unlink({}, kRootInode, name));
  }
}

// As llite counts: a call is one sample, on however many OSTs it is, and what a mapping writes back is none. RPCs are counted
// beside it.
TEST(FsClient, CallsAreCountedOnce) {
  Cluster cluster;
  FsClient& client = cluster.client(0);
  const auto made = client.make({}, kRootInode, "x", S_IFREG | 0644, 0, "");
  ASSERT_TRUE(made);
  const std::uint64_t inode = made->attributes.inode;
  model::Layout layout;
  layout.components = {{.stripe_size = Bytes{65'536}, .stripe_count = 2}};
  ASSERT_TRUE(client.set_xattr({}, inode, "lustre.lov", lustre::encode_request(layout).value(), 0));
  ASSERT_TRUE(client.open({}, inode));
  Rng rng(1);
  const auto data = draw_bytes(rng, 4 * 65'536);
  const auto rpcs = [&] {
    std::uint64_t all = 0;
    for (std::uint32_t ost = 0; ost < cluster.config().ost_count(); ++ost) all += client.traffic(ost).writes.requests;
    return all;
  };
  ASSERT_TRUE(client.write({}, inode, 0, data, FsClient::WriteKind::plain));
  const std::uint64_t requests = rpcs();
  EXPECT_GE(requests, 2U);
  EXPECT_EQ(client.calls().writes.calls, 1U);
  EXPECT_EQ(client.calls().writes.bytes, data.size());
  ASSERT_TRUE(client.write({}, inode, 7, std::span(data).first(100), FsClient::WriteKind::append));
  ASSERT_TRUE(client.write({}, inode, 0, data, FsClient::WriteKind::page_out));
  EXPECT_GT(rpcs(), requests + 1);
  const CallTotals writes = client.calls().writes;
  EXPECT_EQ(writes.calls, 2U);
  EXPECT_EQ(writes.bytes, data.size() + 100);
  EXPECT_EQ(writes.smallest, 100U);
  EXPECT_EQ(writes.largest, data.size());
  EXPECT_DOUBLE_EQ(writes.squares, static_cast<double>(data.size()) * static_cast<double>(data.size()) + 10'000);
  ASSERT_TRUE(client.read({}, inode, 0, data.size()));
  ASSERT_TRUE(client.read({}, inode, 10 * data.size(), 5));  // behind the end: nothing
  EXPECT_EQ(client.calls().reads.calls, 1U);
  EXPECT_EQ(client.calls().reads.bytes, data.size());
  EXPECT_EQ(cluster.client(1).calls().writes.calls, 0U);
}

TEST(FsClient, WritesWaitForAServerThatIsAway) {
  Cluster cluster;
  FsClient& client = cluster.client(0);
  const auto made = client.create({}, kRootInode, "x", S_IFREG | 0644);
  ASSERT_TRUE(made);
  const std::uint64_t inode = made->attributes.inode;
  Rng rng(1);
  const auto data = draw_bytes(rng, 100'000);
  ASSERT_TRUE(client.write({}, inode, 0, data, FsClient::WriteKind::plain));
  for (std::uint32_t oss = 0; oss < cluster.config().oss_count; ++oss) cluster.stop(oss);
  const auto refused = client.write({.interrupted = [] { return true; }}, inode, 0, data, FsClient::WriteKind::plain);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), EINTR);
  std::thread later([&] {
    const auto written = client.write({}, inode, 100'000, data, FsClient::WriteKind::plain);
    EXPECT_TRUE(written);
  });
  for (std::uint32_t oss = 0; oss < cluster.config().oss_count; ++oss) cluster.start(oss);
  later.join();
  const auto read = cluster.client(1).read({}, inode, 0, 300'000);
  ASSERT_TRUE(read);
  std::vector<std::byte> twice = data;
  twice.insert(twice.end(), data.begin(), data.end());
  EXPECT_EQ(read->bytes, twice);
}

TEST(FsClient, FilesWithoutALayoutAreEmpty) {
  Cluster cluster;
  FsClient& client = cluster.client(0);
  const auto made = client.make({}, kRootInode, "x", S_IFREG | 0600, 0, "");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->attributes.size, 0U);
  const auto read = client.read({}, made->attributes.inode, 0, 100);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->bytes.empty());
  ASSERT_TRUE(client.open({}, made->attributes.inode));
  EXPECT_TRUE(client.write({}, made->attributes.inode, 5, draw_bytes(*std::make_unique<Rng>(1), 10), FsClient::WriteKind::plain));
  const auto state = cluster.client(1).lookup({}, kRootInode, "x");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->attributes.size, 15U);
  EXPECT_GT(state->attributes.modify_ns, 0);
}

TEST(FsClient, ErrnosOfTheServers) {
  Cluster cluster;
  FsClient& client = cluster.client(0);
  const auto none = client.lookup({}, kRootInode, "none");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), ENOENT);
  ASSERT_TRUE(client.create({}, kRootInode, "x", S_IFREG | 0600));
  const auto twice = cluster.client(1).create({}, kRootInode, "x", S_IFREG | 0600);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error(), EEXIST);
  // Servers that the client is not connected to yet do not count.
  const std::uint64_t all = cluster.config().ost_count() * cluster.config().ost_size.count;
  for (int i = 0; i < 1000 && client.space({})->total != all; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(client.space({})->total, all);
}

}  // namespace
}  // namespace iez::lab
