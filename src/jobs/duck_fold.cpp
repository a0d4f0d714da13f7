#include "jobs/duck_fold.hpp"

#include <utility>

#include <fmt/format.h>

#include "jobs/duck.hpp"
#include "jobs/duck_handles.hpp"

namespace iez::jobs {

namespace {

// What the functions below know of their pass: kept with the function, which DuckDB keeps until it is closed.
struct Pass {
  const DuckCalls& call;
  std::vector<std::string_view> names;
  DuckFold* into = nullptr;  // while the pass runs
};

Pass& pass_of(duckdb_function_info info) {
  // Every library that has come so far to call us has this call.
  return *static_cast<Pass*>((*duck_calls()).duckdb_aggregate_function_get_extra_info(info));
}

// A state is a pointer to a part of the fold.
DuckFold*& part_of(duckdb_aggregate_state state) { return *reinterpret_cast<DuckFold**>(state); }

idx_t state_size(duckdb_function_info /*info*/) { return sizeof(DuckFold*); }

void begin_state(duckdb_function_info info, duckdb_aggregate_state state) {
  part_of(state) = pass_of(info).into->part().release();
}

bool has_absent(const std::uint64_t* validity, std::size_t rows) {
  constexpr std::size_t kBits = 64;
  if (validity == nullptr) return false;
  for (std::size_t row = 0; row < rows; ++row) {
    if (((validity[row / kBits] >> (row % kBits)) & 1U) == 0) return true;
  }
  return false;
}

void take_block(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_aggregate_state* states) {
  const Pass& pass = pass_of(info);
  const std::size_t rows = pass.call.duckdb_data_chunk_get_size(chunk);
  if (rows == 0) return;
  std::vector<const void*> columns;
  columns.reserve(pass.names.size());
  for (std::size_t column = 0; column < pass.names.size(); ++column) {
    duckdb_vector vector = pass.call.duckdb_data_chunk_get_vector(chunk, column);
    if (has_absent(pass.call.duckdb_vector_get_validity(vector), rows)) {
      const std::string why = fmt::format("a row has no value in column {}, where each has one", pass.names[column]);
      pass.call.duckdb_aggregate_function_set_error(info, why.c_str());
      return;
    }
    columns.push_back(pass.call.duckdb_vector_get_data(vector));
  }
  // Nothing is grouped: all rows have the same state.
  part_of(states[0])->add(DuckBlock(rows, std::move(columns)));
}

void join_states(duckdb_function_info /*info*/, duckdb_aggregate_state* from, duckdb_aggregate_state* to, idx_t count) {
  for (idx_t i = 0; i < count; ++i) part_of(to[i])->join(*part_of(from[i]));
}

void give_states(duckdb_function_info info, duckdb_aggregate_state* states, duckdb_vector result, idx_t count, idx_t offset) {
  const Pass& pass = pass_of(info);
  for (idx_t i = 0; i < count; ++i) {
    pass.into->join(*part_of(states[i]));
    static_cast<bool*>(pass.call.duckdb_vector_get_data(result))[offset + i] = true;
  }
}

void end_states(duckdb_aggregate_state* states, idx_t count) {
  for (idx_t i = 0; i < count; ++i) delete part_of(states[i]);
}

void end_pass(void* pass) { delete static_cast<Pass*>(pass); }

void add_parameter(const DuckCalls& call, duckdb_aggregate_function function, duckdb_type type) {
  duckdb_logical_type logical = call.duckdb_create_logical_type(type);
  call.duckdb_aggregate_function_add_parameter(function, logical);
  call.duckdb_destroy_logical_type(&logical);
}

}  // namespace

std::string_view DuckBlock::text(std::size_t column, std::size_t row) const {
  return text_of(static_cast<const duckdb_string_t*>(columns_[column])[row]);
}

Result<void> Duck::fold(std::string_view table, std::span<const DuckColumn> columns, DuckFold& into) {
  const DuckCalls& call = handles_->call;
  const std::string name = fmt::format("iez_fold_{}", ++handles_->folds);
  auto owned = std::make_unique<Pass>(Pass{.call = call, .names = {}, .into = &into});
  Pass* const pass = owned.get();
  duckdb_aggregate_function function = call.duckdb_create_aggregate_function();
  call.duckdb_aggregate_function_set_name(function, name.c_str());
  std::string list;
  for (const DuckColumn& column : columns) {
    pass->names.push_back(column.name);
    add_parameter(call, function, type_of(column.kind));
    list += fmt::format("{}{}", list.empty() ? "" : ", ", column.name);
  }
  duckdb_logical_type answer = call.duckdb_create_logical_type(DUCKDB_TYPE_BOOLEAN);
  call.duckdb_aggregate_function_set_return_type(function, answer);
  call.duckdb_destroy_logical_type(&answer);
  call.duckdb_aggregate_function_set_functions(function, state_size, begin_state, take_block, join_states, give_states);
  call.duckdb_aggregate_function_set_destructor(function, end_states);
  call.duckdb_aggregate_function_set_special_handling(function);
  call.duckdb_aggregate_function_set_extra_info(function, owned.release(), end_pass);
  const bool known = call.duckdb_register_aggregate_function(handles_->connection, function) == DuckDBSuccess;
  call.duckdb_destroy_aggregate_function(&function);
  if (!known) return fail(Errc::io, fmt::format("DuckDB does not take the function {}", name));
  auto done = run(fmt::format("SELECT {}({}) FROM {}", name, list, table));
  pass->into = nullptr;
  return done;
}

}  // namespace iez::jobs
