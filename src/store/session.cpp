#include "store/session.hpp"

#include <algorithm>

namespace iez::store {

std::int64_t Row::integer(std::size_t column) const {
  const Value& value = values_[column];
  return value.kind == Value::Kind::real ? static_cast<std::int64_t>(value.real) : value.integer;
}

std::uint64_t Row::number(std::size_t column) const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(integer(column), 0));
}

std::uint32_t Row::small(std::size_t column) const {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number(column), std::numeric_limits<std::uint32_t>::max()));
}

double Row::real(std::size_t column) const {
  const Value& value = values_[column];
  return value.kind == Value::Kind::integer ? static_cast<double>(value.integer) : value.real;
}

std::optional<double> Row::maybe_real(std::size_t column) const {
  return is_null(column) ? std::nullopt : std::optional<double>(real(column));
}

Outcome<std::optional<std::int64_t>> Session::number(std::string_view sql, std::span<const Value> bound) {
  std::optional<std::int64_t> found;
  bool first = true;
  IEZ_CHECK(query(sql, bound, [&](const Row& row) {
    if (first && !row.is_null(0)) found = row.integer(0);
    first = false;
  }));
  return found;
}

}  // namespace iez::store
