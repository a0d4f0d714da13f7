#include <hdf5.h>
#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "mpi_files.hpp"

namespace iez::workload {

namespace {

constexpr const char* kDataset = "data";

// Something of HDF5 that is closed by the function that belongs to it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  ~Handle() { reset(); }

  [[nodiscard]] hid_t id() const { return id_; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }
  bool reset() { return id_ < 0 || close_(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

Result<void> checked(bool well, const std::string& name, const char* what) {
  if (well) return {};
  return fail(Errc::io, fmt::format("{}: HDF5 cannot {} it", name, what));
}

hid_t type_of(std::uint32_t element) { return element == 1 ? H5T_NATIVE_UCHAR : H5T_NATIVE_DOUBLE; }

// A dataset of each array. Bytes are moved as they are: the types in memory and in the file are the same.
class Hdf5ArrayFile final : public File {
 public:
  Hdf5ArrayFile(Handle file, std::vector<Handle> datasets, Handle transfer, std::string name)
      : file_(std::move(file)), datasets_(std::move(datasets)), transfer_(std::move(transfer)), name_(std::move(name)) {}

  Result<void> write(std::uint64_t, std::span<const std::byte>) override { return checked(false, name_, "write bytes to"); }
  Result<void> read(std::uint64_t, std::span<std::byte>) override { return checked(false, name_, "read bytes of"); }

  Result<void> write_array(const ArrayPart& part, std::span<const std::byte> memory) override {
    const Handle in_file = selected(part.file);
    const Handle in_memory = selected(part.memory);
    return checked(H5Dwrite(datasets_[part.array].id(), type_of(part.element), in_memory.id(), in_file.id(), transfer_.id(),
                            memory.data()) >= 0,
                   name_, "write");
  }

  Result<void> read_array(const ArrayPart& part, std::span<std::byte> memory) override {
    const Handle in_file = selected(part.file);
    const Handle in_memory = selected(part.memory);
    return checked(H5Dread(datasets_[part.array].id(), type_of(part.element), in_memory.id(), in_file.id(), transfer_.id(),
                           memory.data()) >= 0,
                   name_, "read");
  }

  Result<void> sync() override { return checked(H5Fflush(file_.id(), H5F_SCOPE_LOCAL) >= 0, name_, "flush"); }

  Result<void> close() override {
    datasets_.clear();
    return checked(transfer_.reset() && file_.reset(), name_, "close");
  }

 private:
  static Handle selected(const Box& box) {
    const std::vector<hsize_t> sizes(box.sizes.begin(), box.sizes.end());
    const std::vector<hsize_t> parts(box.parts.begin(), box.parts.end());
    const std::vector<hsize_t> starts(box.starts.begin(), box.starts.end());
    Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, starts.data(), nullptr, parts.data(), nullptr);
    return space;
  }

  Handle file_;
  std::vector<Handle> datasets_;
  Handle transfer_;
  std::string name_;
};

class Hdf5File final : public File {
 public:
  Hdf5File(Handle file, Handle dataset, Handle space, Handle transfer, std::string name)
      : file_(std::move(file)),
        dataset_(std::move(dataset)),
        space_(std::move(space)),
        transfer_(std::move(transfer)),
        name_(std::move(name)) {}

  Result<void> write(std::uint64_t offset, std::span<const std::byte> data) override {
    const Handle memory = selected(offset, data.size());
    return checked(
        memory.valid() && H5Dwrite(dataset_.id(), H5T_NATIVE_UCHAR, memory.id(), space_.id(), transfer_.id(), data.data()) >= 0,
        name_, "write");
  }

  Result<void> read(std::uint64_t offset, std::span<std::byte> data) override {
    const Handle memory = selected(offset, data.size());
    return checked(
        memory.valid() && H5Dread(dataset_.id(), H5T_NATIVE_UCHAR, memory.id(), space_.id(), transfer_.id(), data.data()) >= 0,
        name_, "read");
  }

  Result<void> sync() override { return checked(H5Fflush(file_.id(), H5F_SCOPE_LOCAL) >= 0, name_, "flush"); }

  Result<void> close() override {
    return checked(dataset_.reset() && space_.reset() && transfer_.reset() && file_.reset(), name_, "close");
  }

 private:
  // Chooses these bytes of the file; the answer is how they lie in memory.
  [[nodiscard]] Handle selected(std::uint64_t offset, std::size_t length) const {
    const hsize_t start = offset;
    const hsize_t count = length;
    Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
    if (length == 0) {
      H5Sselect_none(space_.id());
      H5Sselect_none(memory.id());
    } else {
      H5Sselect_hyperslab(space_.id(), H5S_SELECT_SET, &start, nullptr, &count, nullptr);
    }
    return memory;
  }

  Handle file_;
  Handle dataset_;
  Handle space_;
  Handle transfer_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<File>> Hdf5Files::open(const Opening& opening) {
  const std::string name = text::printable(opening.name);
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_mpio(access.id(), opening.shared ? MPI_COMM_WORLD : MPI_COMM_SELF, MPI_INFO_NULL);
  Handle file(opening.write ? H5Fcreate(opening.name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id())
                            : H5Fopen(opening.name.c_str(), H5F_ACC_RDONLY, access.id()),
              H5Fclose);
  IEZ_CHECK(checked(file.valid(), name, opening.write ? "create" : "open"));
  Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
  if (collective_ && opening.shared) H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE);
  if (!opening.arrays.empty()) {
    std::vector<Handle> datasets;
    for (const Array& array : opening.arrays) {
      const std::vector<hsize_t> sizes(array.sizes.begin(), array.sizes.end());
      const Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
      datasets.emplace_back(opening.write ? H5Dcreate2(file.id(), array.name.c_str(), type_of(array.element), space.id(),
                                                       H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                                          : H5Dopen2(file.id(), array.name.c_str(), H5P_DEFAULT),
                            H5Dclose);
      IEZ_CHECK(checked(datasets.back().valid(), name, "find a dataset of"));
    }
    return std::make_unique<Hdf5ArrayFile>(std::move(file), std::move(datasets), std::move(transfer), name);
  }
  const hsize_t size = opening.size;
  Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  Handle dataset(opening.write
                     ? H5Dcreate2(file.id(), kDataset, H5T_NATIVE_UCHAR, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                     : H5Dopen2(file.id(), kDataset, H5P_DEFAULT),
                 H5Dclose);
  IEZ_CHECK(checked(dataset.valid(), name, "find the dataset of"));
  return std::make_unique<Hdf5File>(std::move(file), std::move(dataset), std::move(space), std::move(transfer), name);
}

}  // namespace iez::workload
