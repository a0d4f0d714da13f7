#include "lab/oss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "lab/unix_socket.hpp"
#include "lustre/cluster_reader.hpp"
#include "lustre/job_reader.hpp"
#include "lustre/param_source.hpp"

namespace iez::lab {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kAll = ~std::uint64_t{0};

std::vector<std::byte> bytes(std::string_view text) {
  std::vector<std::byte> result;
  result.reserve(text.size());
  for (const char c : text) result.push_back(static_cast<std::byte>(c));
  return result;
}

struct Reply {
  Op op{};
  bool is_answer = false;
  std::uint64_t number = 0;
  int error = -1;  // -1: nothing came
  std::vector<std::byte> body;

  template <typename Message>
  Message as() const {
    FrameReader reader(body);
    Message message;
    reader(message);
    EXPECT_TRUE(reader.good());
    return message;
  }
  template <typename Message>
  std::string data() const {
    FrameReader reader(body);
    Message message;
    reader(message);
    EXPECT_TRUE(reader.good());
    return {reinterpret_cast<const char*>(reader.rest().data()), reader.rest().size()};
  }
};

// A client as plain as can be: it sends, and reads what comes.
class Peer {
 public:
  explicit Peer(const std::string& path) {
    auto fd = connect_to(path);
    EXPECT_TRUE(fd.has_value());
    if (fd) fd_ = *std::move(fd);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};  // a test that hangs says where
    (void)::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  template <typename Message>
  std::uint64_t send(Op op, const Message& message, std::span<const std::byte> data = {}) {
    return send_as(next_++, op, message, data);
  }
  template <typename Message>
  std::uint64_t send_as(std::uint64_t number, Op op, const Message& message, std::span<const std::byte> data = {}) {
    const std::vector<std::byte> frame = request_frame(op, number, message, data);
    EXPECT_EQ(::send(fd_.get(), frame.data(), frame.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
    return number;
  }
  Reply receive() {
    Frame frame;
    if (!take(&frame, sizeof frame)) return {};
    std::vector<std::byte> body(frame.size - sizeof frame);
    if (!take(body.data(), body.size())) return {};
    Reply reply{.op = static_cast<Op>(frame.op), .is_answer = (frame.flags & kAnswer) != 0, .number = frame.number, .error = 0};
    if (reply.is_answer) {
      std::int32_t error = 0;
      std::memcpy(&error, body.data(), sizeof error);
      reply.error = error;
      body.erase(body.begin(), body.begin() + sizeof error);
    }
    reply.body = std::move(body);
    return reply;
  }
  template <typename Message>
  Reply call(Op op, const Message& message, std::span<const std::byte> data = {}) {
    const std::uint64_t number = send(op, message, data);
    Reply reply = receive();
    EXPECT_EQ(reply.number, number);
    EXPECT_TRUE(reply.is_answer);
    return reply;
  }
  // Nothing has come so far. The server answers in order, so what it does at once would be here before the answer to this.
  bool is_silent() {
    const std::uint64_t number = send(Op::query, QueryRequest{.number = 0});
    return receive().number == number;
  }
  bool knows(std::uint64_t number) { return call(Op::query, QueryRequest{.number = number}).as<QueryAnswer>().known == 1; }

  Reply connect(std::uint64_t client, std::uint64_t session, const std::string& node, std::uint64_t dirty = 0) {
    return call(Op::connect,
                ConnectRequest{.client = client, .session = session, .node = node, .rpcs_in_flight = 8, .dirty_bytes = dirty});
  }
  int write(std::uint32_t ost, std::uint64_t object, std::uint64_t offset, std::string_view data,
            const std::string& job = "dd.0") {
    return call(Op::write, WriteRequest{.name = {.ost = ost, .object = object}, .offset = offset, .job = job}, bytes(data)).error;
  }
  std::string read(std::uint32_t ost, std::uint64_t object, std::uint64_t offset, std::uint32_t size) {
    const Reply reply =
        call(Op::read, ReadRequest{.name = {.ost = ost, .object = object}, .offset = offset, .size = size, .job = "cat.0"});
    EXPECT_EQ(reply.error, 0);
    return reply.data<ReadAnswer>();
  }
  int fault(FaultKind kind, std::int32_t ost, double value = 0) {
    return call(Op::fault, FaultRequest{.kind = kind, .ost = ost, .value = value}).error;
  }

 private:
  bool take(void* to, std::size_t size) {
    auto* at = static_cast<std::byte*>(to);
    while (size > 0) {
      const ssize_t got = ::recv(fd_.get(), at, size, 0);
      if (got <= 0) return false;
      at += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }
  input::UniqueFd fd_;
  std::uint64_t next_ = 1;
};

class OssTest : public testing::Test {
 protected:
  OssTest() : log_(*Logger::make({.level = LogLevel::off})) {
    std::string name = (std::filesystem::temp_directory_path() / "iez-oss-XXXXXX").string();
    config_.dir = ::mkdtemp(name.data());
    config_.oss_count = 2;
    config_.osts_per_oss = 2;
    config_.ost_size = Bytes::mib(8);
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(config_.dir);
  }

  void start() {
    auto oss = Oss::create(config_, 1, log_);
    ASSERT_TRUE(oss) << oss.error().message;
    oss_ = *std::move(oss);
    thread_ = std::thread([this] { EXPECT_TRUE(oss_->run()); });
  }
  void stop() {
    if (!oss_) return;
    oss_->stop();
    thread_.join();
    oss_.reset();
  }
  std::string socket() const { return socket_path(config_, "oss1"); }
  // A disk that is done with a byte in an hour, or at once: what waits for it waits, and tests do not.
  void model_a_standing_disk() { config_.rate = {1.0 / 3600}; }

  Config config_;
  Logger log_;
  std::unique_ptr<Oss> oss_;
  std::thread thread_;
};

TEST_F(OssTest, StoresReadsAndTellsSizes) {
  start();
  Peer peer(socket());
  const auto hello = peer.connect(77, 1, "client0").as<ConnectAnswer>();
  EXPECT_EQ(hello.first_ost, 2U);
  EXPECT_EQ(hello.ost_count, 2U);
  EXPECT_NE(hello.boot, 0U);
  EXPECT_EQ(peer.write(2, 10, 5, "hello"), 0);
  EXPECT_EQ(peer.write(3, 11, 0, "other"), 0);
  EXPECT_EQ(peer.read(2, 10, 0, 100), std::string("\0\0\0\0\0hello", 10));
  EXPECT_EQ(peer.read(2, 10, 10, 5), "");
  EXPECT_EQ(peer.read(2, 999, 0, 5), "");
  const auto states = peer.call(Op::glimpse, ObjectsRequest{.names = {{2, 10}, {3, 11}, {2, 12}}}).as<GlimpseAnswer>().states;
  ASSERT_EQ(states.size(), 3U);
  EXPECT_EQ(states[0].size, 10U);
  EXPECT_EQ(states[0].blocks, 8U);
  EXPECT_GT(states[1].modify_ns, 0);
  EXPECT_EQ(states[2].modify_ns, 0);
  EXPECT_EQ(peer.call(Op::punch, PunchRequest{.name = {2, 10}, .size = 7}).as<ObjectState>().size, 7U);
  EXPECT_EQ(peer.read(2, 10, 5, 5), "he");
  EXPECT_EQ(peer.call(Op::sync, ObjectsRequest{.names = {{2, 10}}}).error, 0);
  const auto space = peer.call(Op::space, Empty{}).as<SpaceAnswer>().osts;
  ASSERT_EQ(space.size(), 2U);
  EXPECT_EQ(space[0].ost, 2U);
  EXPECT_EQ(space[0].total, Bytes::mib(8).count);
  EXPECT_EQ(space[0].free, Bytes::mib(8).count - 4096);
  EXPECT_EQ(space[0].objects, 1U);
  EXPECT_EQ(peer.call(Op::destroy, ObjectsRequest{.names = {{2, 10}, {3, 11}}}).error, 0);
  EXPECT_EQ(peer.call(Op::space, Empty{}).as<SpaceAnswer>().osts[0].objects, 0U);
}

TEST_F(OssTest, RefusesWhatMakesNoSense) {
  start();
  Peer peer(socket());
  EXPECT_EQ(peer.write(0, 1, 0, "not ours"), EINVAL);
  EXPECT_EQ(peer.write(4, 1, 0, "not ours"), EINVAL);
  EXPECT_EQ(peer.write(2, 1, kAll, "far"), EFBIG);
  EXPECT_EQ(peer.call(Op::read, ReadRequest{.name = {2, 1}, .size = (16U << 20U) + 1}).error, EINVAL);
  EXPECT_EQ(peer.call(Op::write, Empty{}).error, EPROTO);  // cut short
  EXPECT_EQ(peer.call(Op::lookup, Empty{}).error, EOPNOTSUPP);
  EXPECT_EQ(peer.call(static_cast<Op>(9999), Empty{}).error, EOPNOTSUPP);
  EXPECT_EQ(peer.call(Op::lock, LockRequest{.name = {0, 1}, .end = 1}).error, EINVAL);
  EXPECT_EQ(peer.call(Op::connect, Empty{}).error, EPROTO);
  EXPECT_EQ(peer.fault(FaultKind::slow, 2, 0.5), EOPNOTSUPP);  // no rate
  EXPECT_EQ(peer.fault(FaultKind::full, 0), EINVAL);
  EXPECT_EQ(peer.fault(FaultKind::drop, -1, 1.5), EINVAL);
  EXPECT_EQ(peer.fault(static_cast<FaultKind>(200), -1), EINVAL);
}

TEST_F(OssTest, WhatWasAnsweredIsThereAfterARestart) {
  start();
  std::uint64_t boot = 0;
  {
    Peer peer(socket());
    boot = peer.connect(77, 1, "client0").as<ConnectAnswer>().boot;
    ASSERT_EQ(peer.write(2, 10, 0, "kept"), 0);
  }
  stop();
  start();
  Peer peer(socket());
  EXPECT_NE(peer.connect(77, 1, "client0").as<ConnectAnswer>().boot, boot);
  EXPECT_EQ(peer.read(2, 10, 0, 10), "kept");
}

TEST_F(OssTest, SpaceEndsWithEnospcAndComesBack) {
  config_.ost_size = Bytes{8192};
  start();
  Peer peer(socket());
  EXPECT_EQ(peer.write(2, 1, 0, std::string(8192, 'a')), 0);
  EXPECT_EQ(peer.write(2, 2, 0, "b"), ENOSPC);
  EXPECT_EQ(peer.write(3, 2, 0, "b"), 0);
  EXPECT_EQ(peer.call(Op::destroy, ObjectsRequest{.names = {{2, 1}}}).error, 0);
  EXPECT_EQ(peer.write(2, 2, 0, "b"), 0);
}

TEST_F(OssTest, FaultsComeAndGo) {
  start();
  Peer peer(socket());
  EXPECT_EQ(peer.fault(FaultKind::full, 2), 0);
  EXPECT_EQ(peer.fault(FaultKind::off, 3), 0);
  EXPECT_EQ(peer.write(2, 1, 0, "a"), ENOSPC);
  EXPECT_EQ(peer.write(3, 1, 0, "a"), 0);  // an object that is there already may grow
  auto space = peer.call(Op::space, Empty{}).as<SpaceAnswer>().osts;
  EXPECT_EQ(space[0].free, 0U);
  EXPECT_EQ(space[0].usable, 1U);
  EXPECT_EQ(space[1].usable, 0U);
  EXPECT_EQ(peer.fault(FaultKind::none, -1), 0);
  EXPECT_EQ(peer.write(2, 1, 0, "a"), 0);
  EXPECT_EQ(peer.call(Op::space, Empty{}).as<SpaceAnswer>().osts[1].usable, 1U);
}

TEST_F(OssTest, DroppedRequestsAreUnknownAndMayBeSentAgain) {
  start();
  Peer peer(socket());
  ASSERT_EQ(peer.connect(77, 1, "client0").error, 0);
  ASSERT_EQ(peer.fault(FaultKind::drop, -1, 1), 0);
  const WriteRequest request{.name = {2, 1}, .offset = 0, .job = "dd.0"};
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) last = peer.send(Op::write, request, bytes("again"));
  EXPECT_FALSE(peer.knows(last));
  ASSERT_EQ(peer.fault(FaultKind::none, -1), 0);
  peer.send_as(last, Op::write, request, bytes("again"));
  const Reply reply = peer.receive();
  EXPECT_EQ(reply.number, last);
  EXPECT_EQ(reply.error, 0);
  EXPECT_EQ(peer.read(2, 1, 0, 10), "again");
}

TEST_F(OssTest, WritesWaitBeyondTheDirtyBytesAndReadsForTheDisk) {
  model_a_standing_disk();
  start();
  Peer peer(socket());
  ASSERT_EQ(peer.connect(77, 1, "client0", 10).error, 0);
  EXPECT_EQ(peer.write(2, 1, 0, "0123456789"), 0);  // as much as may be dirty
  const std::uint64_t held = peer.send(Op::write, WriteRequest{.name = {2, 1}, .offset = 10}, bytes("x"));
  EXPECT_TRUE(peer.is_silent());
  EXPECT_TRUE(peer.knows(held));
  EXPECT_EQ(peer.read(2, 1, 0, 20), "0123456789x");  // still in memory: kept when it came
  EXPECT_EQ(peer.write(3, 1, 0, "its own 10"), 0);   // another OST has dirty bytes of its own
}

TEST_F(OssTest, SyncWaitsForTheDiskAndOnlyForItsObject) {
  model_a_standing_disk();
  start();
  Peer peer(socket());
  ASSERT_EQ(peer.connect(77, 1, "client0", 1000).error, 0);
  EXPECT_EQ(peer.write(2, 1, 0, "dirty"), 0);
  EXPECT_EQ(peer.call(Op::sync, ObjectsRequest{.names = {{2, 2}, {3, 1}}}).error, 0);
  EXPECT_EQ(peer.call(Op::sync, ObjectsRequest{}).error, 0);
  const std::uint64_t number = peer.send(Op::sync, ObjectsRequest{.names = {{2, 2}, {2, 1}}});
  EXPECT_TRUE(peer.is_silent());
  EXPECT_TRUE(peer.knows(number));
}

TEST_F(OssTest, AFastDiskAnswersAll) {
  config_.rate = {1e12};
  start();
  Peer peer(socket());
  ASSERT_EQ(peer.connect(77, 1, "client0", 0).error, 0);  // nothing may be dirty: every write waits for the disk
  for (std::uint64_t i = 0; i < 50; ++i) ASSERT_EQ(peer.write(2, i % 3, i * 1000, std::string(1000, 'a')), 0);
  EXPECT_EQ(peer.call(Op::sync, ObjectsRequest{.names = {{2, 0}, {2, 1}, {2, 2}}}).error, 0);
  EXPECT_EQ(peer.read(2, 49 % 3, 49 * 1000, 5000), std::string(1000, 'a'));
  const auto state = nlohmann::json::parse(peer.call(Op::describe, Empty{}).as<DescribeAnswer>().json);
  EXPECT_EQ(state["node"], "oss1");
  EXPECT_EQ(state["osts"][0]["write_bytes"], 50'000);
  EXPECT_EQ(state["osts"][0]["queue"], 0);
  EXPECT_EQ(state["clients"][0]["node"], "client0");
}

TEST_F(OssTest, ARequestUnderWayIsAnsweredOnTheNewConnection) {
  model_a_standing_disk();
  start();
  Peer first(socket());
  ASSERT_EQ(first.connect(77, 1, "client0", 0).error, 0);
  const WriteRequest request{.name = {2, 1}, .offset = 0, .job = "dd.0"};
  const std::uint64_t number = first.send_as(500, Op::write, request, bytes("once"));
  EXPECT_TRUE(first.knows(number));
  Peer second(socket());
  ASSERT_EQ(second.connect(77, 1, "client0", 0).error, 0);
  EXPECT_EQ(first.receive().error, -1);  // the old one was closed
  second.send_as(number, Op::write, request, bytes("once"));
  EXPECT_TRUE(second.knows(number));
  second.send_as(9000, Op::limits, LimitsRequest{.ost = 2, .rpcs_in_flight = 8, .dirty_bytes = 100});  // lets it go
  EXPECT_EQ(second.receive().number, 9000U);
  const Reply reply = second.receive();
  EXPECT_EQ(reply.number, number);
  EXPECT_EQ(reply.error, 0);
  const auto state = nlohmann::json::parse(second.call(Op::describe, Empty{}).as<DescribeAnswer>().json);
  EXPECT_EQ(state["osts"][0]["write_bytes"], 4);  // counted once
}

TEST_F(OssTest, ANewSessionOfAClientForgetsTheOldOne) {
  model_a_standing_disk();
  start();
  Peer first(socket());
  ASSERT_EQ(first.connect(77, 1, "client0", 0).error, 0);
  ASSERT_EQ(first.call(Op::lock, LockRequest{.name = {2, 1}, .mode = LockMode::write, .start = 0, .end = 10}).error, 0);
  first.send_as(500, Op::write, WriteRequest{.name = {2, 1}}, bytes("x"));
  EXPECT_TRUE(first.knows(500));
  Peer again(socket());
  ASSERT_EQ(again.connect(77, 2, "client0", 0).error, 0);
  EXPECT_FALSE(again.knows(500));
  Peer other(socket());
  ASSERT_EQ(other.connect(78, 1, "client1", 0).error, 0);
  EXPECT_EQ(other.call(Op::lock, LockRequest{.name = {2, 1}, .mode = LockMode::write, .start = 0, .end = 10}).error, 0);
}

TEST_F(OssTest, LocksAreAskedBackAndPassedOn) {
  start();
  Peer a(socket());
  Peer b(socket());
  ASSERT_EQ(a.connect(1, 1, "client0").error, 0);
  ASSERT_EQ(b.connect(2, 1, "client1").error, 0);
  const LockRequest wanted{.name = {2, 1}, .mode = LockMode::write, .start = 0, .end = 4096};
  EXPECT_EQ(a.call(Op::lock, wanted).as<LockRequest>().end, kAll);
  const std::uint64_t waits = b.send(Op::lock, wanted);
  const Reply revoke = a.receive();
  EXPECT_EQ(revoke.op, Op::revoke);
  EXPECT_FALSE(revoke.is_answer);
  const auto asked = revoke.as<LockRequest>();
  EXPECT_EQ(asked.name, wanted.name);
  EXPECT_EQ(asked.end, kAll);
  EXPECT_EQ(a.call(Op::unlock, asked).error, 0);
  const Reply granted = b.receive();
  EXPECT_EQ(granted.number, waits);
  EXPECT_EQ(granted.as<LockRequest>().mode, LockMode::write);
  EXPECT_EQ(a.call(Op::unlock, asked).error, 0);  // twice does no harm
}

TEST_F(OssTest, ALostClientLosesItsLocks) {
  start();
  auto a = std::make_unique<Peer>(socket());
  Peer b(socket());
  ASSERT_EQ(b.connect(2, 1, "client1").error, 0);
  const LockRequest wanted{.name = {2, 1}, .mode = LockMode::write, .start = 0, .end = 4096};
  // Without a name it goes with its connection; with one, after some seconds.
  ASSERT_EQ(a->call(Op::lock, wanted).error, 0);
  const std::uint64_t waits = b.send(Op::lock, wanted);
  ASSERT_EQ(a->receive().op, Op::revoke);
  a.reset();
  EXPECT_EQ(b.receive().number, waits);
}

TEST_F(OssTest, ItsParametersAreThoseOfAServer) {
  start();
  {
    Peer peer(socket());
    ASSERT_EQ(peer.connect(77, 1, "client0").error, 0);
    ASSERT_EQ(peer.write(2, 1, 0, std::string(100'000, 'a'), "ior:1000:node7"), 0);
    EXPECT_EQ(peer.call(Op::stop, Empty{}).error, 0);
  }
  thread_.join();
  thread_ = std::thread([] {});
  const std::string root = params_root(config_, "oss1");
  EXPECT_TRUE(std::filesystem::exists(root + "/sys/kernel/debug/lustre/obdfilter/iez-OST0002/exports/client0@lab/stats"));
  std::vector<std::unique_ptr<lustre::ParamSource>> sources;
  auto tree = lustre::open_tree(root);
  ASSERT_TRUE(tree);
  sources.push_back(*std::move(tree));
  input::ParseReport report;
  const auto reading = lustre::read_clusters(sources, {}, report);
  ASSERT_TRUE(reading) << reading.error().message;
  ASSERT_EQ(reading->file_systems.size(), 1U);
  const model::Cluster& cluster = reading->file_systems[0].cluster;
  EXPECT_EQ(cluster.name, "iez");
  ASSERT_EQ(cluster.osts.size(), 2U);
  EXPECT_EQ(cluster.osts[0].index, OstIndex{2});
  EXPECT_EQ(cluster.osts[0].total, Bytes::mib(8));
  EXPECT_EQ(cluster.osts[1].free, Bytes::mib(8));
  EXPECT_EQ(reading->hosts[0].name, "oss1");
  EXPECT_EQ(reading->hosts[0].health, "healthy");
  const auto jobs = lustre::read_jobs(sources, SystemClock(), {}, report);
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_EQ(report.skipped, 0U);
  std::ifstream file(root + "/proc/fs/lustre/obdfilter/iez-OST0002/job_stats");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("\"ior:1000:node7\""));
  EXPECT_THAT(text.str(), HasSubstr("sum:           100000"));
}

TEST_F(OssTest, HolesAndWhatIsGoneCostNoDiskTime) {
  model_a_standing_disk();
  start();
  Peer peer(socket());
  ASSERT_EQ(peer.connect(77, 1, "client0", 1000).error, 0);
  ASSERT_EQ(peer.call(Op::punch, PunchRequest{.name = {2, 1}, .size = 100'000}).error, 0);
  EXPECT_EQ(peer.read(2, 1, 50'000, 10), std::string(10, '\0'));
  // The first is on the disk for an hour; the others wait, and go with their object.
  ASSERT_EQ(peer.write(2, 2, 0, "a"), 0);
  for (std::uint64_t object = 3; object < 12; ++object) ASSERT_EQ(peer.write(2, object, 0, "b"), 0);
  const std::uint64_t waits = peer.send(Op::sync, ObjectsRequest{.names = {{2, 11}}});
  EXPECT_TRUE(peer.is_silent());
  peer.send(Op::destroy, ObjectsRequest{.names = {{2, 11}}});
  EXPECT_EQ(peer.receive().op, Op::destroy);
  EXPECT_EQ(peer.receive().number, waits);
}

}  // namespace
}  // namespace iez::lab
