// What the processes of a lab say to each other: frames over Unix sockets, and the fields of each message.
//
// A frame is a Frame header, then the fields of the message in the order of its visit() - numbers little-endian, texts and bytes
// with their length before them - then, for data, the rest of the frame. A request has a number of its client's choice; the
// answer has the same, and begins with an errno (0: done, and the fields of the answer follow). A client may ask again with the
// same number, after a lost connection or a long silence: servers answer as the first time.
//
// Both sides belong to one lab and one user, but a frame may be cut or damaged: decode() never reads beyond the bytes at hand.
//
// Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace iez::lab {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are little-endian and are copied as they are");

inline constexpr std::uint32_t kMaxFrame = (16U << 20U) + (64U << 10U);  // the largest request is 16 MiB of data

enum class Op : std::uint16_t {
  // Any server.
  connect = 1,
  query,     // a server's view of a request that has no answer yet
  describe,  // state and counters, as JSON
  fault,     // makes the server behave badly, or well again
  stop,
  // MDS.
  lookup = 32,
  get_attributes,
  set_attributes,
  make,   // regular file, directory, symbolic link, node
  open,   // gives a layout to a file that has none
  close,  // the last descriptor of this client
  unlink,
  remove_directory,
  rename,
  link,
  read_link,
  list,
  get_xattr,
  set_xattr,
  list_xattrs,
  remove_xattr,
  // OSS.
  write = 64,
  read,
  sync,  // answered when all that the client wrote to the object is on disk
  glimpse,
  punch,  // sets the size of an object
  destroy,
  space,
  lock,
  unlock,
  limits,  // the client's settings changed
  // From an OSS to a client: give a lock back, by unlock.
  revoke = 96,
};

inline constexpr std::uint16_t kAnswer = 1;  // in Frame::flags

struct Frame {
  std::uint32_t size = 0;  // of the whole frame
  std::uint16_t op = 0;
  std::uint16_t flags = 0;
  std::uint64_t number = 0;
};
static_assert(sizeof(Frame) == 16);

// ---- Fields -----------------------------------------------------------------------------------------------------------------

class FrameWriter {
 public:
  FrameWriter(Op op, std::uint64_t number, std::uint16_t flags = 0) : bytes_(sizeof(Frame)) {
    const Frame frame{.op = static_cast<std::uint16_t>(op), .flags = flags, .number = number};
    std::memcpy(bytes_.data(), &frame, sizeof frame);
  }

  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(const T& value) {
    append(&value, sizeof value);
  }
  template <typename T>
    requires std::is_enum_v<T>
  void operator()(const T& value) {
    (*this)(static_cast<std::underlying_type_t<T>>(value));
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    append(text.data(), text.size());
  }
  void operator()(const std::vector<std::byte>& bytes) {
    (*this)(static_cast<std::uint32_t>(bytes.size()));
    append(bytes.data(), bytes.size());
  }
  template <typename T>
    requires requires(T& value, FrameWriter& writer) { value.visit(writer); }
  void operator()(const T& value) {
    // visit() serves reading and writing; a writer changes nothing.
    const_cast<T&>(value).visit(*this);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  template <typename T>
    requires requires(T& value, FrameWriter& writer) { value.visit(writer); }
  void operator()(const std::vector<T>& values) {
    (*this)(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) (*this)(value);
  }

  // Data behind the fields.
  void append(const void* from, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  void reserve(std::size_t data) { bytes_.reserve(bytes_.size() + data); }

  // The whole frame. REQUIRES: at most kMaxFrame bytes.
  std::vector<std::byte> take() {
    const auto size = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data() + offsetof(Frame, size), &size, sizeof size);
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

class FrameReader {
 public:
  // The bytes behind the Frame. They must live as long as the reader.
  explicit FrameReader(std::span<const std::byte> body) : rest_(body) {}

  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(T& value) {
    if (take_into(&value, sizeof value)) return;
    value = T{};
  }
  template <typename T>
    requires std::is_enum_v<T>
  void operator()(T& value) {
    std::underlying_type_t<T> number{};
    (*this)(number);
    value = static_cast<T>(number);
  }
  void operator()(std::string& text) {
    const std::span<const std::byte> bytes = counted();
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void operator()(std::vector<std::byte>& bytes) {
    const std::span<const std::byte> found = counted();
    bytes.assign(found.begin(), found.end());
  }
  template <typename T>
    requires requires(T& value, FrameReader& reader) { value.visit(reader); }
  void operator()(T& value) {
    value.visit(*this);
  }
  template <typename T>
    requires requires(T& value, FrameReader& reader) { value.visit(reader); }
  void operator()(std::vector<T>& values) {
    std::uint32_t count = 0;
    (*this)(count);
    values.clear();
    // Every element has at least one byte, so a damaged count ends with the frame.
    for (std::uint32_t i = 0; i < count && good_ && !rest_.empty(); ++i) (*this)(values.emplace_back());
    if (values.size() != count) good_ = false;
  }

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::span<const std::byte> rest() const { return rest_; }  // data behind the fields

 private:
  bool take_into(void* to, std::size_t size) {
    if (!good_ || rest_.size() < size) {
      good_ = false;
      return false;
    }
    std::memcpy(to, rest_.data(), size);
    rest_ = rest_.subspan(size);
    return true;
  }
  std::span<const std::byte> counted() {
    std::uint32_t size = 0;
    (*this)(size);
    if (!good_ || size > rest_.size()) {
      good_ = false;
      return {};
    }
    const std::span<const std::byte> found = rest_.first(size);
    rest_ = rest_.subspan(size);
    return found;
  }

  std::span<const std::byte> rest_;
  bool good_ = true;
};

// ---- Common -----------------------------------------------------------------------------------------------------------------

struct Empty {
  template <typename Archive>
  void visit(Archive& /*archive*/) {}
};

struct ConnectRequest {
  std::uint64_t client = 0;   // below 2^63; drawn when the mount was made first; the same after its restart
  std::uint64_t session = 0;  // drawn when its process started: with another one, nothing is open, and numbers start again
  std::string node;           // "client0", "mds"
  std::uint32_t rpcs_in_flight = 8;
  std::uint64_t dirty_bytes = 0;  // most that the client may have on the way to one OST

  template <typename Archive>
  void visit(Archive& archive) {
    archive(client), archive(session), archive(node), archive(rpcs_in_flight), archive(dirty_bytes);
  }
};

struct ConnectAnswer {
  std::uint64_t boot = 0;  // drawn when the server started: another one tells that it was restarted
  std::uint32_t first_ost = 0;
  std::uint32_t ost_count = 0;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(boot), archive(first_ost), archive(ost_count);
  }
};

// "Is my request `number` known to you?" It is lost if not, and sent again.
struct QueryRequest {
  std::uint64_t number = 0;
  template <typename Archive>
  void visit(Archive& archive) {
    archive(number);
  }
};
struct QueryAnswer {
  std::uint8_t known = 0;
  template <typename Archive>
  void visit(Archive& archive) {
    archive(known);
  }
};

struct DescribeAnswer {
  std::string json;
  template <typename Archive>
  void visit(Archive& archive) {
    archive(json);
  }
};

enum class FaultKind : std::uint8_t {
  none,  // clears all faults of the OST, or of the server
  slow,  // value: speed, 0.1 is a tenth
  full,  // ENOSPC for everything that takes space
  drop,  // value: share of requests that get no answer, 0 to 1
  off,   // takes no objects: inactive at the MDS
};

struct FaultRequest {
  FaultKind kind = FaultKind::none;
  std::int32_t ost = -1;  // -1: the server
  double value = 0;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(kind), archive(ost), archive(value);
  }
};

// ---- MDS --------------------------------------------------------------------------------------------------------------------

inline constexpr std::uint64_t kRootInode = 1;  // as FUSE has it

struct Attributes {
  std::uint64_t inode = 0;
  std::uint32_t mode = 0;
  std::uint32_t links = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t device = 0;  // of a node
  std::uint64_t size = 0;    // of directories and symbolic links; that of files is with their objects
  std::int64_t access_ns = 0;
  std::int64_t modify_ns = 0;
  std::int64_t change_ns = 0;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(inode), archive(mode), archive(links), archive(uid), archive(gid), archive(device), archive(size);
    archive(access_ns), archive(modify_ns), archive(change_ns);
  }
};

// What lookup, make, link and open give. layout: bytes of `lustre.lov` of a regular file that has its objects, else empty.
struct Entry {
  Attributes attributes;
  std::vector<std::byte> layout;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(attributes), archive(layout);
  }
};

// Who asks; for job statistics. The kernel checked permissions before (default_permissions).
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string job;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(uid), archive(gid), archive(job);
  }
};

struct NameRequest {  // lookup, unlink, remove_directory
  Caller caller;
  std::uint64_t parent = 0;
  std::string name;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(caller), archive(parent), archive(name);
  }
};

struct InodeRequest {  // get_attributes, open, close, read_link, list_xattrs
  Caller caller;
  std::uint64_t inode = 0;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(caller), archive(inode);
  }
};

inline constexpr std::uint32_t kSetMode = 1;
inline constexpr std::uint32_t kSetUid = 2;
inline constexpr std::uint32_t kSetGid = 4;
inline constexpr std::uint32_t kSetAccess = 8;
inline constexpr std::uint32_t kSetModify = 16;
inline constexpr std::uint32_t kSetChange = 32;  // the size was changed: modify and change become now

struct SetAttributesRequest {
  Caller caller;
  Attributes attributes;  // inode, and those of the mask
  std::uint32_t mask = 0;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(caller), archive(attributes), archive(mask);
  }
};

struct MakeRequest {
  Caller caller;
  std::uint64_t parent = 0;
  std::string name;
  std::uint32_t mode = 0;  // with the type; the mask of the process is taken off
  std::uint64_t device = 0;
  std::string target;     // of a symbolic link
  std::uint8_t open = 0;  // 1: a regular file gets its layout and is open; 0: it has none until it is opened or given one

  template <typename Archive>
  void visit(Archive& archive) {
    archive(caller), archive(parent), archive(name), archive(mode), archive(device), archive(target), archive(open);
  }
};

struct RenameRequest {
  Caller caller;
  std::uint64_t parent = 0;
  std::string name;
  std::uint64_t new_parent = 0;
  std::string new_name;
  std::uint32_t flags = 0;  // RENAME_NOREPLACE, RENAME_EXCHANGE

  template <typename Archive>
  void visit(Archive& archive) {
    archive(caller), archive(parent), archive(name), archive(new_parent), archive(new_name), archive(flags);
  }
};

struct LinkRequest {
  Caller caller;
  std::uint64_t inode = 0;
  std::uint64_t parent = 0;
  std::string name;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(caller), archive(inode), archive(parent), archive(name);
  }
};

struct ListRequest {
  Caller caller;
  std::uint64_t inode = 0;
  std::uint64_t after = 0;  // cookie of the last entry seen; 0: from the start
  std::uint32_t most = 0;   // entries

  template <typename Archive>
  void visit(Archive& archive) {
    archive(caller), archive(inode), archive(after), archive(most);
  }
};
struct Listed {
  std::string name;
  std::uint64_t cookie = 0;  // grows; an entry keeps its own as long as it lives
  std::uint64_t inode = 0;
  std::uint32_t mode = 0;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(name), archive(cookie), archive(inode), archive(mode);
  }
};
struct ListAnswer {
  std::uint64_t parent = 0;  // of the directory: its ".."
  std::vector<Listed> entries;
  template <typename Archive>
  void visit(Archive& archive) {
    archive(parent), archive(entries);
  }
};

struct XattrRequest {
  Caller caller;
  std::uint64_t inode = 0;
  std::string name;
  std::vector<std::byte> value;  // to set
  std::uint32_t flags = 0;       // XATTR_CREATE, XATTR_REPLACE

  template <typename Archive>
  void visit(Archive& archive) {
    archive(caller), archive(inode), archive(name), archive(value), archive(flags);
  }
};

struct BytesAnswer {  // get_xattr; list_xattrs: names, each with a zero; read_link
  std::vector<std::byte> bytes;
  template <typename Archive>
  void visit(Archive& archive) {
    archive(bytes);
  }
};

// ---- OSS --------------------------------------------------------------------------------------------------------------------

struct ObjectName {
  std::uint32_t ost = 0;
  std::uint64_t object = 0;  // low word of the id in the layout; the MDS gives each number once

  template <typename Archive>
  void visit(Archive& archive) {
    archive(ost), archive(object);
  }
  friend bool operator==(const ObjectName&, const ObjectName&) = default;
};

// The data follows the fields. An object that is not there yet is made by the first write. The bytes are kept as soon as they
// arrive, so a process that is killed loses nothing that was answered; their time on the disk is waited for when the client has
// more on the way than it may.
struct WriteRequest {
  ObjectName name;
  std::uint64_t offset = 0;  // in the object
  std::string job;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(name), archive(offset), archive(job);
  }
};
struct WriteAnswer {
  std::uint32_t credits = 1;  // requests that the client may have in flight from now on
  template <typename Archive>
  void visit(Archive& archive) {
    archive(credits);
  }
};

struct ReadRequest {
  ObjectName name;
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  std::string job;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(name), archive(offset), archive(size), archive(job);
  }
};
struct ReadAnswer {  // the data follows: less than asked for at the end of the object, none behind it
  std::uint32_t credits = 1;
  template <typename Archive>
  void visit(Archive& archive) {
    archive(credits);
  }
};

struct ObjectState {
  std::uint64_t size = 0;
  std::uint64_t blocks = 0;    // of 512 bytes
  std::int64_t modify_ns = 0;  // 0: nothing was written
  template <typename Archive>
  void visit(Archive& archive) {
    archive(size), archive(blocks), archive(modify_ns);
  }
};
struct ObjectsRequest {  // glimpse, destroy, sync; all on OSTs of one server
  std::vector<ObjectName> names;
  std::string job;
  template <typename Archive>
  void visit(Archive& archive) {
    archive(names), archive(job);
  }
};
struct GlimpseAnswer {
  std::vector<ObjectState> states;  // in the order asked for
  template <typename Archive>
  void visit(Archive& archive) {
    archive(states);
  }
};

struct PunchRequest {
  ObjectName name;
  std::uint64_t size = 0;
  std::string job;
  template <typename Archive>
  void visit(Archive& archive) {
    archive(name), archive(size), archive(job);
  }
};

struct OstSpace {
  std::uint32_t ost = 0;
  std::uint64_t total = 0;  // bytes
  std::uint64_t free = 0;
  std::uint64_t objects = 0;
  std::uint8_t usable = 1;  // 0: takes no new objects

  template <typename Archive>
  void visit(Archive& archive) {
    archive(ost), archive(total), archive(free), archive(objects), archive(usable);
  }
};
struct SpaceAnswer {
  std::vector<OstSpace> osts;
  template <typename Archive>
  void visit(Archive& archive) {
    archive(osts);
  }
};

enum class LockMode : std::uint8_t { read, write };

// lock: [start, end) of the object, for pages that the client's kernel keeps. The answer may be larger: as far as nobody is in
// the way. revoke and unlock name what is to be given back, of one mode: who writes no more may go on reading. It may be larger
// than what was granted, and is then given back as far as it was.
struct LockRequest {
  ObjectName name;
  LockMode mode = LockMode::read;
  std::uint64_t start = 0;
  std::uint64_t end = 0;

  template <typename Archive>
  void visit(Archive& archive) {
    archive(name), archive(mode), archive(start), archive(end);
  }
};

struct LimitsRequest {
  std::uint32_t ost = 0;
  std::uint32_t rpcs_in_flight = 8;
  std::uint64_t dirty_bytes = 0;
  template <typename Archive>
  void visit(Archive& archive) {
    archive(ost), archive(rpcs_in_flight), archive(dirty_bytes);
  }
};

// ---- Frames -----------------------------------------------------------------------------------------------------------------

template <typename Message>
std::vector<std::byte> request_frame(Op op, std::uint64_t number, const Message& message, std::span<const std::byte> data = {}) {
  FrameWriter writer(op, number);
  writer.reserve(data.size() + 256);
  writer(message);
  writer.append(data.data(), data.size());
  return writer.take();
}

// error: 0, or an errno; then `message` is not sent.
template <typename Message>
std::vector<std::byte> answer_frame(Op op, std::uint64_t number, std::int32_t error, const Message& message,
                                    std::span<const std::byte> data = {}) {
  FrameWriter writer(op, number, kAnswer);
  writer(error);
  if (error == 0) {
    writer.reserve(data.size() + 256);
    writer(message);
    writer.append(data.data(), data.size());
  }
  return writer.take();
}

}  // namespace iez::lab
