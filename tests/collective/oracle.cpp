// Random MPI-IO, byte-exact against an oracle.
//
// usage: oracle [--seed N] [--first N] [--rounds N] [--kinds LIST] [--max-bytes N] [--dir DIR] [--timeout SECONDS] [--verbose]
//
// Each round draws a communicator, one or two files, and the life of each (session.hpp). --kinds says what may be drawn: "all",
// "all,-eof", "pointer,vector" (kinds.hpp). A round that does not end in time ends the program, with status 3.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "session.hpp"

namespace iez::collective_test {
namespace {

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;
  std::uint64_t rounds = 20;
  std::string kind_words = "all";
  Kinds kinds;
  std::int64_t most_bytes = 256 << 10;
  std::string folder = ".";
  unsigned timeout = 60;
  bool verbose = false;
};

// What the handler of the alarm says; made before the alarm is set.
std::array<char, 512> late_text{};

void on_alarm(int) {
  // Nothing to be done if it cannot be said.
  if (::write(STDERR_FILENO, late_text.data(), std::strlen(late_text.data())) < 0) ::_exit(4);
  ::_exit(3);
}

bool parse(int argc, char** argv, Options& options, std::string& wrong) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--verbose") {
      options.verbose = true;
      continue;
    }
    if (i + 1 == argc) {
      wrong = word;
      return false;
    }
    const char* const value = argv[++i];
    const std::uint64_t number = std::strtoull(value, nullptr, 10);
    if (word == "--seed") {
      options.seed = number;
    } else if (word == "--first") {
      options.first = number;
    } else if (word == "--rounds") {
      options.rounds = number;
    } else if (word == "--kinds") {
      options.kind_words = value;
    } else if (word == "--max-bytes") {
      options.most_bytes = static_cast<std::int64_t>(number);
    } else if (word == "--dir") {
      options.folder = value;
    } else if (word == "--timeout") {
      options.timeout = static_cast<unsigned>(number);
    } else {
      wrong = word;
      return false;
    }
  }
  return parse_kinds(options.kind_words, options.kinds, wrong);
}

struct Round {
  Setup setup;
  std::uint64_t number = 0;
  Totals totals;
};

void add(Totals& sum, const Totals& totals) {
  sum.calls += totals.calls;
  sum.bytes += totals.bytes;
  sum.compared += totals.compared;
}

// One or two files, in turn.
Totals live(const Setup& setup, std::size_t files) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (std::size_t i = 0; i < files; ++i) {
    Setup own = setup;
    own.seed = mixed(setup.seed, 1000 + i);
    own.path += fmt::format(".{}", i);
    sessions.push_back(std::make_unique<Session>(own));
  }
  Rng rng(setup.seed);
  Totals totals;
  while (!sessions.empty()) {
    const std::size_t i = rng.below(sessions.size());
    if (sessions[i]->step()) continue;
    add(totals, sessions[i]->totals());
    sessions.erase(sessions.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return totals;
}

MPI_Comm drawn_comm(Rng& rng, const Kinds& kinds, int rank, std::uint64_t& color) {
  MPI_Comm comm = MPI_COMM_NULL;
  const double how = rng.unit();
  color = 0;
  if (kinds.has(Kind::self) && how < 0.1) {
    color = static_cast<std::uint64_t>(rank);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
  } else if (kinds.has(Kind::sub) && how < 0.4) {
    // Parts of any size, numbered backwards.
    const std::uint64_t parts = rng.between(1, 3);
    const std::uint64_t salt = rng.bits();
    color = mixed(salt, static_cast<std::uint64_t>(rank)) % parts;
    MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(color), -rank, &comm);
  } else {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  }
  return comm;
}

Totals run_round(const Options& options, std::uint64_t number, const std::string& place, bool may_thread) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Rng rng(mixed(options.seed, number));
  std::uint64_t color = 0;
  MPI_Comm comm = drawn_comm(rng, options.kinds, rank, color);
  Setup setup{.comm = comm, .kinds = options.kinds, .most_bytes = options.most_bytes, .verbose = options.verbose};
  setup.seed = mixed(mixed(options.seed, number), 77 + color);
  setup.path = fmt::format("{}.{}.{}", place, number, color);
  setup.title = fmt::format("--seed {} --first {} --rounds 1 --kinds {} --max-bytes {}", options.seed, number, options.kind_words,
                            options.most_bytes);
  const std::string late = fmt::format("oracle: {}: rank {}: not done in {} s\n", setup.title, rank, options.timeout);
  std::strncpy(late_text.data(), late.c_str(), late_text.size() - 1);
  ::alarm(options.timeout);
  Totals totals;
  const std::size_t files = options.kinds.has(Kind::two) && rng.chance(0.3) ? 2 : 1;
  if (options.kinds.has(Kind::threads) && rng.chance(0.2) && may_thread) {
    MPI_Comm other_comm = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &other_comm);
    Setup other = setup;
    other.comm = other_comm;
    other.seed = mixed(setup.seed, 5);
    other.path += ".thread";
    Totals others;
    std::thread thread([&other, &others, files] { others = live(other, files); });
    totals = live(setup, files);
    thread.join();
    add(totals, others);
    MPI_Comm_free(&other_comm);
  } else {
    totals = live(setup, files);
  }
  MPI_Comm_free(&comm);
  MPI_Barrier(MPI_COMM_WORLD);
  ::alarm(0);
  return totals;
}

int run(const Options& options, bool may_thread) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long id = ::getpid();
  MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  const std::string place = fmt::format("{}/oracle.{}", options.folder, id);
  struct sigaction action{};
  action.sa_handler = on_alarm;
  ::sigaction(SIGALRM, &action, nullptr);
  Totals totals;
  for (std::uint64_t i = 0; i < options.rounds; ++i) add(totals, run_round(options, options.first + i, place, may_thread));
  std::array<std::int64_t, 2> own{totals.calls, totals.bytes};
  std::array<std::int64_t, 2> all{};
  MPI_Reduce(own.data(), all.data(), 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    fmt::print("oracle: seed {}, rounds {} to {}, {} ranks: {} calls, {} bytes, {} files compared{}\n", options.seed,
               options.first, options.first + options.rounds - 1, ranks, all[0], all[1], totals.compared,
               options.kinds.has(Kind::threads) && !may_thread ? "; no threads: the MPI allows one only" : "");
  }
  return 0;
}

}  // namespace
}  // namespace iez::collective_test

int main(int argc, char** argv) {
  using namespace iez::collective_test;
  Options options;
  std::string wrong;
  if (!parse(argc, argv, options, wrong)) {
    fmt::print(stderr, "oracle: '{}' is not understood\n", wrong);
    return 2;
  }
  int provided = MPI_THREAD_SINGLE;
  const int wanted = options.kinds.has(Kind::threads) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  const int status = run(options, provided == MPI_THREAD_MULTIPLE);
  MPI_Finalize();
  return status;
}
