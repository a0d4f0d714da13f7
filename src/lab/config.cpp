#include "lab/config.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "model/layout.hpp"

namespace iez::lab {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxName = 8;
constexpr std::uint32_t kMaxOsts = 1024;
constexpr std::uint32_t kMaxClients = 64;
constexpr std::uint32_t kMaxInFlight = 256;  // as max_rpcs_in_flight has it
constexpr Bytes kMaxRpc = Bytes::mib(16);
constexpr std::array<std::string_view, 3> kLaws{"none", "cc", "goal"};

std::string config_path(const std::string& dir) { return (std::filesystem::path(dir) / "lab.json").string(); }

Json to_json(const Config& config) {
  Json json;
  json["name"] = config.name;
  json["oss_count"] = config.oss_count;
  json["osts_per_oss"] = config.osts_per_oss;
  json["clients"] = config.clients;
  json["ost_size"] = config.ost_size.count;
  json["rate"] = config.rate.value;
  json["seek_ns"] = config.seek.count();
  json["threads"] = config.threads;
  json["rpc_size"] = config.rpc_size.count;
  json["rpcs_in_flight"] = config.rpcs_in_flight;
  json["dirty"] = config.dirty.count;
  json["stripe_count"] = config.stripe_count;
  json["stripe_size"] = config.stripe_size.count;
  json["law"] = config.law;
  json["law_goal_ns"] = config.law_goal.count();
  json["job_variable"] = config.job_variable;
  json["seed"] = config.seed;
  return json;
}

// Takes the fields of an object one by one, and remembers the first that is wrong.
class Fields {
 public:
  Fields(const Json& json, std::string origin) : json_(json), origin_(std::move(origin)) {}

  void text(const char* key, std::string& value) {
    if (const Json* const found = find(key, "text", &Json::is_string)) value = found->get<std::string>();
  }
  template <typename T>
  void whole(const char* key, T& value) {
    const Json* const found = find(key, "a whole number, not negative", &Json::is_number_unsigned);
    if (found == nullptr) return;
    const auto number = found->get<std::uint64_t>();
    value = static_cast<T>(number);
    if (static_cast<std::uint64_t>(value) != number) note(fmt::format("{}: {} is too large", key, number));
  }
  void real(const char* key, double& value) {
    if (const Json* const found = find(key, "a number", &Json::is_number)) value = found->get<double>();
  }
  void time(const char* key, Duration& value) {
    std::uint64_t ns = 0;
    whole(key, ns);
    if (ns > static_cast<std::uint64_t>(Duration::max().count())) return note(fmt::format("{}: {} is too large", key, ns));
    value = Duration(static_cast<Duration::rep>(ns));
  }

  [[nodiscard]] Result<void> done() const {
    if (!problem_.empty()) return fail(Errc::parse, fmt::format("{}: {}", origin_, problem_));
    return {};
  }

 private:
  const Json* find(const char* key, std::string_view expected, bool (Json::*fits)() const noexcept) {
    const auto found = json_.find(key);
    if (found == json_.end()) {
      note(fmt::format("{} is missing", key));
      return nullptr;
    }
    if (!((*found).*fits)()) {
      note(fmt::format("{}: expected {}, found {}", key, expected, found->dump()));
      return nullptr;
    }
    return &*found;
  }
  void note(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  const Json& json_;
  std::string origin_;
  std::string problem_;
};

Result<void> within(std::string_view field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return {};
  return fail(Errc::invalid_argument, fmt::format("{}: {} is not between {} and {}", field, value, least, most));
}

Result<void> check_names(const Config& config) {
  const auto fits = [](char c) {
    return text::is_digit(c) || (text::to_lower(c) >= 'a' && text::to_lower(c) <= 'z') || c == '_';
  };
  bool good = !config.name.empty() && config.name.size() <= kMaxName;
  for (const char c : config.name) good = good && fits(c);
  if (!good) {
    return fail(Errc::invalid_argument,
                fmt::format("name: '{}' is not 1 to {} letters, digits or '_'", text::printable(config.name), kMaxName));
  }
  if (config.dir.empty() || config.dir.front() != '/') {
    return fail(Errc::invalid_argument, fmt::format("dir: '{}' is not an absolute path", text::printable(config.dir)));
  }
  for (const std::string_view law : kLaws) {
    if (law == config.law) return {};
  }
  return fail(Errc::invalid_argument, fmt::format("--law: '{}' is none of none, cc, goal", text::printable(config.law)));
}

Result<void> check_sizes(const Config& config) {
  IEZ_CHECK(within("--ost-size", config.ost_size.count, Bytes::mib(1).count, Bytes::gib(1ULL << 20U).count));
  IEZ_CHECK(within("--rpc-size", config.rpc_size.count, Bytes::kib(4).count, kMaxRpc.count));
  IEZ_CHECK(within("--dirty", config.dirty.count, Bytes::kib(4).count, Bytes::gib(64).count));
  IEZ_CHECK(within("--stripe-size", config.stripe_size.count, model::kStripeAlignment.count, model::kMaxStripeSize.count));
  if (config.stripe_size.count % model::kStripeAlignment.count != 0) {
    return fail(Errc::invalid_argument, fmt::format("--stripe-size: {} is not a multiple of {}", config.stripe_size.count,
                                                    model::kStripeAlignment.count));
  }
  if (config.stripe_count == model::Component::kAllOsts) return {};
  return within("--stripe-count", config.stripe_count, 1, model::kMaxStripeCount);
}

Result<void> write_durably(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return fail_errno(errno, path);
  const ssize_t done = ::write(fd, text.data(), text.size());
  const int failed = done == static_cast<ssize_t>(text.size()) ? (::fsync(fd) == 0 ? 0 : errno) : done < 0 ? errno : ENOSPC;
  ::close(fd);
  if (failed != 0) return fail_errno(failed, path);
  return {};
}

}  // namespace

Result<Config> load_config(const std::string& dir) {
  const std::string path = config_path(dir);
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno(errno, path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return fail(Errc::parse, fmt::format("{}: expected a JSON object", path));

  Config config;
  std::error_code error;
  config.dir = std::filesystem::absolute(dir, error).lexically_normal().string();
  while (config.dir.size() > 1 && config.dir.ends_with('/')) config.dir.pop_back();
  Fields fields(json, path);
  fields.text("name", config.name);
  fields.whole("oss_count", config.oss_count);
  fields.whole("osts_per_oss", config.osts_per_oss);
  fields.whole("clients", config.clients);
  fields.whole("ost_size", config.ost_size.count);
  fields.real("rate", config.rate.value);
  fields.time("seek_ns", config.seek);
  fields.whole("threads", config.threads);
  fields.whole("rpc_size", config.rpc_size.count);
  fields.whole("rpcs_in_flight", config.rpcs_in_flight);
  fields.whole("dirty", config.dirty.count);
  fields.whole("stripe_count", config.stripe_count);
  fields.whole("stripe_size", config.stripe_size.count);
  fields.text("law", config.law);
  fields.time("law_goal_ns", config.law_goal);
  fields.text("job_variable", config.job_variable);
  fields.whole("seed", config.seed);
  IEZ_CHECK(fields.done());
  if (auto checked = check(config); !checked) return with_context(std::move(checked).error(), path);
  return config;
}

Result<void> save_config(const Config& config) {
  IEZ_CHECK(check(config));
  std::error_code error;
  std::filesystem::create_directories(config.dir, error);
  if (error) return fail_errno(error.value(), config.dir);
  const std::string path = config_path(config.dir);
  const std::string aside = path + ".new";
  IEZ_CHECK(write_durably(aside, to_json(config).dump(2) + "\n"));
  if (std::rename(aside.c_str(), path.c_str()) != 0) return fail_errno(errno, path);
  return {};
}

Result<void> check(const Config& config) {
  IEZ_CHECK(check_names(config));
  IEZ_CHECK(within("--oss", config.oss_count, 1, kMaxOsts));
  IEZ_CHECK(within("--osts", config.osts_per_oss, 1, kMaxOsts));
  IEZ_CHECK(within("OSTs in all (--oss times --osts)", std::uint64_t{config.oss_count} * config.osts_per_oss, 1, kMaxOsts));
  IEZ_CHECK(within("--clients", config.clients, 0, kMaxClients));
  IEZ_CHECK(within("--threads", config.threads, 1, 4096));
  IEZ_CHECK(within("--rpcs", config.rpcs_in_flight, 1, kMaxInFlight));
  IEZ_CHECK(check_sizes(config));
  if (!std::isfinite(config.rate.value) || config.rate.value < 0) {
    return fail(Errc::invalid_argument, fmt::format("--rate: {} is not a rate of 0 or more", config.rate.value));
  }
  if (config.seek < Duration::zero() || config.seek > std::chrono::minutes(1)) {
    return fail(Errc::invalid_argument, fmt::format("--seek: {} is not between 0 and 1 min", to_string(config.seek)));
  }
  if (config.law_goal < Duration::zero()) return fail(Errc::invalid_argument, "--goal: must not be negative");
  if (config.law == "goal" && config.law_goal == Duration::zero()) {
    return fail(Errc::invalid_argument, "--goal: law 'goal' needs the latency to steer to");
  }
  return {};
}

std::string socket_path(const Config& config, const std::string& node) { return config.dir + "/" + node + ".sock"; }
std::string lock_path(const Config& config, const std::string& node) { return config.dir + "/" + node + ".lock"; }
std::string params_root(const Config& config, const std::string& node) { return config.dir + "/params/" + node; }

}  // namespace iez::lab
