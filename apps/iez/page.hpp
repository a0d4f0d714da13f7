// The document that every page of iez is in: head, style sheet, and foot. One file with nothing to load and no script, for light
// and dark screens, for paper, and for a telephone.
//
// A page is page_head(), a body, and page_foot(). What a body may use of the style sheet:
// - .cards around page_card(): the figures that a reader looks for first;
// - .charts around pictures of line_chart.hpp, page_charts.hpp and svg_chart.hpp, whose classes are defined here;
// - .wide around a table, which then scrolls inside itself; in it .right for numbers, .text for cells whose text may be broken;
// - .quiet for what explains, .note for what a reader must not miss, .banner for what the whole page depends on;
// - .good, .bad and .warn for words that judge.
//
// Thread safety: pure functions. Text is escaped here.
#pragma once

#include <string>
#include <string_view>

namespace iez::cli {

struct PageHead {
  std::string_view command;  // that made the page: "iez sim"
  std::string_view title;
  std::string_view about;  // what the page is of, in a sentence or two
};

// From the first byte to below the title; the body follows.
std::string page_head(const PageHead& head);

// Figures as they are set on paper: what terminals show as "1 +- 2 us" is "1 ± 2 µs". Escapes nothing.
std::string typeset(std::string_view text);

// remark: said behind the name of the command; may be empty.
std::string page_foot(std::string_view command, std::string_view remark = {});

enum class CardMood { plain, good };

// A figure in large type, and what it is.
std::string page_card(std::string_view value, std::string_view what, CardMood mood = CardMood::plain);

}  // namespace iez::cli
