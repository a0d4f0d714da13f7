// Who asks, and what they may plan.
//
// The tokens file has one line for each token: "TOKEN USER [admin] [/DIRECTORY/ ...]"; '#' starts a comment. TOKEN is
// "sha256:" and 64 hexadecimal digits, which is what `iez token` writes, or the token itself (16 characters or more). A
// directory may have {user} in it. Its mode must be 0600 or less.
//
// A user may plan files of a directory if it lies below one of the token's directories (where there are any), and if the
// directory is to be seen from here, the user may write to it: owner, group and other bits, with all groups of the user. Of a
// directory that does not exist, the nearest one above counts. Where nothing can be seen and the token has no directory, the
// answer is no. Links are followed as the kernel does.
//
// Thread safety: may_write() and Buckets from any thread; the rest are plain values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::http {

struct Identity {
  std::string user;
  bool admin = false;              // sees and ends plans of all users; plans anywhere
  bool trusted = false;            // this node's own user, by loopback: what cannot be seen is allowed
  std::vector<std::string> below;  // directories with a '/' at the end; empty: anywhere

  friend bool operator==(const Identity&, const Identity&) = default;
};

// Tokens by their SHA-256.
class Tokens {
 public:
  [[nodiscard]] static Result<Tokens> parse(std::string_view text, std::string_view origin);
  [[nodiscard]] static Result<Tokens> read(const std::string& path);

  const Identity* find(std::string_view token) const;
  std::size_t size() const { return by_digest_.size(); }

 private:
  std::map<std::string, Identity, std::less<>> by_digest_;
};

std::string digest_of(std::string_view token);  // "sha256:..."

// A new token of 256 random bits.
std::string make_token();

class Permissions {
 public:
  // Whether the user may create files in the directory.
  [[nodiscard]] Result<void> may_write(const Identity& identity, const std::string& directory);

 private:
  struct User {
    uid_t uid = 0;
    std::vector<gid_t> groups;
  };
  std::optional<User> user_of(const std::string& name);

  std::mutex mutex_;
  std::unordered_map<std::string, std::optional<User>> users_;
};

// So many requests a second for each name, and a burst of twice as many.
class Buckets {
 public:
  explicit Buckets(double per_second) : per_second_(per_second) {}

  // Seconds to wait; 0: go on.
  double take(const std::string& name, Duration now);

 private:
  struct Bucket {
    double level = 0;
    Duration at{0};
  };
  double per_second_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace iez::http
