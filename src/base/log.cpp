#include "base/log.hpp"

#include <array>
#include <chrono>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace iez {

namespace {

struct LevelName {
  std::string_view name;
  LogLevel level;
  spdlog::level::level_enum backend;
};

constexpr std::array<LevelName, 5> kLevels{{{"debug", LogLevel::debug, spdlog::level::debug},
                                            {"info", LogLevel::info, spdlog::level::info},
                                            {"warning", LogLevel::warning, spdlog::level::warn},
                                            {"error", LogLevel::error, spdlog::level::err},
                                            {"off", LogLevel::off, spdlog::level::off}}};

const LevelName& entry(LogLevel level) { return kLevels.at(static_cast<std::size_t>(level)); }

std::string json_line(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto milliseconds = now.time_since_epoch().count() % 1000;
  nlohmann::ordered_json line;
  line["time"] = fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), milliseconds);
  line["level"] = entry(level).name;
  line["message"] = message;
  for (const LogField& field : fields) line[std::string(field.key)] = field.value;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_line(std::string_view message, std::initializer_list<LogField> fields) {
  std::string line = text::printable(message);
  for (const LogField& field : fields) line += fmt::format("  {}={}", field.key, text::printable(field.value));
  return line;
}

}  // namespace

struct Logger::Impl {
  spdlog::logger backend;
  LogFormat format;
};

Logger::Logger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Logger::~Logger() = default;
Logger::Logger(Logger&&) noexcept = default;
Logger& Logger::operator=(Logger&&) noexcept = default;

Result<Logger> Logger::make(const Options& options) {
  spdlog::sink_ptr sink;
  try {
    if (options.file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
    }
  } catch (const spdlog::spdlog_ex& failure) {
    return fail(Errc::io, fmt::format("log file {}: {}", options.file, failure.what()));
  }
  spdlog::logger backend("iez", std::move(sink));
  backend.set_level(entry(options.level).backend);
  backend.flush_on(spdlog::level::debug);
  backend.set_pattern(options.format == LogFormat::json ? "%v" : "%H:%M:%S.%e %-7l  %v");
  return Logger(std::make_unique<Impl>(Impl{.backend = std::move(backend), .format = options.format}));
}

void Logger::write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const auto backend_level = entry(level).backend;
  if (level == LogLevel::off || !impl_->backend.should_log(backend_level)) return;
  impl_->backend.log(backend_level,
                     impl_->format == LogFormat::json ? json_line(level, message, fields) : text_line(message, fields));
}

}  // namespace iez
