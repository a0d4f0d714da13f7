#include "lab/oss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "congestion/latency_goal.hpp"
#include "congestion/rcc_policy.hpp"

namespace iez::lab {
namespace {

constexpr Duration kTick = std::chrono::seconds(1);
constexpr Duration kPing = std::chrono::seconds(25);           // as Lustre's clients
constexpr std::uint64_t kAnonymous = std::uint64_t{1} << 63U;  // or'ed to the connection; ids of clients are drawn

Result<std::unique_ptr<congestion::CreditPolicy>> make_law(const Config& config) {
  if (config.law == "cc") {
    congestion::RccParameters parameters;
    parameters.d_low = config.threads;
    if (config.law_goal > Duration{}) parameters.l_max = config.law_goal;
    IEZ_CHECK(congestion::check(parameters));
    return std::make_unique<congestion::RccPolicy>(parameters);
  }
  if (config.law == "goal") {
    congestion::LatencyGoal parameters;
    if (config.law_goal > Duration{}) parameters.goal = config.law_goal;
    IEZ_CHECK(congestion::check(parameters));
    return std::make_unique<congestion::LatencyGoalPolicy>(parameters);
  }
  if (config.law != "none") return fail(Errc::invalid_argument, fmt::format("law: \"{}\" is not none, cc or goal", config.law));
  return nullptr;
}

}  // namespace

Oss::Oss(const Config& config, std::uint32_t index, Logger& log)
    : config_(config),
      index_(index),
      node_(fmt::format("oss{}", index)),
      log_(log),
      rng_(config.seed + index + 1),
      boot_((std::uint64_t{std::random_device{}()} << 32U) | std::random_device{}()),
      started_(clock_.wall()),
      params_(params_root(config, node_)) {}

Oss::~Oss() = default;

Result<std::unique_ptr<Oss>> Oss::create(const Config& config, std::uint32_t index, Logger& log) {
  if (index >= config.oss_count) {
    return fail(Errc::invalid_argument, fmt::format("oss{}: the lab has {} of them", index, config.oss_count));
  }
  std::unique_ptr<Oss> oss(new Oss(config, index, log));
  IEZ_CHECK(oss->prepare());
  return oss;
}

Result<void> Oss::prepare() {
  for (std::uint32_t i = 0; i < config_.osts_per_oss; ++i) {
    const std::uint32_t number = index_ * config_.osts_per_oss + i;
    IEZ_TRY(ObjectStore store, ObjectStore::open(fmt::format("{}/{}/ost{:04x}", config_.dir, node_, number), config_.ost_size));
    auto made = std::make_unique<Ost>(std::move(store));
    made->index = number;
    made->name = fmt::format("{}-OST{:04x}", config_.name, number);
    if (config_.rate.value > 0) {
      IEZ_TRY(auto law, make_law(config_));
      const OstQueue::Options options{
          .disk = {.rate = config_.rate, .seek = config_.seek, .threads = std::max(config_.threads, 1U)},
          .rpc_size = config_.rpc_size,
          .rpcs_in_flight = config_.rpcs_in_flight};
      made->queue = std::make_unique<OstQueue>(options, std::move(law));
    }
    osts_.push_back(std::move(made));
  }
  IEZ_TRY(loop_, ServerLoop::create(socket_path(config_, node_), *this));
  for (const auto& ost : osts_) write_params(*ost);
  tick();
  return {};
}

Result<void> Oss::run() {
  Result<void> result = loop_->run();
  for (const auto& ost : osts_) write_params(*ost);  // what was counted since
  return result;
}
void Oss::stop() { loop_->stop(); }

// Parameters of one OST at a time: writing those of all would keep requests waiting.
void Oss::tick() {
  if (next_shown_ == 0) look_after_clients();
  write_params(*osts_[next_shown_]);
  next_shown_ = (next_shown_ + 1) % osts_.size();
  loop_->at(loop_->now() + kTick / static_cast<Duration::rep>(osts_.size()), [this] { tick(); });
}

void Oss::look_after_clients() {
  const Duration now = loop_->now();
  locks_.remind(now);
  evict_overdue();
  send_lock_messages();
  if (now - pinged_ < kPing) return;
  pinged_ = now;
  for (const auto& ost : osts_) {
    for (const auto& [id, client] : clients_) {
      if (ost->queue && client->connection != 0) ost->queue->ping(client->index, now);
    }
  }
}

// ---- Connections ------------------------------------------------------------------------------------------------------------

void Oss::connect(ConnectionId from, std::uint64_t number, FrameReader& reader) {
  ConnectRequest request;
  reader(request);
  if (!reader.good() || (request.client & kAnonymous) != 0) {
    loop_->send(from, answer_frame(Op::connect, number, EPROTO, Empty{}));
    return;
  }
  if (const auto before = client_of_connection_.find(from); before != client_of_connection_.end()) closed(from);
  std::unique_ptr<Client>& client = clients_[request.client];
  if (client && client->session != request.session) {
    forget(*client);
  }
  if (!client) {
    client = std::make_unique<Client>();
    client->index = static_cast<std::uint32_t>(client_ids_.size());
    client_ids_.push_back(request.client);
  }
  if (client->connection != 0 && client->connection != from) {
    client_of_connection_.erase(client->connection);
    loop_->disconnect(client->connection);
  }
  client->id = request.client;
  client->session = request.session;
  client->node = request.node;
  client->connection = from;
  client->dirty_bytes.assign(osts_.size(), request.dirty_bytes);
  client_of_connection_[from] = request.client;
  set_limits(*client, request.rpcs_in_flight);
  loop_->send(from, answer_frame(Op::connect, number, 0,
                                 ConnectAnswer{.boot = boot_,
                                               .first_ost = index_ * config_.osts_per_oss,
                                               .ost_count = static_cast<std::uint32_t>(osts_.size())}));
  log_.info("client connected", {{"node", client->node}});
}

Oss::Client& Oss::client_of(ConnectionId connection) {
  if (const auto known = client_of_connection_.find(connection); known != client_of_connection_.end()) {
    return *clients_.at(known->second);
  }
  const std::uint64_t id = kAnonymous | connection;
  auto client = std::make_unique<Client>();
  client->id = id;
  client->node = "anonymous";
  client->is_anonymous = true;
  client->connection = connection;
  client->dirty_bytes.assign(osts_.size(), config_.dirty.count);
  client->index = static_cast<std::uint32_t>(client_ids_.size());
  client_ids_.push_back(id);
  client_of_connection_[connection] = id;
  return *(clients_[id] = std::move(client));
}

Oss::Client* Oss::client_by_id(std::uint64_t id) {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : found->second.get();
}

// What it has stored goes on to the disks; nobody waits for it any more.
void Oss::forget(Client& client) {
  client.pending.clear();
  for (const auto& ost : osts_) {
    ost->held.erase(client.index);
    std::erase_if(ost->syncs, [&client](const Sync& sync) { return sync.client == client.index; });
  }
  locks_.evict(client.id, loop_->now());
  send_lock_messages();
}

void Oss::closed(ConnectionId connection) {
  const auto known = client_of_connection_.find(connection);
  if (known == client_of_connection_.end()) return;
  const auto client = clients_.find(known->second);
  client_of_connection_.erase(known);
  client->second->connection = 0;
  client->second->lost_at = loop_->now();
  if (!client->second->is_anonymous) return;
  forget(*client->second);
  clients_.erase(client);
}

// ---- Requests ---------------------------------------------------------------------------------------------------------------

void Oss::frame(ConnectionId from, const Frame& frame, std::span<const std::byte> body) {
  if ((frame.flags & kAnswer) != 0) return;  // nothing that we ask is answered so
  FrameReader reader(body);
  const auto op = static_cast<Op>(frame.op);
  if (serve_anybody(from, op, frame.number, reader)) return;
  bool is_muted = false;
  if (drop_share_ > 0 && rng_.chance(drop_share_)) {
    if (rng_.chance(0.5)) return;
    is_muted = true;
  }
  Client& client = client_of(from);
  const auto [pending, is_new] = client.pending.try_emplace(frame.number);
  if (!is_new) return;  // under way: its answer will come
  pending->second.op = op;
  pending->second.since = loop_->now();
  pending->second.is_muted = is_muted;
  serve(client, op, frame.number, reader);
}

bool Oss::serve_anybody(ConnectionId from, Op op, std::uint64_t number, FrameReader& reader) {
  switch (op) {
    case Op::connect:
      connect(from, number, reader);
      return true;
    case Op::query: {
      QueryRequest request;
      reader(request);
      const auto known = client_of_connection_.find(from);
      const bool is_known = known != client_of_connection_.end() && clients_.at(known->second)->pending.contains(request.number);
      loop_->send(from, answer_frame(op, number, 0, QueryAnswer{.known = static_cast<std::uint8_t>(is_known ? 1 : 0)}));
      return true;
    }
    case Op::describe:
      loop_->send(from, answer_frame(op, number, 0, DescribeAnswer{.json = describe()}));
      return true;
    case Op::fault: {
      FaultRequest fault;
      reader(fault);
      loop_->send(from, answer_frame(op, number, reader.good() ? inject(fault) : EPROTO, Empty{}));
      return true;
    }
    case Op::stop:
      loop_->send(from, answer_frame(op, number, 0, Empty{}));
      loop_->stop();
      return true;
    default:
      return false;
  }
}

void Oss::serve(Client& client, Op op, std::uint64_t number, FrameReader& reader) {
  switch (op) {
    case Op::write:
      return write(client, number, reader);
    case Op::read:
      return read(client, number, reader);
    case Op::sync:
      return sync(client, number, reader);
    case Op::glimpse:
      return glimpse(client, number, reader);
    case Op::punch:
      return punch(client, number, reader);
    case Op::destroy:
      return destroy(client, number, reader);
    case Op::space:
      return space(client, number);
    case Op::limits:
      return limits(client, number, reader);
    case Op::lock:
    case Op::unlock: {
      LockRequest request;
      reader(request);
      if (!reader.good()) return refuse(client, number, EPROTO);
      if (ost(request.name.ost) == nullptr || request.mode > LockMode::write) return refuse(client, number, EINVAL);
      if (op == Op::lock) {
        locks_.request(client.id, number, request, loop_->now());
      } else {
        locks_.release(client.id, request, loop_->now());
        answer(client, number, 0, Empty{});
      }
      return send_lock_messages();
    }
    default:
      return refuse(client, number, EOPNOTSUPP);
  }
}

void Oss::refuse(Client& client, std::uint64_t number, int error) { answer(client, number, error, Empty{}); }

int Oss::inject(const FaultRequest& fault) {
  std::vector<Ost*> chosen;
  if (fault.ost < 0) {
    for (const auto& ost : osts_) chosen.push_back(ost.get());
  } else if (Ost* const one = ost(static_cast<std::uint32_t>(fault.ost)); one != nullptr) {
    chosen.push_back(one);
  } else {
    return EINVAL;
  }
  switch (fault.kind) {
    case FaultKind::none:
      if (fault.ost < 0) drop_share_ = 0;
      for (Ost* const target : chosen) {
        target->is_full = target->is_off = false;
        target->speed = 1;
        if (target->queue) target->queue->disk().set_speed(1);
      }
      return 0;
    case FaultKind::slow:
      if (!(fault.value > 0)) return EINVAL;
      if (config_.rate.value <= 0) return EOPNOTSUPP;
      for (Ost* const target : chosen) {
        target->speed = fault.value;
        target->queue->disk().set_speed(fault.value);
      }
      return 0;
    case FaultKind::full:
      for (Ost* const target : chosen) target->is_full = true;
      return 0;
    case FaultKind::drop:
      if (std::isnan(fault.value) || fault.value < 0 || fault.value > 1) return EINVAL;
      drop_share_ = fault.value;
      return 0;
    case FaultKind::off:
      for (Ost* const target : chosen) target->is_off = true;
      return 0;
  }
  return EINVAL;
}

std::string Oss::describe() const {
  nlohmann::json osts = nlohmann::json::array();
  for (const auto& ost : osts_) {
    nlohmann::json row{{"ost", ost->index},
                       {"name", ost->name},
                       {"total_bytes", ost->store.capacity().count},
                       {"used_bytes", ost->store.used().count},
                       {"objects", ost->store.objects()},
                       {"read_bytes", ost->counters.sum(model::Operation::read_bytes)},
                       {"write_bytes", ost->counters.sum(model::Operation::write_bytes)},
                       {"speed", ost->speed},
                       {"full", ost->is_full},
                       {"off", ost->is_off}};
    if (ost->queue) {
      row["queue"] = ost->queue->disk().depth();
      row["waiting"] = ost->queue->waiting();
      row["busy_seconds"] = std::chrono::duration<double>(ost->queue->disk().busy()).count();
      row["seeks"] = ost->queue->disk().seeks();
    }
    osts.push_back(std::move(row));
  }
  nlohmann::json clients = nlohmann::json::array();
  for (const auto& [id, client] : clients_) {
    if (client->is_anonymous) continue;
    clients.push_back({{"node", client->node}, {"connected", client->connection != 0}, {"pending", client->pending.size()}});
  }
  return nlohmann::json{{"node", node_},           {"boot", boot_},
                        {"osts", std::move(osts)}, {"clients", std::move(clients)},
                        {"locks", locks_.locks()}, {"drop", drop_share_}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<void> serve_oss(const Config& config, std::uint32_t index, Logger& log) {
  IEZ_TRY(const std::unique_ptr<Oss> oss, Oss::create(config, index, log));
  return oss->run();
}

}  // namespace iez::lab
