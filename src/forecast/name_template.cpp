#include "forecast/name_template.hpp"

#include <fmt/format.h>

#include "base/result.hpp"

namespace iez::forecast {

namespace {

// Indices of a variable in the coming run.
std::uint64_t next_count(const NameTemplate& name_template, const Variable& variable, const NextRunShape& shape) {
  if (variable.role == FieldRole::step && shape.steps > 0) return shape.steps;
  if (variable.role != FieldRole::rank || shape.ranks == 0 || shape.ranks == name_template.ranks) return variable.count;
  const Series& slots = variable.slots;
  if (slots.values.empty() && slots.stride > 0 && slots.first >= 0) {
    const auto stride = static_cast<std::uint64_t>(slots.stride);
    const auto first = static_cast<std::uint64_t>(slots.first);
    return shape.ranks <= first ? 0 : (shape.ranks - first + stride - 1) / stride;
  }
  // Which ranks take part follows no rule: keep their share.
  if (name_template.ranks == 0) return variable.count;
  return (variable.count * shape.ranks + name_template.ranks - 1) / name_template.ranks;
}

class Enumerator {
 public:
  Enumerator(const NameTemplate& name_template, const NextRunShape& shape)
      : template_(name_template),
        shape_(shape),
        index_(name_template.variables.size(), 0),
        place_(name_template.fields.size(), 0) {
    counts_.reserve(index_.size());
    for (const Variable& variable : name_template.variables) counts_.push_back(next_count(name_template, variable, shape));
  }

  bool run(const std::function<bool(const NextName&)>& visit) {
    for (const std::uint64_t count : counts_) {
      if (count == 0) return true;
    }
    std::uint64_t visited = 0;
    do {
      if (shape_.max_names > 0 && visited == shape_.max_names) return false;
      ++visited;
      if (!visit(name())) return false;
    } while (advance());
    return true;
  }

 private:
  bool advance() {
    for (std::size_t v = index_.size(); v-- > 0;) {
      if (++index_[v] < counts_[v]) return true;
      index_[v] = 0;
    }
    return false;
  }

  NextName name() {
    NextName next;
    buffer_.clear();
    std::size_t open_fields = 0;
    for (std::size_t f = 0; f < template_.fields.size(); ++f) {
      buffer_ += template_.literals[f];
      const Field& field = template_.fields[f];
      if (!field.open) {
        write_field(field, {.number = value_of(field)}, buffer_);
        continue;
      }
      place_[f] = field.same_as < f ? place_[field.same_as] : open_fields++;
      if (place_[f] < shape_.open_values.size()) {
        write_field(field, shape_.open_values[place_[f]], buffer_);
      } else {
        buffer_ += '*';
        next.open = true;
      }
    }
    buffer_ += template_.literals.back();
    next.name = buffer_;
    for (std::size_t v = 0; v < index_.size(); ++v) {
      const Variable& variable = template_.variables[v];
      if (variable.role == FieldRole::rank) next.rank = variable.slots.at(index_[v]);
      if (variable.role == FieldRole::step) next.step = index_[v];
    }
    return next;
  }

  std::int64_t value_of(const Field& field) const {
    if (field.role == FieldRole::run) return field.series.at(shape_.runs_ahead);
    if (field.role == FieldRole::count) {
      const std::int64_t seen = field.series.first;
      if (shape_.ranks == 0 || template_.ranks == 0) return seen;
      return seen * shape_.ranks / template_.ranks;
    }
    IEZ_ASSERT(field.variable < index_.size());
    std::uint64_t index = index_[field.variable];
    const Variable& variable = template_.variables[field.variable];
    if (variable.continues) index += shape_.runs_ahead * variable.count;
    index /= field.divisor;
    return field.series.at(field.modulus == 0 ? index : index % field.modulus);
  }

  const NameTemplate& template_;
  const NextRunShape& shape_;
  std::vector<std::uint64_t> index_;
  std::vector<std::uint64_t> counts_;
  std::vector<std::size_t> place_;  // of each open field among the open values
  std::string buffer_;
};

}  // namespace

std::string NameTemplate::pattern() const {
  std::string out;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const Field& field = fields[f];
    out += literals[f];
    out += '{';
    out += to_string(field.role);
    if (field.kind == FieldKind::decimal && field.width > 0) out += fmt::format(":{}", field.width);
    if (field.kind == FieldKind::fraction) out += ":fraction";
    if (field.kind == FieldKind::date_time) out += ":date";
    if (field.open) out += '*';
    out += '}';
  }
  out += literals.back();
  return out;
}

std::string render(const NameTemplate& name_template, std::span<const FieldValue> values) {
  IEZ_ASSERT(values.size() == name_template.fields.size());
  std::string out;
  for (std::size_t f = 0; f < values.size(); ++f) {
    out += name_template.literals[f];
    write_field(name_template.fields[f], values[f], out);
  }
  out += name_template.literals.back();
  return out;
}

bool match(const NameTemplate& name_template, std::string_view name, std::vector<FieldValue>& values) {
  values.clear();
  std::string_view rest = name;
  for (std::size_t f = 0; f < name_template.fields.size(); ++f) {
    if (!rest.starts_with(name_template.literals[f])) return false;
    rest.remove_prefix(name_template.literals[f].size());
    const Field& field = name_template.fields[f];
    const auto read = read_field(field, rest);
    if (!read) return false;
    if (field.same_as < f && values[field.same_as] != read->value) return false;
    values.push_back(read->value);
    rest.remove_prefix(read->length);
  }
  return rest == name_template.literals.back();
}

bool enumerate(const NameTemplate& name_template, const NextRunShape& shape, const std::function<bool(const NextName&)>& visit) {
  return Enumerator(name_template, shape).run(visit);
}

}  // namespace iez::forecast
