#include "repro_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "json.hpp"
#include "table.hpp"
#include "wrap.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kProse = 80;  // columns of sentences

// Three to five figures, whatever the size.
int decimals_for(double value) {
  if (value == 0) return 0;
  const double size = std::abs(value);
  if (size >= 1000) return 0;
  if (size >= 100) return 1;
  return size >= 10 ? 1 : 3;
}

ReproRow make_row(std::string what, std::string unit, std::optional<double> paper, double ours, ReproKind kind,
                  std::string note) {
  return {.what = std::move(what),
          .unit = std::move(unit),
          .paper = paper,
          .ours = ours,
          .decimals = decimals_for(paper.value_or(ours)),
          .kind = kind,
          .note = std::move(note)};
}

std::string number(const std::optional<double>& value, const ReproRow& row) {
  if (!value) return "-";
  std::string text = fmt::format("{:.{}f}", *value, row.decimals);
  if (!row.unit.empty()) text += " " + row.unit;
  return text;
}

// Each once, with the first row that has it. Rows that hold need none here; the page has all.
std::string notes_text(const ReproSection& section) {
  std::vector<std::pair<const ReproRow*, std::size_t>> notes;  // and how many more have it
  for (const ReproRow& row : section.rows) {
    if (row.note.empty() || row.holds == true) continue;
    const auto same = std::ranges::find_if(notes, [&row](const auto& seen) { return seen.first->note == row.note; });
    if (same == notes.end()) {
      notes.emplace_back(&row, 0);
    } else {
      ++same->second;
    }
  }
  std::string out = notes.empty() ? "" : "\nNotes\n";
  for (const auto& [row, more] : notes) {
    out += fmt::format("  {}{}: {}\n", row->what, more == 0 ? "" : fmt::format(" (and {} more)", more), row->note);
  }
  return out;
}

std::string section_text(const ReproSection& section, bool header, const Terminal& terminal) {
  Table table({{"WHAT"}, {"PAPER", Align::right}, {"OURS", Align::right}, {"DIFF", Align::right}, {"TARGET"}, {""}, {"KIND"}});
  for (const ReproRow& row : section.rows) {
    ReproCells cells = cells_of(row);
    const bool missed = row.holds == false;
    table.add({{row.what},
               {std::move(cells.paper)},
               {std::move(cells.ours)},
               {std::move(cells.difference)},
               {std::move(cells.target)},
               {std::move(cells.holds), missed ? Colour::red : Colour::none},
               {std::string(to_string(row.kind))}});
  }
  std::string out = header ? fmt::format("{}\n{}\n\n", section.title, wrapped(section.cited, 0, 0, kProse)) : "";
  out += table.render(terminal, header);
  if (!header) return out;
  for (const ReproTable& side : section.tables) {
    std::vector<Table::Column> columns;
    columns.reserve(side.columns.size());
    for (const std::string& title : side.columns) columns.push_back({title, columns.empty() ? Align::left : Align::right});
    Table small(std::move(columns));
    for (const auto& row : side.rows) {
      std::vector<Cell> cells;
      cells.reserve(row.size());
      for (const std::string& cell : row) cells.push_back({cell});
      small.add(std::move(cells));
    }
    out += fmt::format("\n{}\n{}\n\n{}", side.title, side.note, small.render(terminal, true));
  }
  return out + notes_text(section);
}

ordered_json row_json(const ReproRow& row) {
  return {{"what", row.what},
          {"unit", row.unit},
          {"paper", or_null(row.paper)},
          {"ours", or_null(row.ours)},
          {"difference", or_null(difference(row))},
          {"target", row.target},
          {"holds", or_null(row.holds)},
          {"kind", to_string(row.kind)},
          {"note", row.note}};
}

ordered_json section_json(const ReproSection& section) {
  ordered_json json{{"id", section.id},
                    {"title", section.title},
                    {"text", section.text},
                    {"constants", ordered_json::array()},
                    {"rows", ordered_json::array()},
                    {"tables", ordered_json::array()}};
  for (const ReproConstant& constant : section.constants)
    json["constants"].push_back({{"name", constant.name}, {"value", constant.value}, {"origin", constant.origin}});
  for (const ReproRow& row : section.rows) json["rows"].push_back(row_json(row));
  for (const ReproTable& table : section.tables)
    json["tables"].push_back({{"title", table.title}, {"note", table.note}, {"columns", table.columns}, {"rows", table.rows}});
  return json;
}

ordered_json tally_json(const ReproTally& tally) { return {{"held", tally.held}, {"targets", tally.targets}}; }

// What is nothing when it is rounded has no sign.
std::string signed_text(double value) {
  const std::string text = fmt::format("{:+.1f}", value);
  return text == "-0.0" || text == "+0.0" ? "0.0" : text;
}

}  // namespace

std::string_view to_string(ReproKind kind) {
  switch (kind) {
    case ReproKind::fitted:
      return "fitted";
    case ReproKind::predicted:
      return "predicted";
    case ReproKind::computed:
      return "computed";
    case ReproKind::bounded:
      return "bounded";
    case ReproKind::outside:
      return "outside";
  }
  return "";
}

std::optional<double> difference(const ReproRow& row) {
  if (!row.paper || !row.ours || *row.paper == 0) return std::nullopt;
  return (*row.ours - *row.paper) / *row.paper;
}

ReproRow row_within(std::string what, std::string unit, double paper, double ours, double share, ReproKind kind,
                    std::string note) {
  ReproRow row = make_row(std::move(what), std::move(unit), paper, ours, kind, std::move(note));
  row.target = fmt::format("within {:g} %", share * 100);
  row.holds = std::abs(ours - paper) <= share * std::abs(paper);
  return row;
}

ReproRow row_at_least(std::string what, std::string unit, std::optional<double> paper, double ours, double least,
                      std::string note) {
  ReproRow row = make_row(std::move(what), std::move(unit), paper, ours, ReproKind::predicted, std::move(note));
  row.target = fmt::format("at least {:g}", least);
  row.holds = ours >= least;
  return row;
}

ReproRow row_at_most(std::string what, std::string unit, std::optional<double> paper, double ours, double most,
                     std::string note) {
  ReproRow row = make_row(std::move(what), std::move(unit), paper, ours, ReproKind::predicted, std::move(note));
  row.target = fmt::format("at most {:g}", most);
  row.holds = ours <= most;
  return row;
}

ReproCount count(const std::vector<ReproSection>& sections) {
  ReproCount total;
  for (const ReproSection& section : sections) {
    for (const ReproRow& row : section.rows) {
      if (!row.holds) {
        ++total.shown;
        continue;
      }
      ReproTally& tally = row.kind == ReproKind::bounded  ? total.bounded
                          : row.kind == ReproKind::fitted ? total.fitted
                          : row.paper                     ? total.published
                                                          : total.unpublished;
      ++tally.targets;
      tally.held += *row.holds ? 1U : 0U;
    }
  }
  return total;
}

ReproCells cells_of(const ReproRow& row) {
  const auto change = difference(row);
  ReproCells cells{.paper = number(row.paper, row), .ours = number(row.ours, row)};
  if (!change) {
    cells.difference = "-";
  } else if (row.unit == "%") {
    cells.difference = signed_text(row.ours.value_or(0) - row.paper.value_or(0)) + " points";
  } else {
    cells.difference = signed_text(*change * 100) + " %";
  }
  cells.target = row.target.empty() ? "-" : row.target;
  if (!row.holds) {
    cells.holds = "-";
  } else {
    cells.holds = *row.holds ? "holds" : "misses";
  }
  return cells;
}

std::string summary(const ReproCount& count) {
  std::string out = "no published figure has a target";
  if (count.published.targets > 0) {
    out = fmt::format("{} of {} hold", count.published.held, counted(count.published.targets, "published figure"));
  }
  std::string apart;
  const auto add = [&apart](const ReproTally& tally, std::string_view what) {
    if (tally.targets > 0)
      apart += fmt::format("{}{} of {} {}", apart.empty() ? "; apart: " : ", ", tally.held, tally.targets, what);
  };
  add(count.fitted, "fitted");
  add(count.unpublished, "unpublished");
  add(count.bounded, "by our own bound");
  return out + apart + fmt::format("; {} without a target", counted(count.shown, "row"));
}

std::string repro_text(const std::vector<ReproSection>& sections, bool header, const Terminal& terminal) {
  std::string out;
  for (const ReproSection& section : sections) {
    if (!out.empty() && header) out += "\n";
    out += section_text(section, header, terminal);
  }
  if (header) out += "\n" + summary(count(sections)) + "\n";
  return out;
}

std::string repro_json(const std::vector<ReproSection>& sections, bool quick) {
  const ReproCount total = count(sections);
  ordered_json json{{"quick", quick},
                    {"published", tally_json(total.published)},
                    {"fitted", tally_json(total.fitted)},
                    {"unpublished", tally_json(total.unpublished)},
                    {"bounded", tally_json(total.bounded)},
                    {"without_target", total.shown},
                    {"sections", ordered_json::array()}};
  for (const ReproSection& section : sections) json["sections"].push_back(section_json(section));
  return to_line(json);
}

}  // namespace iez::cli
