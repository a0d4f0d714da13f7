// The objects of one OST: host files below a folder, and the space they take.
//
// What write() took is in the host's page cache, so it survives the death of this process. Space is counted in blocks of 4 KiB
// that were written, whatever the host does with them: a host that compresses or reserves ahead changes nothing. It is checked
// before anything is stored. Sizes, blocks and times are kept in memory and found again at the start.
//
// Errors are errnos, as they go to clients: ENOSPC, EFBIG, EIO, or what the host said.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "input/byte_stream.hpp"
#include "lab/extent_set.hpp"
#include "lab/wire.hpp"

namespace iez::lab {

class ObjectStore {
 public:
  static constexpr std::uint64_t kBlock = 4096;

  // Makes the folder, or finds what is in it. Files that are no objects are left alone.
  [[nodiscard]] static Result<ObjectStore> open(const std::string& dir, Bytes capacity);

  // All or nothing, as far as space of the OST goes; makes the object if it is not there.
  [[nodiscard]] int write(std::uint64_t object, std::uint64_t offset, std::span<const std::byte> data);
  // Appends to `data` what there is of [offset, offset + size); nothing behind the end or of an object that is not there.
  [[nodiscard]] int read(std::uint64_t object, std::uint64_t offset, std::uint64_t size, std::vector<std::byte>& data);
  // Sets the size. An object that is not there is made, unless it would be empty.
  [[nodiscard]] int punch(std::uint64_t object, std::uint64_t size);
  // Done if it is not there.
  [[nodiscard]] int destroy(std::uint64_t object);

  [[nodiscard]] ObjectState state(std::uint64_t object) const;  // all 0 if it is not there
  // [start, end) has bytes that were written, not only a hole.
  [[nodiscard]] bool has_data(std::uint64_t object, std::uint64_t start, std::uint64_t end) const;
  [[nodiscard]] Bytes capacity() const { return capacity_; }
  [[nodiscard]] Bytes used() const { return used_; }
  [[nodiscard]] Bytes free() const { return used_ < capacity_ ? capacity_ - used_ : Bytes{}; }
  [[nodiscard]] std::uint64_t objects() const { return objects_.size(); }

 private:
  struct Object {
    std::uint64_t size = 0;
    std::int64_t modify_ns = 0;
    ExtentSet blocks;  // in bytes
  };
  struct Opened {
    input::UniqueFd fd;
    std::list<std::uint64_t>::iterator age;
  };

  ObjectStore() = default;
  [[nodiscard]] Result<void> scan();
  [[nodiscard]] Result<void> find(const std::string& where);
  [[nodiscard]] std::string folder(std::uint64_t object) const;
  [[nodiscard]] std::string path(std::uint64_t object) const;
  int descriptor(std::uint64_t object, bool make);  // or a negative errno
  void close(std::uint64_t object);
  static void stamp(int fd, Object& object);

  std::string dir_;
  Bytes capacity_;
  Bytes used_;
  std::unordered_map<std::uint64_t, Object> objects_;
  std::unordered_map<std::uint64_t, Opened> opened_;
  std::list<std::uint64_t> by_age_;  // the last used is first
};

}  // namespace iez::lab
