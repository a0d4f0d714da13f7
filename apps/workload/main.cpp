// One process of `iez workload` under MPI. Its arguments are the words of workload/options.hpp; `iez workload` gives them.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "mpi_files.hpp"
#include "mpi_ranks.hpp"
#include "workload/posix_files.hpp"
#include "workload/results.hpp"

namespace {

using iez::Errc;
using iez::Result;
using namespace iez::workload;

Result<std::unique_ptr<FileOpener>> opener_of(const Options& options) {
  switch (options.pattern.interface) {
    case Interface::posix:
      return std::make_unique<PosixFiles>();
    case Interface::mpiio:
      return std::make_unique<MpiFiles>(options.collective);
    case Interface::hdf5:
      break;
  }
#ifdef IEZ_WORKLOAD_HDF5
  return std::make_unique<Hdf5Files>(options.collective);
#else
  return iez::fail(Errc::unsupported, "-a HDF5: this program was built without a parallel HDF5 for its MPI");
#endif
}

void talk(const std::string& line) { fmt::print(stderr, "iez workload: {}\n", line); }

Result<bool> run(const std::vector<std::string>& words, MpiRanks& ranks) {
  IEZ_TRY(Options options, options_of(words));
  options.pattern.ranks = ranks.size();
  IEZ_CHECK(check(options));
  IEZ_TRY(const auto opener, opener_of(options));
  IEZ_TRY(const auto phases, run_rank(options, ranks, *opener, talk));
  if (ranks.rank() != 0) return true;
  fmt::print("{}", options.json ? to_json(options, phases) : to_text(options, phases));
  if (std::fflush(stdout) != 0) return iez::fail_errno(errno, "standard output");
  return wrong_bytes(phases) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    MpiRanks ranks;
    const auto done = run(std::vector<std::string>(argv + 1, argv + argc), ranks);
    if (!done) {
      talk(fmt::format("process {}: {}", ranks.rank(), done.error().message));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    status = *done ? 0 : 1;
  } catch (const std::exception& problem) {
    talk(problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
