#include "collective/node_arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <new>
#include <utility>

namespace iez::collective {

namespace {

constexpr std::size_t kPage = 4096;

constexpr std::size_t rounded(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

constexpr std::size_t coverage_bytes(std::int64_t window_bytes) {
  return rounded(static_cast<std::size_t>(window_bytes) / 8 + 1, 64);
}

}  // namespace

// Where each part begins.
struct NodeArena::Places {
  explicit Places(const ArenaShape& shape)
      : slots(rounded(sizeof(Control), 64)),
        ranges(slots + shape.ranks * sizeof(Slot)),
        failures(ranges + shape.nodes * sizeof(FileRange)),
        buffers(rounded(failures + shape.windows * sizeof(Failure), 64)),
        coverage(buffers + std::size_t{shape.windows} * kBuffers * sizeof(Buffer)),
        data(rounded(coverage + std::size_t{shape.windows} * kBuffers * coverage_bytes(shape.window_bytes), kPage)),
        window(rounded(static_cast<std::size_t>(shape.window_bytes), kPage)),
        end(data + std::size_t{shape.windows} * kBuffers * window) {}

  std::size_t slots;
  std::size_t ranges;
  std::size_t failures;
  std::size_t buffers;
  std::size_t coverage;
  std::size_t data;
  std::size_t window;
  std::size_t end;
};

NodeArena::~NodeArena() { let_go(); }

void NodeArena::let_go() {
  if (base_ != nullptr) ::munmap(base_, size_);
  if (fd_ >= 0) ::close(fd_);
}

NodeArena::NodeArena(NodeArena&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      fd_(std::exchange(other.fd_, -1)),
      populated_(other.populated_),
      shape_(other.shape_) {}

NodeArena& NodeArena::operator=(NodeArena&& other) noexcept {
  if (this != &other) {
    let_go();
    base_ = std::exchange(other.base_, nullptr);
    size_ = std::exchange(other.size_, 0);
    fd_ = std::exchange(other.fd_, -1);
    populated_ = other.populated_;
    shape_ = other.shape_;
  }
  return *this;
}

std::size_t NodeArena::size_of(const ArenaShape& shape) { return Places(shape).end; }

int NodeArena::map(int fd, const ArenaShape& shape) {
  const std::size_t size = size_of(shape);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return errno;
  base_ = static_cast<std::byte*>(memory);
  size_ = size;
  fd_ = fd;
  shape_ = shape;
  return 0;
}

int NodeArena::reserve() {
  if (populated_) return 0;
  return ::posix_fallocate(fd_, 0, static_cast<off_t>(size_));
}

void NodeArena::populate() {
  if (populated_) return;
  // One call instead of a fault for every page in every process; where it fails, there are faults.
  void* const memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, 0);
  if (memory != MAP_FAILED) {
    ::munmap(base_, size_);
    base_ = static_cast<std::byte*>(memory);
  }
  ::close(std::exchange(fd_, -1));
  populated_ = true;
}

int NodeArena::create(const ArenaShape& shape, std::string& name, NodeArena& arena) {
  static std::atomic<std::uint32_t> made{0};
  char text[64];
  int fd = -1;
  for (int tries = 0; tries < 100 && fd < 0; ++tries) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    std::snprintf(text, sizeof text, "/iez-%ld-%u-%lx", static_cast<long>(::getpid()), ++made,
                  static_cast<unsigned long>(now.tv_nsec));
    fd = ::shm_open(text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST) return errno;
  }
  if (fd < 0) return EEXIST;
  int error = ::ftruncate(fd, static_cast<off_t>(size_of(shape))) == 0 ? 0 : errno;
  if (error == 0) error = ::posix_fallocate(fd, 0, static_cast<off_t>(Places(shape).coverage));
  if (error == 0) error = arena.map(fd, shape);
  if (error != 0) {
    ::close(fd);
    ::shm_unlink(text);
    return error;
  }
  name = text;
  new (&arena.control()) Control{};
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) new (&arena.slot(rank)) Slot{};
  for (std::uint32_t node = 0; node < shape.nodes; ++node) new (&arena.node_range(node)) FileRange{};
  for (std::uint32_t window = 0; window < shape.windows; ++window) {
    new (&arena.failure(window)) Failure{};
    for (std::uint32_t which = 0; which < kBuffers; ++which) new (&arena.buffer(window, which)) Buffer{};
  }
  return 0;
}

int NodeArena::attach(const ArenaShape& shape, const std::string& name, NodeArena& arena) {
  const int fd = ::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int error = arena.map(fd, shape);
  if (error != 0) ::close(fd);
  return error;
}

void NodeArena::unlink(const std::string& name) { ::shm_unlink(name.c_str()); }

Control& NodeArena::control() const { return *reinterpret_cast<Control*>(base_); }

Slot& NodeArena::slot(std::uint32_t rank) const { return reinterpret_cast<Slot*>(base_ + Places(shape_).slots)[rank]; }

FileRange& NodeArena::node_range(std::uint32_t node) const {
  return reinterpret_cast<FileRange*>(base_ + Places(shape_).ranges)[node];
}

Failure& NodeArena::failure(std::uint32_t window) const {
  return reinterpret_cast<Failure*>(base_ + Places(shape_).failures)[window];
}

Buffer& NodeArena::buffer(std::uint32_t window, std::uint32_t which) const {
  return reinterpret_cast<Buffer*>(base_ + Places(shape_).buffers)[std::size_t{window} * kBuffers + which];
}

std::span<std::atomic<std::uint64_t>> NodeArena::coverage(std::uint32_t window, std::uint32_t which) const {
  const std::size_t bytes = coverage_bytes(shape_.window_bytes);
  std::byte* const start = base_ + Places(shape_).coverage + (std::size_t{window} * kBuffers + which) * bytes;
  return {reinterpret_cast<std::atomic<std::uint64_t>*>(start), bytes / sizeof(std::uint64_t)};
}

std::byte* NodeArena::data(std::uint32_t window, std::uint32_t which) const {
  const Places places(shape_);
  return base_ + places.data + (std::size_t{window} * kBuffers + which) * places.window;
}

}  // namespace iez::collective
