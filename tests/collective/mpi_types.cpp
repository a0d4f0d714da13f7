#include "mpi_types.hpp"

#include <algorithm>
#include <vector>

namespace iez::collective_test {

namespace {

std::vector<int> as_ints(const std::vector<std::int64_t>& values) {
  std::vector<int> ints;
  ints.reserve(values.size());
  for (const std::int64_t value : values) ints.push_back(static_cast<int>(value));
  return ints;
}

std::vector<MPI_Aint> as_addresses(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }

MPI_Datatype basic_of(Basic basic) {
  switch (basic) {
    case Basic::byte:
      return MPI_BYTE;
    case Basic::character:
      return MPI_CHAR;
    case Basic::short_integer:
      return MPI_SHORT;
    case Basic::integer:
      return MPI_INT;
    case Basic::real:
      return MPI_FLOAT;
    case Basic::double_real:
      return MPI_DOUBLE;
    case Basic::double_complex:
      return MPI_C_DOUBLE_COMPLEX;
    case Basic::two_integers:
      return MPI_2INT;
    case Basic::short_pair:
      return MPI_SHORT_INT;
    case Basic::double_pair:
      return MPI_DOUBLE_INT;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Datatype made(const Type& type);

MPI_Datatype made_darray(const Type& type, MPI_Datatype child) {
  std::vector<int> distributions;
  std::vector<int> arguments;
  for (std::size_t i = 0; i < type.sizes.size(); ++i) {
    switch (type.distributions[i]) {
      case Distribution::block:
        distributions.push_back(MPI_DISTRIBUTE_BLOCK);
        break;
      case Distribution::cyclic:
        distributions.push_back(MPI_DISTRIBUTE_CYCLIC);
        break;
      case Distribution::none:
        distributions.push_back(MPI_DISTRIBUTE_NONE);
        break;
    }
    arguments.push_back(type.parts[i] == 0 ? MPI_DISTRIBUTE_DFLT_DARG : static_cast<int>(type.parts[i]));
  }
  const std::vector<int> sizes = as_ints(type.sizes);
  const std::vector<int> processes = as_ints(type.starts);
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  MPI_Type_create_darray(static_cast<int>(type.processes), static_cast<int>(type.process), static_cast<int>(sizes.size()),
                         sizes.data(), distributions.data(), arguments.data(), processes.data(),
                         type.fortran_order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, child, &handle);
  return handle;
}

MPI_Datatype made_of(const Type& type, const std::vector<MPI_Datatype>& children) {
  const MPI_Datatype child = children.front();
  const auto count = static_cast<int>(type.count);
  const auto block = static_cast<int>(type.block);
  const auto places = static_cast<int>(type.displacements.size());
  const std::vector<int> blocks = as_ints(type.blocks);
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  switch (type.constructor) {
    case Constructor::basic:
      break;
    case Constructor::contiguous:
      MPI_Type_contiguous(count, child, &handle);
      break;
    case Constructor::vector:
      MPI_Type_vector(count, block, static_cast<int>(type.stride), child, &handle);
      break;
    case Constructor::hvector:
      MPI_Type_create_hvector(count, block, static_cast<MPI_Aint>(type.stride), child, &handle);
      break;
    case Constructor::indexed:
      MPI_Type_indexed(places, blocks.data(), as_ints(type.displacements).data(), child, &handle);
      break;
    case Constructor::hindexed:
      MPI_Type_create_hindexed(places, blocks.data(), as_addresses(type.displacements).data(), child, &handle);
      break;
    case Constructor::indexed_block:
      MPI_Type_create_indexed_block(places, block, as_ints(type.displacements).data(), child, &handle);
      break;
    case Constructor::hindexed_block:
      MPI_Type_create_hindexed_block(places, block, as_addresses(type.displacements).data(), child, &handle);
      break;
    case Constructor::structure:
      MPI_Type_create_struct(places, blocks.data(), as_addresses(type.displacements).data(), children.data(), &handle);
      break;
    case Constructor::subarray:
      MPI_Type_create_subarray(static_cast<int>(type.sizes.size()), as_ints(type.sizes).data(), as_ints(type.parts).data(),
                               as_ints(type.starts).data(), type.fortran_order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, child, &handle);
      break;
    case Constructor::darray:
      return made_darray(type, child);
    case Constructor::resized:
      MPI_Type_create_resized(child, static_cast<MPI_Aint>(type.lower), static_cast<MPI_Aint>(type.extent()), &handle);
      break;
    case Constructor::dup:
      MPI_Type_dup(child, &handle);
      break;
  }
  return handle;
}

MPI_Datatype made(const Type& type) {
  if (type.constructor == Constructor::basic) return basic_of(type.basic);
  std::vector<MPI_Datatype> children;
  children.reserve(type.children.size());
  for (const TypePtr& child : type.children) children.push_back(made(*child));
  MPI_Datatype handle = made_of(type, children);
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (type.children[i]->constructor != Constructor::basic) MPI_Type_free(&children[i]);
  }
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(handle, &lower, &extent);
  if (lower == type.lower && extent == type.extent()) return handle;
  MPI_Datatype set = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(handle, static_cast<MPI_Aint>(type.lower), static_cast<MPI_Aint>(type.extent()), &set);
  MPI_Type_free(&handle);
  return set;
}

}  // namespace

MpiType::MpiType(const Type& type) {
  if (type.constructor == Constructor::basic) {
    MPI_Type_dup(basic_of(type.basic), &handle_);
  } else {
    handle_ = made(type);
  }
  MPI_Type_commit(&handle_);
}

MpiType::MpiType(const Type& type, std::int64_t count, const void* address) {
  const MpiType one(type);
  const auto blocks = static_cast<int>(count);
  MPI_Aint at = 0;
  MPI_Get_address(address, &at);
  MPI_Type_create_hindexed(1, &blocks, &at, one.get(), &handle_);
  MPI_Type_commit(&handle_);
}

bool packs_as_described(const Type& type, MPI_Datatype handle) {
  constexpr std::int64_t kMost = 8 << 20;
  const std::int64_t lowest = type.first();
  const std::int64_t length = type.end() - lowest;
  if (length > kMost) return true;
  std::vector<unsigned char> memory(static_cast<std::size_t>(length) + 1);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<unsigned char>((i * 2654435761U) >> 13U);
  std::vector<unsigned char> expected;
  for (const Run& run : type.runs) {
    const auto from = memory.begin() + (run.at - lowest);
    expected.insert(expected.end(), from, from + run.length);
  }
  std::vector<unsigned char> packed(expected.size() + 1);
  int position = 0;
  if (MPI_Pack(memory.data() - lowest, 1, handle, packed.data(), static_cast<int>(packed.size()), &position, MPI_COMM_SELF) !=
      MPI_SUCCESS) {
    return false;
  }
  packed.resize(static_cast<std::size_t>(position));
  return packed == expected;
}

MpiType& MpiType::operator=(MpiType&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

MpiType::~MpiType() {
  if (handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
}

}  // namespace iez::collective_test
