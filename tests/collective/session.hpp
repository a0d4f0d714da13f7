// A random life of one file, opened by the processes of one communicator, in steps.
//
// Every process draws the same steps from the seed and knows what all of them write. The life consists of epochs: in each,
// processes only write or only read, and what is written at an offset follows from the epoch and the offset alone. So calls of
// one epoch may overlap in any order; between epochs there is MPI_File_sync, or at least a barrier, as the standard asks for.
// Wrong bytes, counts, pointers and sizes end the program with the seed and the steps that led there.
//
// Thread safety: none; two sessions in two threads need two communicators and MPI_THREAD_MULTIPLE.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "file_model.hpp"
#include "kinds.hpp"
#include "transfer.hpp"

namespace iez::collective_test {

struct Setup {
  MPI_Comm comm = MPI_COMM_NULL;
  std::string path;
  std::string title;  // what to run to see this again
  std::uint64_t seed = 0;
  Kinds kinds;
  std::int64_t most_bytes = 0;  // of one call, all processes together
  bool verbose = false;
};

struct Totals {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;     // that this process moved
  std::int64_t compared = 0;  // whole files
};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b);

class Session {
 public:
  explicit Session(const Setup& setup);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = default;

  // False when the life is over. All processes of the communicator call it as often.
  bool step();
  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  struct Amount {
    std::int64_t from = 0;  // bytes of the view's data
    std::int64_t length = 0;
    bool takes_part = true;
  };

  Rng rank_rng(int rank, std::uint64_t purpose) const;
  [[nodiscard]] bool has(Kind kind) const { return setup_.kinds.has(kind); }
  void say(std::string line);
  void expect(const std::string& problem, const std::string& what);
  void check(int code, const std::string& what);

  void open();
  void close();
  void compare();
  MPI_Info drawn_info();

  void start_epoch();
  void end_epoch();
  void maybe_set_size();
  void draw_view();
  std::vector<View> drawn_views();
  TypePtr drawn_etype();
  void draw_interleaved(std::vector<View>& views);
  void draw_grid(std::vector<View>& views, bool distributed);
  void set_view();
  void seek();

  void transfer();
  [[nodiscard]] std::vector<Call> possible_calls() const;
  std::vector<Amount> drawn_amounts(Call call);
  std::unique_ptr<Transfer> planned(Call call, const Amount& amount);
  void run(Call call, const std::vector<Amount>& amounts);
  void note(Call call, const std::vector<Amount>& amounts);
  void finish_pending();
  void check_positions();

  const Setup setup_;
  Rng common_;
  int rank_ = 0;
  int ranks_ = 1;
  FileModel model_;
  MPI_File file_ = MPI_FILE_NULL;
  int mode_ = 0;
  int openings_left_ = 1;
  int epochs_left_ = 0;
  int calls_left_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t epoch_ = 0;
  bool writing_ = true;
  bool own_calls_ = false;  // of this epoch, where calls are not mixed
  bool big_ = false;
  std::int64_t span_ = 0;  // no byte at or behind it is touched
  Basic basic_ = Basic::byte;
  std::vector<View> views_;
  bool same_view_ = true;
  bool disjoint_ = false;                // no byte is in the views of two processes
  std::vector<std::int64_t> positions_;  // bytes of data
  std::int64_t shared_position_ = 0;
  std::vector<std::unique_ptr<Transfer>> pending_;
  std::vector<std::string> log_;
  Totals totals_;
};

}  // namespace iez::collective_test
