// The values of a reproduction: rows of published and own figures, by section; and their text and JSON.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "svg_chart.hpp"

namespace iez::cli {

enum class ReproKind {
  fitted,     // a constant was chosen so that this comes out
  predicted,  // simulated, and nothing was fitted to it
  computed,   // from an equation, or by drawing placements
  bounded,    // likewise, and held to a bound of ours
  outside,    // the model does not hold what it would take
};
std::string_view to_string(ReproKind kind);

struct ReproRow {
  std::string what;
  std::string unit;  // empty: a plain number
  std::optional<double> paper;
  std::optional<double> ours;  // none: outside the model, or left out
  int decimals = 1;            // of both
  std::string target;          // "within 6 %"; empty: shown only
  std::optional<bool> holds;   // set where there is a target
  ReproKind kind = ReproKind::predicted;
  std::string note;  // one sentence, where they differ or need a word
};

// (ours - paper) / paper. None where one is missing, or the published figure is 0.
std::optional<double> difference(const ReproRow& row);

// Rows with a target. `share` is of the published figure: 0.06 is 6 %.
ReproRow row_within(std::string what, std::string unit, double paper, double ours, double share, ReproKind kind,
                    std::string note = "");
ReproRow row_at_least(std::string what, std::string unit, std::optional<double> paper, double ours, double least,
                      std::string note = "");
ReproRow row_at_most(std::string what, std::string unit, std::optional<double> paper, double ours, double most,
                     std::string note = "");

struct ReproConstant {
  std::string name;
  std::string value;
  std::string origin;  // "published", "fitted: on what", "assumed: why"
};

// A table beside the rows, such as what an assumption changes. The first column is text.
struct ReproTable {
  std::string title;
  std::string note;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct ReproSection {
  std::string id;  // for --only
  std::string title;
  std::string text;   // what was done, in a few sentences
  std::string cited;  // the paper, in a sentence
  std::vector<ReproConstant> constants;
  std::vector<ReproRow> rows;
  std::vector<ReproTable> tables;
  std::vector<SvgChart> charts;
};

// Targets say something of us where a figure was published and nothing was chosen so that it comes out: the others count apart.
struct ReproTally {
  std::size_t held = 0;
  std::size_t targets = 0;
};
struct ReproCount {
  ReproTally published;  // predicted or computed, beside a published figure
  ReproTally fitted;
  ReproTally unpublished;  // no figure was published
  ReproTally bounded;      // by a bound of ours
  std::size_t shown = 0;   // without a target
};
ReproCount count(const std::vector<ReproSection>& sections);

// Cells of a row, as every face of the report shows them; "-" where there is nothing.
struct ReproCells {
  std::string paper;
  std::string ours;
  std::string difference;
  std::string target;
  std::string holds;  // "holds", "misses", "-"
};
ReproCells cells_of(const ReproRow& row);

// "12 of 14 published figures hold; apart: 5 of 5 fitted, 1 of 2 unpublished, 4 of 4 by our own bound; 3 rows without a target"
std::string summary(const ReproCount& count);

std::string repro_text(const std::vector<ReproSection>& sections, bool header, const Terminal& terminal);
std::string repro_json(const std::vector<ReproSection>& sections, bool quick);

}  // namespace iez::cli
