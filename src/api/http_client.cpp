#include "api/http_client.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>

#include "api/plan_json.hpp"
#include "base/text.hpp"

namespace iez::api {

namespace {

Errc code_of(int status) {
  switch (status) {
    case 400:
    case 405:
    case 411:
    case 415:
    case 422:
      return Errc::invalid_argument;
    case 401:
    case 403:
      return Errc::permission;
    case 404:
    case 410:
      return Errc::not_found;
    case 409:
    case 413:
    case 414:
    case 429:
    case 431:
      return Errc::limit;
    default:
      return Errc::io;
  }
}

std::uint64_t retry_after(const httplib::Response& response) {
  const auto seconds = text::parse_u64(response.get_header_value("Retry-After"));
  return std::clamp<std::uint64_t>(seconds.value_or(1), 1, 3600);
}

// What happened, and what to do.
std::string why_no_answer(httplib::Error error, const ClientOptions& options) {
  const std::string ca = options.ca_setting.empty() ? "its authority" : options.ca_setting;
  switch (error) {
    case httplib::Error::Connection:
      return "nobody listens there, or there is no such host: does it run, and are host and port right?";
    case httplib::Error::ConnectionTimeout:
      return "no connection in time";
    case httplib::Error::Read:
    case httplib::Error::Write:
      return "the connection broke, or nothing came in time";
    case httplib::Error::Canceled:
      return "given up";
    case httplib::Error::SSLConnection:
      return "no TLS there: is it http://?";
    case httplib::Error::SSLLoadingCerts:
      return options.ca_file.empty()
                 ? "this system has no certificates of authorities: set " + ca
                 : fmt::format("{}: no certificates can be read from {}", ca, text::printable(options.ca_file));
    case httplib::Error::SSLServerVerification:
      return options.ca_file.empty()
                 ? fmt::format("its certificate is not trusted: set {}", ca)
                 : fmt::format("its certificate is not trusted by {} ({})", text::printable(options.ca_file), ca);
    default:
      return fmt::format("{}", httplib::to_string(error));
  }
}

}  // namespace

struct HttpClient::State {
  explicit State(const ClientOptions& given) : options(given), client(given.url) {}

  ClientOptions options;
  httplib::Client client;
};

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::make(const ClientOptions& given) {
  ClientOptions options = given;
  while (options.url.ends_with('/')) options.url.pop_back();
  const std::string_view url = options.url;
  const std::size_t start = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  if (start == 0 || url.size() == start || url.find_first_of("/?# @", start) != std::string_view::npos) {
    return fail(Errc::invalid_argument,
                fmt::format("{} '{}': expected http://HOST:PORT or https://HOST:PORT", given.what, text::printable(given.url)));
  }
  auto state = std::make_unique<State>(options);
  if (!state->client.is_valid()) {
    return fail(Errc::invalid_argument, fmt::format("{} '{}': not an address", given.what, text::printable(given.url)));
  }
  const auto seconds = [](Duration d) { return static_cast<time_t>(d.count() / 1'000'000'000); };
  const auto micros = [](Duration d) { return static_cast<time_t>(d.count() % 1'000'000'000 / 1000); };
  httplib::Client& client = state->client;
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  client.set_connection_timeout(seconds(options.connect_timeout), micros(options.connect_timeout));
  client.set_read_timeout(seconds(options.timeout), micros(options.timeout));
  client.set_write_timeout(seconds(options.timeout), micros(options.timeout));
  if (!options.ca_file.empty()) client.set_ca_cert_path(options.ca_file);
  client.enable_server_certificate_verification(true);
  httplib::Headers headers{{"Accept-Encoding", "identity"}};
  if (!options.token.empty()) headers.emplace("Authorization", "Bearer " + options.token);
  client.set_default_headers(std::move(headers));
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(state)));
}

const std::string& HttpClient::url() const { return state_->options.url; }

Result<HttpClient::Answer> HttpClient::ask(const std::string& method, const std::string& path, std::string json) {
  using SteadyClock = std::chrono::steady_clock;
  const ClientOptions& options = state_->options;
  const auto end = SteadyClock::now() + options.whole;
  std::string body;
  bool large = false;
  bool late = false;
  httplib::Request request;
  request.method = method;
  request.path = path;
  if (!json.empty()) request.set_header("Content-Type", "application/json");
  request.body = std::move(json);
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    large = size > options.body_limit - body.size();
    late = options.whole > Duration::zero() && SteadyClock::now() > end;
    if (large || late) return false;
    body.append(data, size);
    return true;
  };
  auto result = state_->client.send(request);
  if (large) return fail(Errc::limit, fmt::format("{}: an answer of more than {} bytes", options.url, options.body_limit));
  if (late) return fail(Errc::io, fmt::format("{}: the answer did not come in time", options.url));
  if (!result) return fail(Errc::io, fmt::format("{}: no answer: {}", options.url, why_no_answer(result.error(), options)));
  return Answer{.status = result->status, .body = std::move(body), .retry_after_s = retry_after(*result)};
}

Result<HttpClient::Answer> HttpClient::accepted(const std::string& method, const std::string& path, std::string json) {
  IEZ_TRY(Answer answer, ask(method, path, std::move(json)));
  if (answer.status < 200 || answer.status > 299) return refusal(answer);
  return answer;
}

std::unexpected<Error> HttpClient::refusal(const Answer& answer) const {
  const auto problem = parse_problem(answer.body);
  std::string what = problem && !problem->detail.empty() ? problem->detail
                     : problem && !problem->title.empty()
                         ? problem->title
                         : std::string("no reason given: is it a service of iez that answers there?");
  if (answer.status == 429) what += fmt::format(" (try again in {} s)", answer.retry_after_s);
  return fail(code_of(answer.status), fmt::format("{}: {} (HTTP {})", state_->options.url, text::printable(what), answer.status));
}

void HttpClient::stop() { state_->client.stop(); }

std::string with_parameter(std::string_view path, std::string_view name, std::string_view value) {
  httplib::Params parameters;
  parameters.emplace(name, value);
  return httplib::append_query_params(std::string(path), parameters);
}

}  // namespace iez::api
