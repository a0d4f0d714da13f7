// One service of ours, seen from a client: HTTP or HTTPS, one connection that is kept.
//
// Failures: Errc::io if nobody answers, or not in time; Errc::limit for an answer that is too large. A refusal is an answer.
//
// Thread safety: stop() from any thread; the rest none: give each thread its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace iez::api {

struct ClientOptions {
  std::string what = "service";  // for messages
  std::string url;               // "http://host:port" or "https://host:port"
  std::string token;             // empty: none is sent
  std::string ca_file;           // of the certificate; empty: those of the system
  std::string ca_setting;        // what names that file, for messages
  Duration connect_timeout{2'000'000'000};
  Duration timeout{30'000'000'000};  // between pieces of an answer
  Duration whole{0};                 // until the last byte of a body has come; 0: no limit but that
  std::size_t body_limit = std::size_t{1} << 30U;
};

class HttpClient {
 public:
  struct Answer {
    int status = 0;
    std::string body;
    std::uint64_t retry_after_s = 1;  // 1 to 3600
  };

  // Fails for an address that makes no sense; nobody is asked yet.
  [[nodiscard]] static Result<std::unique_ptr<HttpClient>> make(const ClientOptions& options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  const std::string& url() const;

  // Of any status. json: the body; empty: none is sent.
  [[nodiscard]] Result<Answer> ask(const std::string& method, const std::string& path, std::string json = {});
  // A status that is no success is an error.
  [[nodiscard]] Result<Answer> accepted(const std::string& method, const std::string& path, std::string json = {});
  std::unexpected<Error> refusal(const Answer& answer) const;

  void stop();  // what is being asked ends with an error

 private:
  struct State;
  explicit HttpClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "path?name=value", with what needs it escaped.
std::string with_parameter(std::string_view path, std::string_view name, std::string_view value);

}  // namespace iez::api
