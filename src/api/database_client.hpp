// An interaction database that `iez db serve` serves, seen from the coordinator. docs/database.openapi.json tells every route.
//
// Failures as those of CoordinatorClient: Errc::io if nobody answers, Errc::parse or Errc::limit for an answer that makes no
// sense or is too large.
//
// Thread safety: stop() from any thread; the rest none.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/http_client.hpp"
#include "api/pull_messages.hpp"

namespace iez::api {

enum class Posted : std::uint8_t {
  stored,    // now, or before
  replaced,  // the prediction has another plan, or there is a newer one, or it is gone: this plan will not be carried out
};

class DatabaseClient {
 public:
  [[nodiscard]] static Result<std::unique_ptr<DatabaseClient>> make(const ClientOptions& options);

  [[nodiscard]] Result<std::uint64_t> revision();
  [[nodiscard]] Result<PredictionPage> predictions(std::uint64_t after);
  [[nodiscard]] Result<Posted> post(const PostedAllocation& posted);
  [[nodiscard]] Result<AllocationPage> allocations(std::uint64_t after);
  [[nodiscard]] Result<AllocationStates> states(std::string_view plan);

  void stop() { client_->stop(); }

 private:
  explicit DatabaseClient(std::unique_ptr<HttpClient> client) : client_(std::move(client)) {}

  std::unique_ptr<HttpClient> client_;
};

}  // namespace iez::api
