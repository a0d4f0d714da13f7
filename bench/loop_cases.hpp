// Ordinary programs that iez must never make slower: the cases of `iez bench loop`.
//
// A case says what a program does, run by run. It is run with and without iez on one lab, in turn, with its files removed before
// each run, and the two are compared (loop_case_runs.hpp).
//
// Sizes are in units: the KiB that an OST gets in one run if all OSTs get the same, so that a run takes the time in which an OST
// moves that, or more where files are uneven.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iez::bench {

inline constexpr unsigned kLoopServers = 3;
inline constexpr unsigned kLoopOstsPerServer = 5;
inline constexpr unsigned kLoopOsts = kLoopServers * kLoopOstsPerServer;
inline constexpr unsigned kLoopClients = 2;
// OSTs can do ten times as much as they do in a case, so that filling them takes no time: the share of their rate that is left.
inline constexpr double kLoopSpeed = 0.1;

// What the command lines of a case are made of.
struct LoopPlace {
  std::string iez;     // this program
  std::string python;  // an interpreter, and programs/loop_program.py
  std::string script;
  std::vector<std::string> folders;  // of the files, on each client
  std::string meeting;               // a file that is not there yet, outside of the lab
  std::uint64_t unit = 0;            // KiB
};

struct LoopProgram {
  std::string application;
  std::vector<std::string> words;
  unsigned client = 0;
};

// Programs of one step run at once; steps follow each other.
using LoopStep = std::vector<LoopProgram>;
using LoopTurn = std::vector<LoopStep>;

enum class LoopNeeds : std::uint8_t { nothing, mpi, hdf5 };

struct LoopCase {
  std::string_view name;
  std::string_view about;
  // What run `number` does. Those below `learn` teach iez, and are not measured.
  LoopTurn (*turn)(const LoopPlace& place, unsigned number) = nullptr;
  unsigned learn = 1;
  double target = 0.97;  // the default's time over the placed one's
  LoopNeeds needs = LoopNeeds::nothing;
  bool keeps = false;    // files stay from run to run; the learning runs are made without iez, too
  bool fails = false;    // the program ends with 1
  bool quick = false;    // one of those of a quick run
  unsigned stripes = 0;  // default of its folders; 0: they have none
  // Another application, whose plan waits while this one runs. Its files are removed.
  LoopTurn (*before)(const LoopPlace& place, unsigned number) = nullptr;
  // Of each OST: how full it is before, and the share of its rate at which it works. Nothing: empty, kLoopSpeed.
  double (*fullness)(unsigned ost) = nullptr;
  double (*speed)(unsigned ost) = nullptr;
  // Whether the last learning run, whose files have objects on these OSTs, is one to begin with; if not, iez forgets it and
  // learns again. Nothing: any is.
  bool (*begins)(std::span<const unsigned> osts) = nullptr;
};

std::span<const LoopCase> loop_cases();

inline constexpr std::string_view kStepsCase = "unequal-4-steps";  // of loop.steps_gain
inline constexpr std::string_view kSharedCase = "shared";          // of loop.shared_gain

}  // namespace iez::bench
