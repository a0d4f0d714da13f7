// Which bytes of which objects a file's bytes are, and how long the file is when its objects are that long.
//
// A plain layout deals stripes of `stripe_size` bytes to its n objects in turn: byte x of the file is in stripe x / stripe_size,
// which is in object (x / stripe_size) % n, behind the stripes that the object has already. Overstriping only means that some of
// the objects are on one OST. In a composite layout every component counts from the start of the *file*, as on Lustre: the
// objects of a component that begins at 1 GiB begin with a hole.
//
// Not here: mirrors, data on the MDT, released files. A lab makes none, and make() refuses them.
//
// Thread safety: plain values. Pure: no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "lab/wire.hpp"
#include "model/layout.hpp"

namespace iez::lab {

// [offset, offset + size) of the object is [file_offset, file_offset + size) of the file.
struct Piece {
  static constexpr std::size_t kNoObject = ~std::size_t{0};

  std::size_t object = kNoObject;  // in StripeMap::objects(); kNoObject: a component that has no objects yet, or no component
  std::uint64_t offset = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t size = 0;

  friend bool operator==(const Piece&, const Piece&) = default;
};

// [start, end)
struct FileRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;

  friend bool operator==(const FileRange&, const FileRange&) = default;
};

class StripeMap {
 public:
  // No bytes at all: of a file that has no layout.
  StripeMap() = default;

  // Errc::unsupported for what the head of this file excludes, Errc::parse for a stripe size of 0 or another number of objects
  // than of stripes.
  [[nodiscard]] static Result<StripeMap> make(const model::Layout& layout);

  // All objects, component after component.
  [[nodiscard]] const std::vector<ObjectName>& objects() const { return objects_; }

  // The pieces of a range, in the order of the file. One stripe each; with a single object, neighbours are one piece.
  [[nodiscard]] std::vector<Piece> pieces(std::uint64_t offset, std::uint64_t size) const;

  // REQUIRES: a size for each of objects(), in their order.
  [[nodiscard]] std::uint64_t file_size(std::span<const std::uint64_t> object_sizes) const;

  // How long an object must be made for a file of `size` bytes. unchanged: its component ends before, so whatever it has is
  // within the file.
  struct ObjectSize {
    bool unchanged = false;
    std::uint64_t size = 0;
  };
  [[nodiscard]] ObjectSize object_size(std::size_t object, std::uint64_t size) const;

  // The smallest range of the file that holds all of [start, end) of the object. End of file for an open end.
  [[nodiscard]] FileRange file_range(std::size_t object, std::uint64_t start, std::uint64_t end) const;

 private:
  struct Component {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t stripe_size = 0;
    std::size_t first = 0;  // in objects_
    std::size_t count = 0;  // 0: no objects yet
  };
  struct Stripe {
    const Component* component = nullptr;
    std::uint64_t number = 0;
  };
  [[nodiscard]] Stripe stripe_of(std::size_t object) const;

  std::vector<ObjectName> objects_;
  std::vector<Component> components_;
};

}  // namespace iez::lab
