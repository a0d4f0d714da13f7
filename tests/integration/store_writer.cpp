// Writes runs, predictions and plans to a database until it is stopped, and says on stdout what was acknowledged:
// store_writer URL FIRST COUNT. One line each, "run KEY" and "plan KEY ROWS"; ends with "error: ..." and status 1 when it fails.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "store/store.hpp"

namespace {

using iez::Bytes;
using iez::Result;
using namespace iez::store;  // NOLINT(google-build-using-namespace): a test program of one file

void tell(const std::string& line) {
  (void)std::fputs((line + "\n").c_str(), stdout);
  (void)std::fflush(stdout);
}

std::string key_of(std::string_view kind, std::uint64_t number) { return fmt::format("{}{:031x}", kind, number); }

Result<void> one(Store& store, Id application, std::uint64_t number) {
  std::vector<FileRow> files;
  for (std::uint64_t i = 0; i < 20; ++i) files.push_back({.name = fmt::format("/out/{}.{}", number, i), .written = Bytes{i}});
  const auto when = static_cast<std::int64_t>(number);
  const Run run{.key = key_of("a", number), .application = application, .started_ns = when, .ended_ns = when};
  IEZ_CHECK(store.record_run(run, files, {}));
  tell("run " + run.key);
  Prediction prediction{
      .key = key_of("b", number), .application = application, .made_ns = when, .model = fmt::format("{}", number)};
  Allocation allocation{.key = key_of("c", number), .plan = fmt::format("plan-{}", number), .made_ns = when, .planner = "local"};
  for (std::uint32_t i = 0; i < 30; ++i) {
    prediction.rows.push_back({.name = fmt::format("/next/{}", i), .bytes = Bytes{i}});
    allocation.rows.push_back({.row = i, .layouts = {{.stripe_size = Bytes::mib(1), .osts = {{i}}}}, .reason = "test"});
  }
  IEZ_TRY(allocation.prediction, store.put_prediction(prediction));
  IEZ_TRY(const Id id, store.put_allocation(allocation));
  tell(fmt::format("plan {} {}", allocation.key, allocation.rows.size()));
  IEZ_CHECK(store.set_states(id, PlanState::created));
  return {};
}

Result<void> work(std::string_view url, std::uint64_t first, std::uint64_t count) {
  iez::SystemClock clock;
  IEZ_TRY(const auto store, Store::open(url, clock));
  IEZ_TRY(const Application application, store->ensure_application("ann", "writer", ""));
  tell("ready");
  for (std::uint64_t i = 0; i < count; ++i) IEZ_CHECK(one(*store, application.id, first + i));
  return {};
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto done = work(argv[1], number_of(argv[2]), number_of(argv[3]));
  if (done) return 0;
  tell("error: " + done.error().message);
  return 1;
}
