// CSV text cut into records of fields, as RFC 4180 has it: fields may be in quotes, a quote within is written twice, and a record
// ends with its line, but for line ends within quotes. Lines end with LF or CRLF; empty ones are passed over.
//
// Thread safety: none; one reader each. Ownership: the text must outlive the reader. Memory: the longest record with quotes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iez::input {

class CsvRecords {
 public:
  // What breaks the form of a record. Nothing can be read after it.
  enum class Problem {
    none,
    unterminated,      // a quote opens a field, and none closes it
    text_after_quote,  // between the quote that closes a field and the comma
    quote_in_field,    // of a field that does not start with one
    not_text,          // the first line has control characters, or bytes that are not UTF-8
  };

  explicit CsvRecords(std::string_view text);

  // False at the end.
  bool next();

  // Of the record; valid until next(). REQUIRES: no problem.
  std::span<const std::string_view> fields() const { return fields_; }
  std::size_t line() const { return line_; }  // where the record starts, from 1
  Problem problem() const { return problem_; }

 private:
  void split_plain(std::string_view line);
  void split_quoted();
  bool take_field();
  bool take_quoted();

  std::string_view rest_;
  std::vector<std::string_view> fields_;
  std::string text_;               // the unquoted fields of a record with quotes, one after another
  std::vector<std::size_t> ends_;  // of each in text_
  std::size_t line_ = 1;
  std::size_t next_line_ = 1;
  Problem problem_ = Problem::none;
  bool is_text_ = true;
};

// "found ..., expected ...". REQUIRES: a problem.
std::string_view explain(CsvRecords::Problem problem);

}  // namespace iez::input
