#include "input/csv_records.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/text.hpp"

namespace iez::input {

namespace {

constexpr std::size_t kLookedAt = 4096;

// By the heading: pictures, archives and programs begin with bytes that no heading has.
bool looks_like_text(std::string_view text) {
  std::string line(text.substr(0, std::min(text.find('\n'), kLookedAt)));
  while (line.size() == kLookedAt && static_cast<unsigned char>(line.back()) >= 0x80) line.pop_back();  // half a character
  std::erase_if(line, [](char one) { return one == '\t' || one == '\r'; });
  return text::printable(line) == line;
}

}  // namespace

CsvRecords::CsvRecords(std::string_view text) : rest_(text), is_text_(looks_like_text(text)) {}

bool CsvRecords::next() {
  fields_.clear();
  problem_ = is_text_ ? Problem::none : Problem::not_text;
  line_ = next_line_;
  if (!is_text_) {
    const bool first = !rest_.empty();
    rest_ = {};
    return first;
  }
  while (!rest_.empty()) {
    line_ = next_line_;
    std::string_view line = rest_.substr(0, std::min(rest_.find('\n'), rest_.size()));
    const std::size_t taken = std::min(line.size() + 1, rest_.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find('"') != std::string_view::npos) {
      split_quoted();
      return true;
    }
    rest_.remove_prefix(taken);
    ++next_line_;
    if (line.empty()) continue;
    split_plain(line);
    return true;
  }
  return false;
}

void CsvRecords::split_plain(std::string_view line) {
  while (true) {
    const auto* const comma = static_cast<const char*>(std::memchr(line.data(), ',', line.size()));
    if (comma == nullptr) break;
    const auto length = static_cast<std::size_t>(comma - line.data());
    fields_.push_back(line.substr(0, length));
    line.remove_prefix(length + 1);
  }
  fields_.push_back(line);
}

// A record with quotes, which may go on over several lines. The unquoted texts lie one after another in text_.
void CsvRecords::split_quoted() {
  text_.clear();
  ends_.clear();
  while (take_field()) {
  }
  std::size_t start = 0;
  for (const std::size_t end : ends_) {
    fields_.push_back(std::string_view(text_).substr(start, end - start));
    start = end;
  }
}

// True: another field follows in this record.
bool CsvRecords::take_field() {
  if (rest_.starts_with('"')) {
    if (!take_quoted()) return false;
  } else {
    const std::size_t length = std::min(rest_.find_first_of(",\n\""), rest_.size());
    std::string_view field = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (rest_.starts_with('"')) {
      problem_ = Problem::quote_in_field;
      return false;
    }
    if (!rest_.starts_with(',') && field.ends_with('\r')) field.remove_suffix(1);
    text_ += field;
  }
  ends_.push_back(text_.size());
  if (rest_.starts_with(',')) {
    rest_.remove_prefix(1);
    return true;
  }
  if (rest_.starts_with('\r')) rest_.remove_prefix(1);
  if (rest_.starts_with('\n')) {
    rest_.remove_prefix(1);
    ++next_line_;
  } else if (!rest_.empty()) {
    problem_ = Problem::text_after_quote;
  }
  return false;
}

bool CsvRecords::take_quoted() {
  rest_.remove_prefix(1);
  while (true) {
    const std::size_t quote = rest_.find('"');
    if (quote == std::string_view::npos) {
      problem_ = Problem::unterminated;
      return false;
    }
    const std::string_view piece = rest_.substr(0, quote);
    next_line_ += static_cast<std::size_t>(std::ranges::count(piece, '\n'));
    text_ += piece;
    rest_.remove_prefix(quote + 1);
    if (!rest_.starts_with('"')) return true;
    text_ += '"';
    rest_.remove_prefix(1);
  }
}

std::string_view explain(CsvRecords::Problem problem) {
  switch (problem) {
    case CsvRecords::Problem::none:
      break;
    case CsvRecords::Problem::unterminated:
      return "found a quote that opens a field and no quote that closes it, expected both";
    case CsvRecords::Problem::text_after_quote:
      return "found text after the quote that closes a field, expected a comma; a quote within is written twice";
    case CsvRecords::Problem::not_text:
      return "it is not text; expected CSV";
    case CsvRecords::Problem::quote_in_field:
      return "found a quote within a field, expected the whole field in quotes, and the one within twice";
  }
  return "";
}

}  // namespace iez::input
