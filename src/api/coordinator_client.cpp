#include "api/coordinator_client.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
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

}  // namespace

struct CoordinatorClient::State {
  explicit State(const Options& given) : options(given), client(given.url) {}

  Options options;
  httplib::Client client;

  std::unexpected<Error> refused(const httplib::Response& response) const {
    const auto problem = parse_problem(response.body);
    std::string what = problem && !problem->detail.empty()  ? problem->detail
                       : problem && !problem->title.empty() ? problem->title
                                                            : std::string("no reason given");
    if (response.status == 429) what += fmt::format(" (try again in {} s)", retry_after(response));
    return fail(code_of(response.status), fmt::format("{}: {} (HTTP {})", options.url, text::printable(what), response.status));
  }

  Result<httplib::Response> outcome(httplib::Result&& result) const {
    if (!result) {
      return fail(Errc::io, fmt::format("{}: no answer ({})", options.url, httplib::to_string(result.error())));
    }
    if (result->status < 200 || result->status > 299) return refused(*result);
    return std::move(*result);
  }

  Result<Submitted> submitted(const httplib::Response& response) const {
    Submitted out;
    if (response.status == 202) {
      auto ticket = parse_ticket(response.body);
      if (!ticket) return with_context(std::move(ticket).error(), options.url + ": the answer makes no sense");
      out.ticket = *std::move(ticket);
      out.ticket.retry_after_s = std::clamp<std::uint64_t>(out.ticket.retry_after_s, 1, 3600);
      return out;
    }
    auto answer = parse_plan_answer(response.body);
    if (!answer) return with_context(std::move(answer).error(), options.url + ": the answer makes no sense");
    out.answer = *std::move(answer);
    return out;
  }
};

CoordinatorClient::CoordinatorClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
CoordinatorClient::~CoordinatorClient() = default;

Result<std::unique_ptr<CoordinatorClient>> CoordinatorClient::make(const Options& given) {
  Options options = given;
  while (options.url.ends_with('/')) options.url.pop_back();
  const std::string_view url = options.url;
  const std::size_t start = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  if (start == 0 || url.size() == start || url.find_first_of("/?# @", start) != std::string_view::npos) {
    return fail(Errc::invalid_argument,
                fmt::format("coordinator '{}': expected http://HOST:PORT or https://HOST:PORT", text::printable(given.url)));
  }
  auto state = std::make_unique<State>(options);
  if (!state->client.is_valid()) {
    return fail(Errc::invalid_argument, fmt::format("coordinator '{}': not an address", text::printable(given.url)));
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
  return std::unique_ptr<CoordinatorClient>(new CoordinatorClient(std::move(state)));
}

Result<Submitted> CoordinatorClient::submit(const PlanRequest& request) {
  IEZ_TRY(const auto response, state_->outcome(state_->client.Post("/v1/plans", to_json(request), "application/json")));
  return state_->submitted(response);
}

Result<Submitted> CoordinatorClient::poll(std::string_view plan) {
  IEZ_TRY(const auto response, state_->outcome(state_->client.Get("/v1/plans/" + std::string(plan))));
  return state_->submitted(response);
}

Result<Submitted> CoordinatorClient::plan(const PlanRequest& request, Duration patience, Clock& clock) {
  const Duration end = clock.monotonic() + patience;
  IEZ_TRY(Submitted now, submit(request));
  while (!now.answer) {
    const Duration wait = std::chrono::seconds(now.ticket.retry_after_s);
    const Duration left = end - clock.monotonic();
    if (left <= Duration::zero()) break;
    clock.sleep(std::min(wait, left));
    IEZ_TRY(now, poll(now.ticket.plan));
  }
  return now;
}

Result<void> CoordinatorClient::created(std::string_view plan, const CreatedRequest& request) {
  const std::string path = fmt::format("/v1/plans/{}/created", plan);
  IEZ_CHECK(state_->outcome(state_->client.Post(path, to_json(request), "application/json")));
  return {};
}

Result<void> CoordinatorClient::expire(std::string_view plan) {
  IEZ_CHECK(state_->outcome(state_->client.Delete("/v1/plans/" + std::string(plan))));
  return {};
}

Result<std::vector<PlanRow>> CoordinatorClient::plans(std::string_view application) {
  httplib::Params parameters;
  if (!application.empty()) parameters.emplace("application", application);
  IEZ_TRY(const auto response, state_->outcome(state_->client.Get("/v1/plans", parameters, httplib::Headers{})));
  return parse_plan_rows(response.body);
}

Result<std::vector<OstWeight>> CoordinatorClient::weights(std::string_view file_system) {
  httplib::Params parameters;
  if (!file_system.empty()) parameters.emplace("file_system", file_system);
  IEZ_TRY(const auto response, state_->outcome(state_->client.Get("/v1/weights", parameters, httplib::Headers{})));
  return parse_weights(response.body);
}

Result<std::string> CoordinatorClient::get(const std::string& path) {
  IEZ_TRY(auto response, state_->outcome(state_->client.Get(path)));
  return std::move(response.body);
}

Result<std::string> read_token(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail_errno(errno, path);
  struct stat info{};
  std::array<char, 4096> buffer{};
  const bool known = ::fstat(file, &info) == 0;
  const ssize_t size = ::read(file, buffer.data(), buffer.size());
  ::close(file);
  if (!known || size < 0) return fail(Errc::io, fmt::format("{}: cannot be read", path));
  if ((info.st_mode & 077U) != 0) {
    return fail(Errc::permission, fmt::format("{}: others may read it; a token is private: chmod 600 {}", path, path));
  }
  std::string_view content(buffer.data(), static_cast<std::size_t>(size));
  const std::string_view token = text::take_word(content);
  if (token.empty()) return fail(Errc::parse, fmt::format("{}: holds no token", path));
  return std::string(token);
}

}  // namespace iez::api
