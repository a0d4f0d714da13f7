#include "repro_rows.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "repro_page.hpp"

namespace iez::cli {
namespace {

std::vector<ReproSection> example() {
  ReproSection section{.id = "demo", .title = "Demo <1>", .text = "Text & more."};
  section.constants = {{"rate", "5 MB/s", "assumed: a | b"}};
  section.rows.push_back(row_within("close", "MB/s", 100, 105, 0.06, ReproKind::predicted));
  section.rows.push_back(row_within("far", "MB/s", 100, 107, 0.06, ReproKind::fitted, "Seven is more than six."));
  section.rows.push_back({.what = "outside", .paper = 3, .kind = ReproKind::outside, .note = "Not modelled."});
  section.tables.push_back({.title = "Side", .note = "Why.", .columns = {"a", "b"}, .rows = {{"1", "2"}}});
  section.charts.push_back({.title = "Chart", .categories = {"x"}, .series = {{.name = "s", .bars = {SvgBar{.value = 1}}}}});
  return {section};
}

TEST(ReproRows, TargetsHoldUpToTheirEdge) {
  EXPECT_TRUE(*row_within("a", "", 100, 106, 0.06, ReproKind::predicted).holds);
  EXPECT_TRUE(*row_within("a", "", 100, 94, 0.06, ReproKind::predicted).holds);
  EXPECT_FALSE(*row_within("a", "", 100, 106.1, 0.06, ReproKind::predicted).holds);
  EXPECT_FALSE(*row_within("a", "", 100, 93.9, 0.06, ReproKind::predicted).holds);
  EXPECT_TRUE(*row_at_least("a", "", std::nullopt, 2, 2).holds);
  EXPECT_FALSE(*row_at_least("a", "", std::nullopt, 1.9, 2).holds);
  EXPECT_TRUE(*row_at_most("a", "", 5, 2, 2).holds);
  EXPECT_FALSE(*row_at_most("a", "", 5, 2.1, 2).holds);
  EXPECT_EQ(row_within("a", "", 100, 1, 0.06, ReproKind::predicted).target, "within 6 %");
}

TEST(ReproRows, DifferenceIsOfThePublishedFigure) {
  EXPECT_DOUBLE_EQ(*difference({.paper = 200.0, .ours = 150.0}), -0.25);
  EXPECT_FALSE(difference({.paper = 0.0, .ours = 1.0}));
  EXPECT_FALSE(difference({.ours = 1.0}));
  EXPECT_FALSE(difference({.paper = 1.0}));
}

TEST(ReproRows, CellsShowUnitsSignsAndWhatIsMissing) {
  const ReproCells cells = cells_of(row_within("a", "MB/s", 156.13, 151.6, 0.06, ReproKind::predicted));
  EXPECT_EQ(cells.paper, "156.1 MB/s");
  EXPECT_EQ(cells.ours, "151.6 MB/s");
  EXPECT_EQ(cells.difference, "-2.9 %");
  EXPECT_EQ(cells.holds, "holds");
  EXPECT_EQ(cells_of({.unit = "%", .paper = 34.0, .ours = -2.0}).difference, "-36.0 points");
  EXPECT_EQ(cells_of({.unit = "s", .paper = 10000.0, .ours = 9999.0}).difference, "0.0 %");
  EXPECT_EQ(cells_of({.unit = "s", .paper = 10000.0, .ours = 10001.0}).difference, "0.0 %");
  const ReproCells empty = cells_of({.what = "b"});
  EXPECT_EQ(empty.paper + empty.ours + empty.difference + empty.target + empty.holds, "-----");
}

TEST(ReproRows, CountsByTarget) {
  const ReproCount total = count(example());
  EXPECT_EQ(total.published.targets, 1U);
  EXPECT_EQ(total.fitted.targets, 1U);
  EXPECT_EQ(total.shown, 1U);
  EXPECT_EQ(summary({}), "no published figure has a target; 0 rows without a target");
  EXPECT_EQ(summary(total), "1 of 1 published figure hold; apart: 0 of 1 fitted; 1 row without a target");
  auto more = example();
  more[0].rows.push_back(row_at_least("own", "", std::nullopt, 2, 1));
  more[0].rows.push_back(
      {.what = "bound", .paper = 1.0, .ours = 1.0, .target = "the optimum", .holds = true, .kind = ReproKind::bounded});
  more[0].rows.push_back(row_within("near", "", 100, 90, 0.06, ReproKind::computed));
  EXPECT_EQ(
      summary(count(more)),
      "1 of 2 published figures hold; apart: 0 of 1 fitted, 1 of 1 unpublished, 1 of 1 by our own bound; 1 row without a target");
}

TEST(ReproRows, TextHasARowEachAndTheNotesOfThoseThatMiss) {
  const std::string text = repro_text(example(), true, {});
  EXPECT_NE(text.find("Demo <1>"), std::string::npos);
  EXPECT_NE(text.find("misses"), std::string::npos);
  EXPECT_NE(text.find("far: Seven is more than six."), std::string::npos);
  EXPECT_NE(text.find("Side\nWhy."), std::string::npos);
  const std::string bare = repro_text(example(), false, {});
  EXPECT_EQ(std::count(bare.begin(), bare.end(), '\n'), 3);
}

TEST(ReproRows, EqualNotesAreTextOnce) {
  auto sections = example();
  sections[0].rows.push_back(row_within("farther", "MB/s", 100, 207, 0.06, ReproKind::fitted, "Seven is more than six."));
  const std::string text = repro_text(sections, true, {});
  EXPECT_NE(text.find("far (and 1 more): Seven"), std::string::npos);
}

TEST(ReproRows, JsonHasNullsWhereNothingIs) {
  const auto json = nlohmann::json::parse(repro_json(example(), true));
  EXPECT_EQ(json["quick"], true);
  EXPECT_EQ(json["published"]["held"], 1);
  EXPECT_EQ(json["fitted"]["held"], 0);
  EXPECT_EQ(json["fitted"]["targets"], 1);
  const auto& rows = json["sections"][0]["rows"];
  EXPECT_EQ(rows.size(), 3U);
  EXPECT_DOUBLE_EQ(rows[1]["difference"], 0.07);
  EXPECT_EQ(rows[1]["holds"], false);
  EXPECT_TRUE(rows[2]["ours"].is_null());
  EXPECT_TRUE(rows[2]["holds"].is_null());
  EXPECT_EQ(rows[2]["kind"], "outside");
}

TEST(ReproPage, IsSelfContainedAndEscaped) {
  const std::string page = repro_html(example(), false);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_NE(page.find("Demo &lt;1&gt;"), std::string::npos);
  EXPECT_NE(page.find("Text &amp; more."), std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("quick run"), std::string::npos);
  EXPECT_NE(repro_html(example(), true).find("quick run"), std::string::npos);
}

TEST(ReproPage, UnitsAreSetAsOnPaper) {
  std::vector<ReproSection> sections = example();
  sections[0].constants.push_back({.name = "each pair", .value = "29.2 us", .origin = "fitted"});
  EXPECT_NE(repro_html(sections, false).find("<td>29.2 µs</td>"), std::string::npos);
}

TEST(ReproPage, MarkdownKeepsItsTablesWhole) {
  const std::string text = repro_markdown(example(), false);
  EXPECT_NE(text.find("| far | 100.0 MB/s | 107.0 MB/s | +7.0 % | within 6 % | **misses** | fitted |"), std::string::npos);
  EXPECT_NE(text.find("assumed: a \\| b"), std::string::npos);
  EXPECT_FALSE(text.ends_with("\n\n"));
}

}  // namespace
}  // namespace iez::cli
