#include "coordinator/service.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "api/coordinator_client.hpp"
#include "api/plan_json.hpp"
#include "coordinator/http_server.hpp"
#include "coordinator/view_test_support.hpp"
#include "http/document_test_support.hpp"

namespace iez::coordinator {
namespace {

// Goes on by itself, and further when told.
class SteppedClock final : public Clock {
 public:
  WallTime wall() const override { return system_.wall() + Duration(steps_.load()); }
  Duration monotonic() const override { return system_.monotonic() + Duration(steps_.load()); }
  void sleep(Duration duration) override { system_.sleep(duration); }
  void advance(Duration duration) { steps_ += duration.count(); }
  std::int64_t now() const { return wall().time_since_epoch().count(); }

 private:
  SystemClock system_;
  std::atomic<std::int64_t> steps_ = 0;
};

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() : log_(Logger::make({.level = LogLevel::off}).value()) {
    std::string name = "/tmp/iez-service-XXXXXX";
    options_.folder = ::mkdtemp(name.data());
    options_.durability = sql::Durability::process;
    options_.tick = std::chrono::milliseconds(5);
    options_.load = [this] { return busy_ ? NodeLoad{.cpu = 0.9, .memory = 0.1} : NodeLoad{.cpu = 0.1, .memory = 0.1}; };
    start();
  }
  ~ServiceTest() override {
    service_.reset();
    std::filesystem::remove_all(options_.folder);
  }

  void start() {
    service_.reset();
    service_ = Service::start(options_, clock_, log_).value();
    service_->set_view({{.cluster = make_cluster("lab", 3, 5, 10ULL << 30U)}});
  }
  Reply<api::Submitted> plan(const Identity& who, const api::PlanRequest& request) {
    return service_->plan(who, request, api::to_json(request), true);
  }
  // Until the thread of the service has seen it.
  template <typename Condition>
  void eventually(Condition condition) {
    for (int i = 0; i < 10'000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(condition());
  }
  void set_busy(bool busy) {
    busy_ = busy;
    eventually([&] { return service_->state().busy == busy; });
  }

  ServiceOptions options_;
  SteppedClock clock_;
  Logger log_;
  std::atomic<bool> busy_ = false;
  std::unique_ptr<Service> service_;
  Identity ann_{.user = "ann"};
  Identity bob_{.user = "bob"};
  Identity boss_{.user = "boss", .admin = true};
};

TEST_F(ServiceTest, PlansAreKeptOverARestart) {
  const auto first = plan(ann_, make_request("ior", 64, 1U << 30U, 8));
  ASSERT_TRUE(first) << first.error().detail;
  const std::string id = first->answer->plan;
  start();
  const auto again = service_->find(ann_, id);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again->answer, *first->answer);
  EXPECT_EQ(service_->state().files, 64U);
  EXPECT_EQ(service_->find(bob_, id).error().status, 404U);
  EXPECT_TRUE(service_->find(boss_, id));
  EXPECT_EQ(service_->expire(bob_, id).error().status, 404U);
  ASSERT_TRUE(service_->created(ann_, id, {.files = {{0, 0}}}));
  EXPECT_EQ(service_->plans(ann_, "").at(0).created, 1U);
  EXPECT_TRUE(service_->plans(bob_, "").empty());
  EXPECT_EQ(service_->plans(boss_, "ior").size(), 1U);
  ASSERT_TRUE(service_->expire(ann_, id));
  EXPECT_EQ(service_->expire(ann_, id).error().status, 404U);
  EXPECT_EQ(service_->report().at(0).targets.at(0).reserved.count, 0U);
}

TEST_F(ServiceTest, ANewPlanTakesBackTheOldOne) {
  const auto first = plan(ann_, make_request("ior", 2, 1U << 20U, 1));
  const auto other = plan(bob_, make_request("ior", 2, 1U << 20U, 1));
  const auto second = plan(ann_, make_request("ior", 3, 1U << 20U, 1));
  ASSERT_TRUE(first && other && second);
  EXPECT_FALSE(service_->find(ann_, first->answer->plan));
  EXPECT_EQ(service_->state().files, 5U);
  // One that cannot be planned changes nothing.
  EXPECT_EQ(plan(ann_, make_request("ior", 1, 1ULL << 60U, 1)).error().status, 409U);
  EXPECT_TRUE(service_->find(ann_, second->answer->plan));
  EXPECT_EQ(service_->state().files, 5U);
}

// Small objects of the one, then large ones of the other: made anew as one, and so they are on the disk.
TEST_F(ServiceTest, ApplicationsThatRanSideBySideArePlannedTogether) {
  const auto ask = [&](const Identity& who, api::PlanRequest request) {
    request.ran_s = 600;
    return plan(who, request)->answer.value();
  };
  const api::PlanAnswer small = ask(ann_, make_request("small", 16, 33U << 18U, 8));
  const api::PlanAnswer large = ask(bob_, make_request("large", 16, 32U << 20U, 4));
  eventually([&] { return service_->find(bob_, large.plan)->answer->revision == 2; });
  eventually([&] { return service_->state().counters.together == 2; });
  EXPECT_EQ(service_->state().changes(), 2U) << "who pulled the predictions sends the plans anew";
  const api::PlanAnswer anew = service_->find(ann_, small.plan)->answer.value();
  EXPECT_EQ(anew.revision, 2U);
  EXPECT_EQ(anew.files.size(), small.files.size());
  start();
  EXPECT_EQ(*service_->find(ann_, small.plan)->answer, anew);
}

api::PlanRequest as_good_as_default(const std::string& application) {
  api::PlanRequest request = make_request(application, 15, 1U << 20U, 1);
  request.always = false;
  return request;
}

TEST_F(ServiceTest, WithoutAPlanNothingIsReserved) {
  const auto first = plan(ann_, make_request("ior", 2, 1U << 20U, 1));
  ASSERT_TRUE(first);
  const auto none = plan(ann_, as_good_as_default("ior"));
  ASSERT_TRUE(none) << none.error().detail;
  ASSERT_TRUE(none->answer);
  EXPECT_EQ(none->answer->plan, "");
  EXPECT_EQ(none->answer->verdict, "Lustre's default is as good");
  EXPECT_EQ(none->answer->files.size(), 15U);
  EXPECT_FALSE(service_->find(ann_, first->answer->plan)) << "it is for the run before";
  const auto nothing = [&] {
    EXPECT_TRUE(service_->plans(boss_, "").empty());
    const auto report = service_->report();
    for (const TargetReport& target : report.at(0).targets) EXPECT_EQ(target.reserved.count, 0U);
  };
  nothing();
  EXPECT_EQ(service_->state().counters.left_to_default, 1U);
  start();
  nothing();
}

// A request that waited has its answer, too, until somebody takes it away.
TEST_F(ServiceTest, AVerdictWaitsForWhoAsked) {
  set_busy(true);
  const auto waits = plan(ann_, as_good_as_default("ior"));
  ASSERT_TRUE(waits);
  ASSERT_FALSE(waits->answer);
  busy_ = false;
  eventually([&] { return service_->find(ann_, waits->ticket.plan)->answer.has_value(); });
  EXPECT_EQ(service_->find(ann_, waits->ticket.plan)->answer->verdict, "Lustre's default is as good");
  EXPECT_EQ(service_->find(bob_, waits->ticket.plan).error().status, 404U);
  start();
  EXPECT_EQ(service_->find(ann_, waits->ticket.plan)->answer->plan, "") << "over a restart";
  ASSERT_TRUE(service_->expire(ann_, waits->ticket.plan));
  EXPECT_EQ(service_->find(ann_, waits->ticket.plan).error().status, 404U);
  EXPECT_EQ(service_->state().queue, 0U);
}

// Three gaps between two runs, but neither minutes nor months; what the request says itself comes first.
TEST_F(ServiceTest, APlanWaitsAsLongAsItsApplicationUsuallyDoes) {
  const auto life = [&](std::uint64_t ttl, double gap) {
    api::PlanRequest request = make_request("a", 1, 1U << 20U, 1);
    request.ttl_s = ttl;
    request.gap_s = gap;
    const auto answer = plan(ann_, request)->answer.value();
    return (answer.expires_ns - answer.made_ns) / 1'000'000'000;
  };
  EXPECT_EQ(life(0, 0), 30 * 24 * 3600);
  EXPECT_EQ(life(0, 1), 600);
  EXPECT_EQ(life(0, 3600), 3 * 3600);
  EXPECT_EQ(life(0, 1e300), 7 * 24 * 3600);
  EXPECT_EQ(life(99, 3600), 99);
  EXPECT_EQ(life(~std::uint64_t{0}, 0), 366 * 24 * 3600);
}

TEST_F(ServiceTest, BusyNodesQueueAndDropNothing) {
  set_busy(true);
  std::vector<std::string> tickets;
  for (int i = 0; i < 5; ++i) {
    const auto reply = plan(ann_, make_request("app" + std::to_string(i), 4, 1U << 20U, 2));
    ASSERT_TRUE(reply);
    ASSERT_FALSE(reply->answer);
    EXPECT_TRUE(reply->ticket.busy);
    EXPECT_EQ(reply->ticket.why, "busy: CPU 90 % (serve.cpu_limit 0.7)");
    EXPECT_GE(reply->ticket.retry_after_s, 1U);
    tickets.push_back(reply->ticket.plan);
  }
  start();
  set_busy(true);
  for (const std::string& ticket : tickets) {
    const auto waits = service_->find(ann_, ticket);
    ASSERT_TRUE(waits);
    EXPECT_FALSE(waits->answer);
    EXPECT_EQ(service_->find(bob_, ticket).error().status, 404U);
  }
  // One of them is taken back, one is hopeless.
  ASSERT_TRUE(service_->expire(ann_, tickets[4]));
  const auto hopeless = plan(ann_, make_request("large", 1, 1ULL << 60U, 1));
  busy_ = false;
  eventually([&] { return service_->state().plans == 4; });
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(service_->find(ann_, tickets[static_cast<std::size_t>(i)])->answer);
  eventually([&] { return !service_->find(ann_, hopeless->ticket.plan).has_value(); });
  EXPECT_EQ(service_->find(ann_, hopeless->ticket.plan).error().status, 409U);
}

// What it says of its application is of the time when it came, not of the time when its turn came.
TEST_F(ServiceTest, ARequestThatWaitedTellsOfTheTimeWhenItCame) {
  set_busy(true);
  api::PlanRequest request = make_request("a", 4, 1U << 20U, 2);
  request.ran_s = 10;
  const std::int64_t came = clock_.now();
  ASSERT_FALSE(plan(ann_, request)->answer);
  clock_.advance(std::chrono::hours(1));
  busy_ = false;
  eventually([&] { return service_->state().plans == 1; });
  const PlanPointer made = service_->pulled("").at(0);
  EXPECT_LT(std::abs(made->ended_ns - came), std::int64_t{60} * 1'000'000'000);
  EXPECT_EQ(made->ended_ns - made->began_ns, std::int64_t{10} * 1'000'000'000);
}

TEST_F(ServiceTest, AFullQueueRefusesBeforeItTakes) {
  options_.queue_limit = 2;
  start();
  set_busy(true);
  ASSERT_TRUE(plan(ann_, make_request("a", 1, 1, 1)));
  ASSERT_TRUE(plan(ann_, make_request("b", 1, 1, 1)));
  EXPECT_EQ(plan(ann_, make_request("c", 1, 1, 1)).error().status, 503U);
  EXPECT_EQ(service_->state().queue, 2U);
}

// Answers that nobody fetches are no requests that wait.
TEST_F(ServiceTest, AnswersThatNobodyFetchesKeepNobodyOut) {
  options_.queue_limit = 2;
  start();
  std::vector<std::string> tickets;
  for (int round = 0; round < 3; ++round) {
    set_busy(true);
    const auto waits = plan(ann_, as_good_as_default("app" + std::to_string(round)));
    ASSERT_TRUE(waits) << "round " << round << ": " << waits.error().detail;
    tickets.push_back(waits->ticket.plan);
    EXPECT_EQ(service_->state().queue, 1U);
    set_busy(false);
    eventually([&] { return service_->find(ann_, tickets.back())->answer.has_value(); });
    EXPECT_EQ(service_->state().queue, 0U);
  }
  set_busy(true);
  ASSERT_TRUE(plan(ann_, as_good_as_default("last")));
  EXPECT_EQ(service_->find(ann_, tickets[0]).error().status, 404U) << "more than two are not kept";
  EXPECT_TRUE(service_->find(ann_, tickets[2])->answer);
}

TEST_F(ServiceTest, ManyThreadsShareCommits) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        if (plan(ann_, make_request("t" + std::to_string(t) + "." + std::to_string(i), 4, 1U << 20U, 2))) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 160);
  EXPECT_EQ(service_->state().plans, 160U);
  std::uint64_t reserved = 0;
  const auto report = service_->report();
  for (const TargetReport& target : report.at(0).targets) reserved += target.reserved.count;
  EXPECT_EQ(reserved, 160U * 4 << 20U);
}

// A limit on the size of files is as good as a full disk.
TEST_F(ServiceTest, AFullDiskChangesNothing) {
  ASSERT_TRUE(plan(ann_, make_request("a", 10, 1U << 20U, 2)));
  const auto before = service_->report().at(0).targets;
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_IGN);
  const auto size = std::filesystem::file_size(options_.folder + "/coordinator.db-wal");
  const rlimit low{.rlim_cur = size, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const auto refused = plan(ann_, make_request("a", 500, 1U << 20U, 2));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().status == 507 || refused.error().status == 503) << refused.error().detail;
  const auto after = service_->report().at(0).targets;
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i].reserved, before[i].reserved);
  EXPECT_EQ(service_->plans(ann_, "a").at(0).files, 10U);
  ASSERT_TRUE(plan(ann_, make_request("b", 1, 1U << 20U, 1))) << "and it goes on";
}

TEST_F(ServiceTest, ChangedPlansAreThereForWhoAsks) {
  const auto made = plan(ann_, make_request("a", 15, 1U << 20U, 1));
  ASSERT_TRUE(made);
  model::Cluster cluster = make_cluster("lab", 3, 5, 10ULL << 30U);
  cluster.osts[7].state.active = false;
  service_->set_view({{.cluster = cluster}});
  eventually([&] { return service_->find(ann_, made->answer->plan)->answer->revision == 2; });
  const auto now = service_->find(ann_, made->answer->plan);
  for (const api::FileAnswer& file : now->answer->files) EXPECT_NE(file.layouts.at(0).osts.at(0), 7U);
}

// What moves on OSTs is not known to be others' when a plan is made, as the run before has just ended; it is when the next one
// begins. The client asks as `iez run` does.
TEST_F(ServiceTest, APlanIsLookedOverWhenItsRunBegins) {
  using namespace std::chrono_literals;
  const auto server = HttpServer::open({}, *service_, clock_, log_).value();
  std::thread serving([&] { server->run(); });
  const auto client = api::CoordinatorClient::make({.url = server->url()}).value();
  api::PlanRequest request = make_request("a", 14, 10U << 20U, 1);
  request.phase_seconds = {2};
  request.ran_s = 5;
  const api::PlanAnswer made = client->submit(request)->answer.value();
  const auto used = [](const api::PlanAnswer& answer) {
    std::set<std::uint32_t> osts;
    for (const api::FileAnswer& file : answer.files) osts.insert(file.layouts.at(0).osts.at(0));
    return osts;
  };
  const std::uint32_t busy = *used(made).begin();
  clock_.advance(60s);
  EXPECT_EQ(client->begin(made.plan)->answer, made) << "nothing moves";
  const std::int64_t now = clock_.now();
  service_->set_view({{.cluster = make_cluster("lab", 3, 5, 10ULL << 30U),
                       .rates = {{.ost = {busy}, .bytes_per_second = 200e6, .began_ns = now - 5'000'000'000, .ended_ns = now}}}});
  EXPECT_EQ(client->poll(made.plan)->answer, made) << "who only asks changes nothing";
  set_busy(true);
  EXPECT_EQ(client->begin(made.plan)->answer, made) << "the coordinator's node has other things to do";
  set_busy(false);
  const api::PlanAnswer anew = client->begin(made.plan)->answer.value();
  EXPECT_EQ(anew.revision, 2U);
  EXPECT_FALSE(used(anew).contains(busy));
  EXPECT_EQ(client->poll(made.plan)->answer, anew);
  server->stop();
  serving.join();
  start();
  const api::PlanAnswer again = service_->find(boss_, made.plan)->answer.value();
  EXPECT_EQ(std::pair(again.revision, again.files), std::pair(anew.revision, anew.files)) << "over a restart";
}

TEST_F(ServiceTest, PlansExpire) {
  api::PlanRequest request = make_request("a", 1, 1U << 20U, 1);
  request.ttl_s = 1;
  options_.longest_ttl = std::chrono::milliseconds(20);
  start();
  ASSERT_TRUE(plan(ann_, request));
  eventually([&] { return service_->state().plans == 0; });
}

TEST(HttpServer, EveryRouteIsInTheDocument) {
  std::vector<std::string> routes = http_routes();
  std::ranges::sort(routes);
  EXPECT_EQ(routes, http::documented_routes(openapi_document()));
}

}  // namespace
}  // namespace iez::coordinator
