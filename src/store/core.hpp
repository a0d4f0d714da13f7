// What every operation of the store shares: transactions that are repeated where that helps, and rows added in batches.
//
// Thread safety: none.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "store/schema.hpp"
#include "store/session.hpp"

namespace iez::store {

class Core {
 public:
  Core(std::unique_ptr<Session> session, StoreUrl url, Clock& clock, const OpenOptions& options)
      : session_(std::move(session)), url_(std::move(url)), clock_(clock), options_(options) {}

  [[nodiscard]] static Result<std::unique_ptr<Core>> open(std::string_view url, Clock& clock, const OpenOptions& options);

  const OpenOptions& options() const { return options_; }
  const StoreUrl& url() const { return url_; }
  std::int64_t now_ns() const { return clock_.wall().time_since_epoch().count(); }

  // change(Session&) -> Outcome<T>, and maybe more than once. What it changed is there if this returns a value, and only then.
  template <typename Change>
  auto write(Change change) -> Result<typename std::invoke_result_t<Change, Session&>::value_type> {
    using T = typename std::invoke_result_t<Change, Session&>::value_type;
    std::optional<T> answer;
    const std::string operation = session_->answers_may_be_lost() ? new_key() : std::string();
    const auto once = [&]() -> Outcome<void> {
      IEZ_CHECK(session_->begin_write());
      IEZ_TRY(const bool first, note_operation(operation));
      if (!first) return session_->commit();  // it took effect; its answer was lost
      auto value = change(*session_);
      if (!value) return std::unexpected(std::move(value).error());
      answer = *std::move(value);
      IEZ_CHECK(grow_revision());
      return session_->commit();
    };
    IEZ_CHECK(repeat(once));
    IEZ_ASSERT(answer.has_value());
    return *std::move(answer);
  }

  // look(Session&) -> Outcome<T>: sees one moment.
  template <typename Look>
  auto read(Look look) -> Result<typename std::invoke_result_t<Look, Session&>::value_type> {
    using T = typename std::invoke_result_t<Look, Session&>::value_type;
    std::optional<T> answer;
    const auto once = [&]() -> Outcome<void> {
      IEZ_CHECK(session_->begin_read());
      auto value = look(*session_);
      if (!value) return std::unexpected(std::move(value).error());
      answer = *std::move(value);
      return session_->commit();
    };
    IEZ_CHECK(repeat(once));
    IEZ_ASSERT(answer.has_value());
    return *std::move(answer);
  }

  // One transaction that cannot be repeated, since what it takes is gone then.
  [[nodiscard]] Result<void> write_once(const std::function<Outcome<void>(Session&)>& change);

 private:
  // Once more after each failure that may pass, as long as the patience lasts.
  [[nodiscard]] Result<void> repeat(const std::function<Outcome<void>()>& once);
  [[nodiscard]] Outcome<bool> note_operation(const std::string& operation);  // false: it is there already
  [[nodiscard]] Outcome<void> grow_revision();

  std::unique_ptr<Session> session_;
  StoreUrl url_;
  Clock& clock_;
  OpenOptions options_;
  bool connected_ = true;
};

// Rows for one INSERT at a time. Values must stay until flush() or the destructor; hold() keeps those that are made on the way.
class Batch {
 public:
  // insert: "INSERT INTO t (a, b) VALUES ".
  Batch(Session& session, std::string_view insert, std::size_t columns);

  [[nodiscard]] Outcome<void> add(std::span<const Value> row);
  [[nodiscard]] Outcome<void> flush();
  std::string_view hold(std::string text) { return held_.emplace_back(std::move(text)); }

 private:
  [[nodiscard]] Outcome<void> send(std::size_t rows);

  Session& session_;
  std::string insert_;
  std::size_t columns_;
  std::size_t batch_;
  std::string full_;  // the statement for a whole batch
  std::vector<Value> values_;
  std::deque<std::string> held_;
};

}  // namespace iez::store
