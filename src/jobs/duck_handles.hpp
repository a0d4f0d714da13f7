// DuckDB's library, for duck*.cpp alone: its calls, which are looked up when the first Duck is opened, and what a Duck holds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <duckdb.h>

#include "base/result.hpp"
#include "jobs/duck.hpp"

namespace iez::jobs {

// What we call of the library. A list, so that a name is written once.
#define IEZ_DUCK_CALLS(X)                           \
  X(duckdb_create_config)                           \
  X(duckdb_set_config)                              \
  X(duckdb_destroy_config)                          \
  X(duckdb_open_ext)                                \
  X(duckdb_close)                                   \
  X(duckdb_connect)                                 \
  X(duckdb_disconnect)                              \
  X(duckdb_free)                                    \
  X(duckdb_query)                                   \
  X(duckdb_destroy_result)                          \
  X(duckdb_result_error)                            \
  X(duckdb_column_count)                            \
  X(duckdb_column_name)                             \
  X(duckdb_column_type)                             \
  X(duckdb_fetch_chunk)                             \
  X(duckdb_destroy_data_chunk)                      \
  X(duckdb_data_chunk_get_size)                     \
  X(duckdb_data_chunk_get_vector)                   \
  X(duckdb_vector_get_data)                         \
  X(duckdb_vector_get_validity)                     \
  X(duckdb_validity_row_is_valid)                   \
  X(duckdb_appender_create)                         \
  X(duckdb_appender_error)                          \
  X(duckdb_append_data_chunk)                       \
  X(duckdb_appender_close)                          \
  X(duckdb_appender_destroy)                        \
  X(duckdb_create_data_chunk)                       \
  X(duckdb_create_logical_type)                     \
  X(duckdb_destroy_logical_type)                    \
  X(duckdb_data_chunk_reset)                        \
  X(duckdb_data_chunk_set_size)                     \
  X(duckdb_vector_size)                             \
  X(duckdb_vector_assign_string_element_len)        \
  X(duckdb_vector_ensure_validity_writable)         \
  X(duckdb_validity_set_row_invalid)                \
  X(duckdb_create_aggregate_function)               \
  X(duckdb_destroy_aggregate_function)              \
  X(duckdb_aggregate_function_set_name)             \
  X(duckdb_aggregate_function_add_parameter)        \
  X(duckdb_aggregate_function_set_return_type)      \
  X(duckdb_aggregate_function_set_functions)        \
  X(duckdb_aggregate_function_set_destructor)       \
  X(duckdb_aggregate_function_set_special_handling) \
  X(duckdb_aggregate_function_set_extra_info)       \
  X(duckdb_aggregate_function_get_extra_info)       \
  X(duckdb_aggregate_function_set_error)            \
  X(duckdb_register_aggregate_function)

struct DuckCalls {
#define IEZ_DUCK_MEMBER(name) decltype(&::name) name = nullptr;
  IEZ_DUCK_CALLS(IEZ_DUCK_MEMBER)
#undef IEZ_DUCK_MEMBER
};

// Loaded once, and never given back: threads of the library may outlive what used it.
const Result<DuckCalls>& duck_calls();

struct Duck::Handles {
  const DuckCalls& call;
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  std::size_t folds = 0;  // so many have been made: each needs a name of its own

  explicit Handles(const DuckCalls& calls) : call(calls) {}
  ~Handles() {
    if (connection != nullptr) call.duckdb_disconnect(&connection);
    if (database != nullptr) call.duckdb_close(&database);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
};

duckdb_type type_of(ColumnKind kind);

// Short texts are in the value itself, as the library's header lays them out.
inline constexpr std::uint32_t kInlinedText = 12;

inline std::string_view text_of(const duckdb_string_t& text) {
  const std::uint32_t size = text.value.inlined.length;
  return {size <= kInlinedText ? &text.value.inlined.inlined[0] : text.value.pointer.ptr, size};
}

}  // namespace iez::jobs
