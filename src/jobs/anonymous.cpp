#include "jobs/anonymous.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "input/byte_stream.hpp"

namespace iez::jobs {

namespace {

constexpr std::size_t kShownDigits = 16;

bool is_hash(std::string_view user) {
  return user.size() == kShownDigits + 1 && user.front() == 'u' &&
         std::ranges::all_of(user.substr(1), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

Result<std::optional<UserHash>> UserHash::load(const std::string& path) {
  const input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) {
    if (errno == ENOENT) return std::optional<UserHash>{};
    return fail_errno(errno, fmt::format("{}: the key of the users' hashes", path));
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, path);
  if ((status.st_mode & 077U) != 0) {
    return fail(Errc::permission, fmt::format("{}: others may read this key; expected mode 0600. Remedy: chmod 600", path));
  }
  UserHash made;
  if (::read(fd.get(), made.key_.data(), kKeySize) != static_cast<ssize_t>(kKeySize)) {
    return fail(Errc::parse, fmt::format("{}: the key is shorter than {} bytes; expected one made by iez", path, kKeySize));
  }
  return made;
}

Result<UserHash> UserHash::create(const std::string& path) {
  UserHash made;
  if (::getrandom(made.key_.data(), kKeySize, 0) != static_cast<ssize_t>(kKeySize)) return fail_errno(errno, "random bytes");
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  const input::UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(errno, temporary);
  const bool written = ::write(fd.get(), made.key_.data(), kKeySize) == static_cast<ssize_t>(kKeySize) && ::fsync(fd.get()) == 0;
  const bool linked = written && ::link(temporary.c_str(), path.c_str()) == 0;  // unlike rename, never over another key
  const int reason = errno;
  (void)::unlink(temporary.c_str());
  if (!linked) return fail_errno(reason, path);
  return made;
}

std::string UserHash::of(std::string_view user) const {
  if (user.empty() || is_hash(user)) return std::string(user);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const unsigned char* const made =
      ::HMAC(::EVP_sha256(), key_.data(), static_cast<int>(key_.size()), reinterpret_cast<const unsigned char*>(user.data()),
             user.size(), digest.data(), &size);
  IEZ_ASSERT(made != nullptr);
  std::string out = "u";
  for (std::size_t i = 0; i < kShownDigits / 2; ++i) out += fmt::format("{:02x}", digest[i]);
  return out;
}

std::string UserHash::job(std::string_view id, std::string_view user) const {
  const bool named = !user.empty() && id.size() > user.size() && id.ends_with(user) && id[id.size() - user.size() - 1] == '.';
  if (!named) return std::string(id);
  return std::string(id.substr(0, id.size() - user.size())) + of(user);
}

}  // namespace iez::jobs
