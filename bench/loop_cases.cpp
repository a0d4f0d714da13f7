#include "loop_cases.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace iez::bench {

namespace {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

// `iez workload ior`, written to the disk before it is closed; times are those of its phases.
Words ior(const LoopPlace& place, unsigned ranks, std::uint64_t kib, const std::string& name, const Words& more,
          unsigned client = 0) {
  Words words{place.iez,
              "workload",
              "ior",
              "-n",
              std::to_string(ranks),
              "-b",
              fmt::format("{}K", kib),
              "-t",
              "256K",
              "-o",
              fmt::format("{}/{}", place.folders[client], name),
              "-k",
              "--json"};
  append(words, more);
  return words;
}

Words files_of(const LoopPlace& place, unsigned ranks, std::uint64_t kib, const std::string& name, const Words& more = {},
               unsigned client = 0) {
  Words words = ior(place, ranks, kib, name, {"-F", "-w", "-e"}, client);
  append(words, more);
  return words;
}

// Checkpoints of so many steps.
Words steps_of(const LoopPlace& place, unsigned ranks, std::uint64_t kib, unsigned steps, const Words& more = {}) {
  Words words = files_of(place, ranks, kib, "ck", {"-i", std::to_string(steps), "-m"});
  append(words, more);
  return words;
}

Words script(const LoopPlace& place, const std::string& kind, unsigned processes, unsigned files, std::uint64_t kib) {
  return {place.python,          place.script,       kind, place.folders[0], std::to_string(processes),
          std::to_string(files), std::to_string(kib)};
}

// One program, alone.
LoopTurn alone(Words words) { return {{{.application = "app", .words = std::move(words)}}}; }

// Under Open MPI's launcher, with as many processes as one likes.
Words by_mpi(const LoopPlace& place, unsigned ranks, std::uint64_t kib, const std::string& name, const Words& more) {
  Words words = ior(place, ranks, kib, name, {"-w", "-e"});
  append(words, more);
  words.erase(words.begin() + 3, words.begin() + 5);  // the launcher says how many
  Words all{"mpirun.openmpi", "--oversubscribe", "-n", std::to_string(ranks)};
  append(all, words);
  return all;
}

// A multiple of what one call writes.
std::uint64_t part(std::uint64_t unit, unsigned parts) { return std::max<std::uint64_t>(1, unit / parts / 256) * 256; }

// For a shell; no word of a case has a quote in it.
std::string quoted(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += fmt::format("{}'{}'", out.empty() ? "" : " ", word);
  return out;
}

constexpr unsigned kFewer = 5;
constexpr unsigned kSmallFiles = 400;

const std::array kCases{
    // ---- A file of each process, in steps ----
    LoopCase{.name = "1-step",
             .about = "20 processes, a file each",
             .turn = [](const LoopPlace& at, unsigned) { return alone(steps_of(at, 20, part(at.unit, 2), 1)); }},
    LoopCase{.name = "2-steps",
             .about = "15 processes, a file each, 2 steps",
             .turn = [](const LoopPlace& at, unsigned) { return alone(steps_of(at, 15, part(at.unit, 2), 2)); }},
    LoopCase{.name = "4-steps",
             .about = "15 processes, a file each, 4 steps",
             .turn = [](const LoopPlace& at, unsigned) { return alone(steps_of(at, 15, part(at.unit, 4), 4)); },
             .quick = true},
    LoopCase{.name = "4-steps-10",
             .about = "10 processes, a file each, 4 steps",
             .turn = [](const LoopPlace& at, unsigned) { return alone(steps_of(at, 10, part(at.unit, 4), 4)); }},
    LoopCase{.name = "5-steps",
             .about = "12 processes, a file each, 5 steps",
             .turn = [](const LoopPlace& at, unsigned) { return alone(steps_of(at, 12, part(at.unit, 5), 5)); }},
    LoopCase{.name = "20-steps",
             .about = "8 processes, a file each, 20 steps",
             .turn = [](const LoopPlace& at, unsigned) { return alone(steps_of(at, 8, part(at.unit, 8), 20)); }},
    LoopCase{.name = "unequal-1-step",
             .about = "45 files of unequal sizes",
             .turn =
                 [](const LoopPlace& at, unsigned) {
                   return alone(steps_of(at, 45, part(at.unit, 3), 1, {"--sizes", "lognormal:0.5", "--seed", "3"}));
                 }},
    LoopCase{.name = kStepsCase,
             .about = "45 files of unequal sizes, 4 steps",
             .turn =
                 [](const LoopPlace& at, unsigned) {
                   return alone(steps_of(at, 45, part(at.unit, 4), 4, {"--sizes", "lognormal:0.5", "--seed", "3"}));
                 }},
    // ---- Processes, names and applications that change ----
    LoopCase{.name = "more-processes",
             .about = "learnt with 5 processes, run with 15",
             .turn = [](const LoopPlace& at,
                        unsigned number) { return alone(files_of(at, number == 0 ? kFewer : kLoopOsts, at.unit, "ck")); }},
    LoopCase{
        .name = "changing-processes",
        .about = "8, 12, 8, 12 processes",
        .turn = [](const LoopPlace& at, unsigned number) { return alone(files_of(at, number % 2 == 0 ? 8 : 12, at.unit, "ck")); },
        .learn = 2},
    LoopCase{.name = "dated-names",
             .about = "names with the number of the run and a date",
             .turn =
                 [](const LoopPlace& at, unsigned number) {
                   return alone(files_of(at, kLoopOsts, at.unit, fmt::format("run{:04}-2026-11-{:02}.ck", number, number + 1)));
                 },
             .learn = 3},
    LoopCase{
        .name = "after-another",
        .about = "15 files, while the plan of another application waits, which does not run",
        .turn = [](const LoopPlace& at, unsigned) { return alone(files_of(at, kLoopOsts, at.unit, "ck")); },
        .before = [](const LoopPlace& at,
                     unsigned) { return LoopTurn{{{.application = "other", .words = files_of(at, 12, at.unit, "other")}}}; }},
    LoopCase{.name = "two-at-once",
             .about = "two applications of 12 files each, at the same time",
             .turn =
                 [](const LoopPlace& at, unsigned) {
                   const Words meet{"--meet", at.meeting, "--parties", "2"};
                   return LoopTurn{
                       {{.application = "one", .words = files_of(at, 12, part(at.unit, 2), "one", meet)},
                        {.application = "two", .words = files_of(at, 12, part(at.unit, 2), "two", meet, 1), .client = 1}}};
                 }},
    LoopCase{.name = "two-in-turn",
             .about = "two applications of 10 files each, one after the other",
             .turn =
                 [](const LoopPlace& at, unsigned) {
                   return LoopTurn{{{.application = "one", .words = files_of(at, 10, part(at.unit, 2), "one")}},
                                   {{.application = "two", .words = files_of(at, 10, part(at.unit, 2), "two")}}};
                 }},
    // ---- Targets that differ ----
    LoopCase{.name = "unequally-full",
             .about = "15 files, OSTs 20 to 31 % full",
             .turn = [](const LoopPlace& at, unsigned) { return alone(files_of(at, kLoopOsts, at.unit, "ck")); },
             .fullness = [](unsigned ost) { return 0.2 + (0.11 * ((ost * 7) % kLoopOsts) / (kLoopOsts - 1)); }},
    LoopCase{.name = "nearly-full",
             .about = "15 files, one OST 95 % full",
             .turn = [](const LoopPlace& at, unsigned) { return alone(files_of(at, kLoopOsts, at.unit, "ck")); },
             .fullness = [](unsigned ost) { return ost == 4 ? 0.95 : 0.0; }},
    LoopCase{.name = "slow-ost",
             .about = "15 files, one OST at a quarter of its speed",
             .turn = [](const LoopPlace& at, unsigned) { return alone(files_of(at, kLoopOsts, part(at.unit, 2), "ck")); },
             .speed = [](unsigned ost) { return ost == 4 ? kLoopSpeed / 4 : kLoopSpeed; }},
    // ---- Shared files, and single ones ----
    LoopCase{.name = kSharedCase,
             .about = "8 processes, one file, 1 stripe by default",
             .turn = [](const LoopPlace& at, unsigned) { return alone(ior(at, 8, part(at.unit * 3, 8), "field", {"-w", "-e"})); },
             .quick = true},
    LoopCase{.name = "shared-4",
             .about = "8 processes, one file, in a folder whose default is 4 stripes",
             .turn = [](const LoopPlace& at, unsigned) { return alone(ior(at, 8, part(at.unit, 2), "field", {"-w", "-e"})); },
             .stripes = 4},
    LoopCase{.name = "two-shared",
             .about = "8 processes, two files that all of them write",
             .turn = [](const LoopPlace& at, unsigned) { return alone(script(at, "shared", 8, 2, part(at.unit, 8))); }},
    LoopCase{.name = "single",
             .about = "one process, one file",
             .turn = [](const LoopPlace& at, unsigned) { return alone(ior(at, 1, at.unit, "data", {"-w", "-e"})); }},
    LoopCase{.name = "serial",
             .about = "one process, 12 files one after the other",
             .turn = [](const LoopPlace& at, unsigned) { return alone(script(at, "serial", 1, 12, part(at.unit, 8))); }},
    // ---- MPI-IO and HDF5 ----
    LoopCase{.name = "mpiio-shared",
             .about = "MPI-IO, 6 processes, one file, collective",
             .turn = [](const LoopPlace& at,
                        unsigned) { return alone(by_mpi(at, 6, part(at.unit, 3), "field", {"-a", "MPIIO", "-c"})); },
             .needs = LoopNeeds::mpi},
    LoopCase{.name = "mpiio-files",
             .about = "MPI-IO, 6 processes, a file each",
             .turn = [](const LoopPlace& at, unsigned) { return alone(by_mpi(at, 6, at.unit, "ck", {"-a", "MPIIO", "-F"})); },
             .needs = LoopNeeds::mpi},
    LoopCase{.name = "hdf5-files",
             .about = "HDF5, 8 processes, a file each",
             .turn = [](const LoopPlace& at, unsigned) { return alone(by_mpi(at, 8, at.unit, "ck", {"-a", "HDF5", "-F"})); },
             .needs = LoopNeeds::hdf5},
    // ---- Small, mixed, and unusual ----
    LoopCase{.name = "small-files",
             .about = "4 processes, 400 files of 4 KiB",
             .turn = [](const LoopPlace& at, unsigned) { return alone(script(at, "small", 4, kSmallFiles, 4)); },
             .quick = true},
    LoopCase{.name = "mixed",
             .about = "8 processes, a large file and 25 small ones each",
             .turn = [](const LoopPlace& at, unsigned) { return alone(script(at, "mixed", 8, 25, at.unit)); }},
    LoopCase{.name = "journal",
             .about = "one process, 200 short records, every tenth synced",
             .turn = [](const LoopPlace& at, unsigned) { return alone(script(at, "append", 1, 200, 4)); }},
    LoopCase{.name = "renamed",
             .about = "15 processes, files that get their names when they are whole",
             .turn = [](const LoopPlace& at, unsigned) { return alone(script(at, "rename", kLoopOsts, 2, part(at.unit, 2))); }},
    LoopCase{.name = "failing",
             .about = "15 processes, a file each; the program ends with 1",
             .turn = [](const LoopPlace& at, unsigned) { return alone(script(at, "failing", kLoopOsts, 1, at.unit)); },
             .fails = true},
    LoopCase{.name = "in-place",
             .about = "15 files that exist are written over",
             .turn = [](const LoopPlace& at, unsigned) { return alone(files_of(at, kLoopOsts, at.unit, "ck", {"-E"})); },
             .keeps = true},
    LoopCase{.name = "restart",
             .about = "15 processes read what the run before wrote, then write",
             .turn =
                 [](const LoopPlace& at, unsigned number) {
                   const Words write = files_of(at, kLoopOsts, part(at.unit, 2), "ck");
                   if (number == 0) return alone(write);
                   const Words read = ior(at, kLoopOsts, part(at.unit, 2), "ck", {"-F", "-r", "-C", "--drop-cache"});
                   return alone({"sh", "-c", fmt::format("{} && {}", quoted(read), quoted(write))});
                 },
             .learn = 2,
             .keeps = true},
};

}  // namespace

std::span<const LoopCase> loop_cases() { return kCases; }

}  // namespace iez::bench
