#include "mpi_files.hpp"

#include <mpi.h>

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::workload {

namespace {

// Nothing if it went well.
Result<void> checked(int code, const std::string& name) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return fail(Errc::io, fmt::format("{}: {}", name, std::string_view(text.data(), static_cast<std::size_t>(length))));
}

class MpiFile final : public File {
 public:
  MpiFile(MPI_File file, std::string name, bool collective) : file_(file), name_(std::move(name)), collective_(collective) {}
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;
  ~MpiFile() override = default;  // closing is collective: only close() does it

  Result<void> write(std::uint64_t offset, std::span<const std::byte> data) override {
    const auto at = static_cast<MPI_Offset>(offset);
    const int count = static_cast<int>(data.size());
    return checked(collective_ ? MPI_File_write_at_all(file_, at, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE)
                               : MPI_File_write_at(file_, at, data.data(), count, MPI_BYTE, MPI_STATUS_IGNORE),
                   name_);
  }

  Result<void> read(std::uint64_t offset, std::span<std::byte> data) override {
    const auto at = static_cast<MPI_Offset>(offset);
    const int count = static_cast<int>(data.size());
    MPI_Status status;
    IEZ_CHECK(checked(collective_ ? MPI_File_read_at_all(file_, at, data.data(), count, MPI_BYTE, &status)
                                  : MPI_File_read_at(file_, at, data.data(), count, MPI_BYTE, &status),
                      name_));
    int got = 0;
    MPI_Get_count(&status, MPI_BYTE, &got);
    if (got != count) return fail(Errc::io, fmt::format("{}: {} of {} bytes at {}", name_, got, count, offset));
    return {};
  }

  Result<void> write_array(const ArrayPart& part, std::span<const std::byte> memory) override {
    IEZ_CHECK(set_view(part));
    const Type type(part.memory, part.element);
    return checked(collective_ ? MPI_File_write_all(file_, memory.data(), 1, type.get(), MPI_STATUS_IGNORE)
                               : MPI_File_write(file_, memory.data(), 1, type.get(), MPI_STATUS_IGNORE),
                   name_);
  }

  Result<void> read_array(const ArrayPart& part, std::span<std::byte> memory) override {
    IEZ_CHECK(set_view(part));
    const Type type(part.memory, part.element);
    MPI_Status status;
    IEZ_CHECK(checked(collective_ ? MPI_File_read_all(file_, memory.data(), 1, type.get(), &status)
                                  : MPI_File_read(file_, memory.data(), 1, type.get(), &status),
                      name_));
    MPI_Count got = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &got);
    if (static_cast<std::uint64_t>(got) == part.bytes()) return {};
    return fail(Errc::io, fmt::format("{}: {} of {} bytes of array {}", name_, got, part.bytes(), part.array));
  }

  Result<void> sync() override { return checked(MPI_File_sync(file_), name_); }
  Result<void> close() override { return checked(MPI_File_close(&file_), name_); }

 private:
  // The numbers of a box fit into int: check() of a pattern sees to it.
  class Type {
   public:
    Type(const Box& box, std::uint32_t element) {
      const std::vector<int> sizes(box.sizes.begin(), box.sizes.end());
      const std::vector<int> parts(box.parts.begin(), box.parts.end());
      const std::vector<int> starts(box.starts.begin(), box.starts.end());
      MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), parts.data(), starts.data(), MPI_ORDER_C,
                               basic(element), &type_);
      MPI_Type_commit(&type_);
    }
    Type(const Type&) = delete;
    Type& operator=(const Type&) = delete;
    ~Type() { MPI_Type_free(&type_); }
    [[nodiscard]] MPI_Datatype get() const { return type_; }
    static MPI_Datatype basic(std::uint32_t element) { return element == 1 ? MPI_BYTE : MPI_DOUBLE; }

   private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
  };

  Result<void> set_view(const ArrayPart& part) {
    const Type type(part.file, part.element);
    return checked(MPI_File_set_view(file_, static_cast<MPI_Offset>(part.offset), Type::basic(part.element), type.get(), "native",
                                     MPI_INFO_NULL),
                   name_);
  }

  MPI_File file_;
  std::string name_;
  bool collective_;
};

}  // namespace

Result<std::unique_ptr<File>> MpiFiles::open(const Opening& opening) {
  const std::string name = text::printable(opening.name);
  MPI_File file = MPI_FILE_NULL;
  const int mode = opening.write ? MPI_MODE_WRONLY | MPI_MODE_CREATE : MPI_MODE_RDONLY;
  IEZ_CHECK(checked(
      MPI_File_open(opening.shared ? MPI_COMM_WORLD : MPI_COMM_SELF, opening.name.c_str(), mode, MPI_INFO_NULL, &file), name));
  return std::make_unique<MpiFile>(file, name, collective_ && opening.shared);
}

}  // namespace iez::workload
