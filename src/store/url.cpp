#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "store/store.hpp"

namespace iez::store {

namespace {

std::unexpected<Error> bad(std::string_view what) {
  // Never the URL itself: it may hold a password.
  return fail(
      Errc::invalid_argument,
      fmt::format("the address of the database: {}; expected sqlite:PATH or mysql://USER[:PASSWORD]@HOST[:PORT]/DATABASE", what));
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  const char low = text::to_lower(c);
  if (low >= 'a' && low <= 'f') return static_cast<unsigned>(low - 'a') + 10;
  return std::nullopt;
}

Result<std::string> decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
    if (!high || !low || (*high == 0 && *low == 0)) return bad("'%' is not followed by two hexadecimal digits");
    out += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return out;
}

Result<void> take_option(std::string_view option, StoreUrl& url) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  IEZ_TRY(std::string value, decoded(equals == std::string_view::npos ? "" : option.substr(equals + 1)));
  if (name == "password_file") {
    url.password_file = std::move(value);
  } else if (name == "socket") {
    url.socket = std::move(value);
  } else if (name == "ca") {
    url.ca_file = std::move(value);
  } else if (name == "tls" && (value == "on" || value == "off")) {
    url.tls = value == "on";
  } else {
    return bad(fmt::format("option '{}' is none of password_file=FILE, socket=FILE, ca=FILE, tls=on|off", text::printable(name)));
  }
  return {};
}

Result<StoreUrl> server_url(std::string_view rest) {
  StoreUrl url{.server = true};
  std::string_view options;
  if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    options = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  const std::size_t slash = rest.rfind('/');
  if (slash == std::string_view::npos || slash + 1 == rest.size()) return bad("it names no database");
  IEZ_TRY(url.database, decoded(rest.substr(slash + 1)));
  std::string_view authority = rest.substr(0, slash);
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos || at == 0) return bad("it names no user");
  const std::string_view user = authority.substr(0, at);
  const std::size_t colon = user.find(':');
  IEZ_TRY(url.user, decoded(user.substr(0, colon)));
  if (colon != std::string_view::npos) {
    IEZ_TRY(url.password, decoded(user.substr(colon + 1)));
  }
  std::string_view host = authority.substr(at + 1);
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return bad("'[' without ']'");
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
  } else if (const std::size_t mark = host.rfind(':'); mark != std::string_view::npos) {
    port = host.substr(mark);
    host = host.substr(0, mark);
  }
  if (!port.empty()) {
    const auto number = text::parse_u64(port.substr(1));
    if (!port.starts_with(':') || !number || *number == 0 || *number > 65535) return bad("the port is none");
    url.port = static_cast<std::uint16_t>(*number);
  }
  if (host.empty()) return bad("it names no host");
  url.host = host;
  while (!options.empty()) {
    const std::size_t end = std::min(options.find('&'), options.size());
    IEZ_CHECK(take_option(options.substr(0, end), url));
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return url;
}

}  // namespace

Result<StoreUrl> parse_store_url(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return bad("it has a zero byte");
  for (const std::string_view scheme : {"mysql://", "mariadb://"}) {
    if (text.starts_with(scheme)) return server_url(text.substr(scheme.size()));
  }
  if (text.starts_with("sqlite:")) text.remove_prefix(7);
  const std::size_t colon = text.find("://");
  if (colon != std::string_view::npos && colon != 0) return bad("its kind is neither sqlite, mysql nor mariadb");
  if (text.starts_with("///")) text.remove_prefix(2);
  if (text.empty()) return bad("it is empty");
  if (text.ends_with('/')) return bad("it is a folder");
  return StoreUrl{.path = std::string(text)};
}

std::string to_string(const StoreUrl& url) {
  if (!url.server) return "sqlite:" + url.path;
  std::string out = fmt::format("mysql://{}@{}", url.user, url.host);
  if (url.port != 3306) out += fmt::format(":{}", url.port);
  out += '/';
  out += url.database;
  if (!url.socket.empty()) out += "?socket=" + url.socket;
  return out;
}

std::string default_store_url(std::string_view state_folder) { return fmt::format("sqlite:{}/iez.db", state_folder); }

}  // namespace iez::store
