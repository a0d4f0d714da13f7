#include "runs/run_environment.hpp"

#include <fmt/format.h>

namespace iez::runs {

Variables variables_for(const RunEnvironment& run, const std::function<std::optional<std::string>(std::string_view)>& present) {
  Variables out;
  if (run.libraries.empty() || (run.trace_folder.empty() && run.plan.empty())) return out;
  std::string preload = fmt::format("{}", fmt::join(run.libraries, ":"));
  if (const auto before = present("LD_PRELOAD"); before && !before->empty()) preload += ":" + *before;
  out.emplace_back("LD_PRELOAD", std::move(preload));
  if (!run.trace_folder.empty()) out.emplace_back("IEZ_TRACE", run.trace_folder);
  if (!run.plan.empty()) out.emplace_back("IEZ_PLAN", run.plan);
  if (const auto only = present("IEZ_ONLY"); !run.folders.empty() && (!only || only->empty())) {
    out.emplace_back("IEZ_ONLY", fmt::format("{}", fmt::join(run.folders, ":")));
  }
  if (const auto hints = present("IEZ_COLLECTIVE"); hints && run.osts > 0 &&
                                                    hints->find("iez_mode=choose") != std::string::npos &&
                                                    hints->find("iez_osts=") == std::string::npos) {
    out.emplace_back("IEZ_COLLECTIVE", fmt::format("{};iez_osts={}", *hints, run.osts));
  }
  return out;
}

std::string_view mpi_of_launcher(std::string_view resolved_name) {
  for (const std::string_view part : {"orte", "prte", "openmpi", "ompi"}) {
    if (resolved_name.find(part) != std::string_view::npos) return "openmpi";
  }
  for (const std::string_view part : {"hydra", "mpich", "mvapich"}) {
    if (resolved_name.find(part) != std::string_view::npos) return "mpich";
  }
  return "";
}

}  // namespace iez::runs
