#include "api/coordinator_client.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "api/http_client.hpp"
#include "api/plan_json.hpp"
#include "base/text.hpp"

namespace iez::api {

struct CoordinatorClient::State {
  std::unique_ptr<HttpClient> client;

  Result<Submitted> submitted(const HttpClient::Answer& response) const {
    Submitted out;
    if (response.status == 202) {
      auto ticket = parse_ticket(response.body);
      if (!ticket) return with_context(std::move(ticket).error(), client->url() + ": the answer makes no sense");
      out.ticket = *std::move(ticket);
      out.ticket.retry_after_s = std::clamp<std::uint64_t>(out.ticket.retry_after_s, 1, 3600);
      return out;
    }
    auto answer = parse_plan_answer(response.body);
    if (!answer) return with_context(std::move(answer).error(), client->url() + ": the answer makes no sense");
    out.answer = *std::move(answer);
    return out;
  }
};

CoordinatorClient::CoordinatorClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
CoordinatorClient::~CoordinatorClient() = default;

Result<std::unique_ptr<CoordinatorClient>> CoordinatorClient::make(const Options& options) {
  auto state = std::make_unique<State>();
  IEZ_TRY(state->client, HttpClient::make({.what = "coordinator",
                                           .url = options.url,
                                           .token = options.token,
                                           .ca_file = options.ca_file,
                                           .ca_setting = "coordinator.ca_file",
                                           .connect_timeout = options.connect_timeout,
                                           .timeout = options.timeout}));
  return std::unique_ptr<CoordinatorClient>(new CoordinatorClient(std::move(state)));
}

Result<Submitted> CoordinatorClient::submit(const PlanRequest& request) {
  IEZ_TRY(const auto response, state_->client->accepted("POST", "/v1/plans", to_json(request)));
  return state_->submitted(response);
}

Result<Submitted> CoordinatorClient::poll(std::string_view plan) {
  IEZ_TRY(const auto response, state_->client->accepted("GET", "/v1/plans/" + std::string(plan)));
  return state_->submitted(response);
}

Result<Submitted> CoordinatorClient::begin(std::string_view plan) {
  const std::string path = with_parameter("/v1/plans/" + std::string(plan), "begins", "true");
  IEZ_TRY(const auto response, state_->client->accepted("GET", path));
  return state_->submitted(response);
}

Result<Submitted> CoordinatorClient::plan(const PlanRequest& request, Duration patience, Clock& clock) {
  const Duration end = clock.monotonic() + patience;
  IEZ_TRY(Submitted now, submit(request));
  while (!now.answer && !now.ticket.busy) {
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
  IEZ_CHECK(state_->client->accepted("POST", path, to_json(request)));
  return {};
}

Result<void> CoordinatorClient::expire(std::string_view plan) {
  IEZ_CHECK(state_->client->accepted("DELETE", "/v1/plans/" + std::string(plan)));
  return {};
}

Result<std::vector<PlanRow>> CoordinatorClient::plans(std::string_view application) {
  const std::string path = application.empty() ? "/v1/plans" : with_parameter("/v1/plans", "application", application);
  IEZ_TRY(const auto response, state_->client->accepted("GET", path));
  return parse_plan_rows(response.body);
}

Result<std::vector<OstWeight>> CoordinatorClient::weights(std::string_view file_system) {
  const std::string path = file_system.empty() ? "/v1/weights" : with_parameter("/v1/weights", "file_system", file_system);
  IEZ_TRY(const auto response, state_->client->accepted("GET", path));
  return parse_weights(response.body);
}

Result<std::string> CoordinatorClient::get(const std::string& path) {
  IEZ_TRY(auto response, state_->client->accepted("GET", path));
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
