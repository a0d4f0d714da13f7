// Job ids against jobid_name templates: the first line is the template, the rest the id.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lustre/job_id.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t newline = bytes.find('\n');
  const std::string name(bytes.substr(0, newline));
  const std::string_view id = newline == std::string_view::npos ? std::string_view{} : bytes.substr(newline + 1);
  for (const char* const variable : {"nodelocal", "procname_uid", "SLURM_JOB_ID", "disable"}) {
    const auto identity = iez::lustre::JobIdFormat::from_settings(variable, name).identify(id);
    if (identity.id != id) std::abort();
    if (identity.program && id.find(*identity.program) == std::string_view::npos) std::abort();
  }
  return 0;
}
