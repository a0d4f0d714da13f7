// An MPI_Datatype of a described one.
#pragma once

#include <mpi.h>

#include <utility>

#include "type_tree.hpp"

namespace iez::collective_test {

// A committed datatype, freed with its owner. Thread safety: as MPI's.
class MpiType {
 public:
  MpiType() = default;
  // What MPI gives as bounds is set to what the description says where they differ: alignment, empty blocks and markers are
  // read in more than one way.
  explicit MpiType(const Type& type);
  // `count` copies at this address, to be used with MPI_BOTTOM.
  MpiType(const Type& type, std::int64_t count, const void* address);
  MpiType(MpiType&& other) noexcept : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)) {}
  MpiType& operator=(MpiType&& other) noexcept;
  MpiType(const MpiType&) = delete;
  MpiType& operator=(const MpiType&) = delete;
  ~MpiType();

  [[nodiscard]] MPI_Datatype get() const { return handle_; }

 private:
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

// Whether MPI takes the bytes of memory that the description says, when it packs one copy; true without a look if that is large.
bool packs_as_described(const Type& type, MPI_Datatype handle);

}  // namespace iez::collective_test
