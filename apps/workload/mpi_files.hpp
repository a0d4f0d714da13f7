// Files by MPI_File_open, write_at and read_at, or their collective forms; arrays by views.
#pragma once

#include <memory>

#include "workload/run.hpp"

namespace iez::workload {

class MpiFiles final : public FileOpener {
 public:
  explicit MpiFiles(bool collective) : collective_(collective) {}
  [[nodiscard]] Result<std::unique_ptr<File>> open(const Opening& opening) override;

 private:
  bool collective_;
};

#ifdef IEZ_WORKLOAD_HDF5
// One dataset of bytes in each file, or one of each array, through HDF5's driver for MPI-IO.
class Hdf5Files final : public FileOpener {
 public:
  explicit Hdf5Files(bool collective) : collective_(collective) {}
  [[nodiscard]] Result<std::unique_ptr<File>> open(const Opening& opening) override;

 private:
  bool collective_;
};
#endif

}  // namespace iez::workload
