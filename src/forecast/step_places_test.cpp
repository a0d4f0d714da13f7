#include "forecast/step_places.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "forecast/template_discovery.hpp"

namespace iez::forecast {
namespace {

struct Names {
  std::vector<std::string> texts;
  Discovery discovery;

  explicit Names(std::vector<std::string> all) : texts(std::move(all)) {
    std::vector<ObservedName> observed;
    for (const std::string& text : texts) observed.push_back({.name = text});
    discovery = discover(observed);
  }
};

TEST(StepPlaces, CountFromTheLastStep) {
  std::vector<std::string> all;
  for (int step = 0; step < 3; ++step) {
    for (int part = 0; part < 2; ++part) all.push_back(fmt::format("/s/plt.{}.{}", step * 100, part));
  }
  const Names names(all);
  const std::vector<std::string_view> counted(names.texts.begin(), names.texts.end());
  const std::vector<std::string_view> later{"/s/plt.700.0", "/s/plt.700.1", "/s/plt.800.0", "/s/plt.800.1"};
  const StepPlaces before(names.discovery.templates, counted);
  const StepPlaces after(names.discovery.templates, later);
  ASSERT_TRUE(before.of("/s/plt.200.1"));
  EXPECT_EQ(before.of("/s/plt.200.1")->steps_behind, 0U);
  EXPECT_EQ(before.of("/s/plt.100.1")->steps_behind, 1U);
  EXPECT_EQ(before.of("/s/plt.200.1"), after.of("/s/plt.800.1"));
  EXPECT_EQ(before.of("/s/plt.100.0"), after.of("/s/plt.700.0"));
  EXPECT_NE(before.of("/s/plt.200.1"), after.of("/s/plt.800.0"));
  EXPECT_NE(before.of("/s/plt.200.1"), after.of("/s/plt.700.1"));
}

TEST(StepPlaces, OtherNamesHaveNone) {
  const Names names({"/s/plt.0", "/s/plt.1", "/s/plt.2"});
  const StepPlaces places(names.discovery.templates, {});
  EXPECT_FALSE(places.of("/s/other.1"));
  EXPECT_TRUE(places.of("/s/plt.7"));
}

}  // namespace
}  // namespace iez::forecast
