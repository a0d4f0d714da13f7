// Samples and requests over real sockets on this machine. Every wait is bounded; none of them is a fixed time.
#include <gtest/gtest.h>
#include <zmq.h>

#include <atomic>
#include <functional>
#include <thread>

#include "lustre/tree_test_support.hpp"
#include "telemetry/collector.hpp"
#include "telemetry/keys.hpp"
#include "telemetry/publisher.hpp"
#include "telemetry/sockets.hpp"
#include "telemetry/subscriber.hpp"

namespace iez::telemetry {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

constexpr Duration kPatience = 20s;
constexpr Duration kStep = 20ms;

// Steps until it holds; false if it never does.
bool until(const std::function<bool()>& holds, const std::function<void()>& step) {
  const SystemClock clock;
  const Duration end = clock.monotonic() + kPatience;
  while (!holds()) {
    if (clock.monotonic() > end) return false;
    step();
  }
  return true;
}

Sample sample_of(const std::string& agent, std::uint64_t sequence) {
  return {.agent = agent, .instance = 1, .sequence = sequence, .interval = 1s};
}

// A folder of keys as an agent has it.
void give_keys(const std::string& from, const std::string& name, const std::string& to) {
  std::filesystem::create_directories(to);
  std::filesystem::copy_file(from + "/coordinator.pub", to + "/coordinator.pub");
  std::filesystem::copy_file(from + '/' + name + ".key", to + "/agent.key");
}

class Wire : public testing::Test {
 protected:
  SubscriberOptions bound(const std::string& keys = "") {
    return {.samples = "ipc://" + tree_.path("s"), .requests = "ipc://" + tree_.path("r"), .keys = keys};
  }
  PublisherOptions connected(const std::string& keys = "") {
    return {.samples = "ipc://" + tree_.path("s"), .requests = "ipc://" + tree_.path("r"), .keys = keys};
  }
  std::string coordinator_keys() {
    const std::string folder = tree_.path("keys");
    EXPECT_TRUE(init_keys(folder, Overwrite::no));
    return folder;
  }
  void receive(Subscriber& subscriber, Duration wait = kStep) {
    const auto got = subscriber.receive(wait, [this](std::span<const std::byte> bytes, std::string_view sender) {
      senders_.emplace_back(sender);
      last_ = collector_.feed(bytes, now(clock_), sender);
    });
    ASSERT_TRUE(got) << got.error().message;
    taken_ += *got;
  }
  bool connects(Subscriber& subscriber, Publisher& publisher) {
    return until([&] { return publisher.connected(); },
                 [&] {
                   ASSERT_TRUE(publisher.hear(kStep));
                   receive(subscriber, 0s);
                 });
  }
  bool arrives(Subscriber& subscriber, std::size_t count) {
    return until([&] { return taken_ >= count; }, [&] { receive(subscriber); });
  }

  lustre::TemporaryTree tree_;
  SystemClock clock_;
  Collector collector_;
  std::vector<std::string> senders_;
  std::size_t taken_ = 0;
  Outcome last_ = Outcome::refused;
};

TEST_F(Wire, SamplesGoOneWayAndRequestsTheOther) {
  const auto subscriber = Subscriber::open(bound()).value();
  const auto publisher = Publisher::open(connected()).value();
  EXPECT_EQ(publisher->send(encode(sample_of("a", 1))), Publisher::Sent::dropped);  // not connected yet
  ASSERT_TRUE(connects(*subscriber, *publisher));
  EXPECT_EQ(publisher->send(encode(sample_of("a", 2))), Publisher::Sent::yes);
  ASSERT_TRUE(arrives(*subscriber, 1));
  EXPECT_EQ(last_, Outcome::taken);
  EXPECT_EQ(senders_.front(), "");
  const RateRequest request{.every = 1s, .lasting = 15s, .names = {"a"}};
  std::vector<RateRequest> heard;
  // The other connection may come later: a request is renewed, as the coordinator does it.
  ASSERT_TRUE(until([&] { return !heard.empty(); },
                    [&] {
                      ASSERT_TRUE(subscriber->ask(request));
                      heard = publisher->hear(kStep).value().requests;
                    }));
  EXPECT_EQ(heard.front(), request);
  EXPECT_EQ(subscriber->counters().messages, 1U);
  publisher->close(1s);
  EXPECT_EQ(publisher->send(encode(sample_of("a", 3))), Publisher::Sent::dropped);
}

TEST_F(Wire, WakeEndsAWait) {
  const auto subscriber = Subscriber::open(bound()).value();
  std::thread waker([&] { subscriber->wake(); });
  receive(*subscriber, 600s);  // the test would time out
  waker.join();
  EXPECT_EQ(taken_, 0U);
}

TEST_F(Wire, TcpPortsAreChosenAndTold) {
  const auto subscriber = Subscriber::open({.samples = "tcp://127.0.0.1:*", .requests = "tcp://127.0.0.1:*"}).value();
  EXPECT_FALSE(subscriber->samples_endpoint().ends_with("*"));
  EXPECT_TRUE(subscriber->samples_endpoint().starts_with("tcp://127.0.0.1:"));
  const auto publisher =
      Publisher::open({.samples = subscriber->samples_endpoint(), .requests = subscriber->requests_endpoint()}).value();
  EXPECT_TRUE(connects(*subscriber, *publisher));
  const auto again = Subscriber::open({.samples = subscriber->samples_endpoint(), .requests = "tcp://127.0.0.1:*"});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("in use"), std::string::npos) << again.error().message;
}

TEST_F(Wire, WithoutKeysNothingLeavesTheMachine) {
  EXPECT_EQ(Subscriber::open({.samples = "tcp://*:0", .requests = "tcp://127.0.0.1:*"}).error().code, Errc::invalid_argument);
  EXPECT_EQ(Publisher::open({.samples = "tcp://127.0.0.1:1", .requests = "tcp://10.0.0.1:1"}).error().code,
            Errc::invalid_argument);
  EXPECT_EQ(Publisher::open({.samples = "nonsense://", .requests = "ipc:///x", .keys = tree_.root()}).error().code,
            Errc::not_found);
  EXPECT_EQ(Publisher::open({.samples = "ipc://", .requests = "tcp://127.0.0.1"}).error().code, Errc::invalid_argument);
}

TEST_F(Wire, KeysTellWhoSpeaks) {
  const std::string keys = coordinator_keys();
  ASSERT_TRUE(add_agent_key(keys, "oss1", std::nullopt, Overwrite::no));
  give_keys(keys, "agent", tree_.path("shared"));
  give_keys(keys, "agents/oss1", tree_.path("own"));
  const auto subscriber = Subscriber::open(bound(keys)).value();
  const auto shared = Publisher::open(connected(tree_.path("shared"))).value();
  const auto own = Publisher::open(connected(tree_.path("own"))).value();
  ASSERT_TRUE(connects(*subscriber, *shared));
  ASSERT_TRUE(connects(*subscriber, *own));
  shared->send(encode(sample_of("anyone", 1)));
  ASSERT_TRUE(arrives(*subscriber, 1));
  EXPECT_EQ(senders_.back(), "");
  EXPECT_EQ(last_, Outcome::taken);
  own->send(encode(sample_of("oss1", 1)));
  ASSERT_TRUE(arrives(*subscriber, 2));
  EXPECT_EQ(senders_.back(), "oss1");
  EXPECT_EQ(last_, Outcome::taken);
  own->send(encode(sample_of("anyone", 2)));
  ASSERT_TRUE(arrives(*subscriber, 3));
  EXPECT_EQ(last_, Outcome::forged);
  shared->send(encode(sample_of("oss1", 2)));
  ASSERT_TRUE(arrives(*subscriber, 4));
  EXPECT_EQ(last_, Outcome::forged);
  // Requests come over the encrypted way, too.
  ASSERT_TRUE(until([&] { return !own->hear(kStep).value().requests.empty(); },
                    [&] { ASSERT_TRUE(subscriber->ask({.every = 1s, .lasting = 1s})); }));
  EXPECT_EQ(subscriber->counters().refused_keys, 0U);
}

TEST_F(Wire, AWrongKeyIsRefusedUntilItIsAdded) {
  const std::string keys = coordinator_keys();
  const std::string stranger_keys = tree_.path("stranger");
  ASSERT_TRUE(init_keys(stranger_keys, Overwrite::no));
  std::filesystem::copy_file(keys + "/coordinator.pub", stranger_keys + "/coordinator.pub",
                             std::filesystem::copy_options::overwrite_existing);
  const auto subscriber = Subscriber::open(bound(keys)).value();
  const auto stranger = Publisher::open(connected(stranger_keys)).value();
  ASSERT_TRUE(until([&] { return subscriber->counters().refused_keys > 0; },
                    [&] {
                      stranger->send(encode(sample_of("x", 1)));
                      ASSERT_TRUE(stranger->hear(kStep));
                      receive(*subscriber, 0s);
                    }));
  EXPECT_FALSE(stranger->connected());
  EXPECT_EQ(taken_, 0U);
  const std::string key = load_public(stranger_keys, "agent").value();
  EXPECT_NE(subscriber->counters().last_refused.find(key), std::string::npos);
  ASSERT_TRUE(add_agent_key(keys, "x", key, Overwrite::no));
  ASSERT_TRUE(connects(*subscriber, *stranger));  // it tries again by itself
  stranger->send(encode(sample_of("x", 1)));
  ASSERT_TRUE(arrives(*subscriber, 1));
  EXPECT_EQ(senders_.back(), "x");
}

TEST_F(Wire, NoKeyOrTheKeyOfAnotherCoordinatorIsRefused) {
  const std::string keys = coordinator_keys();
  const std::string others = tree_.path("others");
  ASSERT_TRUE(init_keys(others, Overwrite::no));
  const auto subscriber = Subscriber::open(bound(keys)).value();
  const auto bare = Publisher::open(connected()).value();
  const auto lost = Publisher::open(connected(others)).value();
  ASSERT_TRUE(until([&] { return subscriber->counters().failed_handshakes > 0; },
                    [&] {
                      bare->send(encode(sample_of("bare", 1)));
                      lost->send(encode(sample_of("lost", 1)));
                      ASSERT_TRUE(bare->hear(kStep));
                      ASSERT_TRUE(lost->hear(0s));
                      receive(*subscriber, kStep);
                    }));
  EXPECT_FALSE(bare->connected());
  EXPECT_FALSE(lost->connected());
  EXPECT_EQ(taken_, 0U);
}

TEST_F(Wire, TheCoordinatorRestartsAndAgentsComeBack) {
  auto subscriber = Subscriber::open(bound()).value();
  const auto publisher = Publisher::open(connected()).value();
  ASSERT_TRUE(connects(*subscriber, *publisher));
  publisher->send(encode(sample_of("a", 1)));
  ASSERT_TRUE(arrives(*subscriber, 1));
  subscriber.reset();
  ASSERT_TRUE(until([&] { return !publisher->connected(); }, [&] { ASSERT_TRUE(publisher->hear(kStep)); }));
  std::uint64_t sequence = 1;
  for (; sequence < 200; ++sequence) EXPECT_EQ(publisher->send(encode(sample_of("a", sequence + 1))), Publisher::Sent::dropped);
  subscriber = Subscriber::open(bound()).value();
  ASSERT_TRUE(connects(*subscriber, *publisher));
  EXPECT_EQ(taken_, 1U);  // nothing old was kept for it
  EXPECT_EQ(publisher->send(encode(sample_of("a", 201))), Publisher::Sent::yes);
  ASSERT_TRUE(arrives(*subscriber, 2));
  EXPECT_EQ(collector_.agents(now(clock_)).at(0).missing, 199U);
  EXPECT_EQ(publisher->counters().connections, 2U);
}

TEST_F(Wire, ATooLargeMessageEndsTheConnectionOnly) {
  const auto subscriber = Subscriber::open(bound()).value();
  const auto rude = Publisher::open(connected()).value();
  const auto good = Publisher::open(connected()).value();
  ASSERT_TRUE(connects(*subscriber, *rude));
  ASSERT_TRUE(connects(*subscriber, *good));
  rude->send(std::vector<std::byte>(Limits{}.bytes + 1));
  ASSERT_TRUE(until([&] { return !rude->connected(); },
                    [&] {
                      ASSERT_TRUE(rude->hear(kStep));
                      receive(*subscriber, 0s);
                    }));
  good->send(encode(sample_of("good", 1)));
  ASSERT_TRUE(arrives(*subscriber, 1));
  EXPECT_EQ(last_, Outcome::taken);
}

// 2,000 agents over 200 connections: every sample arrives, or is missed by number.
TEST_F(Wire, ManyAgents) {
  constexpr std::size_t kAgents = 2000;
  constexpr std::size_t kSockets = 200;
  constexpr std::uint64_t kRounds = 5;
  const auto subscriber = Subscriber::open({.samples = "tcp://127.0.0.1:*", .requests = "tcp://127.0.0.1:*"}).value();
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> held_back{0};
  std::thread senders([&] {
    const ZmqContext context = make_context(static_cast<int>(kSockets) + 8).value();
    std::vector<ZmqSocket> sockets;
    for (std::size_t i = 0; i < kSockets; ++i) {
      sockets.push_back(make_socket(context, ZMQ_XPUB).value());
      ASSERT_TRUE(set_common(sockets.back(), kSampleQueue, Limits{}.bytes));
      ASSERT_TRUE(set_option(sockets.back(), ZMQ_LINGER, 10'000));
      ASSERT_TRUE(set_option(sockets.back(), ZMQ_RCVTIMEO, 20'000));
      ASSERT_TRUE(connect_socket(sockets.back(), subscriber->samples_endpoint()));
    }
    for (const ZmqSocket& socket : sockets) {
      ZmqMessage subscription;
      ASSERT_EQ(zmq_msg_recv(subscription.get(), socket.get(), 0), 1);
    }
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      for (std::size_t i = 0; i < kAgents; ++i) {
        Sample sample = sample_of("agent" + std::to_string(i), round);
        FileSystemSample fs{.name = "fs", .servers = {{.name = sample.agent}}};
        for (std::uint32_t ost = 0; ost < 5; ++ost) {
          fs.osts.push_back({.index = OstIndex{static_cast<std::uint32_t>(i) * 5 + ost},
                             .total = Bytes{100},
                             .free = Bytes{round},
                             .available = Bytes{round},
                             .seen_by = lustre::SpaceSource::obdfilter});
        }
        sample.file_systems.push_back(std::move(fs));
        if (round == 3 && i % 4 == 0) {  // lost on the way
          ++held_back;
          continue;
        }
        const auto bytes = encode(sample);
        ASSERT_GE(zmq_send(sockets[i % kSockets].get(), bytes.data(), bytes.size(), ZMQ_DONTWAIT), 0);
        ++sent;
      }
    }
  });
  constexpr std::uint64_t kAll = kAgents * kRounds - kAgents / 4;
  EXPECT_TRUE(arrives(*subscriber, kAll));
  senders.join();
  EXPECT_EQ(sent.load(), kAll);
  std::uint64_t samples = 0;
  std::uint64_t missing = 0;
  for (const AgentInfo& agent : collector_.agents(now(clock_))) {
    samples += agent.samples;
    missing += agent.missing;
    EXPECT_EQ(agent.sequence, kRounds);
  }
  EXPECT_EQ(samples, sent.load());
  EXPECT_EQ(missing, held_back.load());
  EXPECT_EQ(samples + missing, kAgents * kRounds);
  const auto view = collector_.view(now(clock_)).file_systems.at(0);
  ASSERT_EQ(view.cluster.osts.size(), kAgents * 5);
  EXPECT_EQ(view.cluster.servers.size(), kAgents);
  for (const model::Ost& ost : view.cluster.osts) EXPECT_EQ(ost.free, Bytes{kRounds});
}

}  // namespace
}  // namespace iez::telemetry
