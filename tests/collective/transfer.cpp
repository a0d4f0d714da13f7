#include "transfer.hpp"

#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace iez::collective_test {

namespace {

constexpr std::int64_t kGuard = 64;

// A count for both bindings: int, and MPI_Count.
struct Count {
  std::int64_t value;
  operator int() const { return static_cast<int>(value); }              // NOLINT(google-explicit-constructor)
  operator MPI_Count() const { return static_cast<MPI_Count>(value); }  // NOLINT(google-explicit-constructor)
};

std::string error_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

#if MPI_VERSION >= 4
#define IEZ_COUNTED(name, ...) (plan_.large ? name##_c(__VA_ARGS__) : name(__VA_ARGS__))
#else
#define IEZ_COUNTED(name, ...) name(__VA_ARGS__)
#endif
#define IEZ_EITHER(suffix, ...) \
  (plan_.write ? IEZ_COUNTED(MPI_File_write##suffix, __VA_ARGS__) : IEZ_COUNTED(MPI_File_read##suffix, __VA_ARGS__))
#define IEZ_EITHER_NONBLOCKING(suffix, ...) \
  (plan_.write ? IEZ_COUNTED(MPI_File_iwrite##suffix, __VA_ARGS__) : IEZ_COUNTED(MPI_File_iread##suffix, __VA_ARGS__))

bool is_at(Call call) {
  return call == Call::at_all || call == Call::at_all_split || call == Call::at_all_nonblocking || call == Call::own_at ||
         call == Call::own_at_nonblocking;
}
bool is_ordered(Call call) { return call == Call::ordered || call == Call::ordered_split; }
bool is_own(Call call) { return call >= Call::own; }
bool is_split(Call call) { return call == Call::all_split || call == Call::at_all_split || call == Call::ordered_split; }
bool is_nonblocking(Call call) {
  return call == Call::all_nonblocking || call == Call::at_all_nonblocking || call == Call::own_nonblocking ||
         call == Call::own_at_nonblocking;
}

std::string name_of(Call call, bool write) {
  constexpr std::array<std::string_view, kCalls> kNames{
      "all",     "at_all",        "all_begin", "at_all_begin", "all (nonblocking)", "at_all (nonblocking)",
      "ordered", "ordered_begin", "",          "at",           "(nonblocking)",     "at (nonblocking)"};
  return fmt::format("{} {}", write ? "write" : "read", kNames[static_cast<std::size_t>(call)]);
}

Transfer::Transfer(Plan plan) : plan_(std::move(plan)) {
  const Type& type = *plan_.memory.type;
  const std::int64_t count = type.size == 0 ? 0 : plan_.memory.count;
  lowest_ = count == 0 ? 0 : type.first();
  const std::int64_t highest = count == 0 ? 0 : ((count - 1) * type.extent()) + type.end();
  memory_.assign(static_cast<std::size_t>(highest - lowest_ + (2 * kGuard)), 0xa5);
  const std::uint8_t* const base = memory_.data() + kGuard - lowest_;
  type_ = plan_.bottom ? MpiType(type, plan_.memory.count, base) : MpiType(type);
  if (plan_.write) {
    std::size_t done = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      for (const Run& run : type.runs) {
        std::memcpy(memory_.data() + kGuard - lowest_ + (i * type.extent()) + run.at, plan_.data.data() + done,
                    static_cast<std::size_t>(run.length));
        done += static_cast<std::size_t>(run.length);
      }
    }
  }
  before_ = memory_;
}

std::string Transfer::text() const {
  return fmt::format("{} {} bytes at {}, memory {} x {}{}{}", name_of(plan_.call, plan_.write), plan_.requested, plan_.offset,
                     plan_.memory.count, to_string(*plan_.memory.type), plan_.bottom ? " from MPI_BOTTOM" : "",
                     plan_.large ? ", large count" : "");
}

std::string Transfer::start(MPI_File file) {
  void* const buffer = plan_.bottom ? MPI_BOTTOM : memory_.data() + kGuard - lowest_;
  const Count count{plan_.bottom ? 1 : plan_.memory.count};
  const MPI_Datatype type = type_.get();
  const auto offset = static_cast<MPI_Offset>(plan_.offset);
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  MPI_Status* const told = plan_.ignore_status ? MPI_STATUS_IGNORE : &status;
  switch (plan_.call) {
    case Call::all:
      return checked(IEZ_EITHER(_all, file, buffer, count, type, told), status);
    case Call::at_all:
      return checked(IEZ_EITHER(_at_all, file, offset, buffer, count, type, told), status);
    case Call::ordered:
      return checked(IEZ_EITHER(_ordered, file, buffer, count, type, told), status);
    case Call::own:
      return checked(IEZ_EITHER(, file, buffer, count, type, told), status);
    case Call::own_at:
      return checked(IEZ_EITHER(_at, file, offset, buffer, count, type, told), status);
    default:
      break;
  }
  int code = MPI_SUCCESS;
  switch (plan_.call) {
    case Call::all_split:
      code = IEZ_EITHER(_all_begin, file, buffer, count, type);
      break;
    case Call::at_all_split:
      code = IEZ_EITHER(_at_all_begin, file, offset, buffer, count, type);
      break;
    case Call::ordered_split:
      code = IEZ_EITHER(_ordered_begin, file, buffer, count, type);
      break;
    case Call::all_nonblocking:
      code = IEZ_EITHER_NONBLOCKING(_all, file, buffer, count, type, &request_);
      break;
    case Call::at_all_nonblocking:
      code = IEZ_EITHER_NONBLOCKING(_at_all, file, offset, buffer, count, type, &request_);
      break;
    case Call::own_nonblocking:
      code = IEZ_EITHER_NONBLOCKING(, file, buffer, count, type, &request_);
      break;
    default:
      code = IEZ_EITHER_NONBLOCKING(_at, file, offset, buffer, count, type, &request_);
      break;
  }
  return code == MPI_SUCCESS ? "" : error_text(code);
}

std::string Transfer::finish(MPI_File file) {
  void* const buffer = plan_.bottom ? MPI_BOTTOM : memory_.data() + kGuard - lowest_;
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  MPI_Status* const told = plan_.ignore_status ? MPI_STATUS_IGNORE : &status;
  switch (plan_.call) {
    case Call::all_split:
      return checked(plan_.write ? MPI_File_write_all_end(file, buffer, told) : MPI_File_read_all_end(file, buffer, told),
                     status);
    case Call::at_all_split:
      return checked(plan_.write ? MPI_File_write_at_all_end(file, buffer, told) : MPI_File_read_at_all_end(file, buffer, told),
                     status);
    case Call::ordered_split:
      return checked(plan_.write ? MPI_File_write_ordered_end(file, buffer, told) : MPI_File_read_ordered_end(file, buffer, told),
                     status);
    default:
      return checked(MPI_Wait(&request_, told), status);
  }
}

std::string Transfer::checked(int code, const MPI_Status& status) const {
  if (code != MPI_SUCCESS) return error_text(code);
  if (!plan_.ignore_status) {
    const auto expected = static_cast<MPI_Count>(plan_.data.size());
    MPI_Count bytes = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    if (bytes != expected) return fmt::format("the status says {} bytes, expected {}", bytes, expected);
    // A whole number of copies, unless the end of the file cuts one.
    MPI_Count type_size = 0;
    MPI_Type_size_x(type_.get(), &type_size);
    int copies = 0;
    MPI_Get_count(&status, type_.get(), &copies);
    if (type_size > 0 && expected % type_size == 0 && copies != static_cast<int>(expected / type_size)) {
      return fmt::format("the status says {} copies of the type, expected {}", copies, expected / type_size);
    }
  }
  return check_memory();
}

std::string Transfer::check_memory() const {
  std::vector<std::uint8_t> expected = before_;
  std::vector<std::uint8_t> found = memory_;
  if (!plan_.write) {
    // Bytes that the file does not have may be anything.
    const Type& type = *plan_.memory.type;
    std::size_t done = 0;
    for (std::int64_t i = 0; type.size > 0 && i < plan_.memory.count; ++i) {
      for (const Run& run : type.runs) {
        std::size_t at = static_cast<std::size_t>(kGuard - lowest_ + (i * type.extent()) + run.at);
        for (std::int64_t b = 0; b < run.length; ++b, ++at, ++done) {
          if (done < plan_.data.size() && plan_.known[done] != 0) {
            expected[at] = plan_.data[done];
          } else {
            found[at] = expected[at];
          }
        }
      }
    }
  }
  if (found == expected) return "";
  std::size_t at = 0;
  while (found[at] == expected[at]) ++at;
  return fmt::format("byte {} of the memory is 0x{:02x}, expected 0x{:02x}{}", static_cast<std::int64_t>(at) - kGuard + lowest_,
                     found[at], expected[at], expected[at] == before_[at] ? ": it was not to be touched" : "");
}

}  // namespace iez::collective_test
