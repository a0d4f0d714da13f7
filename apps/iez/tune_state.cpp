#include "tune_state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "config/words.hpp"
#include "json.hpp"

namespace iez::cli {

namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMaxState = std::size_t{64} << 20U;

ordered_json to_json(const TuneHeader& header) {
  ordered_json json{{"iez_tune", kVersion}};
  json["counts"] = header.space.counts;
  json["sizes"] = ordered_json::array();
  for (const Bytes size : header.space.sizes) json["sizes"].push_back(size.count);
  json["measure"] = header.measure;
  json["goal"] = to_string(header.goal);
  json["directory"] = header.directory;
  json["command"] = header.command;
  return json;
}

std::optional<MetricUnit> unit_named(const std::string& name) {
  for (const MetricUnit unit : {MetricUnit::bytes_per_second, MetricUnit::seconds, MetricUnit::plain}) {
    if (to_string(unit) == name) return unit;
  }
  return std::nullopt;
}

Result<void> check_header(const ordered_json& found, const TuneHeader& expected, const std::string& path) {
  if (!found.is_object() || !found.contains("iez_tune")) {
    return fail(Errc::parse, fmt::format("{}: line 1: expected the first line of a file that 'iez tune --state' made", path));
  }
  // By way of text, so that bytes that are not UTF-8 compare equal to what was written of them.
  const auto wanted = ordered_json::parse(to_line(to_json(expected)));
  for (const auto& [key, value] : wanted.items()) {
    const ordered_json other = found.contains(key) ? found.at(key) : ordered_json(nullptr);
    if (other == value) continue;
    return fail(Errc::invalid_argument,
                fmt::format("{}: made with {} {}, now it is {}; continue with the same, or name another file with --state", path,
                            key, config::shown(other.dump()), config::shown(value.dump())));
  }
  return {};
}

std::optional<TuneRecord> record_of(const ordered_json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto number = [&](const char* key) -> std::optional<std::uint64_t> {
    if (!json.contains(key) || !json.at(key).is_number_unsigned()) return std::nullopt;
    return json.at(key).get<std::uint64_t>();
  };
  const auto text = [&](const char* key) {
    return json.contains(key) && json.at(key).is_string() ? json.at(key).get<std::string>() : std::string{};
  };
  const auto count = number("stripe_count");
  const auto size = number("stripe_size");
  if (!count || !size || *count > std::numeric_limits<std::uint32_t>::max() || !json.contains("value")) return std::nullopt;
  TuneRecord record{.setting = {.stripes = static_cast<std::uint32_t>(*count), .stripe_size = {*size}}, .reason = text("reason")};
  if (json.contains("seconds") && json.at("seconds").is_number()) record.seconds = json.at("seconds").get<double>();
  const ordered_json& value = json.at("value");
  if (value.is_null()) return record;
  const auto unit = unit_named(text("unit"));
  if (!value.is_number() || !unit || value.get<double>() < 0) return std::nullopt;
  record.result = Measured{.value = value.get<double>(), .unit = *unit};
  return record;
}

Result<std::string> read_all(int descriptor, const std::string& path) {
  std::string text;
  std::array<char, 16384> block{};
  while (true) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path);
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxState) return fail(Errc::limit, fmt::format("{}: larger than 64 MiB: not a file of 'iez tune'", path));
  }
}

}  // namespace

std::string state_line(const TuneHeader& header) { return to_line(to_json(header)); }

std::string state_line(const TuneRecord& record) {
  ordered_json json{{"stripe_count", record.setting.stripes}, {"stripe_size", record.setting.stripe_size.count}};
  json["value"] = record.result ? ordered_json(record.result->value) : ordered_json(nullptr);
  json["unit"] = record.result ? ordered_json(to_string(record.result->unit)) : ordered_json(nullptr);
  json["reason"] = record.reason;
  json["seconds"] = record.seconds;
  return to_line(json);
}

Result<TuneHistory> parse_state(std::string_view text, const TuneHeader& expected, const std::string& path) {
  TuneHistory history;
  std::size_t line = 0;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', history.whole_bytes)) {
    ++line;
    const std::string_view content = text.substr(history.whole_bytes, end - history.whole_bytes);
    const auto json = ordered_json::parse(content, nullptr, false);
    if (line == 1) {
      IEZ_CHECK(check_header(json, expected, path));
      history.begun = true;
    } else {
      auto record = record_of(json);
      if (!record) {
        return fail(Errc::parse, fmt::format("{}: line {}: found {}; expected a run that 'iez tune --state' wrote", path, line,
                                             config::shown(content)));
      }
      history.records.push_back(*std::move(record));
    }
    history.whole_bytes = end + 1;
  }
  // Nothing we wrote starts otherwise: another file is left alone.
  constexpr std::string_view kBegin = "{\"iez_tune\":";
  if (!history.begun && text.substr(0, kBegin.size()) != kBegin.substr(0, text.size())) {
    return fail(Errc::parse, fmt::format("{}: line 1: expected the first line of a file that 'iez tune --state' made", path));
  }
  return history;
}

Result<StateFile> StateFile::open(const std::string& path, const TuneHeader& header) {
  StateFile file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666), path);
  if (file.descriptor_ < 0) return fail_errno(errno, path);
  if (::flock(file.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return fail(Errc::exists, fmt::format("{}: another 'iez tune' is using it", path));
    return fail_errno(errno, path);
  }
  IEZ_TRY(const std::string text, read_all(file.descriptor_, path));
  IEZ_TRY(auto history, parse_state(text, header, path));
  const auto whole = static_cast<off_t>(history.whole_bytes);
  if (::ftruncate(file.descriptor_, whole) != 0 || ::lseek(file.descriptor_, whole, SEEK_SET) != whole) {
    return fail_errno(errno, path);
  }
  file.records_ = std::move(history.records);
  if (!history.begun) IEZ_CHECK(file.write_line(state_line(header)));
  return file;
}

StateFile::StateFile(StateFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)), records_(std::move(other.records_)) {}

StateFile::~StateFile() {
  if (descriptor_ >= 0) (void)::close(descriptor_);  // every line was synced
}

Result<void> StateFile::write_line(const std::string& line) const {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t done = ::write(descriptor_, rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return fail_errno(errno, path_);
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  if (::fsync(descriptor_) != 0) return fail_errno(errno, path_);
  return {};
}

Result<void> StateFile::append(const TuneRecord& record) { return write_line(state_line(record)); }

}  // namespace iez::cli
