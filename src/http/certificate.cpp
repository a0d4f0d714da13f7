#include "http/certificate.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::http {

namespace {

struct Free {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  void operator()(X509* certificate) const { ::X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
  void operator()(GENERAL_NAMES* names) const { ::GENERAL_NAMES_free(names); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

Result<Owned<std::FILE>> open(const std::string& path) {
  Owned<std::FILE> file(std::fopen(path.c_str(), "re"));
  if (!file) return fail_errno(errno, path);
  return file;
}

// A key that is encrypted has nobody to type its passphrase.
int no_passphrase(char*, int, int, void*) { return -1; }

Result<Owned<X509>> load_certificate(const std::string& path) {
  IEZ_TRY(const auto file, open(path));
  Owned<X509> certificate(::PEM_read_X509(file.get(), nullptr, no_passphrase, nullptr));
  ::ERR_clear_error();
  if (!certificate) return fail(Errc::parse, fmt::format("{}: not a certificate chain in PEM", path));
  return certificate;
}

std::int64_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ::ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<std::int64_t>(::timegm(&parts)) : 0;
}

std::string text_of(const GENERAL_NAME& name) {
  int type = 0;
  const void* const value = ::GENERAL_NAME_get0_value(&name, &type);
  const auto* const text = static_cast<const ASN1_STRING*>(value);
  if (type != GEN_DNS && type != GEN_IPADD) return "";
  const unsigned char* const bytes = ::ASN1_STRING_get0_data(text);
  const auto size = static_cast<std::size_t>(::ASN1_STRING_length(text));
  if (type == GEN_DNS) return text::printable(std::string(reinterpret_cast<const char*>(bytes), size));
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (size != 4 && size != 16) return "";
  return ::inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes, out.data(), out.size()) == nullptr ? "" : out.data();
}

}  // namespace

Result<CertificateInfo> read_certificate(const std::string& path) {
  IEZ_TRY(const auto certificate, load_certificate(path));
  CertificateInfo info{.not_before = seconds_of(::X509_get0_notBefore(certificate.get())),
                       .not_after = seconds_of(::X509_get0_notAfter(certificate.get())),
                       .names = {}};
  const Owned<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    if (std::string name = text_of(*sk_GENERAL_NAME_value(names.get(), i)); !name.empty()) info.names.push_back(std::move(name));
  }
  return info;
}

Result<void> check_pair(const std::string& certificate, const std::string& key) {
  IEZ_TRY(const auto loaded, load_certificate(certificate));
  IEZ_TRY(const auto file, open(key));
  const Owned<EVP_PKEY> secret(::PEM_read_PrivateKey(file.get(), nullptr, no_passphrase, nullptr));
  const bool fits = secret && ::X509_check_private_key(loaded.get(), secret.get()) == 1;
  ::ERR_clear_error();
  if (!secret) return fail(Errc::parse, fmt::format("{}: not a key in PEM without a passphrase", key));
  if (!fits) return fail(Errc::parse, fmt::format("{}: not the key of the certificate {}", key, certificate));
  return {};
}

}  // namespace iez::http
