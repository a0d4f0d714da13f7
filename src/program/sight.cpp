#include "program/sight.hpp"

#include <elf.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace iez::program {

namespace {

bool needs(const Elf& elf, std::string_view stem) {
  return std::ranges::any_of(elf.needed, [&](const std::string& name) { return name.starts_with(stem); });
}

void add(Report& report, Finding finding) {
  report.sight = std::max(report.sight, finding.sight);
  report.findings.push_back(std::move(finding));
}

void judge_loading(const Elf& elf, const FileTraits& traits, Report& report) {
  if (elf.machine != EM_X86_64) {
    add(report, {.sight = Sight::none,
                 .what = "another processor",
                 .why = fmt::format("It is for machine {} of the ELF numbers, libiez.so for {}.", elf.machine, EM_X86_64),
                 .remedy = {}});
  }
  if (elf.interpreter.empty()) {
    add(report, {.sight = Sight::none,
                 .what = "static program",
                 .why = "It has no loader, and only a loader reads LD_PRELOAD.",
                 .remedy = "Link it dynamically, or describe its files in a plan by directory defaults ('iez layout set')."});
  } else if (elf.interpreter.find("musl") != std::string::npos) {
    add(report, {.sight = Sight::none,
                 .what = "musl",
                 .why = fmt::format("Its loader is {}, and libiez.so is made for the GNU C library.", elf.interpreter),
                 .remedy = {}});
  }
  if (elf.go) {
    add(report, {.sight = Sight::none,
                 .what = "Go program",
                 .why = "Go makes system calls itself; the C library, where libiez.so sits, is not asked.",
                 .remedy = "What it writes is seen by the servers ('iez top'), not by a trace."});
  }
  if (traits.set_user || traits.set_group) {
    add(report, {.sight = Sight::none,
                 .what = traits.set_user ? "setuid" : "setgid",
                 .why = "It runs with another identity than the caller's, so the loader ignores LD_PRELOAD.",
                 .remedy = {}});
  }
  if (traits.capabilities) {
    add(report, {.sight = Sight::none,
                 .what = "file capabilities",
                 .why = "It gains capabilities when it starts, so the loader ignores LD_PRELOAD.",
                 .remedy = {}});
  }
}

void judge_calls(const Elf& elf, Report& report) {
  if (needs(elf, "liburing.so") || elf.imports.contains("io_uring_submit")) {
    add(report,
        {.sight = Sight::part,
         .what = "io_uring",
         .why = "Requests in a ring pass the C library by; what they write is counted by the size of the file at its close.",
         .remedy = {}});
  }
  if (elf.imports.contains("syscall")) {
    add(report,
        {.sight = Sight::part,
         .what = "syscall()",
         .why = "It may make system calls by number; if it opens or writes files so, that is counted by their size or not "
                "at all.",
         .remedy = {}});
  }
  if (elf.imports.contains("mmap") || elf.imports.contains("mmap64")) {
    add(report, {.sight = Sight::part,
                 .what = "mmap()",
                 .why = "Stores into a mapped file are no calls; they are counted by the size of the file at its close.",
                 .remedy = {}});
  }
}

}  // namespace

Report judge(const Elf& elf, const FileTraits& traits) {
  Report report;
  judge_loading(elf, traits, report);
  if (report.sight != Sight::none) judge_calls(elf, report);
  if (needs(elf, "libmpi.so") || needs(elf, "libmpi_mpifh.so") || needs(elf, "libmpi_cxx.so")) report.mpi = "openmpi";
  if (needs(elf, "libmpich.so") || needs(elf, "libmpichfort.so") || needs(elf, "libmpi_intel")) report.mpi = "mpich";
  // The ABI that MPICH and its kin share has the name of Open MPI's library, with another number.
  if (std::ranges::find(elf.needed, "libmpi.so.12") != elf.needed.end()) report.mpi = "mpich";
  report.hdf5 = needs(elf, "libhdf5");
  return report;
}

std::string_view to_string(Sight sight) {
  switch (sight) {
    case Sight::all:
      return "all";
    case Sight::part:
      return "part";
    case Sight::none:
      return "none";
  }
  return "none";
}

}  // namespace iez::program
