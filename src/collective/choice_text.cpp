#include "collective/choice_text.hpp"

#include <array>
#include <cstddef>

namespace iez::collective {
namespace {

struct Reason {
  Because because;
  std::string_view word;
  std::string_view text;
};

// In the order of the enumerators.
constexpr std::array kReasons{
    Reason{Because::mode_hint, "mode_hint", "iez_mode says so"},
    Reason{Because::collect_hint, "collect_hint", "romio_cb_write or romio_cb_read says so"},
    Reason{Because::nothing_to_move, "nothing_to_move", "no rank has data"},
    Reason{Because::one_rank, "one_rank", "only one rank has data"},
    Reason{Because::big_requests, "big_requests", "every piece is larger than big_req_size"},
    Reason{Because::long_pieces, "long_pieces", "pieces are long, so that collecting them gains nothing"},
    Reason{Because::short_pieces, "short_pieces", "there are short pieces"},
    Reason{Because::interleaved, "interleaved", "ranks alternate every few stripes, and would take each other's locks"},
    Reason{Because::every_ost, "every_ost", "CO for every OST"},
    Reason{Because::every_cpu, "every_cpu", "no more than CPUs allow"},
    Reason{Because::every_node, "every_node", "one of a node, since a file takes one write at a time"},
    Reason{Because::every_rank, "every_rank", "no more than there are ranks"},
    Reason{Because::nodes_hint, "nodes_hint", "cb_nodes allows no more"},
    Reason{Because::request_size, "request_size", "a large request of the file system"},
    Reason{Because::short_start, "short_start", "the client makes large requests by itself, and the first call soon begins"},
    Reason{Because::stripe_size, "stripe_size", "a whole stripe"},
    Reason{Because::osts_of_one, "osts_of_one", "as much for each OST of an aggregator"},
    Reason{Because::processor_cache, "processor_cache",
           "what is copied there is still in the processor's cache when it is written"},
    Reason{Because::buffer_hint, "buffer_hint", "half of cb_buffer_size, since there are two buffers"},
    Reason{Because::not_asked, "not_asked", "not asked for"},
    Reason{Because::asked, "asked", "directIO, direct_write or direct_read asks for it"},
    Reason{Because::not_aligned, "not_aligned", "stripes are no multiple of 4 KiB"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    if (static_cast<std::size_t>(kReasons[i].because) != i) return false;
  }
  return true;
}
static_assert(in_order() && kReasons.size() == static_cast<std::size_t>(Because::not_aligned) + 1);

}  // namespace

std::string_view to_word(Way way) {
  switch (way) {
    case Way::collect:
      return "collect";
    case Way::independent:
      return "independent";
    case Way::log:
      return "log";
    case Way::pass:
      return "pass";
  }
  return "?";
}

std::string_view to_word(Because because) { return kReasons[static_cast<std::size_t>(because)].word; }

std::string_view to_text(Because because) { return kReasons[static_cast<std::size_t>(because)].text; }

}  // namespace iez::collective
