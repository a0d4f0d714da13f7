// Names by small numbers, in the order in which they were first seen. The same name in two groups is two names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace iez::jobs {

class NameNumbers {
 public:
  struct Name {
    std::uint32_t group = 0;
    std::string text;
  };

  // The name's; the next one for a name that was not seen before.
  std::uint32_t of(std::uint32_t group, std::string_view text);

  std::size_t size() const { return names_.size(); }
  const Name& operator[](std::uint32_t number) const { return names_[number]; }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  void grow();

  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t number = kNone;
  };

  std::vector<Name> names_;
  std::vector<Slot> slots_;  // open addressing: a power of two, at most half of them taken
};

}  // namespace iez::jobs
