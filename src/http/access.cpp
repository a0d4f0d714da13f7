#include "http/access.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "base/text.hpp"

namespace iez::http {

namespace {

constexpr std::size_t kMaxFile = std::size_t{4} << 20U;
constexpr std::size_t kLeastToken = 16;
constexpr std::string_view kDigestMark = "sha256:";
constexpr std::size_t kMaxBuckets = 100'000;

std::string hex_of(std::span<const unsigned char> bytes) {
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

bool is_digest(std::string_view word) {
  if (!word.starts_with(kDigestMark)) return false;
  word.remove_prefix(kDigestMark.size());
  return word.size() == 64 && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string with_user(std::string_view directory, const std::string& user) {
  std::string out(directory);
  if (const std::size_t at = out.find("{user}"); at != std::string::npos) out.replace(at, 6, user);
  if (!out.ends_with('/')) out.push_back('/');
  return out;
}

}  // namespace

std::string digest_of(std::string_view token) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return std::string(kDigestMark) + hex_of(digest);
}

std::string make_token() {
  std::array<unsigned char, 32> bytes{};
  IEZ_ASSERT(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  return "iez_" + hex_of(bytes);
}

Result<Tokens> Tokens::parse(std::string_view text, std::string_view origin) {
  Tokens tokens;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    rest = rest.substr(0, rest.find('#'));
    const std::string_view token = text::take_word(rest);
    if (token.empty()) continue;
    // The token itself stays out of messages.
    const auto complain = [&](std::string_view what) { return fail(Errc::parse, fmt::format("{}:{}: {}", origin, line, what)); };
    if (token.starts_with(kDigestMark) && !is_digest(token)) return complain("expected sha256: and 64 hexadecimal digits");
    if (token.size() < kLeastToken) return complain(fmt::format("a token of less than {} characters", kLeastToken));
    Identity identity{.user = std::string(text::take_word(rest))};
    if (identity.user.empty() || identity.user.starts_with('/') || identity.user.find("..") != std::string::npos) {
      return complain("expected a user behind the token");
    }
    for (std::string_view word = text::take_word(rest); !word.empty(); word = text::take_word(rest)) {
      if (word == "admin") {
        identity.admin = true;
      } else if (word.starts_with('/') && word.find("/../") == std::string_view::npos && !word.ends_with("/..")) {
        identity.below.push_back(with_user(word, identity.user));
      } else {
        return complain(fmt::format("found '{}', expected admin or an absolute directory", text::printable(word)));
      }
    }
    std::string digest = is_digest(token) ? std::string(token) : digest_of(token);
    if (!tokens.by_digest_.emplace(std::move(digest), std::move(identity)).second) return complain("this token is there twice");
  }
  return tokens;
}

Result<Tokens> Tokens::read(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail_errno(errno, path);
  struct stat info{};
  std::string content;
  std::array<char, 65536> buffer{};
  ssize_t size = ::fstat(file, &info) == 0 ? 1 : -1;
  while (size > 0 && content.size() <= kMaxFile) {
    size = ::read(file, buffer.data(), buffer.size());
    if (size > 0) content.append(buffer.data(), static_cast<std::size_t>(size));
  }
  const int code = errno;
  ::close(file);
  if (size < 0) return fail_errno(code, path);
  if (content.size() > kMaxFile) return fail(Errc::limit, fmt::format("{}: larger than 4 MiB", path));
  if ((info.st_mode & 077U) != 0) {
    return fail(Errc::permission, fmt::format("{}: others may read it; tokens are private: chmod 600 {}", path, path));
  }
  return parse(content, path);
}

const Identity* Tokens::find(std::string_view token) const {
  if (token.starts_with(kDigestMark)) return nullptr;  // what the file holds opens nothing
  const auto found = by_digest_.find(digest_of(token));
  return found == by_digest_.end() ? nullptr : &found->second;
}

std::optional<Permissions::User> Permissions::user_of(const std::string& name) {
  const std::lock_guard guard(mutex_);
  if (const auto known = users_.find(name); known != users_.end()) return known->second;
  if (users_.size() > 10'000) users_.clear();
  std::optional<User> user;
  struct passwd entry{};
  struct passwd* found = nullptr;
  std::array<char, 16384> buffer{};
  const auto uid = text::parse_u64(name);
  if (uid && *uid < 0xFFFFFFFF) {
    ::getpwuid_r(static_cast<uid_t>(*uid), &entry, buffer.data(), buffer.size(), &found);
    if (found == nullptr) user = User{.uid = static_cast<uid_t>(*uid)};
  } else {
    ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  }
  if (found != nullptr) {
    user = User{.uid = found->pw_uid};
    int count = 256;
    user->groups.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(found->pw_name, found->pw_gid, user->groups.data(), &count) < 0) {
      user->groups.resize(static_cast<std::size_t>(count));
      ::getgrouplist(found->pw_name, found->pw_gid, user->groups.data(), &count);
    }
    user->groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  }
  users_.emplace(name, user);
  return user;
}

Result<void> Permissions::may_write(const Identity& identity, const std::string& directory) {
  if (identity.admin) return {};
  const std::string below = directory.ends_with('/') ? directory : directory + '/';
  const auto no = [&](std::string_view why) {
    return fail(Errc::permission, fmt::format("user {} may not plan files in {}: {}", text::printable(identity.user),
                                              text::printable(directory), why));
  };
  if (!identity.below.empty() &&
      std::ranges::none_of(identity.below, [&](const std::string& prefix) { return below.starts_with(prefix); })) {
    return no("the token is for other directories");
  }
  // The nearest that exists; '/' tells nothing: it is there on every node.
  std::string at = below;
  struct stat info{};
  bool seen = false;
  while (at.size() > 1) {
    at.pop_back();
    if (::stat(at.c_str(), &info) == 0) {
      seen = true;
      break;
    }
    at.resize(at.rfind('/') + 1);
  }
  if (!seen) {
    if (!identity.below.empty() || identity.trusted) return {};
    return no("it cannot be seen from the coordinator, and the token names no directories");
  }
  if (!S_ISDIR(info.st_mode)) return no(fmt::format("{} is no directory", text::printable(at)));
  const auto user = user_of(identity.user);
  if (!user) return no("the coordinator's node does not know this user");
  if (user->uid == 0) return {};
  const mode_t both = 03;  // to write, and to pass
  mode_t bits = info.st_mode & 07U;
  if (info.st_uid == user->uid) {
    bits = (info.st_mode >> 6U) & 07U;
  } else if (std::ranges::find(user->groups, info.st_gid) != user->groups.end()) {
    bits = (info.st_mode >> 3U) & 07U;
  }
  if ((bits & both) != both) return no(fmt::format("{} is not writable for that user", text::printable(at)));
  return {};
}

double Buckets::take(const std::string& name, Duration now) {
  if (!(per_second_ > 0)) return 0;
  const std::lock_guard guard(mutex_);
  if (buckets_.size() > kMaxBuckets) buckets_.clear();
  const double most = std::max(1.0, 2 * per_second_);
  const auto [at, fresh] = buckets_.try_emplace(name, Bucket{.level = most, .at = now});
  Bucket& bucket = at->second;
  bucket.level = std::min(most, bucket.level + per_second_ * std::chrono::duration<double>(now - bucket.at).count());
  bucket.at = now;
  if (bucket.level >= 1) {
    bucket.level -= 1;
    return 0;
  }
  return (1 - bucket.level) / per_second_;
}

}  // namespace iez::http
