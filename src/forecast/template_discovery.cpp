#include "forecast/template_discovery.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "forecast/field_roles.hpp"
#include "forecast/name_groups.hpp"

namespace iez::forecast {

namespace {

// A field that was seen with fewer decimals than this, but a varying number of them, will be seen with more.
constexpr unsigned kFreeDecimals = 6;
constexpr unsigned kMaxDecimals = 15;

// What the texts of one token over a group have in common.
struct TokenSummary {
  std::int64_t least = 0;
  std::int64_t greatest = 0;
  std::uint32_t shortest = 0;
  std::uint32_t longest = 0;
  std::uint32_t zero_length = 0;  // of the texts with a leading zero; 0: none
  std::uint32_t shortest_whole = 0;
  unsigned least_decimals = 0;
  unsigned most_decimals = 0;
  bool word = false;
  bool varies = false;
  bool odd_padding = false;  // no width explains all texts
  WordShape shape = WordShape::alnum;
};

class GroupReader {
 public:
  GroupReader(std::span<const ObservedName> names, const NameGroups& groups, std::span<const std::uint32_t> rows)
      : names_(names), groups_(groups), rows_(rows), model_(names[rows[0]].name) {
    groups.lex_member(rows[0], model_lexed_);
  }

  // The template without roles; columns of what varies.
  NameTemplate read(std::vector<std::vector<std::int64_t>>& columns) {
    summarise();
    std::size_t token = 0;
    while (token < model_lexed_.count) token += add_piece(token);
    NameTemplate result = cut();
    fill(result, columns);
    return result;
  }

 private:
  struct Piece {
    std::size_t token;
    std::size_t begin;  // in the model
    std::size_t end;
    Field field;
    bool varies;
  };

  std::string_view text(std::uint32_t name, const Token& token) const {
    return names_[name].name.substr(token.offset, token.length);
  }

  template <typename Visit>
  bool each_name(const Visit& visit) {
    for (const std::uint32_t name : rows_) {
      groups_.lex_member(name, lexed_);
      if (!visit(name)) return false;
    }
    return true;
  }

  void summarise() {
    for (std::size_t t = 0; t < model_lexed_.count; ++t) {
      const Token& token = model_lexed_.storage[t];
      summaries_[t] = {.least = token.value,
                       .greatest = token.value,
                       .shortest = token.length,
                       .longest = token.length,
                       .least_decimals = token.decimals,
                       .most_decimals = token.decimals,
                       .word = token.word,
                       .shape = token.shape};
    }
    each_name([&](std::uint32_t name) {
      for (std::size_t t = 0; t < model_lexed_.count; ++t) see(summaries_[t], name, lexed_.storage[t], model_lexed_.storage[t]);
      return true;
    });
    for (TokenSummary& summary : summaries_) summary.odd_padding |= summary.shortest < summary.zero_length;
  }

  void see(TokenSummary& summary, std::uint32_t name, const Token& token, const Token& model) const {
    summary.shortest = std::min(summary.shortest, token.length);
    summary.longest = std::max(summary.longest, token.length);
    summary.varies |= token.length != model.length || token.value != model.value || token.decimals != model.decimals;
    if (token.word) {
      summary.varies |= text(name, token) != model_.substr(model.offset, model.length);
      return;
    }
    summary.least = std::min(summary.least, token.value);
    summary.greatest = std::max(summary.greatest, token.value);
    summary.least_decimals = std::min<unsigned>(summary.least_decimals, token.decimals);
    summary.most_decimals = std::max<unsigned>(summary.most_decimals, token.decimals);
    if (token.length < 2 || token.decimals > 0 || names_[name].name[token.offset] != '0') return;
    summary.odd_padding |= summary.zero_length != 0 && summary.zero_length != token.length;
    summary.zero_length = token.length;
  }

  // Returns how many tokens it took.
  std::size_t add_piece(std::size_t t) {
    const TokenSummary& summary = summaries_[t];
    const Token& token = model_lexed_.storage[t];
    Piece piece{.token = t, .begin = token.offset, .end = token.end(), .varies = summary.varies};
    Field& field = piece.field;
    if (summary.word) {
      field.kind = FieldKind::word;
      field.shape = summary.shape;
      if (summary.shape == WordShape::alnum) {
        field.min_length = summary.shortest;
        field.max_length = summary.longest;
      }
    } else if (const std::size_t taken = date_at(t, piece); taken > 0) {
      pieces_.push_back(std::move(piece));
      return taken;
    } else if (summary.most_decimals > 0) {
      set_decimals(field, summary.least_decimals, summary.most_decimals);
    } else if (fraction_at(t, piece)) {
      pieces_.push_back(std::move(piece));
      return 2;
    } else if (summary.odd_padding) {
      field.kind = FieldKind::word;
      field.shape = WordShape::digits;
    } else {
      field.width = summary.zero_length;
    }
    pieces_.push_back(std::move(piece));
    return 1;
  }

  static void set_decimals(Field& field, unsigned least, unsigned most) {
    field.kind = FieldKind::fraction;
    field.min_decimals = least;
    field.decimals = least == most ? most : std::max(most, kFreeDecimals);
  }

  std::size_t date_at(std::size_t t, Piece& piece) {
    const std::string_view rest = model_.substr(piece.begin);
    for (unsigned parts = 6; parts >= 3; --parts) {
      const auto format = recognise_date(rest, parts);
      if (!format) return 0;
      parts = format->parts;
      Field field{.kind = FieldKind::date_time, .date = *format};
      const auto date = read_field(field, rest);
      if (!date) return 0;
      const std::size_t end = piece.begin + date->length;
      std::size_t last = t;
      while (last + 1 < model_lexed_.count && model_lexed_.storage[last].end() < end) ++last;
      if (model_lexed_.storage[last].end() != end || !all_dates(t, field)) continue;
      piece.field = std::move(field);
      piece.end = end;
      for (std::size_t i = t + 1; i <= last; ++i) piece.varies |= summaries_[i].varies;
      return last - t + 1;
    }
    return 0;
  }

  bool all_dates(std::size_t t, const Field& field) {
    constexpr std::int64_t kHour = 3'600;
    const bool counter_like = field.date.parts > 3 && field.date.between != 'T' && field.date.between != 0 &&
                              field.date.time_separator == 0 && field.date.parts < 6;
    bool has_hour = false;
    const bool valid = each_name([&](std::uint32_t name) {
      const auto date = read_field(field, names_[name].name.substr(lexed_.storage[t].offset));
      if (!date) return false;
      has_hour |= date->value.number % (24 * kHour) >= kHour;
      return true;
    });
    // "20240101_0003" is more likely the third file of a day than three minutes past midnight.
    return valid && (!counter_like || (field.date.parts == 5 && has_hour));
  }

  // "t0.05" beside "t0.1": the padding of what is behind the point makes sense only as decimals.
  bool fraction_at(std::size_t t, Piece& piece) {
    if (t + 1 >= model_lexed_.count || !summaries_[t + 1].odd_padding || summaries_[t].zero_length != 0) return false;
    const Token& behind = model_lexed_.storage[t + 1];
    if (behind.word || summaries_[t + 1].most_decimals > 0 || behind.offset != piece.end + 1 || model_[piece.end] != '.')
      return false;
    if (summaries_[t].longest + summaries_[t + 1].longest > kMaxDecimals) return false;
    unsigned padded = 0;
    each_name([&](std::uint32_t name) {
      const std::string_view digits = text(name, lexed_.storage[t + 1]);
      if (digits.back() == '0') padded = std::max(padded, static_cast<unsigned>(digits.size()));
      return true;
    });
    if (padded > summaries_[t + 1].shortest) return false;
    set_decimals(piece.field, summaries_[t + 1].shortest, summaries_[t + 1].longest);
    piece.end = behind.end();
    piece.varies = true;
    return true;
  }

  // Constants become text again, except those that may be the number of ranks.
  NameTemplate cut() {
    NameTemplate result;
    std::size_t at = 0;
    std::vector<Piece> kept;
    for (Piece& piece : pieces_) {
      if (!piece.varies) {
        if (piece.field.kind != FieldKind::decimal || summaries_[piece.token].least < 2) continue;
        piece.field.least = summaries_[piece.token].least;
        piece.field.greatest = piece.field.least;
      }
      result.literals.emplace_back(model_.substr(at, piece.begin - at));
      result.fields.push_back(piece.field);
      at = piece.end;
      kept.push_back(std::move(piece));
    }
    result.literals.emplace_back(model_.substr(at));
    pieces_ = std::move(kept);
    return result;
  }

  void fill(const NameTemplate& result, std::vector<std::vector<std::int64_t>>& columns) {
    columns.assign(pieces_.size(), {});
    std::vector<std::size_t> varying;
    for (std::size_t f = 0; f < pieces_.size(); ++f) {
      if (!pieces_[f].varies) continue;
      varying.push_back(f);
      columns[f].reserve(rows_.size());
    }
    if (varying.empty()) return;
    std::unordered_map<std::string_view, std::int64_t> words;
    each_name([&](std::uint32_t name) {
      for (const std::size_t f : varying) {
        const Token& token = lexed_.storage[pieces_[f].token];
        const FieldKind kind = result.fields[f].kind;
        if (kind == FieldKind::decimal) {
          columns[f].push_back(token.value);
        } else if (kind == FieldKind::word) {
          columns[f].push_back(words.try_emplace(text(name, token), static_cast<std::int64_t>(words.size())).first->second);
        } else {
          const auto read = read_field(result.fields[f], names_[name].name.substr(token.offset));
          columns[f].push_back(read ? read->value.number : 0);
        }
      }
      return true;
    });
  }

  std::span<const ObservedName> names_;
  const NameGroups& groups_;
  std::span<const std::uint32_t> rows_;
  std::string_view model_;
  LexedName model_lexed_;
  LexedName lexed_;
  std::array<TokenSummary, kMaxTokens> summaries_{};
  std::vector<Piece> pieces_;
};

// Puts constants that turned out to be no number of ranks back into the text.
void drop_constants(NameTemplate& found, std::vector<std::vector<std::int64_t>>& columns, std::size_t rows) {
  std::vector<std::string> literals{found.literals[0]};
  std::vector<Field> fields;
  std::vector<std::vector<std::int64_t>> kept;
  std::vector<std::uint32_t> place(found.fields.size(), 0);
  for (std::size_t f = 0; f < found.fields.size(); ++f) {
    Field& field = found.fields[f];
    if (columns[f].empty() && field.role != FieldRole::count) {
      write_field(field, {.number = field.least}, literals.back());
      literals.back() += found.literals[f + 1];
      continue;
    }
    if (columns[f].empty()) columns[f].assign(rows, field.least);
    place[f] = static_cast<std::uint32_t>(fields.size());
    field.same_as = place[field.same_as];
    fields.push_back(std::move(field));
    kept.push_back(std::move(columns[f]));
    literals.push_back(std::move(found.literals[f + 1]));
  }
  found.literals = std::move(literals);
  found.fields = std::move(fields);
  columns = std::move(kept);
}

class Discoverer {
 public:
  explicit Discoverer(std::span<const ObservedName> names) : names_(names), groups_(names) {}

  Discovery run() {
    order();
    for (const ObservedName& name : names_) {
      std::uint32_t& ranks = ranks_of_run_[name.run];
      if (name.rank >= 0) ranks = std::max(ranks, static_cast<std::uint32_t>(name.rank) + 1);
    }
    const std::size_t count = begins_.size() - 1;
    result_.templates.reserve(count);
    result_.columns.resize(count);
    for (std::size_t t = 0; t < count; ++t) {
      result_.templates.push_back(
          describe(std::span(rows_).subspan(begins_[t], begins_[t + 1] - begins_[t]), result_.columns[t]));
    }
    return std::move(result_);
  }

 private:
  // Names by template, then run, then creation.
  void order() {
    const auto& group_of = groups_.group_of();
    std::vector<std::uint32_t> template_of_group(groups_.groups().size(), ~0U);
    std::uint32_t count = 0;
    result_.template_of.resize(names_.size());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      std::uint32_t& number = template_of_group[group_of[i]];
      if (number == ~0U) number = count++;
      result_.template_of[i] = number;
    }
    begins_.assign(count + 1, 0);
    for (const std::uint32_t number : result_.template_of) ++begins_[number + 1];
    for (std::size_t t = 1; t < begins_.size(); ++t) begins_[t] += begins_[t - 1];
    rows_.resize(names_.size());
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end());
    for (std::uint32_t i = 0; i < names_.size(); ++i) rows_[next[result_.template_of[i]]++] = i;
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(names_[a].run, a) < std::pair(names_[b].run, b);
    };
    result_.row_of.resize(names_.size());
    for (std::size_t t = 0; t < count; ++t) {
      const auto rows = std::span(rows_).subspan(begins_[t], begins_[t + 1] - begins_[t]);
      if (!std::ranges::is_sorted(rows, earlier)) std::ranges::sort(rows, earlier);
      for (std::uint32_t row = 0; row < rows.size(); ++row) result_.row_of[rows[row]] = row;
    }
  }

  NameTemplate describe(std::span<const std::uint32_t> rows, std::vector<std::vector<std::int64_t>>& columns) {
    NameTemplate found = GroupReader(names_, groups_, rows).read(columns);
    std::vector<std::uint32_t> segments;
    std::vector<std::uint32_t> ranks_of_run;
    std::vector<std::int32_t> ranks;
    ranks.reserve(rows.size());
    bool known = true;
    for (std::uint32_t row = 0; row < rows.size(); ++row) {
      const ObservedName& name = names_[rows[row]];
      if (row == 0 || name.run != names_[rows[row - 1]].run) {
        segments.push_back(row);
        ranks_of_run.push_back(ranks_of_run_[name.run]);
      }
      known &= name.rank >= 0;
      if (known) ranks.push_back(name.rank);
    }
    found.names = rows.size();
    found.runs = static_cast<std::uint32_t>(segments.size());
    segments.push_back(static_cast<std::uint32_t>(rows.size()));
    if (!known) ranks.clear();
    assign_roles(found, {.columns = columns, .segments = segments, .ranks = ranks, .ranks_of_run = ranks_of_run});
    drop_constants(found, columns, rows.size());
    return found;
  }

  std::span<const ObservedName> names_;
  NameGroups groups_;
  std::map<std::uint32_t, std::uint32_t> ranks_of_run_;
  std::vector<std::uint32_t> begins_;  // of each template in rows_, and the end
  std::vector<std::uint32_t> rows_;
  Discovery result_;
};

}  // namespace

Discovery discover(std::span<const ObservedName> names) { return Discoverer(names).run(); }

}  // namespace iez::forecast
