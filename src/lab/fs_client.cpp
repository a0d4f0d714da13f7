#include "lab/fs_client.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "lab/client_locks.hpp"
#include "lab/stripe_map.hpp"
#include "lustre/layout_codec.hpp"

namespace iez::lab {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

// What is known of an inode while the kernel or a caller refers to it.
struct Node {
  std::mutex opening;       // one open or close at a time: the server keeps a set, not a count
  std::uint64_t opens = 0;  // under `opening`

  // Under the client's mutex.
  std::uint64_t references = 0;
  bool has_layout = false;
  StripeMap map;
};

struct Part {
  std::uint64_t start = kEnd;
  std::uint64_t end = 0;
};

}  // namespace

struct FsClient::State {
  using NodePtr = std::shared_ptr<Node>;
  using ObjectKey = std::pair<std::uint32_t, std::uint64_t>;
  struct Home {
    std::uint64_t inode = 0;
    std::size_t index = 0;  // in the map
  };

  explicit State(Options given)
      : options(std::move(given)),
        traffic(options.config.ost_count()),
        locks(
            {.ask =
                 [this](const LockRequest& lock, Channel::OnAnswer on_answer) {
                   return oss(lock.name.ost).start(Op::lock, lock, {}, std::move(on_answer));
                 },
             .wait = [this](const ObjectName& name, const Channel::Call& call,
                            const Channel::Interrupted& interrupted) { return oss(name.ost).wait(call, interrupted); },
             .unlock = [this](
                           const LockRequest& lock,
                           Channel::OnAnswer on_answer) { oss(lock.name.ost).start(Op::unlock, lock, {}, std::move(on_answer)); },
             .drop_pages = [this](const ObjectName& name, std::uint64_t start, std::uint64_t end) { drop(name, start, end); }}) {
    const Config& config = options.config;
    const ConnectRequest hello{.client = options.client,
                               .session = options.session,
                               .node = options.node,
                               .rpcs_in_flight = config.rpcs_in_flight,
                               .dirty_bytes = config.dirty.count};
    mds = std::make_unique<Channel>(Channel::Options{.path = socket_path(config, "mds"), .connect = hello});
    for (std::uint32_t i = 0; i < config.oss_count; ++i) {
      osses.push_back(std::make_unique<Channel>(Channel::Options{
          .path = socket_path(config, "oss" + std::to_string(i)),
          .connect = hello,
          .revoked = [this](const LockRequest& lock) { locks.revoked(lock); },
          .reconnected = [this, i](bool) { locks.lost(i * options.config.osts_per_oss, options.config.osts_per_oss); }}));
    }
  }

  Channel& oss(std::uint32_t ost) { return *osses[options.config.oss_of(ost)]; }

  void drop(const ObjectName& name, std::uint64_t start, std::uint64_t end) {
    FileRange range;
    std::uint64_t inode = 0;
    {
      const std::scoped_lock lock(mutex);
      const auto home = homes.find({name.ost, name.object});
      if (home == homes.end()) return;
      const auto node = nodes.find(home->second.inode);
      if (node == nodes.end()) return;
      inode = home->second.inode;
      range = node->second->map.file_range(home->second.index, start, end);
    }
    if (options.drop_pages) options.drop_pages(inode, range.start, range.end == kEnd ? 0 : range.end - range.start);
  }

  // ---- Nodes ----

  NodePtr node(std::uint64_t inode) {
    const std::scoped_lock lock(mutex);
    NodePtr& found = nodes[inode];
    if (!found) found = std::make_shared<Node>();
    return found;
  }

  // A file's layout never changes once it has one.
  void learn(std::uint64_t inode, std::span<const std::byte> layout, std::uint64_t references) {
    const std::scoped_lock lock(mutex);
    NodePtr& found = nodes[inode];
    if (!found) found = std::make_shared<Node>();
    found->references += references;
    if (found->has_layout || layout.empty()) return;
    const auto decoded = lustre::decode_layout(layout);
    if (!decoded) return;
    auto map = StripeMap::make(*decoded);
    if (!map) return;
    const auto known = [this](const ObjectName& name) { return name.ost < options.config.ost_count(); };
    if (!std::ranges::all_of(map->objects(), known)) return;
    found->map = *std::move(map);
    found->has_layout = true;
    const auto& objects = found->map.objects();
    for (std::size_t i = 0; i < objects.size(); ++i) homes[{objects[i].ost, objects[i].object}] = {.inode = inode, .index = i};
  }

  // Copies of a map are a few hundred bytes; it never changes while it is used.
  std::shared_ptr<const StripeMap> map_of(const Who& who, std::uint64_t inode) {
    const NodePtr found = node(inode);
    {
      const std::scoped_lock lock(mutex);
      if (found->has_layout) return {found, &found->map};
    }
    Reply reply = mds->ask(Op::get_attributes, InodeRequest{.caller = who.caller, .inode = inode}, who.interrupted);
    const auto entry = reply.as<Entry>();
    if (entry) learn(inode, entry->layout, 0);
    const std::scoped_lock lock(mutex);
    if (found->has_layout) return {found, &found->map};
    return nullptr;
  }

  // ---- Several servers at once ----

  // The answers of requests that were started together. The first error in their order counts.
  struct Started {
    std::uint32_t ost = 0;
    Channel::Call call;
  };

  template <typename Message>
  std::vector<Started> start_by_server(Op op, const std::vector<ObjectName>& objects, const Who& who,
                                       std::vector<std::vector<std::size_t>>* indices) {
    std::map<std::uint32_t, std::vector<std::size_t>> by_server;
    for (std::size_t i = 0; i < objects.size(); ++i) by_server[options.config.oss_of(objects[i].ost)].push_back(i);
    std::vector<Started> calls;
    for (const auto& [server, which] : by_server) {
      Message message{.names = {}, .job = who.caller.job};
      for (const std::size_t i : which) message.names.push_back(objects[i]);
      calls.push_back({.ost = objects[which.front()].ost, .call = osses[server]->start(op, message)});
      if (indices != nullptr) indices->push_back(which);
    }
    return calls;
  }

  Outcome<std::vector<ObjectState>> glimpse(const Who& who, const StripeMap& map) {
    std::vector<std::vector<std::size_t>> indices;
    const std::vector<Started> calls = start_by_server<ObjectsRequest>(Op::glimpse, map.objects(), who, &indices);
    std::vector<ObjectState> states(map.objects().size());
    int error = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      Reply reply = oss(calls[i].ost).wait(calls[i].call, who.interrupted);
      const auto answer = reply.as<GlimpseAnswer>();
      if (!answer || answer->states.size() != indices[i].size()) {
        if (error == 0) error = reply.error != 0 ? reply.error : EPROTO;
        continue;
      }
      for (std::size_t j = 0; j < indices[i].size(); ++j) states[indices[i][j]] = answer->states[j];
    }
    if (error != 0) return std::unexpected(error);
    return states;
  }

  static std::uint64_t size_of(const StripeMap& map, const std::vector<ObjectState>& states) {
    std::vector<std::uint64_t> sizes;
    sizes.reserve(states.size());
    for (const ObjectState& state : states) sizes.push_back(state.size);
    return map.file_size(sizes);
  }

  // What the metadata server says, completed by the objects.
  Outcome<FileState> complete(const Who& who, Entry entry, std::uint64_t references) {
    FileState state{.attributes = entry.attributes};
    Attributes& attributes = state.attributes;
    learn(attributes.inode, entry.layout, references);
    if (!S_ISREG(attributes.mode)) {
      state.blocks = (attributes.size + 511) / 512;
      return state;
    }
    attributes.size = 0;
    if (entry.layout.empty()) return state;
    const auto map = map_of(who, attributes.inode);
    if (!map) return std::unexpected(EIO);
    const auto objects = glimpse(who, *map);
    if (!objects) {
      if (references != 0) take_back(attributes.inode, references);
      return std::unexpected(objects.error());
    }
    attributes.size = size_of(*map, *objects);
    for (const ObjectState& object : *objects) {
      state.blocks += object.blocks;
      if (object.modify_ns <= entry.attributes.change_ns) continue;
      attributes.modify_ns = std::max(attributes.modify_ns, object.modify_ns);
      attributes.change_ns = std::max(attributes.change_ns, object.modify_ns);
    }
    return state;
  }

  // References that the kernel gave back, or never got.
  void take_back(std::uint64_t inode, std::uint64_t references) {
    std::vector<ObjectName> objects;
    {
      const std::scoped_lock lock(mutex);
      const auto found = nodes.find(inode);
      if (found == nodes.end()) return;
      Node& node = *found->second;
      node.references -= std::min(node.references, references);
      if (node.references != 0 || inode == kRootInode) return;
      objects = node.map.objects();
      for (const ObjectName& object : objects) homes.erase({object.ost, object.object});
      nodes.erase(found);
    }
    for (const ObjectName& object : objects) locks.give_back(object);
  }

  Outcome<FileState> entry_from(const Who& who, Reply reply, std::uint64_t references) {
    auto entry = reply.as<Entry>();
    if (!entry) return std::unexpected(reply.error);
    return complete(who, *std::move(entry), references);
  }

  template <typename Message>
  Outcome<void> ask_mds(const Who& who, Op op, const Message& message) {
    const Reply reply = mds->ask(op, message, who.interrupted);
    if (reply.error != 0) return std::unexpected(reply.error);
    return {};
  }

  // ---- Locks ----

  // In the order of the objects' names: whoever needs several never holds one that somebody with an earlier one waits for.
  struct Held {
    std::vector<ClientLocks::Hold> holds;
    bool waited = false;
    int error = 0;
  };
  Held lock_all(const Who& who, const std::map<ObjectKey, Part>& parts, LockMode mode, bool page_out) {
    Held held;
    for (const auto& [key, part] : parts) {
      const ClientLocks::Hold hold = locks.acquire({.name = {.ost = key.first, .object = key.second},
                                                    .mode = mode,
                                                    .start = part.start,
                                                    .end = part.end,
                                                    .page_out = page_out},
                                                   who.interrupted);
      if (hold.error != 0) {
        held.error = hold.error;
        release(held);
        return held;
      }
      held.waited = held.waited || hold.waited;
      held.holds.push_back(hold);
    }
    return held;
  }
  // False: one was lost meanwhile.
  bool release(Held& held) {
    bool kept = true;
    for (const ClientLocks::Hold& hold : held.holds) kept = locks.release(hold) && kept;
    held.holds.clear();
    return kept;
  }

  static std::map<ObjectKey, Part> parts_of(const StripeMap& map, const std::vector<Piece>& pieces) {
    std::map<ObjectKey, Part> parts;
    for (const Piece& piece : pieces) {
      if (piece.object == Piece::kNoObject) continue;
      const ObjectName& name = map.objects()[piece.object];
      Part& part = parts[{name.ost, name.object}];
      part.start = std::min(part.start, piece.offset);
      part.end = std::max(part.end, piece.offset + piece.size);
    }
    return parts;
  }

  static std::map<ObjectKey, Part> whole(const StripeMap& map) {
    std::map<ObjectKey, Part> parts;
    for (const ObjectName& name : map.objects()) parts[{name.ost, name.object}] = {.start = 0, .end = kEnd};
    return parts;
  }

  // ---- Counters ----

  static std::size_t place(std::uint64_t count) {
    return std::min<std::size_t>(count <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(count - 1)),
                                 Traffic::Histogram{}.size() - 1);
  }
  void count_start(std::uint32_t ost, bool is_write) {
    const std::scoped_lock lock(counting);
    Traffic& of = is_write ? traffic[ost].writes : traffic[ost].reads;
    ++of.at_once[place(++of.in_flight)];
  }
  void count_end(std::uint32_t ost, bool is_write, std::uint64_t bytes, std::uint32_t credits) {
    const std::scoped_lock lock(counting);
    Traffic& of = is_write ? traffic[ost].writes : traffic[ost].reads;
    --of.in_flight;
    if (credits != 0) traffic[ost].credits = credits;
    ++of.requests;
    of.bytes += bytes;
    ++of.pages[place((bytes + 4095) / 4096)];
  }

  // One that moved nothing is no sample, as on Lustre.
  void count_call(CallTotals& of, std::uint64_t bytes) {
    if (bytes == 0) return;
    const std::scoped_lock lock(counting);
    of.smallest = of.calls == 0 ? bytes : std::min(of.smallest, bytes);
    of.largest = std::max(of.largest, bytes);
    ++of.calls;
    of.bytes += bytes;
    of.squares += static_cast<double>(bytes) * static_cast<double>(bytes);
  }

  const Options options;
  std::mutex mutex;
  std::unordered_map<std::uint64_t, NodePtr> nodes;
  std::map<ObjectKey, Home> homes;
  mutable std::mutex counting;
  std::vector<OstTraffic> traffic;
  FileCalls file_calls;
  ClientLocks locks;
  std::unique_ptr<Channel> mds;
  std::vector<std::unique_ptr<Channel>> osses;
};

FsClient::FsClient(Options options) : state_(std::make_unique<State>(std::move(options))) {}
// Nothing may be given back through channels that are gone, and the channels' threads call the locks until they end.
FsClient::~FsClient() { state_->locks.stop(); }

// ---- Names ------------------------------------------------------------------------------------------------------------------

Outcome<FileState> FsClient::lookup(const Who& who, std::uint64_t parent, const std::string& name) {
  return state_->entry_from(
      who, state_->mds->ask(Op::lookup, NameRequest{.caller = who.caller, .parent = parent, .name = name}, who.interrupted), 1);
}

Outcome<FileState> FsClient::make(const Who& who, std::uint64_t parent, const std::string& name, std::uint32_t mode,
                                  std::uint64_t device, const std::string& target) {
  const MakeRequest request{
      .caller = who.caller, .parent = parent, .name = name, .mode = mode, .device = device, .target = target};
  return state_->entry_from(who, state_->mds->ask(Op::make, request, who.interrupted), 1);
}

Outcome<FileState> FsClient::create(const Who& who, std::uint64_t parent, const std::string& name, std::uint32_t mode) {
  const MakeRequest request{.caller = who.caller, .parent = parent, .name = name, .mode = mode, .open = 1};
  Reply reply = state_->mds->ask(Op::make, request, who.interrupted);
  const auto entry = reply.as<Entry>();
  if (!entry) return std::unexpected(reply.error);
  // New and empty: its objects need not be asked.
  state_->learn(entry->attributes.inode, entry->layout, 1);
  const auto node = state_->node(entry->attributes.inode);
  const std::scoped_lock lock(node->opening);
  ++node->opens;
  FileState made{.attributes = entry->attributes};
  made.attributes.size = 0;
  return made;
}

Outcome<FileState> FsClient::link(const Who& who, std::uint64_t inode, std::uint64_t parent, const std::string& name) {
  const LinkRequest request{.caller = who.caller, .inode = inode, .parent = parent, .name = name};
  return state_->entry_from(who, state_->mds->ask(Op::link, request, who.interrupted), 1);
}

Outcome<void> FsClient::unlink(const Who& who, std::uint64_t parent, const std::string& name) {
  return state_->ask_mds(who, Op::unlink, NameRequest{.caller = who.caller, .parent = parent, .name = name});
}

Outcome<void> FsClient::remove_directory(const Who& who, std::uint64_t parent, const std::string& name) {
  return state_->ask_mds(who, Op::remove_directory, NameRequest{.caller = who.caller, .parent = parent, .name = name});
}

Outcome<void> FsClient::rename(const Who& who, const RenameRequest& request) { return state_->ask_mds(who, Op::rename, request); }

Outcome<std::string> FsClient::read_link(const Who& who, std::uint64_t inode) {
  Reply reply = state_->mds->ask(Op::read_link, InodeRequest{.caller = who.caller, .inode = inode}, who.interrupted);
  const auto answer = reply.as<BytesAnswer>();
  if (!answer) return std::unexpected(reply.error);
  return std::string(reinterpret_cast<const char*>(answer->bytes.data()), answer->bytes.size());
}

Outcome<ListAnswer> FsClient::list(const Who& who, std::uint64_t inode, std::uint64_t after, std::uint32_t most) {
  const ListRequest request{.caller = who.caller, .inode = inode, .after = after, .most = most};
  Reply reply = state_->mds->ask(Op::list, request, who.interrupted);
  auto answer = reply.as<ListAnswer>();
  if (!answer) return std::unexpected(reply.error);
  return *std::move(answer);
}

void FsClient::forget(std::uint64_t inode, std::uint64_t references) { state_->take_back(inode, references); }

// ---- Attributes -------------------------------------------------------------------------------------------------------------

Outcome<FileState> FsClient::state(const Who& who, std::uint64_t inode) {
  return state_->entry_from(
      who, state_->mds->ask(Op::get_attributes, InodeRequest{.caller = who.caller, .inode = inode}, who.interrupted), 0);
}

Outcome<FileState> FsClient::change(const Who& who, const Attributes& attributes, std::uint32_t mask,
                                    std::optional<std::uint64_t> size) {
  if (size) {
    const auto map = state_->map_of(who, attributes.inode);
    if (map == nullptr && *size != 0) return std::unexpected(ENODATA);
    if (map != nullptr) {
      if (*size != 0 && map->pieces(*size - 1, 1).front().object == Piece::kNoObject) return std::unexpected(EFBIG);
      std::map<State::ObjectKey, Part> parts;
      std::vector<std::pair<ObjectName, std::uint64_t>> punches;
      for (std::size_t i = 0; i < map->objects().size(); ++i) {
        const StripeMap::ObjectSize to = map->object_size(i, *size);
        if (to.unchanged) continue;
        const ObjectName& name = map->objects()[i];
        punches.emplace_back(name, to.size);
        parts[{name.ost, name.object}] = {.start = to.size, .end = kEnd};
      }
      State::Held held = state_->lock_all(who, parts, LockMode::write, false);
      if (held.error != 0) return std::unexpected(held.error);
      std::vector<State::Started> calls;
      calls.reserve(punches.size());
      for (const auto& [name, to] : punches) {
        const PunchRequest request{.name = name, .size = to, .job = who.caller.job};
        calls.push_back({.ost = name.ost, .call = state_->oss(name.ost).start(Op::punch, request)});
      }
      int error = 0;
      for (const State::Started& started : calls) {
        const Reply reply = state_->oss(started.ost).wait(started.call, who.interrupted);
        if (error == 0) error = reply.error;
      }
      state_->release(held);
      if (error != 0) return std::unexpected(error);
    }
    mask |= kSetChange;
  }
  const SetAttributesRequest request{.caller = who.caller, .attributes = attributes, .mask = mask};
  return state_->entry_from(who, state_->mds->ask(Op::set_attributes, request, who.interrupted), 0);
}

Outcome<std::vector<std::byte>> FsClient::get_xattr(const Who& who, std::uint64_t inode, const std::string& name) {
  Reply reply =
      state_->mds->ask(Op::get_xattr, XattrRequest{.caller = who.caller, .inode = inode, .name = name}, who.interrupted);
  auto answer = reply.as<BytesAnswer>();
  if (!answer) return std::unexpected(reply.error);
  return std::move(answer->bytes);
}

Outcome<std::vector<std::byte>> FsClient::list_xattrs(const Who& who, std::uint64_t inode) {
  Reply reply = state_->mds->ask(Op::list_xattrs, InodeRequest{.caller = who.caller, .inode = inode}, who.interrupted);
  auto answer = reply.as<BytesAnswer>();
  if (!answer) return std::unexpected(reply.error);
  return std::move(answer->bytes);
}

Outcome<void> FsClient::set_xattr(const Who& who, std::uint64_t inode, const std::string& name, std::span<const std::byte> value,
                                  std::uint32_t flags) {
  return state_->ask_mds(
      who, Op::set_xattr,
      XattrRequest{.caller = who.caller, .inode = inode, .name = name, .value = {value.begin(), value.end()}, .flags = flags});
}

Outcome<void> FsClient::remove_xattr(const Who& who, std::uint64_t inode, const std::string& name) {
  return state_->ask_mds(who, Op::remove_xattr, XattrRequest{.caller = who.caller, .inode = inode, .name = name});
}

// ---- Bytes ------------------------------------------------------------------------------------------------------------------

Outcome<void> FsClient::open(const Who& who, std::uint64_t inode) {
  const auto node = state_->node(inode);
  const std::scoped_lock lock(node->opening);
  if (node->opens == 0) {
    Reply reply = state_->mds->ask(Op::open, InodeRequest{.caller = who.caller, .inode = inode}, who.interrupted);
    const auto entry = reply.as<Entry>();
    if (!entry) return std::unexpected(reply.error);
    state_->learn(inode, entry->layout, 0);
  }
  ++node->opens;
  return {};
}

void FsClient::close(const Who& who, std::uint64_t inode) {
  const auto node = state_->node(inode);
  const std::scoped_lock lock(node->opening);
  if (node->opens == 0) return;
  --node->opens;
  if (node->opens != 0) return;
  // Nobody waits for it: the channel sees to it that it arrives, before any later open.
  state_->mds->start(Op::close, InodeRequest{.caller = who.caller, .inode = inode});
}

Outcome<Written> FsClient::write(const Who& who, std::uint64_t inode, std::uint64_t offset, std::span<const std::byte> data,
                                 WriteKind kind) {
  const auto map = state_->map_of(who, inode);
  if (map == nullptr) return std::unexpected(ENODATA);
  Written written;
  State::Held held;
  if (kind == WriteKind::append) {
    held = state_->lock_all(who, State::whole(*map), LockMode::write, false);
    if (held.error != 0) return std::unexpected(held.error);
    const auto states = state_->glimpse(who, *map);
    if (!states) {
      state_->release(held);
      return std::unexpected(states.error());
    }
    const std::uint64_t end = State::size_of(*map, *states);
    written.drop_pages = end != offset;
    offset = end;
  }
  const std::vector<Piece> pieces = map->pieces(offset, data.size());
  const auto nowhere = std::ranges::find_if(pieces, [](const Piece& piece) { return piece.object == Piece::kNoObject; });
  if (kind != WriteKind::append) {
    held = state_->lock_all(who, State::parts_of(*map, {pieces.begin(), nowhere}), LockMode::write, kind == WriteKind::page_out);
    if (held.error != 0) return std::unexpected(held.error);
  }
  std::vector<State::Started> calls;
  calls.reserve(pieces.size());
  for (auto piece = pieces.begin(); piece != nowhere; ++piece) {
    const ObjectName& name = map->objects()[piece->object];
    const WriteRequest request{.name = name, .offset = piece->offset, .job = who.caller.job};
    state_->count_start(name.ost, true);
    calls.push_back(
        {.ost = name.ost,
         .call = state_->oss(name.ost).start(Op::write, request, data.subspan(piece->file_offset - offset, piece->size))});
  }
  // Counts up to the first piece that failed: what lies behind it was perhaps stored, but is not promised.
  int error = nowhere == pieces.begin() && !pieces.empty() ? ENODATA : 0;
  bool whole = true;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Reply reply = state_->oss(calls[i].ost).wait(calls[i].call, who.interrupted);
    const auto answer = reply.as<WriteAnswer>();
    state_->count_end(calls[i].ost, true, answer ? pieces[i].size : 0, answer ? answer->credits : 0);
    if (!answer) {
      if (error == 0) error = reply.error;
      whole = false;
    } else if (whole) {
      written.size += pieces[i].size;
    }
  }
  written.drop_pages = written.drop_pages || !whole || (held.waited && kind == WriteKind::page_out);
  written.drop_edges = held.waited;
  if (!state_->release(held)) written.drop_pages = true;
  if (kind != WriteKind::page_out) state_->count_call(state_->file_calls.writes, written.size);
  if (written.size == 0 && error != 0) return std::unexpected(error);
  return written;
}

Outcome<BytesRead> FsClient::read(const Who& who, std::uint64_t inode, std::uint64_t offset, std::size_t size) {
  BytesRead read;
  const auto map = state_->map_of(who, inode);
  if (map == nullptr) return read;
  const std::vector<Piece> pieces = map->pieces(offset, size);
  State::Held held = state_->lock_all(who, State::parts_of(*map, pieces), LockMode::read, false);
  if (held.error != 0) return std::unexpected(held.error);
  std::vector<State::Started> calls(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].object == Piece::kNoObject) continue;
    const ObjectName& name = map->objects()[pieces[i].object];
    const ReadRequest request{
        .name = name, .offset = pieces[i].offset, .size = static_cast<std::uint32_t>(pieces[i].size), .job = who.caller.job};
    state_->count_start(name.ost, false);
    calls[i] = {.ost = name.ost, .call = state_->oss(name.ost).start(Op::read, request)};
  }
  read.bytes.resize(size);
  int error = 0;
  bool cut = false;          // some object ended
  std::uint64_t useful = 0;  // up to the last byte that an object had
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!calls[i].call) {
      cut = true;
      continue;
    }
    Reply reply = state_->oss(calls[i].ost).wait(calls[i].call, who.interrupted);
    std::span<const std::byte> data;
    const auto answer = reply.as<ReadAnswer>(&data);
    data = data.first(std::min<std::size_t>(data.size(), pieces[i].size));
    state_->count_end(calls[i].ost, false, data.size(), answer ? answer->credits : 0);
    if (!answer) {
      if (error == 0) error = reply.error;
      continue;
    }
    const std::uint64_t at = pieces[i].file_offset - offset;
    std::ranges::copy(data, read.bytes.begin() + static_cast<std::ptrdiff_t>(at));
    if (!data.empty()) useful = at + data.size();
    cut = cut || data.size() < pieces[i].size;
  }
  // A short object is a hole if the file goes on elsewhere.
  if (error == 0 && cut) {
    std::uint64_t end = offset + useful;
    if (map->objects().size() > 1) {
      const auto states = state_->glimpse(who, *map);
      if (states) {
        end = std::max(end, State::size_of(*map, *states));
      } else {
        error = states.error();
      }
    }
    read.bytes.resize(end <= offset ? 0 : std::min<std::uint64_t>(size, end - offset));
  }
  read.drop_pages = !state_->release(held);
  if (error != 0) return std::unexpected(error);
  state_->count_call(state_->file_calls.reads, read.bytes.size());
  return read;
}

Outcome<void> FsClient::sync(const Who& who, std::uint64_t inode) {
  const auto map = state_->map_of(who, inode);
  if (map == nullptr) return {};
  int error = 0;
  for (const State::Started& started : state_->start_by_server<ObjectsRequest>(Op::sync, map->objects(), who, nullptr)) {
    const Reply reply = state_->oss(started.ost).wait(started.call, who.interrupted);
    if (error == 0) error = reply.error;
  }
  if (error != 0) return std::unexpected(error);
  return {};
}

// ---- The file system --------------------------------------------------------------------------------------------------------

Outcome<FileSystemSpace> FsClient::space(const Who& who) {
  std::vector<std::pair<Channel*, Channel::Call>> calls;
  for (const auto& channel : state_->osses) {
    if (channel->connected()) calls.emplace_back(channel.get(), channel->start(Op::space, Empty{}));
  }
  FileSystemSpace sum;
  for (const auto& [channel, call] : calls) {
    Reply reply = channel->wait(call, who.interrupted);
    const auto answer = reply.as<SpaceAnswer>();
    if (!answer) continue;
    for (const OstSpace& ost : answer->osts) {
      sum.total += ost.total;
      sum.free += ost.free;
      sum.objects += ost.objects;
      sum.osts.push_back(ost);
    }
  }
  return sum;
}

void FsClient::set_limits(std::uint32_t ost, std::uint32_t rpcs_in_flight, std::uint64_t dirty_bytes) {
  state_->oss(ost).start(Op::limits, LimitsRequest{.ost = ost, .rpcs_in_flight = rpcs_in_flight, .dirty_bytes = dirty_bytes});
}

OstTraffic FsClient::traffic(std::uint32_t ost) const {
  const std::scoped_lock lock(state_->counting);
  return state_->traffic[ost];
}

FileCalls FsClient::calls() const {
  const std::scoped_lock lock(state_->counting);
  return state_->file_calls;
}

bool FsClient::connected(std::uint32_t oss) const { return state_->osses[oss]->connected(); }
bool FsClient::mds_connected() const { return state_->mds->connected(); }
std::uint64_t FsClient::reconnects(std::uint32_t oss) const { return state_->osses[oss]->reconnects(); }
std::size_t FsClient::locks() const { return state_->locks.held(); }

}  // namespace iez::lab
