// One interaction database on the network: what `iez db serve` runs. docs/database.openapi.json tells every route.
//
// Bounds, tokens and TLS are those of http::Listener. A token must be an administrator's: a coordinator acts for all owners.
// The store is used by one request at a time.
//
// Thread safety: stop() from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "http/listener.hpp"
#include "store/store.hpp"

namespace iez::database {

inline constexpr std::size_t kBodyLimit = std::size_t{64} << 20U;  // of a plan

class DatabaseServer {
 public:
  // Listens when it returns. body_limit and threads of the options are not looked at.
  [[nodiscard]] static Result<std::unique_ptr<DatabaseServer>> open(http::ListenOptions options,
                                                                    std::unique_ptr<store::Store> store, Clock& clock,
                                                                    Logger& log);
  ~DatabaseServer();
  DatabaseServer(const DatabaseServer&) = delete;
  DatabaseServer& operator=(const DatabaseServer&) = delete;

  std::string url() const;  // with the real port

  void run();   // until stop(); what is in flight is answered
  void stop();  // listening ends first

 private:
  struct State;
  explicit DatabaseServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Routes as "METHOD /path/{plan}", for whoever compares them with the document.
std::vector<std::string> database_routes();

// The document that is served at /v1/openapi.json.
std::string_view openapi_document();

}  // namespace iez::database
