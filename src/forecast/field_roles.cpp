#include "forecast/field_roles.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "forecast/value_column.hpp"

namespace iez::forecast {

namespace {

constexpr std::size_t kMaxListedValues = 65'536;
constexpr std::int64_t kLongestGap = 16;  // strides that may be skipped where the stride itself was seen only once

enum class Hint { none, rank, step, part, count };

// The last word before a field, or the glued letters: "rank_", "plt", "Part", "-of-".
Hint hint_before(std::string_view literal) {
  using Words = std::pair<Hint, std::string_view>;
  constexpr std::array<Words, 53> kWords{{
      {Hint::rank, "rank"},       {Hint::rank, "ranks"},   {Hint::rank, "proc"},       {Hint::rank, "processor"},
      {Hint::rank, "process"},    {Hint::rank, "pe"},      {Hint::rank, "task"},       {Hint::rank, "part"},
      {Hint::rank, "node"},       {Hint::rank, "worker"},  {Hint::rank, "host"},       {Hint::rank, "mpi"},
      {Hint::step, "step"},       {Hint::step, "iter"},    {Hint::step, "iteration"},  {Hint::step, "it"},
      {Hint::step, "chk"},        {Hint::step, "ckpt"},    {Hint::step, "checkpoint"}, {Hint::step, "plt"},
      {Hint::step, "cnt"},        {Hint::step, "dump"},    {Hint::step, "restart"},    {Hint::step, "snap"},
      {Hint::step, "snapshot"},   {Hint::step, "snapdir"}, {Hint::step, "time"},       {Hint::step, "timestep"},
      {Hint::step, "t"},          {Hint::step, "ts"},      {Hint::step, "epoch"},      {Hint::step, "cycle"},
      {Hint::step, "frame"},      {Hint::step, "gen"},     {Hint::step, "globalstep"}, {Hint::part, "level"},
      {Hint::part, "lev"},        {Hint::part, "domain"},  {Hint::part, "d"},          {Hint::part, "block"},
      {Hint::part, "chunk"},      {Hint::part, "shard"},   {Hint::count, "of"},        {Hint::count, "n"},
      {Hint::count, "np"},        {Hint::count, "nproc"},  {Hint::count, "nprocs"},    {Hint::count, "nranks"},
      {Hint::count, "procs"},     {Hint::count, "world"},  {Hint::count, "ntasks"},    {Hint::count, "tasks"},
      {Hint::count, "worldsize"},
  }};
  const auto is_letter = [](char c) { return is_alnum(c) && !text::is_digit(c); };
  std::size_t end = literal.size();
  while (end > 0 && std::string_view("_-.= :/").contains(literal[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_letter(literal[begin - 1])) --begin;
  const std::string_view word = literal.substr(begin, end - begin);
  const auto* const found =
      std::ranges::find_if(kWords, [word](const Words& entry) { return text::iequals(entry.second, word); });
  return found == kWords.end() ? Hint::none : found->first;
}

// By how much the number of a run grows. Runs that were skipped, or made twice, do not change what is usual. None: no rule is to
// be seen, as in numbers of jobs.
std::optional<std::int64_t> usual_stride(std::span<const std::int64_t> values) {
  std::vector<std::int64_t> strides(values.size() - 1);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (__builtin_sub_overflow(values[i + 1], values[i], &strides[i])) return std::nullopt;
  }
  // Any two numbers have a stride; it takes a third to show that it is no accident.
  if (strides.size() == 1) return strides[0] == 1 ? std::optional(strides[0]) : std::nullopt;
  const std::int64_t last = strides.back();
  if (std::ranges::all_of(strides, [&](std::int64_t stride) { return stride == last; })) return last;
  // Twice in a row, and most recently: the application may have changed its ways.
  if (last > 0 && strides[strides.size() - 2] == last) return last;
  std::int64_t usual = 0;
  std::ptrdiff_t times = 0;
  for (const std::int64_t stride : strides) {
    const auto seen = std::ranges::count(strides, stride);
    if (stride > 0 && seen >= times) {
      usual = stride;
      times = seen;
    }
  }
  if (times >= 2 && 2 * static_cast<std::size_t>(times) >= strides.size()) return usual;
  // Of two strides one may be a gap of a few of the other.
  const auto [least, most] = std::ranges::minmax(strides);
  const bool gap = strides.size() == 2 && least > 0 && most % least == 0 && most / least <= kLongestGap;
  return gap ? std::optional(least) : std::nullopt;
}

// A field as a function of the index of its variable, given its value at each index.
void set_mapping(Field& field, std::vector<std::int64_t> values) {
  const bool dates = field.kind == FieldKind::date_time;
  Series plain = make_series(values, dates);
  if (plain.values.empty()) {
    field.series = std::move(plain);
    return;
  }
  const std::size_t n = values.size();
  const auto same_as_first = [&](std::int64_t value) { return value == values[0]; };
  const auto block = static_cast<std::size_t>(std::ranges::find_if_not(values, same_as_first) - values.begin());
  const auto in_blocks = [&] {
    for (std::size_t i = 0; i < n; ++i) {
      if (values[i] != values[i / block * block] || (i % block == 0 && i > 0 && values[i] == values[i - 1])) return false;
    }
    return true;
  };
  if (block >= 2 && block < n && in_blocks()) {
    std::vector<std::int64_t> firsts;
    firsts.reserve(n / block + 1);
    for (std::size_t i = 0; i < n; i += block) firsts.push_back(values[i]);
    field.divisor = static_cast<std::uint32_t>(block);
    field.series = make_series(std::move(firsts), dates);
    return;
  }
  const auto period = static_cast<std::size_t>(std::find_if(values.begin() + 1, values.end(), same_as_first) - values.begin());
  const auto repeats = [&] {
    for (std::size_t i = period; i < n; ++i) {
      if (values[i] != values[i - period]) return false;
    }
    return true;
  };
  if (period < n && repeats()) {
    values.resize(period);
    field.modulus = static_cast<std::uint32_t>(period);
    field.series = make_series(std::move(values), dates);
    return;
  }
  if (n > kMaxListedValues)
    field.open = true;
  else
    field.series = std::move(plain);
}

class RoleFinder {
 public:
  RoleFinder(NameTemplate& name_template, const RoleEvidence& evidence)
      : template_(name_template), fields_(name_template.fields), evidence_(evidence), columns_(fields_.size()) {}

  void run() {
    const std::size_t last_run = evidence_.ranks_of_run.size() - 1;
    template_.ranks = evidence_.ranks_of_run[last_run];
    std::vector<std::size_t> rest;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      fields_[f].same_as = static_cast<std::uint32_t>(f);
      if (evidence_.columns[f].empty()) continue;
      describe(f);
      if (tied(f) || marks_run(f)) continue;
      if (fields_[f].kind == FieldKind::word) {
        fields_[f].open = true;
        continue;
      }
      rest.push_back(f);
    }
    join_ranks(rest);
    join_rest(rest);
    choose_roles();
    find_counts();
    finish();
  }

 private:
  struct Lead {
    std::vector<std::size_t> fields;  // the first leads, unless the ranks do
    bool by_rank = false;
    Variable variable;
  };

  std::size_t runs() const { return evidence_.segments.size() - 1; }
  std::uint32_t rows() const { return evidence_.segments.back(); }

  void describe(std::size_t f) {
    const auto& column = evidence_.columns[f];
    columns_[f] = ValueColumn(column, evidence_.segments);
    fields_[f].distinct = static_cast<std::uint32_t>(columns_[f].values().size());
    if (fields_[f].kind == FieldKind::word) return;
    fields_[f].least = columns_[f].values().front();
    fields_[f].greatest = columns_[f].values().back();
  }

  bool tied(std::size_t f) {
    for (std::size_t g = 0; g < f; ++g) {
      const bool comparable = fields_[g].kind == fields_[f].kind && fields_[g].decimals == fields_[f].decimals;
      if (!comparable || fields_[g].same_as != g || evidence_.columns[g] != evidence_.columns[f]) continue;
      fields_[f].same_as = static_cast<std::uint32_t>(g);
      return true;
    }
    return false;
  }

  bool marks_run(std::size_t f) {
    if (runs() < 2 || !columns_[f].constant_in_runs()) return false;
    Field& field = fields_[f];
    std::vector<std::int64_t> values;
    bool is_count = field.kind == FieldKind::decimal;
    values.reserve(runs());
    for (std::size_t r = 0; r < runs(); ++r) {
      values.push_back(evidence_.columns[f][evidence_.segments[r]]);
      is_count &= evidence_.ranks_of_run[r] >= 2 && values[r] == std::int64_t{evidence_.ranks_of_run[r]};
    }
    if (is_count) {
      field.role = FieldRole::count;
      field.series.first = values.back();
      return true;
    }
    field.role = FieldRole::run;
    const std::int64_t last = values.back();
    const auto stride = field.kind == FieldKind::word ? std::nullopt : usual_stride(values);
    field.open = !stride;
    field.series.first = last;
    field.series.stride = stride.value_or(0);
    return true;
  }

  // Rank, rank / k, or one to one; remainder tells that it is the rest of a division.
  bool follows_rank(const ValueColumn& column, const ValueColumn& ranks, bool& remainder) const {
    remainder = false;
    const auto map = column.function_of(ranks);
    if (!map) return false;
    const auto& rank_values = ranks.values();
    if (column.values().size() == rank_values.size()) return true;
    std::int64_t least_divisor = 2;
    std::int64_t most_divisor = rank_values.back();
    const std::int64_t modulus = column.values().back() + 1;
    remainder = modulus >= 2;
    for (std::size_t i = 0; i < rank_values.size(); ++i) {
      const std::int64_t rank = rank_values[i];
      const std::int64_t value = column.values()[(*map)[i]];
      if (value > rank) return remainder = false;
      least_divisor = std::max(least_divisor, rank / (value + 1) + 1);
      if (value > 0) most_divisor = std::min(most_divisor, rank / value);
      remainder &= value == rank % modulus;
    }
    if (least_divisor <= most_divisor) remainder = false;
    return least_divisor <= most_divisor || remainder;
  }

  void join_ranks(std::vector<std::size_t>& rest) {
    if (evidence_.ranks.empty()) return;
    const std::vector<std::int64_t> column(evidence_.ranks.begin(), evidence_.ranks.end());
    ranks_ = ValueColumn(column, evidence_.segments);
    if (ranks_.values().size() < 2) return;
    Lead lead{.by_rank = true};
    std::vector<std::size_t> remainders;
    for (const std::size_t f : rest) {
      bool remainder = false;
      if (fields_[f].kind != FieldKind::decimal || !follows_rank(columns_[f], ranks_, remainder)) continue;
      (remainder ? remainders : lead.fields).push_back(f);
    }
    if (lead.fields.empty()) return;
    lead.fields.insert(lead.fields.end(), remainders.begin(), remainders.end());
    std::erase_if(rest, [&](std::size_t f) { return std::ranges::find(lead.fields, f) != lead.fields.end(); });
    lead.variable.role = FieldRole::rank;
    leads_.push_back(std::move(lead));
  }

  bool regular(std::size_t f) const { return columns_[f].regular() || columns_[f].rising(); }

  void join_rest(std::vector<std::size_t> rest) {
    std::ranges::sort(rest, [&](std::size_t a, std::size_t b) {
      const auto key = [&](std::size_t f) { return std::tuple(!regular(f), ~columns_[f].values().size(), f); };
      return key(a) < key(b);
    });
    for (const std::size_t f : rest) {
      const auto leader = std::ranges::find_if(
          leads_, [&](const Lead& lead) { return !lead.by_rank && columns_[f].function_of(columns_[lead.fields[0]]); });
      if (leader != leads_.end()) {
        leader->fields.push_back(f);
      } else if (!regular(f) && columns_[f].values().size() > rows() / 2) {
        fields_[f].open = true;
      } else {
        leads_.push_back({.fields = {f}});
      }
    }
  }

  Hint hint_of(std::size_t f) const {
    if (fields_[f].kind != FieldKind::decimal) return Hint::step;
    return hint_before(template_.literals[f]);
  }

  bool hinted(const Lead& lead, Hint hint) const {
    return std::ranges::any_of(lead.fields, [&](std::size_t f) { return hint_of(f) == hint; });
  }

  bool dense(const Lead& lead) const {
    const auto& values = columns_[lead.fields[0]].values();
    const bool starts = values.front() == 0 || values.front() == 1;
    return fields_[lead.fields[0]].kind == FieldKind::decimal && starts &&
           values.back() - values.front() + 1 == static_cast<std::int64_t>(values.size());
  }

  // A constant beside the field that is its number of values: "-of-00000064".
  bool counted(const Lead& lead) const {
    if (!dense(lead)) return false;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const bool constant = evidence_.columns[f].empty();
      if (constant && fields_[f].least == std::int64_t{fields_[lead.fields[0]].distinct} && count_like(f)) return true;
    }
    return false;
  }

  // Whether a constant could be meant as a number of ranks: not the 5 of hdf5.
  bool count_like(std::size_t f) const {
    if (fields_[f].least < 2) return false;
    const std::string_view before = template_.literals[f];
    if (hint_before(before) == Hint::count) return true;
    if (f == 0 || before.empty() || before.contains('/')) return false;
    const char glued = before.back();
    return fields_[f - 1].role != FieldRole::step && !is_alnum(glued) && hint_before(before) == Hint::none;
  }

  template <typename Better>
  Lead* best_free(const auto& allowed, const Better& key) {
    Lead* best = nullptr;
    for (Lead& lead : leads_) {
      if (lead.variable.role != FieldRole::other || !allowed(lead)) continue;
      if (best == nullptr || key(lead) < key(*best)) best = &lead;
    }
    return best;
  }

  void choose_roles() {
    const auto most_values = [&](const Lead& lead) { return ~columns_[lead.fields[0]].values().size(); };
    const bool known = !evidence_.ranks.empty();
    bool have_rank = !leads_.empty() && leads_[0].by_rank;
    const auto give_rank = [&](Lead* lead) {
      if (lead == nullptr || have_rank) return;
      lead->variable.role = FieldRole::rank;
      have_rank = true;
    };
    if (!known) {
      give_rank(best_free([&](const Lead& lead) { return counted(lead); }, most_values));
      give_rank(best_free([&](const Lead& lead) { return hinted(lead, Hint::rank) && !hinted(lead, Hint::step); }, most_values));
    }
    Lead* const step = best_free([&](const Lead& lead) { return columns_[lead.fields[0]].rising() || hinted(lead, Hint::step); },
                                 [&](const Lead& lead) {
                                   const ValueColumn& column = columns_[lead.fields[0]];
                                   const bool strides = column.regular() && column.values()[1] - column.values()[0] > 1;
                                   return std::tuple(!hinted(lead, Hint::step), hinted(lead, Hint::part), !strides,
                                                     column.changes(), lead.fields[0]);
                                 });
    if (step != nullptr) step->variable.role = FieldRole::step;
    if (!known) {
      give_rank(best_free([&](const Lead& lead) { return dense(lead) && !hinted(lead, Hint::part) && !hinted(lead, Hint::step); },
                          most_values));
    }
    for (Lead& lead : leads_) {
      if (lead.variable.role == FieldRole::other && columns_[lead.fields[0]].regular()) lead.variable.role = FieldRole::part;
    }
  }

  void find_counts() {
    std::uint64_t values = 0;
    for (const Lead& lead : leads_) {
      if (lead.variable.role == FieldRole::rank && !lead.by_rank) values = columns_[lead.fields[0]].values().size();
    }
    if (template_.ranks == 0) template_.ranks = static_cast<std::uint32_t>(values);
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      Field& field = fields_[f];
      if (!evidence_.columns[f].empty()) continue;
      const bool all_runs =
          std::ranges::all_of(evidence_.ranks_of_run, [&](std::uint32_t n) { return n == template_.ranks || n == 0; });
      if (field.least != std::int64_t{template_.ranks} || !all_runs || !count_like(f)) continue;
      field.role = FieldRole::count;
      field.series.first = field.least;
      field.distinct = 1;
    }
  }

  // Row of the last run for each index, in the order of the index.
  std::vector<std::uint32_t> sample_rows(const Lead& lead) const {
    const ValueColumn& column = lead.by_rank ? ranks_ : columns_[lead.fields[0]];
    std::vector<std::uint32_t> sample = column.last_run_rows();
    if (!lead.by_rank) return sample;
    // Ranks that write the same name, such as all of a node, are one index.
    const auto same_name = [&](std::uint32_t a, std::uint32_t b) {
      return std::ranges::all_of(lead.fields, [&](std::size_t f) { return evidence_.columns[f][a] == evidence_.columns[f][b]; });
    };
    const auto duplicates = std::ranges::unique(sample, same_name);
    sample.erase(duplicates.begin(), duplicates.end());
    return sample;
  }

  void finish_lead(Lead& lead) {
    const std::vector<std::uint32_t> sample = sample_rows(lead);
    lead.variable.count = sample.size();
    for (const std::size_t f : lead.fields) {
      std::vector<std::int64_t> values;
      values.reserve(sample.size());
      for (const std::uint32_t row : sample) values.push_back(evidence_.columns[f][row]);
      fields_[f].role = lead.variable.role;
      set_mapping(fields_[f], std::move(values));
    }
    if (lead.by_rank) {
      std::vector<std::int64_t> slots;
      slots.reserve(sample.size());
      for (const std::uint32_t row : sample) slots.push_back(evidence_.ranks[row]);
      lead.variable.slots = make_series(std::move(slots), false);
      if (lead.variable.slots.stride == 0) lead.variable.slots.stride = 1;
    } else if (lead.variable.role == FieldRole::rank) {
      lead.variable.slots = {.first = 0, .stride = 1};
    } else if (lead.variable.role == FieldRole::step) {
      const Field& field = fields_[lead.fields[0]];
      const Series& series = field.series;
      lead.variable.continues = series.values.empty() && !series.months && series.stride > 0 && field.divisor == 1 &&
                                columns_[lead.fields[0]].continues(series.stride);
    }
  }

  void finish() {
    for (Lead& lead : leads_) finish_lead(lead);
    std::ranges::sort(leads_, [](const Lead& a, const Lead& b) {
      const auto key = [](const Lead& lead) {
        const int place = lead.variable.role == FieldRole::step ? 0 : lead.variable.role == FieldRole::rank ? 2 : 1;
        return std::pair(place, lead.fields[0]);
      };
      return key(a) < key(b);
    });
    for (std::size_t v = 0; v < leads_.size(); ++v) {
      for (const std::size_t f : leads_[v].fields) fields_[f].variable = static_cast<std::uint32_t>(v);
      template_.variables.push_back(std::move(leads_[v].variable));
    }
    for (Field& field : fields_) {
      const Field& first = fields_[field.same_as];
      if (&field == &first) continue;
      field.role = first.role;
      field.open = first.open;
      field.variable = first.variable;
      field.divisor = first.divisor;
      field.modulus = first.modulus;
      field.series = first.series;
    }
    measure_coverage();
  }

  // Names of the last run by how many its variables combine to.
  void measure_coverage() {
    const std::uint32_t begin = evidence_.segments[runs() - 1];
    const std::uint64_t last_rows = rows() - begin;
    double combinations = 1;
    for (const Variable& variable : template_.variables) combinations *= static_cast<double>(variable.count);
    std::uint64_t size = 1;  // of the space of ids, which may be larger than that of the last run
    for (const Lead& lead : leads_) {
      for (const std::size_t f : lead.fields) {
        size *= columns_[f].values().size();
        if (size > 16 * last_rows + 4'096) break;
      }
      if (size > 16 * last_rows + 4'096) break;
    }
    std::uint64_t distinct = last_rows;
    const bool any_open = std::ranges::any_of(fields_, [](const Field& field) { return field.open; });
    if (!any_open && size <= 16 * last_rows + 4'096) {
      std::vector<bool> seen(size);
      for (std::uint32_t row = begin; row < rows(); ++row) {
        std::size_t key = 0;
        for (const Lead& lead : leads_) {
          for (const std::size_t f : lead.fields) key = key * columns_[f].values().size() + columns_[f].ids()[row];
        }
        seen[key] = true;
      }
      distinct = static_cast<std::uint64_t>(std::ranges::count(seen, true));
    }
    template_.coverage = static_cast<double>(distinct) / combinations;
  }

  NameTemplate& template_;
  std::vector<Field>& fields_;
  const RoleEvidence& evidence_;
  std::vector<ValueColumn> columns_;  // by field
  ValueColumn ranks_;
  std::vector<Lead> leads_;
};

}  // namespace

void assign_roles(NameTemplate& name_template, const RoleEvidence& evidence) { RoleFinder(name_template, evidence).run(); }

}  // namespace iez::forecast
