// A vector of plain values that says when there is no memory, instead of ending the program it is a guest in. Freestanding.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace iez::rank_log {

template <typename T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  ~GrowingArray() { std::free(static_cast<void*>(data_)); }
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;

  // These three are false when there is no memory; nothing has changed then.
  [[nodiscard]] bool add(const T& value) {
    if (size_ == room_ && !reserve(room_ < 16 ? 32 : room_ * 2)) return false;
    data_[size_++] = value;
    return true;
  }
  [[nodiscard]] bool reserve(std::size_t count) {
    if (count <= room_) return true;
    if (count > kMost) return false;
    void* const grown = std::realloc(static_cast<void*>(data_), count * sizeof(T));
    if (grown == nullptr) return false;
    data_ = static_cast<T*>(grown);
    room_ = count;
    return true;
  }

  [[nodiscard]] bool assign_zeros(std::size_t count) {
    if (!reserve(count)) return false;
    std::memset(static_cast<void*>(data_), 0, count * sizeof(T));
    size_ = count;
    return true;
  }

  void shrink_to(std::size_t count) { size_ = count; }  // REQUIRES: count <= size()
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  static constexpr std::size_t kMost = ~std::size_t{0} / 2 / sizeof(T);

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

}  // namespace iez::rank_log
