#include "forecast/template_index.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include <fmt/format.h>

#include "base/rng.hpp"
#include "forecast/template_discovery.hpp"

namespace iez::forecast {
namespace {

constexpr std::uint64_t kSeed = 20'240'615;

// A random template with a rank, a step and perhaps a part, in random order, width and stride.
struct RandomSeries {
  struct Variable {
    std::string before;
    unsigned width;
    std::uint64_t first, stride, count;
  };
  std::vector<Variable> variables;  // step first, rank last
  std::vector<std::size_t> order;   // in which they stand in the name; one may stand twice
  std::string tail;

  RandomSeries(Rng& rng, std::size_t number) {
    const auto width = [&] { return rng.chance(0.5) ? 0U : static_cast<unsigned>(rng.between(2, 8)); };
    variables.push_back({"step", width(), rng.below(3) * 10, rng.between(1, 200), rng.between(3, 9)});
    if (rng.chance(0.4)) variables.push_back({"level", width(), 0, 1, rng.between(2, 4)});
    variables.push_back({"rank", width(), 0, 1, rng.between(3, 20)});
    for (std::size_t v = 0; v < variables.size(); ++v) order.push_back(v);
    if (rng.chance(0.3)) order.push_back(rng.below(variables.size()));
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    tail = fmt::format(".series{}.h5", std::string(1 + number, static_cast<char>('a' + rng.below(26))));
  }

  std::string name(const std::vector<std::uint64_t>& index) const {
    std::string result = "/scratch/u2/case";
    for (const std::size_t v : order) {
      const Variable& variable = variables[v];
      result += fmt::format("/{}_{:0{}}", variable.before, variable.first + variable.stride * index[v], variable.width);
    }
    return result + tail;
  }

  // In order of steps; within a step as they come.
  std::vector<std::pair<std::string, int>> names(std::uint64_t more_ranks = 0, std::uint64_t more_steps = 0) const {
    std::vector<std::pair<std::string, int>> result;
    std::vector<std::uint64_t> index(variables.size(), 0);
    for (;;) {
      result.emplace_back(name(index), static_cast<int>(index.back()));
      std::size_t v = variables.size();
      while (v-- > 0) {
        const std::uint64_t more = v == 0 ? more_steps : v + 1 == variables.size() ? more_ranks : 0;
        if (++index[v] < variables[v].count + more) break;
        index[v] = 0;
        if (v == 0) return result;
      }
    }
  }
};

std::set<std::string> next(const NameTemplate& one, const NextRunShape& shape) {
  std::set<std::string> result;
  EXPECT_TRUE(enumerate(one, shape, [&](const NextName& name) {
    EXPECT_FALSE(name.open);
    EXPECT_TRUE(result.emplace(name.name).second) << name.name;
    return true;
  }));
  return result;
}

TEST(TemplateIndex, RandomSeriesAreFoundMatchedAndContinued) {
  Rng rng(kSeed);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", kSeed, round));
    const bool known = rng.chance(0.7);
    std::vector<RandomSeries> series;
    for (std::size_t i = 0, n = rng.between(1, 4); i < n; ++i) series.emplace_back(rng, i);
    std::deque<std::string> texts;
    std::vector<ObservedName> names;
    std::vector<std::size_t> series_of;
    for (std::size_t s = 0; s < series.size(); ++s) {
      for (auto& [name, rank] : series[s].names()) {
        texts.push_back(std::move(name));
        names.push_back({texts.back(), known ? rank : -1});
        series_of.push_back(s);
      }
    }
    const Discovery found = discover(names);
    ASSERT_EQ(found.templates.size(), series.size());
    const TemplateIndex index(found.templates);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto match = index.match(names[i].name);
      ASSERT_TRUE(match) << names[i].name;
      EXPECT_EQ(match->name_template, series_of[i]);
      EXPECT_EQ(render(found.templates[match->name_template], match->values), names[i].name);
    }
    for (std::size_t s = 0; s < series.size(); ++s) {
      const NameTemplate& one = found.templates[s];
      SCOPED_TRACE(one.pattern());
      EXPECT_EQ(one.coverage, 1);
      const auto expected = [&](std::uint64_t more_ranks, std::uint64_t more_steps) {
        std::set<std::string> result;
        for (auto& [name, rank] : series[s].names(more_ranks, more_steps)) result.insert(std::move(name));
        return result;
      };
      EXPECT_EQ(next(one, {}), expected(0, 0));
      const std::uint64_t ranks = series[s].variables.back().count;
      // With ranks known the number of ranks is that of the whole run; a series of fewer ranks keeps its share only by its slots.
      const auto more_ranks = static_cast<std::uint32_t>(std::max<std::uint64_t>(one.ranks, ranks) + 5);
      EXPECT_EQ(next(one, {.ranks = more_ranks, .steps = series[s].variables[0].count + 3}), expected(more_ranks - ranks, 3));
    }
  }
}

TEST(TemplateIndex, RandomBytesNeverBreakIt) {
  Rng rng(kSeed);
  constexpr std::string_view kAlphabet = "0123456789012345678901234567890./._-:Tabcxyz\n\xff/{}*";
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", kSeed, round));
    std::deque<std::string> texts;
    std::vector<ObservedName> names;
    for (std::size_t i = 0, n = rng.between(1, 40); i < n; ++i) {
      std::string text;
      if (!texts.empty() && rng.chance(0.7)) text = texts[rng.below(texts.size())];
      if (text.empty() || rng.chance(0.2)) {
        for (std::size_t k = rng.below(24); k > 0; --k) text += kAlphabet[rng.below(kAlphabet.size())];
      }
      if (!text.empty()) text[rng.below(text.size())] = kAlphabet[rng.below(kAlphabet.size())];
      texts.push_back(std::move(text));
      names.push_back(
          {texts.back(), static_cast<std::int32_t>(rng.below(4)) - (round % 2), static_cast<std::uint32_t>(rng.below(3))});
    }
    const Discovery found = discover(names);
    const TemplateIndex index(found.templates);
    std::vector<FieldValue> values;
    for (std::size_t i = 0; i < names.size(); ++i) {
      ASSERT_TRUE(match(found.templates[found.template_of[i]], names[i].name, values))
          << names[i].name << " by " << found.templates[found.template_of[i]].pattern();
      EXPECT_EQ(render(found.templates[found.template_of[i]], values), names[i].name);
      const auto any = index.match(names[i].name, values);
      ASSERT_TRUE(any) << names[i].name;
      EXPECT_EQ(render(found.templates[*any], values), names[i].name);
      std::string changed(names[i].name);
      if (!changed.empty()) changed[rng.below(changed.size())] = static_cast<char>(rng.below(256));
      if (const auto other = index.match(changed, values)) {
        EXPECT_EQ(render(found.templates[*other], values), changed);
      }
    }
    for (const NameTemplate& one : found.templates) {
      enumerate(one, {.ranks = 9, .steps = 5, .max_names = 100}, [](const NextName&) { return true; });
    }
  }
}

TEST(TemplateIndex, OverflowOfThePaddingStillMatches) {
  std::deque<std::string> texts;
  std::vector<ObservedName> names;
  for (int step = 0; step < 3; ++step) {
    texts.push_back(fmt::format("ckpt.{:04}", step));
    names.push_back({texts.back()});
  }
  const Discovery found = discover(names);
  const TemplateIndex index(found.templates);
  const auto match = index.match("ckpt.12345");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->values[0].number, 12345);
  EXPECT_FALSE(index.match("ckpt.123"));
  EXPECT_FALSE(index.match("ckpt.00012"));
  EXPECT_FALSE(index.match("ckpt.0001.tmp"));
  EXPECT_FALSE(index.match(""));
}

TEST(TemplateIndex, EnumerationStops) {
  std::deque<std::string> texts;
  std::vector<ObservedName> names;
  for (int step = 0; step < 3; ++step) {
    texts.push_back(fmt::format("a{}", step));
    names.push_back({texts.back()});
  }
  const Discovery found = discover(names);
  int seen = 0;
  EXPECT_FALSE(enumerate(found.templates[0], {.steps = 100, .max_names = 7}, [&](const NextName&) { return ++seen > 0; }));
  EXPECT_EQ(seen, 7);
  EXPECT_FALSE(enumerate(found.templates[0], {}, [](const NextName&) { return false; }));
}

}  // namespace
}  // namespace iez::forecast
