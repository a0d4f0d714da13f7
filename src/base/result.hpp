// Expected failure as a value.
//
// Every function that can fail for a reason outside the program (bad input, a missing file, a dead peer) returns
// Result<T>, and is [[nodiscard]]. An Error is made only by fail() and fail_errno(), so that each one carries a
// sentence a person can act on. An answer such as "infeasible" is not an error: it belongs to the value.
//
// Thread safety: plain values.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace iez {

enum class Errc {
  invalid_argument,  // the caller or the user asked for something that makes no sense
  parse,             // outside bytes do not follow their format
  not_found,         // a file, device or parameter is absent
  permission,        // it exists, but not for us
  unsupported,       // understood, but not possible here (not a Lustre file system, an unknown magic)
  limit,             // larger than what we accept
  exists,            // it is there already, and was left alone
  io,                // the operating system said no; os_errno tells why
};

std::string_view to_string(Errc code);

struct Error {
  Errc code = Errc::io;
  int os_errno = 0;  // 0 where no system call was involved
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;

[[nodiscard]] std::unexpected<Error> fail(Errc code, std::string message);

// "<message>: <strerror>"; the code follows from the errno.
[[nodiscard]] std::unexpected<Error> fail_errno(int os_errno, std::string_view message);

// "<context>: <message>". Add it once per layer, where the layer knows something the message does not.
[[nodiscard]] std::unexpected<Error> with_context(Error error, std::string_view context);

namespace detail {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}

}  // namespace iez

// IEZ_TRY(auto x, f()); binds the value, or returns the error of f() from the enclosing function.
#define IEZ_TRY(declaration, ...) IEZ_TRY_IMPL_(IEZ_CONCAT_(iez_try_, __LINE__), declaration, __VA_ARGS__)
#define IEZ_TRY_IMPL_(name, declaration, ...)                 \
  auto name = (__VA_ARGS__);                                  \
  if (!name) return std::unexpected(std::move(name).error()); \
  declaration = *std::move(name)
#define IEZ_CONCAT_(a, b) IEZ_CONCAT_AGAIN_(a, b)
#define IEZ_CONCAT_AGAIN_(a, b) a##b

// IEZ_CHECK(f()); the same for a Result<void>.
#define IEZ_CHECK(...)                                                                                          \
  do {                                                                                                          \
    if (auto iez_checked = (__VA_ARGS__); !iez_checked) return std::unexpected(std::move(iez_checked).error()); \
  } while (false)

// For bugs only: never reachable from input. Stays on in release builds.
#define IEZ_ASSERT(expression)                                        \
  do {                                                                \
    if (expression) break;                                            \
    ::iez::detail::assertion_failed(#expression, __FILE__, __LINE__); \
  } while (false)
