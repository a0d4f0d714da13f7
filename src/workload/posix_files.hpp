// Files by open, pwrite, pread, fsync and close: calls that a preloaded library sees.
#pragma once

#include <memory>

#include "workload/run.hpp"

namespace iez::workload {

class PosixFiles final : public FileOpener {
 public:
  [[nodiscard]] Result<std::unique_ptr<File>> open(const Opening& opening) override;
};

}  // namespace iez::workload
