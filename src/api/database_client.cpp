#include "api/database_client.hpp"

#include <fmt/format.h>

#include "api/pull_json.hpp"

namespace iez::api {

namespace {

template <typename T>
Result<T> understood(Result<T>&& parsed, const std::string& url) {
  if (!parsed) return with_context(std::move(parsed).error(), url + ": the answer makes no sense");
  return std::move(parsed);
}

}  // namespace

Result<std::unique_ptr<DatabaseClient>> DatabaseClient::make(const ClientOptions& options) {
  IEZ_TRY(auto client, HttpClient::make(options));
  return std::unique_ptr<DatabaseClient>(new DatabaseClient(std::move(client)));
}

Result<std::uint64_t> DatabaseClient::revision() {
  IEZ_TRY(const auto answer, client_->accepted("GET", "/v1/revision"));
  return understood(parse_revision(answer.body), client_->url());
}

Result<PredictionPage> DatabaseClient::predictions(std::uint64_t after) {
  IEZ_TRY(const auto answer, client_->accepted("GET", fmt::format("/v1/predictions?after={}", after)));
  return understood(parse_prediction_page(answer.body), client_->url());
}

Result<Posted> DatabaseClient::post(const PostedAllocation& posted) {
  IEZ_TRY(const auto answer, client_->ask("POST", "/v1/allocations", to_json(posted)));
  if (answer.status == 409 || answer.status == 410) return Posted::replaced;
  if (answer.status < 200 || answer.status > 299) return client_->refusal(answer);
  return Posted::stored;
}

Result<AllocationPage> DatabaseClient::allocations(std::uint64_t after) {
  IEZ_TRY(const auto answer, client_->accepted("GET", fmt::format("/v1/allocations?after={}", after)));
  return understood(parse_allocation_page(answer.body), client_->url());
}

Result<AllocationStates> DatabaseClient::states(std::string_view plan) {
  IEZ_TRY(const auto answer, client_->accepted("GET", fmt::format("/v1/allocations/{}", plan)));
  return understood(parse_allocation_states(answer.body), client_->url());
}

}  // namespace iez::api
