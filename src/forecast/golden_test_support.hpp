// For tests: the series and fits of tests/golden/forecast.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "forecast/arima.hpp"

namespace iez::forecast {

inline const std::string kGoldenFolder = std::string(IEZ_TEST_DATA) + "/../golden/forecast/";

// Column `column` of a CSV file with a heading; NA is a missing value. Empty if there is no such file.
inline std::vector<double> golden_column(const std::string& name, std::size_t column) {
  std::ifstream file(kGoldenFolder + name);
  std::vector<double> values;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string field;
    for (std::size_t i = 0; i <= column; ++i) std::getline(fields, field, ',');
    values.push_back(field == "NA" ? std::numeric_limits<double>::quiet_NaN() : std::stod(field));
  }
  return values;
}

inline std::vector<double> golden_trace(const std::string& name) { return golden_column("traces/" + name + ".csv", 0); }

inline nlohmann::json golden_fits() {
  std::ifstream file(kGoldenFolder + "golden.json");
  return nlohmann::json::parse(file).at("fits");
}

struct GoldenFit {
  std::string name;
  std::vector<double> values;
  ArimaOrder order;
  nlohmann::json json;

  explicit GoldenFit(std::size_t index) : json(golden_fits().at(index)) {
    const auto series = json.at("series").get<std::string>();
    values = golden_column("series_" + series + ".csv", 1);
    const auto plain = json.at("order").get<std::vector<unsigned>>();
    const auto seasonal = json.at("seasonal").get<std::vector<unsigned>>();
    const unsigned period = json.at("period").is_null() ? 0 : json.at("period").get<unsigned>();
    order = {plain.at(0), plain.at(1), plain.at(2), seasonal.at(0), seasonal.at(1), seasonal.at(2), period};
    name = series + ' ' + json.at("order").dump() + json.at("seasonal").dump();
  }

  [[nodiscard]] bool degenerate() const { return json.at("mvn_fixed_loglik").is_null(); }
  [[nodiscard]] bool strict() const { return json.at("strict").get<bool>(); }
  [[nodiscard]] bool differenced() const { return order.d + order.sd > 0; }

  // ar, ma, seasonal ar, seasonal ma, mean.
  [[nodiscard]] ArimaParameters fixed() const {
    const auto flat = json.at("fixed_params").get<std::vector<double>>();
    ArimaParameters parameters;
    auto next = flat.begin();
    const auto take = [&next](std::vector<double>& to, unsigned size) {
      to.assign(next, next + size);
      next += size;
    };
    take(parameters.ar, order.p);
    take(parameters.ma, order.q);
    take(parameters.seasonal_ar, order.sp);
    take(parameters.seasonal_ma, order.sq);
    if (next != flat.end()) parameters.mean = *next;
    return parameters;
  }
};

inline constexpr std::size_t kGoldenFits = 27;

}  // namespace iez::forecast
