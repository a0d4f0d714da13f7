// Bytes from outside, read once, front to back: a parameter file, one section of an `lctl get_param` dump, or memory.
//
// Thread safety: none; a stream belongs to one reader. Memory: constant, whatever the length of the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iez::input {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Fills the front of buffer; 0 only at the end. REQUIRES: buffer is not empty.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<char> buffer) = 0;
};

// Owns a descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { reset(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset();

 private:
  int fd_ = -1;
};

// A whole file. `name` appears in error messages.
std::unique_ptr<ByteStream> file_stream(UniqueFd fd, std::string name);

// length bytes from offset on, by pread: several may share one descriptor, which must outlive them.
std::unique_ptr<ByteStream> section_stream(int fd, std::uint64_t offset, std::uint64_t length, std::string name);

// Bytes that outlive the stream.
std::unique_ptr<ByteStream> memory_stream(std::string_view bytes);

}  // namespace iez::input
