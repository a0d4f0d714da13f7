#include "base/result.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace iez {

namespace {

Errc code_of(int os_errno) {
  switch (os_errno) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ENODATA:
      return Errc::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return Errc::permission;
    case EEXIST:
      return Errc::exists;
    case EINVAL:
    case ERANGE:
    case ENOTDIR:
    case EISDIR:
      return Errc::invalid_argument;
    case ENOTSUP:
    case ENOTTY:
    case ENOSYS:
      return Errc::unsupported;
    default:
      return Errc::io;
  }
}

}  // namespace

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::invalid_argument:
      return "invalid argument";
    case Errc::parse:
      return "parse error";
    case Errc::not_found:
      return "not found";
    case Errc::permission:
      return "permission denied";
    case Errc::unsupported:
      return "unsupported";
    case Errc::limit:
      return "limit exceeded";
    case Errc::exists:
      return "exists";
    case Errc::io:
      return "input/output error";
  }
  return "unknown";
}

std::unexpected<Error> fail(Errc code, std::string message) {
  return std::unexpected(Error{.code = code, .os_errno = 0, .message = std::move(message)});
}

std::unexpected<Error> fail_errno(int os_errno, std::string_view message) {
  std::string text(message);
  text += ": ";
  text += std::generic_category().message(os_errno);
  return std::unexpected(Error{.code = code_of(os_errno), .os_errno = os_errno, .message = std::move(text)});
}

std::unexpected<Error> with_context(Error error, std::string_view context) {
  error.message.insert(0, ": ");
  error.message.insert(0, context);
  return std::unexpected(std::move(error));
}

namespace detail {

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "iez: internal error: %s is false at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace detail

}  // namespace iez
