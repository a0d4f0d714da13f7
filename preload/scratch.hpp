// Room to work in, which neither the stack of a small thread nor the heap has to give: a few blocks that are taken by an atomic
// flag. If all are taken (or were lost by a longjmp out of a signal handler), a block is mapped for the moment.
//
// Thread safety: any thread; async-signal-safe. errno is changed. Hold none across a cancellation point.
#pragma once

#include "lustre/set_layout.hpp"
#include "path_names.hpp"
#include "plan/plan_lookup.hpp"

namespace iez::preload {

struct ScratchBlock {
  Name name;
  Name other_name;
  plan::FoundLayout layout;
  std::byte read_back[lustre::kReadBackSize];
};

class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  explicit operator bool() const { return block_ != nullptr; }
  ScratchBlock* operator->() const { return block_; }
  ScratchBlock& operator*() const { return *block_; }

 private:
  ScratchBlock* block_ = nullptr;
  int number_ = -1;  // -1: mapped
};

}  // namespace iez::preload
