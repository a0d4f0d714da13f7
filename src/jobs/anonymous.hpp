// Users without their names: a keyed hash in place of a uid, the same for the same user and key.
//
// HMAC-SHA-256 of the user's text, its first 16 digits behind a "u". Who has the key can look up a user he knows, and cannot turn
// a hash back into a user; who has not, can do neither.
//
// Thread safety: const functions from any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iez::jobs {

class UserHash {
 public:
  // The key at path, if there is one. Fails if others than its owner may read it.
  [[nodiscard]] static Result<std::optional<UserHash>> load(const std::string& path);
  // Makes a key of random bytes, mode 0600, on the disk when this returns. Fails if there is one.
  [[nodiscard]] static Result<UserHash> create(const std::string& path);

  // Empty stays empty: not known. What is a hash already stays as it is.
  std::string of(std::string_view user) const;
  // A job id that ends with its user, as "dd.1000" does, with the hash there.
  std::string job(std::string_view id, std::string_view user) const;

 private:
  static constexpr std::size_t kKeySize = 32;
  std::array<unsigned char, kKeySize> key_{};
};

}  // namespace iez::jobs
