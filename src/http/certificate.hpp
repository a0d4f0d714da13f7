// A certificate and its key, as files in PEM: whether a service can use them, and until when.
//
// Thread safety: pure functions, but for the files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace iez::http {

struct CertificateInfo {
  std::int64_t not_before = 0;  // seconds since 1970
  std::int64_t not_after = 0;
  std::vector<std::string> names;  // of hosts and addresses that it is for

  friend bool operator==(const CertificateInfo&, const CertificateInfo&) = default;
};

// Of the first certificate of a chain.
[[nodiscard]] Result<CertificateInfo> read_certificate(const std::string& path);

// Fails if one of them cannot be read, is not what it should be, or if they do not belong together; says which it is.
[[nodiscard]] Result<void> check_pair(const std::string& certificate, const std::string& key);

}  // namespace iez::http
