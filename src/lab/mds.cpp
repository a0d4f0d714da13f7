#include "lab/mds.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace iez::lab {

namespace {

constexpr Duration kUntilEvicted = std::chrono::minutes(1);
constexpr Duration kBetweenParams = std::chrono::seconds(1);

std::uint64_t draw_boot() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

std::int64_t wall_ns(const Clock& clock) { return clock.wall().time_since_epoch().count(); }

// Answers of changes that give nothing back.
Answer<Empty> done(const Answer<void>& answer) {
  if (!answer) return std::unexpected(answer.error());
  return Empty{};
}

}  // namespace

Mds::Mds(const Config& config, Logger& log)
    : config_(config), log_(log), rng_(config.seed), boot_(draw_boot()), allocator_(config), params_(config, clock_.wall()) {}

Mds::~Mds() = default;

Result<std::unique_ptr<Mds>> Mds::create(const Config& config, Logger& log) {
  IEZ_CHECK(check(config));
  std::unique_ptr<Mds> mds(new Mds(config, log));
  IEZ_TRY(mds->store_, MetadataStore::open(config.dir + "/mds", ::geteuid(), ::getegid(), wall_ns(mds->clock_)));
  IEZ_TRY(mds->loop_, ServerLoop::create(socket_path(config, "mds"), *mds));
  mds->links_ = std::make_unique<OssLinks>(config, mds->boot_, *mds->loop_, *mds->store_, mds->allocator_, log);
  return mds;
}

Result<void> Mds::run() {
  for (const std::uint64_t client : store_->clients_with_open_files()) evict_later(client);
  links_->start();
  write_params();
  return loop_->run();
}

void Mds::stop() { loop_->stop(); }

void Mds::write_params() {
  const auto written = params_.write(allocator_.osts(), clients_.size(), clock_.wall());
  if (!written && !params_fail_) log_.warning("parameters", {{"reason", written.error().message}});
  params_fail_ = !written;
  loop_->at(loop_->now() + kBetweenParams, [this] { write_params(); });
}

Result<void> serve_mds(const Config& config, Logger& log) {
  IEZ_TRY(const auto mds, Mds::create(config, log));
  return mds->run();
}

// ---- Frames -------------------------------------------------------------------------------------------------------------------

void Mds::frame(ConnectionId from, const Frame& frame, std::span<const std::byte> body) {
  if (links_->frame(from, frame, body)) return;
  if ((frame.flags & kAnswer) != 0) return;
  serve(
      {.from = from, .op = static_cast<Op>(frame.op), .number = frame.number, .body = body, .client = 0, .now = wall_ns(clock_)});
}

void Mds::closed(ConnectionId connection) {
  if (links_->closed(connection)) return;
  const auto found = clients_.find(connection);
  if (found == clients_.end()) return;
  const std::uint64_t client = found->second.id;
  log_.info("connection lost", {{"node", found->second.node}});
  clients_.erase(found);
  evict_later(client);
}

void Mds::serve(Call call) {
  drop_answer_ = false;
  if (serve_common(call)) return;
  if (drop_share_ > 0 && rng_.chance(drop_share_)) {
    if (rng_.chance(0.5)) return;
    drop_answer_ = true;
  }
  serve_reading(call);
}

template <typename Message>
void Mds::reply(const Call& call, const Message& message) {
  send(call, answer_frame(call.op, call.number, 0, message));
}

void Mds::refuse(const Call& call, int error) { send(call, answer_frame(call.op, call.number, error, Empty{})); }

void Mds::send(const Call& call, std::vector<std::byte> frame) {
  if (!drop_answer_) loop_->send(call.from, std::move(frame));
}

void Mds::report_failure() { log_.error("the metadata store fails", {{"reason", store_->take_failure()}}); }

template <typename Message, typename Run>
void Mds::read(const Call& call, Run run) {
  FrameReader reader(call.body);
  Message message;
  reader(message);
  if (!reader.good()) return refuse(call, EBADMSG);
  const Duration begun = loop_->now();
  const auto answer = run(std::as_const(message));
  params_.count(call.op, message, loop_->now() - begun, clock_.wall());
  if (store_->failed()) {
    report_failure();
    return refuse(call, EIO);
  }
  if (!answer) return refuse(call, answer.error());
  reply(call, *answer);
}

template <typename Message, typename Run>
void Mds::change(const Call& call, Run run) {
  FrameReader reader(call.body);
  Message message;
  reader(message);
  if (!reader.good()) return refuse(call, EBADMSG);
  if (auto kept = store_->kept_answer(call.client, call.number)) return send(call, *std::move(kept));
  const Duration begun = loop_->now();
  store_->begin();
  const auto answer = run(std::as_const(message));
  params_.count(call.op, message, loop_->now() - begun, clock_.wall());
  if (!answer && !store_->failed()) {
    store_->rollback();
    return refuse(call, answer.error());
  }
  std::vector<std::byte> frame;
  if (answer) {
    frame = answer_frame(call.op, call.number, 0, *answer);
    store_->keep_answer(call.client, call.number, frame);
  }
  if (!store_->commit()) {
    report_failure();
    return refuse(call, EIO);
  }
  send(call, std::move(frame));
}

// ---- What all servers are asked
// -------------------------------------------------------------------------------------------------

bool Mds::serve_common(const Call& call) {
  switch (call.op) {
    case Op::connect:
      connect(call);
      return true;
    case Op::query:
      reply(call, QueryAnswer{.known = 0});
      return true;
    case Op::describe:
      reply(call, DescribeAnswer{.json = describe()});
      return true;
    case Op::fault:
      read<FaultRequest>(call, [&](const FaultRequest& fault) -> Answer<Empty> {
        const int error = inject(fault);
        if (error != 0) return std::unexpected(error);
        return Empty{};
      });
      return true;
    case Op::stop:
      reply(call, Empty{});
      loop_->stop();
      return true;
    default:
      return false;
  }
}

void Mds::connect(const Call& call) {
  FrameReader reader(call.body);
  ConnectRequest request;
  reader(request);
  if (!reader.good()) return refuse(call, EBADMSG);
  store_->begin();
  store_->begin_session(request.client, request.session);
  if (!store_->commit()) {
    report_failure();
    return refuse(call, EIO);
  }
  clients_.insert_or_assign(call.from, Client{.id = request.client, .node = request.node});
  links_->destroy_soon();
  log_.info("connected", {{"node", request.node}});
  reply(call, ConnectAnswer{.boot = boot_, .first_ost = 0, .ost_count = config_.ost_count()});
}

bool Mds::is_connected(std::uint64_t client) const {
  return std::ranges::any_of(clients_, [&](const auto& entry) { return entry.second.id == client; });
}

void Mds::evict_later(std::uint64_t client) {
  const Duration lost = loop_->now();
  lost_[client] = lost;
  loop_->at(lost + kUntilEvicted, [this, client, lost] {
    // It may have come back, and been lost again: then another timer runs.
    const auto last = lost_.find(client);
    if (last == lost_.end() || last->second != lost || is_connected(client)) return;
    lost_.erase(last);
    store_->begin();
    store_->close_all(client);
    if (!store_->commit()) return report_failure();
    links_->destroy_soon();
  });
}

int Mds::inject(const FaultRequest& fault) {
  const bool one_ost = fault.ost >= 0;
  if (one_ost && static_cast<std::uint32_t>(fault.ost) >= config_.ost_count()) return EINVAL;
  switch (fault.kind) {
    case FaultKind::none:
      if (one_ost) {
        allocator_.set_active(static_cast<std::uint32_t>(fault.ost), true);
        return 0;
      }
      drop_share_ = 0;
      is_full_ = false;
      for (std::uint32_t i = 0; i < config_.ost_count(); ++i) allocator_.set_active(i, true);
      return 0;
    case FaultKind::drop:
      if (one_ost || std::isnan(fault.value) || fault.value < 0 || fault.value > 1) return EINVAL;
      drop_share_ = fault.value;
      return 0;
    case FaultKind::full:
      if (one_ost) return EOPNOTSUPP;
      is_full_ = true;
      return 0;
    case FaultKind::off:
      if (!one_ost) return EOPNOTSUPP;
      allocator_.set_active(static_cast<std::uint32_t>(fault.ost), false);
      return 0;
    case FaultKind::slow:
      return EOPNOTSUPP;
  }
  return EINVAL;
}

std::string Mds::describe() {
  using Json = nlohmann::ordered_json;
  const StoreCounts counts = store_->counts();
  Json json{{"node", "mds"},
            {"boot", boot_},
            {"inodes", counts.inodes},
            {"open_files", counts.open},
            {"doomed_objects", counts.doomed},
            {"drop", drop_share_},
            {"full", is_full_}};
  Json& clients = json["clients"] = Json::array();
  for (const auto& [connection, client] : clients_) clients.push_back(client.node);
  Json& osts = json["osts"] = Json::array();
  for (const ObjectAllocator::Ost& ost : allocator_.osts()) {
    osts.push_back({{"ost", ost.space.ost},
                    {"oss", config_.oss_of(ost.space.ost)},
                    {"total", ost.space.total},
                    {"free", ost.space.free},
                    {"objects", ost.space.objects},
                    {"connected", ost.answers},
                    {"active", ost.usable()},
                    {"full", ost.full}});
  }
  return json.dump();
}

// ---- What a metadata server is asked
// --------------------------------------------------------------------------------------------

void Mds::serve_reading(const Call& call) {
  switch (call.op) {
    case Op::lookup:
      return read<NameRequest>(call, [&](const NameRequest& request) { return store_->lookup(request.parent, request.name); });
    case Op::get_attributes:
      return read<InodeRequest>(call, [&](const InodeRequest& request) { return store_->entry(request.inode); });
    case Op::read_link:
      return read<InodeRequest>(call, [&](const InodeRequest& request) -> Answer<BytesAnswer> {
        const auto target = store_->link_target(request.inode);
        if (!target) return std::unexpected(target.error());
        const auto bytes = std::as_bytes(std::span(*target));
        return BytesAnswer{.bytes = {bytes.begin(), bytes.end()}};
      });
    case Op::list:
      return read<ListRequest>(
          call, [&](const ListRequest& request) { return store_->list(request.inode, request.after, request.most); });
    case Op::get_xattr:
      return read<XattrRequest>(call, [&](const XattrRequest& request) { return get_xattr(request); });
    case Op::list_xattrs:
      return read<InodeRequest>(call, [&](const InodeRequest& request) { return list_xattrs(request.inode); });
    default:
      break;
  }
  const auto client = clients_.find(call.from);
  if (client == clients_.end()) return refuse(call, ENOTCONN);
  Call changing = call;
  changing.client = client->second.id;
  serve_changing(changing);
}

void Mds::serve_changing(Call& call) {
  const std::int64_t now = call.now;
  switch (call.op) {
    case Op::set_attributes:
      return change<SetAttributesRequest>(call, [&](const SetAttributesRequest& request) -> Answer<Entry> {
        const auto set = store_->set_attributes(request.attributes, request.mask, now);
        if (!set) return std::unexpected(set.error());
        return store_->entry(request.attributes.inode);
      });
    case Op::make:
      return change<MakeRequest>(call, [&](const MakeRequest& request) { return make(call, request); });
    case Op::open:
      return change<InodeRequest>(call, [&](const InodeRequest& request) { return open(call, request.inode); });
    case Op::close:
      change<InodeRequest>(call, [&](const InodeRequest& request) -> Answer<Empty> {
        store_->close(call.client, request.inode);
        return Empty{};
      });
      return links_->destroy_soon();
    case Op::unlink:
      change<NameRequest>(call,
                          [&](const NameRequest& request) { return done(store_->unlink(request.parent, request.name, now)); });
      return links_->destroy_soon();
    case Op::remove_directory:
      return change<NameRequest>(
          call, [&](const NameRequest& request) { return done(store_->remove_directory(request.parent, request.name, now)); });
    case Op::rename:
      change<RenameRequest>(call, [&](const RenameRequest& request) { return done(store_->rename(request, now)); });
      return links_->destroy_soon();
    case Op::link:
      return change<LinkRequest>(call, [&](const LinkRequest& request) -> Answer<Entry> {
        const auto linked = store_->link(request, now);
        if (!linked) return std::unexpected(linked.error());
        return store_->entry(request.inode);
      });
    case Op::set_xattr:
      return change<XattrRequest>(call, [&](const XattrRequest& request) { return set_xattr(call, request); });
    case Op::remove_xattr:
      return change<XattrRequest>(call, [&](const XattrRequest& request) { return remove_xattr(call, request); });
    default:
      return refuse(call, EOPNOTSUPP);
  }
}

}  // namespace iez::lab
