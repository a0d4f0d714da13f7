// Talk for people and log collectors. stdout belongs to data, so a Logger writes to stderr or to a file, never to stdout.
//
// A Logger is passed to whoever logs; there is no global one. Text lines read "12:30:01.250 warning  message  key=value";
// JSON lines are one object each, {"time": "...Z", "level": "warning", "message": "...", "key": "value"}, for machines.
//
// Thread safety: all members may be called from any thread; a line is written whole.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iez {

enum class LogLevel { debug, info, warning, error, off };
enum class LogFormat { text, json };

struct LogField {
  std::string_view key;
  std::string value;
};

class Logger {
 public:
  struct Options {
    LogLevel level = LogLevel::warning;  // the least severe level that is written
    LogFormat format = LogFormat::text;
    std::string file;  // empty: stderr
  };

  [[nodiscard]] static Result<Logger> make(const Options& options);
  ~Logger();
  Logger(Logger&&) noexcept;
  Logger& operator=(Logger&&) noexcept;
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) { write(LogLevel::debug, message, fields); }
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) { write(LogLevel::info, message, fields); }
  void warning(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::warning, message, fields);
  }
  void error(std::string_view message, std::initializer_list<LogField> fields = {}) { write(LogLevel::error, message, fields); }

 private:
  struct Impl;
  explicit Logger(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace iez
