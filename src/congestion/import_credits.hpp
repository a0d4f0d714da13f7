// The client's side of the credits: one import, that is one client's connection to one server.
//
// The import has `pages` to send, may have `rcc` requests in flight and has `used` of them. It sends while used < rcc and there
// are pages; a reply gives one credit back and sets rcc to what it carries.
//
// Replies may come in any order: the one that is read last decides. A reply may carry fewer credits than are used; then nothing
// is sent until enough others have come. A reply while nothing is in flight sets rcc, and frees nothing. rcc of 0 counts as 1,
// since a client without requests in flight would never hear of a better one.
//
// Units: pages. Thread safety: none.
#pragma once

#include <cstdint>

namespace iez::congestion {

class ImportCredits {
 public:
  // What one request takes along.
  struct Rpc {
    std::uint64_t pages = 0;
    unsigned cnr = 0;  // credits that the rest of the pages could use: rest / pages_per_rpc, rounded up
  };

  explicit ImportCredits(std::uint64_t pages_per_rpc, unsigned first_credits = 1);  // 0 counts as 1, for both

  void add_pages(std::uint64_t pages) { pages_ += pages; }

  [[nodiscard]] bool may_send() const { return used_ < rcc_ && pages_ > 0; }
  Rpc send();  // REQUIRES: may_send()
  void reply(unsigned rcc);

  [[nodiscard]] std::uint64_t pages() const { return pages_; }
  [[nodiscard]] unsigned rcc() const { return rcc_; }
  [[nodiscard]] unsigned used() const { return used_; }
  [[nodiscard]] unsigned cnr() const;  // of the pages that there are

 private:
  std::uint64_t pages_per_rpc_;
  std::uint64_t pages_ = 0;
  unsigned rcc_;
  unsigned used_ = 0;
};

}  // namespace iez::congestion
