#include "forecast/backtest.hpp"

#include <fmt/format.h>

namespace iez::forecast {

Result<Backtest> backtest(std::span<const double> values, std::size_t count, SeriesOptions options) {
  if (count == 0 || count >= values.size()) {
    return fail(Errc::invalid_argument, fmt::format("cannot test on the last {} of {} values: expected 1 to {}", count,
                                                    values.size(), values.empty() ? 0 : values.size() - 1));
  }
  options.horizon = 1;
  Backtest result;
  result.said.reserve(count);
  for (std::size_t i = values.size() - count; i < values.size(); ++i) {
    IEZ_TRY(const SeriesForecast one, forecast_series(values.first(i), options));
    result.said.push_back(one.mean.front());
  }
  result.accuracy = accuracy(result.said, values.last(count));
  return result;
}

}  // namespace iez::forecast
