// `iez doctor`: whether iez can do its work here, for a user on a client and for an administrator on a server.
#pragma once

#include "command.hpp"

namespace iez::cli {

struct DoctorOptions {
  bool json = false;
};

// Fails if something does not work.
[[nodiscard]] Result<void> run_doctor(const DoctorOptions& options, Context& context);

}  // namespace iez::cli
