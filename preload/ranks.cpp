#include "ranks.hpp"

#include <cstddef>
#include <cstring>

#include "settings.hpp"

namespace iez::preload {

constinit Rank own_rank;

namespace {

struct Launcher {
  const char* rank;
  const char* size;
};

// Those that only an MPI launcher sets come first: a job script inside Slurm may start mpirun.
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PMIX_RANK", "PMIX_JOB_SIZE"},
    {"PALS_RANKID", "PALS_SIZE"},
    {"ALPS_APP_PE", "ALPS_APP_SIZE"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
};

constexpr const char* kJobs[] = {"IEZ_JOB", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID"};

const char* find_variable(char** environment, const char* name) {
  for (char** variable = environment; *variable != nullptr; ++variable) {
    if (const char* const value = value_of(*variable, name); value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

// -1 if it is no number of at most 9 digits.
std::int32_t number_of(const char* text) {
  std::int32_t number = 0;
  std::size_t digits = 0;
  for (; text != nullptr && text[digits] >= '0' && text[digits] <= '9' && digits < 9; ++digits)
    number = number * 10 + (text[digits] - '0');
  return digits > 0 && text[digits] == '\0' ? number : -1;
}

}  // namespace

void read_rank(char** environment) {
  for (const Launcher& launcher : kLaunchers) {
    const std::int32_t rank = number_of(find_variable(environment, launcher.rank));
    if (rank < 0) continue;
    own_rank.rank = rank;
    const std::int32_t size = number_of(find_variable(environment, launcher.size));
    if (size > 0) own_rank.communicator = static_cast<std::uint32_t>(size);
    break;
  }
  // Some launchers say the rank and leave the size to others, as PMIx does under Slurm.
  for (const Launcher& launcher : kLaunchers) {
    const std::int32_t size =
        own_rank.rank < 0 || own_rank.communicator > 0 ? -1 : number_of(find_variable(environment, launcher.size));
    if (size > own_rank.rank) own_rank.communicator = static_cast<std::uint32_t>(size);
  }
  for (const char* const name : kJobs) {
    const char* const job = find_variable(environment, name);
    if (job == nullptr) continue;
    std::strncpy(own_rank.job, job, sizeof(own_rank.job) - 1);
    break;
  }
}

}  // namespace iez::preload
