#include <chrono>

#include <fmt/format.h>

#include "database/database_server.hpp"
#include "json.hpp"
#include "service_life.hpp"
#include "store_command.hpp"

namespace iez::cli {

namespace {

constexpr Duration kPatience{5'000'000'000};  // with a busy database: whoever asks waits

}  // namespace

Result<void> run_db_serve(const DbServeOptions& options, Context& context) {
  const EndingSignals signals;
  IEZ_TRY(const std::string url, store_url(options.common.store));
  IEZ_TRY(auto store, store::Store::open(url, context.clock, {.patience = kPatience}));
  IEZ_TRY(const store::StoreInfo info, store->info());
  http::ListenOptions listening{.listen = options.listen, .tokens_file = options.tokens};
  listening.certificate = options.certificate;
  listening.certificate_key = options.certificate_key;
  listening.rate_limit = options.rate_limit;
  IEZ_TRY(const auto server, database::DatabaseServer::open(listening, std::move(store), context.clock, context.log));
  ServiceThread listener([&] { server->run(); });
  context.log.info("serving", {{"url", server->url()}, {"store", info.url}, {"revision", std::to_string(info.revision)}});
  auto printed =
      print(options.common.json ? to_line({{"url", server->url()}, {"store", info.url}}) : fmt::format("{}\n", server->url()));
  if (printed) context.log.info("ending", {{"signal", std::to_string(signals.wait())}});
  server->stop();
  listener.join();
  return printed;
}

}  // namespace iez::cli
