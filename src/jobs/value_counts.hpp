// How often each whole number was seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace iez::jobs {

class ValueCounts {
 public:
  struct Entry {
    std::int64_t value = 0;
    std::uint64_t count = 0;  // 0: no entry
  };

  void add(std::int64_t value, std::uint64_t count = 1);
  void join(const ValueCounts& other);
  // In the order of values.
  std::vector<Entry> sorted() const;

 private:
  Entry& slot_of(std::int64_t value);
  void grow();

  std::vector<Entry> slots_;  // open addressing: a power of two, at most half of them taken
  std::size_t taken_ = 0;
};

}  // namespace iez::jobs
