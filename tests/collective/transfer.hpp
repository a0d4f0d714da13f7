// One call of one process that moves data: its buffer, what must be in it afterwards, and whether MPI told the truth about it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "file_model.hpp"
#include "mpi_types.hpp"

namespace iez::collective_test {

// By the individual file pointer, or at an offset; blocking, in two halves, or nonblocking; by all, in order of ranks by the
// shared pointer, or by one process alone.
enum class Call {
  all,
  at_all,
  all_split,
  at_all_split,
  all_nonblocking,
  at_all_nonblocking,
  ordered,
  ordered_split,
  own,
  own_at,
  own_nonblocking,
  own_at_nonblocking
};
inline constexpr int kCalls = 12;

bool is_at(Call call);
bool is_ordered(Call call);
bool is_own(Call call);
bool is_split(Call call);
bool is_nonblocking(Call call);
std::string name_of(Call call, bool write);

class Transfer {
 public:
  struct Plan {
    Call call = Call::all;
    bool write = false;
    std::int64_t offset = 0;  // in elementary types, for calls that take one
    Memory memory;
    std::vector<std::uint8_t> data;   // to be written, or what must be read
    std::vector<std::uint8_t> known;  // of a read: 1 for each byte of data that can be told
    std::int64_t requested = 0;       // bytes; less are expected where a read meets the end of the file
    bool bottom = false;
    bool large = false;
    bool ignore_status = false;
  };

  explicit Transfer(Plan plan);
  Transfer(Transfer&&) = default;
  Transfer& operator=(Transfer&&) = delete;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() = default;

  // What was wrong; empty: nothing. Split and nonblocking calls are under way afterwards; others are done and checked.
  [[nodiscard]] std::string start(MPI_File file);
  [[nodiscard]] std::string finish(MPI_File file);
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::string checked(int code, const MPI_Status& status) const;
  [[nodiscard]] std::string check_memory() const;

  Plan plan_;
  MpiType type_;
  std::int64_t lowest_ = 0;           // of the bytes in memory, against the address that MPI gets
  std::vector<std::uint8_t> memory_;  // with guards around
  std::vector<std::uint8_t> before_;  // what it held
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace iez::collective_test
