// One varying part of a file name: how its text is written, and which values it takes from name to name.
//
// A field is a number as printf writes it (%d, %05d), a decimal fraction (the time directories of OpenFOAM: 0.05, 0.1, 10), a
// date with or without time, or a word that is only known by its shape (a uuid, the tail of a mkstemp name, a run directory).
// read_field() and write_field() are exact inverses: a text that write_field() would not have written is not read.
//
// Units: the value of a fraction counts 10^-decimals; a date counts seconds since 1970-01-01 00:00:00 without a time zone.
// Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iez::forecast {

enum class FieldKind { decimal, fraction, date_time, word };

enum class FieldRole {
  rank,   // follows the rank of the process; see Field::divisor for one file per node
  step,   // grows while a run goes on: an iteration, a simulated time, a date
  part,   // runs over a fixed set in each step: a level, a domain, a part of a file
  count,  // the number of ranks ("Part00000003-of-00000064")
  run,    // the same in all names of a run: a job number, a run directory
  other,
};

std::string_view to_string(FieldRole role);

// What a word is made of.
enum class WordShape {
  alnum,      // letters and digits
  digits,     // a number whose padding follows no rule, or that is too long for 64 bits
  uuid,       // 8-4-4-4-12 hexadecimal digits
  component,  // a whole part of a path
};

// YYYY MM DD, then hh mm ss as far as parts goes; a separator of 0 stands for none.
struct DateFormat {
  char date_separator = 0;
  char between = 0;
  char time_separator = 0;
  unsigned parts = 3;  // 3 to 6

  friend bool operator==(const DateFormat&, const DateFormat&) = default;
};

struct FieldValue {
  std::int64_t number = 0;
  std::string_view text;  // of a word; number is 0 then

  friend bool operator==(const FieldValue&, const FieldValue&) = default;
};

// The values of a field in the order of its variable's index. Beyond what was seen the stride goes on, or
// the median one where it is not constant.
struct Series {
  std::int64_t first = 0;
  std::int64_t stride = 0;           // in months if months is set
  bool months = false;               // dates only
  std::vector<std::int64_t> values;  // where the values have no constant stride; else empty

  std::int64_t at(std::uint64_t index) const;

  friend bool operator==(const Series&, const Series&) = default;
};

// REQUIRES: values is not empty. Calendar months are looked for only if dates is set.
Series make_series(std::vector<std::int64_t> values, bool dates);

struct Field {
  static constexpr std::uint32_t kNoVariable = 0xffff'ffff;

  FieldKind kind = FieldKind::decimal;
  FieldRole role = FieldRole::other;

  unsigned width = 0;         // decimal: padded with zeros to this many digits; 0: not padded
  unsigned decimals = 0;      // fraction: the unit of its values is 10^-decimals, decimals <= 15
  unsigned min_decimals = 0;  // fraction: trailing zeros are dropped down to this many decimals
  DateFormat date;
  WordShape shape = WordShape::alnum;
  unsigned min_length = 1;  // of a word, bytes
  unsigned max_length = 0;  // 0: any

  // The value at index i of the variable is series.at((i / divisor) % modulus). A run field has no variable: its series counts
  // runs from the last one seen. Nor has a count.
  std::uint32_t variable = kNoVariable;
  std::uint32_t divisor = 1;
  std::uint32_t modulus = 0;  // 0: none
  Series series;

  bool open = false;          // matches, but its next value cannot be known
  std::uint32_t same_as = 0;  // the first field that always has the same value; its own number if none
  std::uint32_t distinct = 0;
  std::int64_t least = 0;  // of the values seen; 0 for words
  std::int64_t greatest = 0;
};

// The text of the field at the front of text, or nothing. Takes as much as belongs together: all digits that follow each other,
// the whole word.
struct FieldText {
  std::size_t length = 0;
  FieldValue value;
};
std::optional<FieldText> read_field(const Field& field, std::string_view text);

void write_field(const Field& field, const FieldValue& value, std::string& out);

// The longest date at the front of text that ends where its digits end, of the years 1900 to 2199. At most max_parts parts.
std::optional<DateFormat> recognise_date(std::string_view text, unsigned max_parts = 6);

constexpr bool is_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Whether text begins with a uuid that no letter or digit follows.
bool begins_with_uuid(std::string_view text);

}  // namespace iez::forecast
