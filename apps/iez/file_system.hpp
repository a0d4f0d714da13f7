// Which of the file systems that were found a command is about.
#pragma once

#include <string>

#include "base/result.hpp"
#include "lustre/cluster_reader.hpp"

namespace iez::cli {

// Keeps the one with the name; all for no name. Fails if it is not there, and says what is.
[[nodiscard]] Result<void> keep_file_system(lustre::ClusterReading& reading, const std::string& name);

// The one with the name, or the only one. REQUIRES: there is one at least.
[[nodiscard]] Result<lustre::ClusterView> one_file_system(lustre::ClusterReading reading, const std::string& name);

}  // namespace iez::cli
