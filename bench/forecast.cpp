#include "forecast.hpp"

#include "forecast_parts.hpp"

namespace iez::bench {

Result<std::vector<Figure>> run_forecast(const Settings& settings) {
  std::vector<Figure> figures;
  IEZ_CHECK(add_forecast_memory(settings, figures));
  IEZ_CHECK(add_likelihoods(settings, figures));
  IEZ_CHECK(add_accuracy(settings, figures));
  IEZ_CHECK(add_run_forecasts(settings, figures));
  IEZ_CHECK(add_forecast_speed(settings, figures));
  IEZ_CHECK(add_forecast_peers(settings, figures));
  IEZ_CHECK(add_trace_speed(settings, figures));
  return figures;
}

}  // namespace iez::bench
