// The published file system server under fixed credits, on SimGrid's S4U: C clients that may have n requests in flight each, a
// FIFO queue, N service threads, one disk that takes the requests in service upwards and then from the lowest again (C-LOOK), and
// random turnarounds that scatter a client's requests.
//
// usage: iez-peer-simgrid [KEY=VALUE ...]
//
// clients=1024 credits=8 requests=512 (of each client) threads=128; in seconds: transfer=4.09e-3 (of one request)
// positioning=5.435e-3 (before a request that does not continue where the last one ended) turnaround=1.5 (the longest, when all
// threads are busy) latency=3e-4 (of a message) spread=450 (over which the clients start); size=1048576 (bytes of a request)
// seed=1 style=messages|shared. Prints {"bandwidth": MB/s, "mean_latency": s, "seconds": CPU s of the run, "requests": N}.
//
// Two styles. `messages` is how S4U programs are written: a credit of a client is an actor that sends its request to the mailbox
// of the server and waits for the reply in its own; the server is an actor that takes in requests, the disk one that sleeps for
// the time of service. `shared` sends nothing: the same actors put requests into the server's queue themselves, and wake each
// other by suspend() and resume(), which only a simulator in one address space can do. It is the least that SimGrid can be asked
// for.
//
// To be fair, SimGrid has: raw contexts with small stacks and no guard pages, the constant network model (no bandwidth is
// shared), one link-free host (as many hosts as clients were no faster), no log, one sleep for turnaround and latencies together
// where nothing happens between, and only the run is timed, not the making of 8192 actors.
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace s4u = simgrid::s4u;

struct Model {
  std::uint32_t clients = 1024;
  std::uint32_t credits = 8;
  std::uint32_t requests = 512;
  std::uint32_t threads = 128;
  double transfer = 4.09e-3;
  double positioning = 5.435e-3;
  double turnaround = 1.5;
  double latency = 3e-4;
  double spread = 450;
  double size = 1048576;
  std::uint32_t seed = 1;
  bool messages = true;
};

// One at a time for each credit.
struct Request {
  std::uint64_t place = 0;  // on the disk, in requests
  double arrived = 0;
  double turnaround = 0;
  s4u::Mailbox* replies = nullptr;
  s4u::Actor* sender = nullptr;
};

double cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

class Simulation {
 public:
  explicit Simulation(const Model& model)
      : model_(model), random_(model.seed), sent_(model.clients), first_place_(model.clients) {
    // Objects lie on the disk in any order, with a gap behind each.
    std::iota(first_place_.begin(), first_place_.end(), std::uint64_t{0});
    std::shuffle(first_place_.begin(), first_place_.end(), random_);
    for (std::uint64_t& place : first_place_) place *= std::uint64_t{model.requests} + 1;
  }

  void make_actors() {
    auto* const zone = s4u::create_full_zone("zone");
    s4u::Host* const host = zone->create_host("host", 1e9)->seal();
    zone->seal();
    inbox_ = s4u::Mailbox::by_name("server");
    disk_ = s4u::Actor::create("disk", host, [this] { serve(); });
    if (model_.messages) s4u::Actor::create("server", host, [this] { receive(); });
    for (std::uint32_t client = 0; client < model_.clients; ++client) {
      for (std::uint32_t credit = 0; credit < model_.credits; ++credit) {
        s4u::Actor::create("credit", host, [this, client, credit] { use_credit(client, credit); });
      }
    }
  }

  void print(double seconds) const {
    const auto finished = static_cast<double>(finished_);
    std::printf("{\"bandwidth\": %.6f, \"mean_latency\": %.6f, \"seconds\": %.6f, \"requests\": %llu}\n",
                finished * model_.size / end_ / 1e6, latency_ / finished, seconds, static_cast<unsigned long long>(finished_));
  }

 private:
  void use_credit(std::uint32_t client, std::uint32_t credit) {
    Request request;
    request.sender = s4u::Actor::self();
    if (model_.messages) {
      request.replies = s4u::Mailbox::by_name(std::to_string(client) + "." + std::to_string(credit));
    }
    const double start = model_.spread * client / model_.clients;
    s4u::this_actor::sleep_until(model_.messages ? start : start + model_.latency);
    while (sent_[client] < model_.requests) {
      request.place = first_place_[client] + sent_[client]++;
      if (model_.messages) {
        inbox_->put_init(&request, 1)->detach();
        request.replies->get<Request>();
        s4u::this_actor::sleep_for(request.turnaround);
      } else {
        arrive(&request);
        s4u::this_actor::suspend();
        s4u::this_actor::sleep_for(request.turnaround + 2 * model_.latency);
      }
    }
    end_ = s4u::Engine::get_clock();
  }

  void receive() {
    s4u::Actor::self()->daemonize();
    inbox_->set_receiver(s4u::Actor::self());
    while (true) arrive(inbox_->get<Request>());
  }

  void arrive(Request* request) {
    request->arrived = s4u::Engine::get_clock();
    queue_.push_back(request);
    fill_threads();
    if (std::exchange(idle_, false)) disk_->resume();
  }

  void fill_threads() {
    for (; in_service_.size() < model_.threads - (disk_busy_ ? 1U : 0U) && !queue_.empty(); queue_.pop_front()) {
      in_service_.emplace(queue_.front()->place, queue_.front());
    }
  }

  void serve() {
    s4u::Actor::self()->daemonize();
    std::uint64_t head = ~std::uint64_t{0};
    while (true) {
      while (in_service_.empty()) {
        idle_ = true;
        s4u::this_actor::suspend();
      }
      auto next = in_service_.lower_bound({head, nullptr});
      if (next == in_service_.end()) next = in_service_.begin();
      Request* const request = next->second;
      in_service_.erase(next);
      disk_busy_ = true;
      s4u::this_actor::sleep_for(model_.transfer + (request->place == head ? 0 : model_.positioning));
      disk_busy_ = false;
      head = request->place + 1;
      fill_threads();
      ++finished_;
      latency_ += s4u::Engine::get_clock() - request->arrived;
      const double busy_share = static_cast<double>(in_service_.size()) / model_.threads;
      request->turnaround = model_.turnaround * busy_share * unit_(random_);
      if (model_.messages) {
        request->replies->put_init(request, 1)->detach();
      } else {
        request->sender->resume();
      }
    }
  }

  Model model_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> unit_;
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint64_t> first_place_;
  s4u::Mailbox* inbox_ = nullptr;
  s4u::ActorPtr disk_;
  std::deque<Request*> queue_;
  std::set<std::pair<std::uint64_t, Request*>> in_service_;  // but the one at the disk
  bool disk_busy_ = false;
  bool idle_ = false;
  std::uint64_t finished_ = 0;
  double latency_ = 0;
  double end_ = 0;
};

// False: no such key, or no such value.
bool set(Model& model, const std::string& key, const std::string& value) {
  const std::map<std::string, std::uint32_t*> counts{{"clients", &model.clients},
                                                     {"credits", &model.credits},
                                                     {"requests", &model.requests},
                                                     {"threads", &model.threads},
                                                     {"seed", &model.seed}};
  const std::map<std::string, double*> numbers{{"transfer", &model.transfer},     {"positioning", &model.positioning},
                                               {"turnaround", &model.turnaround}, {"latency", &model.latency},
                                               {"spread", &model.spread},         {"size", &model.size}};
  char* end = nullptr;
  if (const auto count = counts.find(key); count != counts.end()) {
    *count->second = static_cast<std::uint32_t>(std::strtoul(value.c_str(), &end, 10));
    return !value.empty() && *end == '\0' && (*count->second > 0 || key == "seed");
  }
  if (const auto number = numbers.find(key); number != numbers.end()) {
    *number->second = std::strtod(value.c_str(), &end);
    return !value.empty() && *end == '\0' && *number->second >= 0;
  }
  model.messages = value == "messages";
  return key == "style" && (model.messages || value == "shared");
}

}  // namespace

int main(int argc, char** argv) {
  Model model;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || !set(model, argument.substr(0, equals), argument.substr(equals + 1))) {
      std::fprintf(stderr, "iez-peer-simgrid: %s: expected KEY=VALUE; the head of the source names them\n", argv[i]);
      return 2;
    }
  }
  std::vector<std::string> settings{argv[0],
                                    "--cfg=contexts/factory:raw",
                                    "--cfg=contexts/stack-size:16",
                                    "--cfg=contexts/guard-size:0",
                                    "--cfg=network/model:Constant",
                                    "--cfg=network/latency-factor:" + std::to_string(model.latency),
                                    "--log=root.thres:error"};
  std::vector<char*> words;
  for (std::string& word : settings) words.push_back(word.data());
  int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  s4u::Engine engine(&count, words.data());
  Simulation simulation(model);
  simulation.make_actors();
  const double start = cpu_seconds();
  engine.run();
  simulation.print(cpu_seconds() - start);
  return 0;
}
