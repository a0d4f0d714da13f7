#include "scratch.hpp"

#include <sys/mman.h>

#include "system.hpp"

namespace iez::preload {

namespace {

constexpr int kBlocks = 8;

alignas(64) ScratchBlock blocks[kBlocks];
bool taken[kBlocks];

}  // namespace

Scratch::Scratch() {
  for (int i = 0; i < kBlocks; ++i) {
    if (!__atomic_exchange_n(&taken[i], true, __ATOMIC_ACQUIRE)) {
      block_ = &blocks[i];
      number_ = i;
      return;
    }
  }
  const long mapped =
      ::syscall(SYS_mmap, nullptr, sizeof(ScratchBlock), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  if (mapped != -1) block_ = reinterpret_cast<ScratchBlock*>(mapped);  // NOLINT(performance-no-int-to-ptr)
}

Scratch::~Scratch() {
  if (number_ >= 0) {
    __atomic_store_n(&taken[number_], false, __ATOMIC_RELEASE);
  } else if (block_ != nullptr) {
    ::syscall(SYS_munmap, block_, sizeof(ScratchBlock));
  }
}

}  // namespace iez::preload
