// Which way of a collective call is faster, collecting or the MPI's own: learnt from the times of the first calls.
//
// Problem. A call can be collected (engine.hpp) or be left to the MPI. Which is faster depends on the file system, on the MPI, on
// how the data lie and on what else goes on; no rule knows all of it. Both ways are right, so that one may go over to the other
// at any call. What is wanted: after a few calls only the faster way, little loss until then, and no rank that decides otherwise
// than the others.
//
// Notation. A kind k of calls is: read or write, interleaved or not, and the logarithms of its shortest piece and of the bytes of
// all ranks. For k and a way w, c(k, w) is the lower median of the latest five costs of calls that went that way: nanoseconds of
// the slowest rank, from when all had arrived, for each KiB. A call that was held up is slower than it should be, none is faster.
//
// Algorithm, for each kind. Trial calls go C M M C C M (C: collected, M: the MPI's), so that what only the first calls cost is
// borne by both; where clients have caches and pieces are 2^kLongPiece bytes or longer, M C C M M C: a program that makes one
// such call has little to gain, and does not pay for windows. The MPI's way is dropped when it takes 4 times as long after one
// call of each, 1.5 times after two, or 3 % longer after three; collecting is dropped when it takes 3 times as long after
// one, 1.15 times after two, and otherwise after three. It has to be clearly better: a program must not lose by this library, and
// a call that is left to the MPI need not even be asked about. The dropped way is tried once more after kPause calls, and after
// more the slower it is, so that this costs no more than about 1/64 of the time; each time that it loses again, the pause
// doubles. If it wins, there is a new trial; also when the way that was kept has become 1.5 times as slow as the other one had
// been.
//
// Small calls. A trial has its price. The first collected call makes windows, which takes milliseconds; and where clients have
// caches, whoever collects takes the locks of those who wrote before, and what they had in their caches is gone, which later
// reads feel. So calls of less than 2^kSmall bytes are left to the MPI until they have taken kPatience in all, or kCachesPatience
// where clients have caches: a program that spends less time in them has nothing to gain. So are large calls whose trial would
// begin with the MPI (what is read back from a client's cache takes milliseconds). Any other large call may be the only one, and
// begins its trial.
//
// Reads of what was collected. Who writes for others keeps what it wrote in its client's cache. So where the latest writes were
// kept collected, reads begin their trial at once, and of ways that are equal it is collecting that is kept. What was read before
// is no contest: it goes the way it went (cached_reads.hpp).
//
// Not to ask. While a kind is left to the MPI, calls need not meet to find that out: `unasked` of them follow each that did meet,
// 3, 15, then 63, as long as no other kind of reads, or of writes, is seen, and no more than take kUnseen: to meet costs some
// microseconds, so that long calls are asked about each time, and it is seen at once when they become slower. All ranks count
// calls, so all stop asking and begin again at the same call. What is asked for meanwhile is not known; it is done by the MPI,
// which is always right.
//
// Loss. Of n calls that are better left to the MPI, at most 3 (1 where collecting takes 3 times as long) are collected, and about
// n/64 of the time goes into trying again. Small calls that are better collected are the MPI's for that patience, and at most
// four times that. What is forgotten: a kind beyond the latest kKinds.
//
// Determinism. Whole numbers, and no clock: ranks that begin with the same contest and hear the same numbers decide alike.
//
// Compiled into preload libraries, too. Thread safety: none. Trivially copyable: one rank can send it to all.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "collective/choices.hpp"

namespace iez::collective {

struct CallKind {
  bool write = true;
  bool interleaved = false;
  std::uint8_t piece = 0;  // logarithms to base 2, rounded down
  std::uint8_t bytes = 0;

  bool operator==(const CallKind&) const = default;
};

CallKind kind_of(const Requests& requests);

class Contest {
 public:
  static constexpr std::size_t kKinds = 16;
  static constexpr std::size_t kCosts = 5;
  static constexpr std::uint32_t kTrialCalls = 6;  // at most
  static constexpr std::uint32_t kPause = 64;
  static constexpr std::uint32_t kMostUnasked = 63;
  static constexpr std::uint64_t kUnseen = 20'000'000;  // nanoseconds
  static constexpr std::uint8_t kSmall = 23;            // calls of all ranks below 2^kSmall bytes
  static constexpr std::uint8_t kLongPiece = 16;
  static constexpr std::uint64_t kPatience = 500'000'000;          // nanoseconds
  static constexpr std::uint64_t kCachesPatience = 1'000'000'000;  // where clients have caches of their own

  // Costs of one way, nanoseconds for each KiB; the latest are kept.
  struct Costs {
    std::uint32_t count = 0;  // ever
    std::array<std::uint64_t, kCosts> latest{};

    void add(std::uint64_t cost);
    // The lower median. REQUIRES: count > 0.
    std::uint64_t median() const;
  };

  // What is known of a kind.
  struct Standing {
    CallKind kind;
    Costs collected;
    Costs passed;
    std::uint32_t trial = 0;      // calls of the trial that have begun
    std::uint32_t rest = 0;       // calls until the dropped way is tried again
    std::uint32_t pause = 0;      // the last such distance
    std::uint32_t lease = 0;      // calls that went unasked after the last one that was asked
    std::uint32_t dropped = 0;    // how often a way was dropped for the other one
    std::uint64_t used = 0;       // when, in calls of all kinds
    std::uint64_t waited = 0;     // nanoseconds of calls before the trial, those that were not asked about as the one before them
    std::uint64_t pace = 0;       // of the latest of them; 0: there was none
    std::uint64_t passed_ns = 0;  // of the latest call after them that was left to the MPI; 0: there was none
    bool aside = false;           // left to the MPI without a trial
    std::optional<Way> kept;      // none: on trial
  };

  explicit Contest(bool clients_have_caches = false) : caches_(clients_have_caches) {}

  bool clients_have_caches() const { return caches_; }

  // How a call of this kind should go: Way::collect or Way::pass.
  Way next(const CallKind& kind) const;
  // The same for a call whose time cannot be taken: never a trial.
  Way settled(const CallKind& kind) const;
  // If this one goes to the MPI: how many calls after it go there, too, without being asked about.
  std::uint32_t unasked(const CallKind& kind) const;

  // A call goes that way, and so many after it. All ranks tell it of all calls.
  void begin(const CallKind& kind, Way way, std::uint32_t unasked);
  // The same for a call of which it is known before that it is better left to the MPI.
  void step_aside(const CallKind& kind, std::uint32_t unasked);
  // What the call cost that began last with this kind and way. Without time or bytes it is not counted.
  void took(const CallKind& kind, Way way, std::int64_t bytes, std::uint64_t ns);

  std::span<const Standing> standings() const { return {standings_.data(), count_}; }

 private:
  const Standing* find(const CallKind& kind) const;
  Standing& get(const CallKind& kind);
  // Way number `trial` of the trial.
  Way trial_way(const CallKind& kind, std::uint32_t trial) const;
  // Whether trials of the kind begin with the MPI, which is then given time.
  bool mpi_is_first(const CallKind& kind) const { return caches_ && kind.piece >= kLongPiece; }
  std::uint64_t patience() const { return caches_ ? kCachesPatience : kPatience; }
  // Whether the latest writes were kept collected.
  bool writes_are_collected() const;
  // Whether calls of the kind are left to the MPI because they have not taken long enough. null: there was none yet.
  bool waits(const CallKind& kind, const Standing* one) const;
  void judge(Standing& one) const;
  static void keep(Standing& one, Way way);

  std::array<Standing, kKinds> standings_{};
  std::uint32_t count_ = 0;
  std::uint64_t calls_ = 0;
  bool caches_;                                  // clients have them
  std::array<std::optional<CallKind>, 2> last_;  // of reads and of writes, that was asked about
};

}  // namespace iez::collective
