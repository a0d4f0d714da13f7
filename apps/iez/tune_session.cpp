#include "tune_session.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "config/words.hpp"
#include "stripe_words.hpp"

namespace iez::cli {

std::string_view to_string(TuneGoal goal) { return goal == TuneGoal::max ? "max" : "min"; }

Measured shown_value(BytesPerSecond mean, TuneGoal goal, MetricUnit unit) {
  return {.value = goal == TuneGoal::max ? mean.value : 1 / mean.value, .unit = unit};
}

std::optional<contention::Setting> TuneSession::next() {
  if (options_.budget > 0 && runs_ >= options_.budget) return std::nullopt;
  if (left_ > 0) return current_;
  current_ = tuner_.next();
  left_ = current_ ? options_.repeat : 0;
  return current_;
}

Result<TuneRecord> TuneSession::tell(TuneRecord record) {
  const auto refuse = [&](std::string reason) {
    record.result.reset();
    record.reason = std::move(reason);
  };
  if (record.result && options_.goal == TuneGoal::min && !(record.result->value > 0)) {
    refuse("the result is 0, which cannot be compared with --goal min");
  }
  if (record.result && unit_ && record.result->unit != *unit_) {
    refuse(fmt::format("the result is in {}, earlier ones in {}", to_string(record.result->unit), to_string(*unit_)));
  }
  if (record.result) {
    const double value = record.result->value;
    IEZ_CHECK(tuner_.tell(record.setting, {options_.goal == TuneGoal::max ? value : 1 / value}));
    unit_ = record.result->unit;
  } else {
    IEZ_CHECK(tuner_.tell_failed(record.setting));
  }
  ++runs_;
  const bool asked = current_ && *current_ == record.setting && left_ > 0;
  left_ = asked && record.result ? left_ - 1 : 0;
  return record;
}

std::vector<std::string> substitute(const std::vector<std::string>& arguments, const contention::Setting& setting) {
  const double mib = static_cast<double>(setting.stripe_size.count) / static_cast<double>(Bytes::mib(1).count);
  const std::array<std::pair<std::string_view, std::string>, 3> words{
      {{"{stripe_count}", fmt::to_string(setting.stripes)},
       {"{stripe_size}", fmt::to_string(setting.stripe_size.count)},
       {"{stripe_size_mib}", fmt::format("{:.10g}", mib)}}};
  std::vector<std::string> result;
  for (std::string argument : arguments) {
    for (const auto& [word, value] : words) {
      for (std::size_t at = argument.find(word); at != std::string::npos; at = argument.find(word, at + value.size())) {
        argument.replace(at, word.size(), value);
      }
    }
    result.push_back(std::move(argument));
  }
  return result;
}

Result<contention::Setting> parse_setting(std::string_view option, std::string_view text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) {
    return fail(Errc::invalid_argument,
                fmt::format("{}: found {}; expected COUNTxSIZE such as 2x1M", option, config::shown(text)));
  }
  IEZ_TRY(const auto counts, parse_requests(option, text.substr(0, cross)));
  IEZ_TRY(const auto sizes, parse_sizes(option, text.substr(cross + 1)));
  if (counts.size() != 1 || sizes.size() != 1) {
    return fail(Errc::invalid_argument,
                fmt::format("{}: found {}; expected one COUNTxSIZE such as 2x1M", option, config::shown(text)));
  }
  return contention::Setting{.stripes = counts.front(), .stripe_size = sizes.front()};
}

}  // namespace iez::cli
