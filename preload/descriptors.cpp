#include "descriptors.hpp"

#include <cstring>

namespace iez::preload {

Descriptor descriptors[kDescriptors];

namespace {

int highest = -1;

}  // namespace

void publish(int fd, std::uint32_t record) {
  int seen = __atomic_load_n(&highest, __ATOMIC_RELAXED);
  while (seen < fd && !__atomic_compare_exchange_n(&highest, &seen, fd, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  if (record == kIgnored) __atomic_store_n(&descriptors[fd].flags, kHasBoth, __ATOMIC_RELAXED);  // nobody asks when
  __atomic_store_n(&descriptors[fd].record, record, __ATOMIC_RELEASE);
}

void forget(int fd) {
  Descriptor& descriptor = descriptors[fd];
  __atomic_store_n(&descriptor.record, kUnknown, __ATOMIC_RELEASE);
  __atomic_store_n(&descriptor.stream, nullptr, __ATOMIC_RELAXED);
  __atomic_store_n(&descriptor.flags, 0, __ATOMIC_RELAXED);
}

int highest_descriptor() { return __atomic_load_n(&highest, __ATOMIC_RELAXED); }

void copy_descriptor(int from, int to) {
  Descriptor* const source = descriptor_of(from);
  Descriptor* const target = descriptor_of(to);
  if (target == nullptr) return;
  forget(to);
  if (source == nullptr) return;
  target->flags = source->flags;
  target->position = __atomic_load_n(&source->position, __ATOMIC_RELAXED);
  target->write_end = __atomic_load_n(&source->write_end, __ATOMIC_RELAXED);
  target->read_end = __atomic_load_n(&source->read_end, __ATOMIC_RELAXED);
  target->size_before = source->size_before;
  const std::uint32_t record = record_of(*source);
  if (record != kUnknown) publish(to, record);
}

void forget_all_descriptors() {
  const int last = highest_descriptor();
  if (last >= 0) std::memset(static_cast<void*>(descriptors), 0, sizeof(Descriptor) * (static_cast<std::size_t>(last) + 1));
  highest = -1;
}

}  // namespace iez::preload
