#include "jobs/duck.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include <duckdb.h>
#include <fmt/format.h>

#include "jobs/duck_fold.hpp"

namespace iez::jobs {

namespace {

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

std::vector<std::string> library_places() {
  if (const char* const named = std::getenv("IEZ_DUCKDB_LIBRARY"); named != nullptr && *named != '\0') return {named};
  std::vector<std::string> places;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) places.push_back((program.parent_path().parent_path() / IEZ_DUCKDB_FOLDER / "libduckdb.so").string());
  places.emplace_back(IEZ_DUCKDB_LIBRARY);
  places.emplace_back("libduckdb.so");
  return places;
}

Result<DuckCalls> load_library() {
  void* library = nullptr;
  std::string why;
  for (const std::string& place : library_places()) {
    library = ::dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library != nullptr) break;
    const char* const reason = ::dlerror();
    why += fmt::format("{}{}", why.empty() ? "" : "; ", reason == nullptr ? place : reason);
  }
  if (library == nullptr) {
    return fail(Errc::not_found, fmt::format("cannot load DuckDB: {}. Remedy: run tools/get-duckdb and build again, or set "
                                             "IEZ_DUCKDB_LIBRARY to a libduckdb.so",
                                             why));
  }
  DuckCalls calls;
  for (const auto& [name, to] : {
#define IEZ_DUCK_NAME(call) std::pair<const char*, void*>{#call, static_cast<void*>(&calls.call)},
           IEZ_DUCK_CALLS(IEZ_DUCK_NAME)
#undef IEZ_DUCK_NAME
       }) {
    void* const symbol = ::dlsym(library, name);
    if (symbol == nullptr) return fail(Errc::unsupported, fmt::format("DuckDB: this library has no {}; expected 1.4", name));
    std::memcpy(to, static_cast<const void*>(&symbol), sizeof symbol);
  }
  return calls;
}

// Loaded once, and never given back: threads of the library may outlive what used it.
const Result<DuckCalls>& duck_calls() {
  static const Result<DuckCalls> kLoaded = load_library();
  return kLoaded;
}

duckdb_type type_of(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::text:
      return DUCKDB_TYPE_VARCHAR;
    case ColumnKind::integer:
      return DUCKDB_TYPE_BIGINT;
    case ColumnKind::timestamp:
      return DUCKDB_TYPE_TIMESTAMP;
    case ColumnKind::number:
      return DUCKDB_TYPE_DOUBLE;
    case ColumnKind::date:
      return DUCKDB_TYPE_DATE;
    case ColumnKind::huge:
      return DUCKDB_TYPE_HUGEINT;
  }
  return DUCKDB_TYPE_INVALID;
}

// Short texts are in the value itself, as the library's header lays them out.
inline constexpr std::uint32_t kInlinedText = 12;

inline std::string_view text_of(const duckdb_string_t& text) {
  const std::uint32_t size = text.value.inlined.length;
  return {size <= kInlinedText ? &text.value.inlined.inlined[0] : text.value.pointer.ptr, size};
}

// The error of a query, without its second line on, which points into the SQL.
std::string reason_of(const char* message) {
  if (message == nullptr) return "no reason given";
  const std::string_view all(message);
  return std::string(all.substr(0, all.find('\n')));
}

std::string temporary_folder(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  const char* const given = std::getenv("TMPDIR");
  return fmt::format("{}/iez-duckdb-{}", given != nullptr && *given != '\0' ? given : "/tmp", ::getpid());
}

Value huge_value(duckdb_hugeint number) {
  const bool fits = (number.upper == 0 && number.lower <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) ||
                    (number.upper == -1 && number.lower > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  if (fits) return static_cast<std::int64_t>(number.lower);
  constexpr double kTwoTo64 = 18446744073709551616.0;
  return static_cast<double>(number.upper) * kTwoTo64 + static_cast<double>(number.lower);
}

template <typename T>
Value whole(const void* data, idx_t row) {
  return static_cast<std::int64_t>(static_cast<const T*>(data)[row]);
}

Value text_value(const void* data, idx_t row) { return std::string(text_of(static_cast<const duckdb_string_t*>(data)[row])); }

// Null: a type that no query of ours may have.
Value (*reader_of(duckdb_type type))(const void*, idx_t) {
  switch (type) {
    case DUCKDB_TYPE_BOOLEAN:
      return whole<bool>;
    case DUCKDB_TYPE_TINYINT:
      return whole<std::int8_t>;
    case DUCKDB_TYPE_SMALLINT:
      return whole<std::int16_t>;
    case DUCKDB_TYPE_INTEGER:
      return whole<std::int32_t>;
    case DUCKDB_TYPE_BIGINT:
      return whole<std::int64_t>;
    case DUCKDB_TYPE_UINTEGER:
      return whole<std::uint32_t>;
    case DUCKDB_TYPE_HUGEINT:
      return [](const void* data, idx_t row) { return huge_value(static_cast<const duckdb_hugeint*>(data)[row]); };
    case DUCKDB_TYPE_FLOAT:
      return [](const void* data, idx_t row) { return Value(double{static_cast<const float*>(data)[row]}); };
    case DUCKDB_TYPE_DOUBLE:
      return [](const void* data, idx_t row) { return Value(static_cast<const double*>(data)[row]); };
    case DUCKDB_TYPE_VARCHAR:
      return text_value;
    default:
      return nullptr;
  }
}

// A result that is destroyed with its scope.
struct OwnedResult {
  const DuckCalls& calls;
  duckdb_result result{};

  explicit OwnedResult(const DuckCalls& known) : calls(known) {}
  ~OwnedResult() { calls.duckdb_destroy_result(&result); }
  OwnedResult(const OwnedResult&) = delete;
  OwnedResult& operator=(const OwnedResult&) = delete;
};

void take_chunk(const DuckCalls& call, duckdb_data_chunk chunk, const std::vector<Value (*)(const void*, idx_t)>& readers,
                std::vector<std::vector<Value>>& rows) {
  const idx_t size = call.duckdb_data_chunk_get_size(chunk);
  const std::size_t first = rows.size();
  rows.resize(first + size, std::vector<Value>(readers.size()));
  for (idx_t column = 0; column < readers.size(); ++column) {
    duckdb_vector vector = call.duckdb_data_chunk_get_vector(chunk, column);
    const void* const data = call.duckdb_vector_get_data(vector);
    std::uint64_t* const validity = call.duckdb_vector_get_validity(vector);
    for (idx_t row = 0; row < size; ++row) {
      if (validity != nullptr && !call.duckdb_validity_row_is_valid(validity, row)) continue;
      rows[first + row][column] = readers[column](data, row);
    }
  }
}

}  // namespace

std::string_view sql_type(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::text:
      return "VARCHAR";
    case ColumnKind::integer:
      return "BIGINT";
    case ColumnKind::timestamp:
      return "TIMESTAMP";
    case ColumnKind::number:
      return "DOUBLE";
    case ColumnKind::date:
      return "DATE";
    case ColumnKind::huge:
      return "HUGEINT";
  }
  return "";
}

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

Duck::Duck(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}
Duck::~Duck() = default;
Duck::Duck(Duck&& other) noexcept = default;

Result<Duck> Duck::open(const Options& options) {
  if (!duck_calls()) return std::unexpected(duck_calls().error());
  const DuckCalls& call = *duck_calls();
  auto handles = std::make_unique<Handles>(call);
  duckdb_config config = nullptr;
  bool good = call.duckdb_create_config(&config) == DuckDBSuccess;
  const auto set = [&](const char* name, const std::string& value) {
    good = good && call.duckdb_set_config(config, name, value.c_str()) == DuckDBSuccess;
  };
  set("temp_directory", temporary_folder(options.temporary_folder));
  // Nothing is fetched from anywhere, and no file of the user's home is read.
  set("autoinstall_known_extensions", "false");
  set("autoload_known_extensions", "false");
  if (options.threads > 0) set("threads", fmt::format("{}", options.threads));
  char* reason = nullptr;
  good = good && call.duckdb_open_ext(nullptr, &handles->database, config, &reason) == DuckDBSuccess;
  call.duckdb_destroy_config(&config);
  good = good && call.duckdb_connect(handles->database, &handles->connection) == DuckDBSuccess;
  if (!good) {
    const std::string why = reason_of(reason);
    if (reason != nullptr) call.duckdb_free(reason);
    return fail(Errc::io, fmt::format("cannot start DuckDB: {}", why));
  }
  Duck duck(std::move(handles));
  // Rows of one file need not keep their order where no query asks for it, and dates are told in UTC.
  IEZ_CHECK(duck.run("SET preserve_insertion_order=false; SET TimeZone='UTC'; SET enable_progress_bar=false"));
  return duck;
}

Result<void> Duck::run(std::string_view sql) {
  OwnedResult owned(handles_->call);
  if (handles_->call.duckdb_query(handles_->connection, std::string(sql).c_str(), &owned.result) == DuckDBSuccess) return {};
  return fail(Errc::io, reason_of(handles_->call.duckdb_result_error(&owned.result)));
}

Result<ResultTable> Duck::query(std::string_view sql) {
  const DuckCalls& call = handles_->call;
  OwnedResult owned(call);
  if (call.duckdb_query(handles_->connection, std::string(sql).c_str(), &owned.result) != DuckDBSuccess) {
    return fail(Errc::io, reason_of(call.duckdb_result_error(&owned.result)));
  }
  ResultTable table;
  std::vector<Value (*)(const void*, idx_t)> readers;
  const idx_t columns = call.duckdb_column_count(&owned.result);
  table.columns.reserve(columns);
  readers.reserve(columns);
  for (idx_t column = 0; column < columns; ++column) {
    table.columns.emplace_back(call.duckdb_column_name(&owned.result, column));
    readers.push_back(reader_of(call.duckdb_column_type(&owned.result, column)));
    if (readers.back() == nullptr) {
      return fail(Errc::unsupported, fmt::format("column {} is of a type that is not read here: cast it", table.columns.back()));
    }
  }
  while (duckdb_data_chunk chunk = call.duckdb_fetch_chunk(owned.result)) {
    take_chunk(call, chunk, readers, table.rows);
    call.duckdb_destroy_data_chunk(&chunk);
  }
  return table;
}

struct DuckAppender::Handles {
  const DuckCalls& call;
  duckdb_appender appender = nullptr;
  duckdb_data_chunk chunk = nullptr;
  std::vector<duckdb_vector> vectors;
  std::vector<void*> data;
  idx_t room = 0;
  idx_t row = 0;
  std::size_t column = 0;

  explicit Handles(const DuckCalls& calls) : call(calls) {}
  ~Handles() {
    if (chunk != nullptr) call.duckdb_destroy_data_chunk(&chunk);
    if (appender != nullptr) call.duckdb_appender_destroy(&appender);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  void look_at_vectors() {
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      vectors[i] = call.duckdb_data_chunk_get_vector(chunk, i);
      data[i] = call.duckdb_vector_get_data(vectors[i]);
    }
  }
  std::unexpected<Error> failure() const { return fail(Errc::io, reason_of(call.duckdb_appender_error(appender))); }
};

Result<DuckAppender> Duck::append_to(const std::string& table, std::span<const DuckColumn> columns) {
  const DuckCalls& call = handles_->call;
  auto handles = std::make_unique<DuckAppender::Handles>(call);
  if (call.duckdb_appender_create(handles_->connection, nullptr, table.c_str(), &handles->appender) != DuckDBSuccess) {
    return handles->failure();
  }
  std::vector<duckdb_logical_type> types;
  types.reserve(columns.size());
  for (const DuckColumn& column : columns) {
    types.push_back(call.duckdb_create_logical_type(type_of(column.kind)));
  }
  handles->chunk = call.duckdb_create_data_chunk(types.data(), types.size());
  for (duckdb_logical_type& type : types) call.duckdb_destroy_logical_type(&type);
  handles->vectors.resize(columns.size());
  handles->data.resize(columns.size());
  handles->room = call.duckdb_vector_size();
  handles->look_at_vectors();
  return DuckAppender(std::move(handles));
}

DuckAppender::DuckAppender(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}
DuckAppender::~DuckAppender() = default;
DuckAppender::DuckAppender(DuckAppender&& other) noexcept = default;

void DuckAppender::text(std::string_view value) {
  Handles& to = *handles_;
  // Written here, short texts cost no call.
  if (value.size() <= kInlinedText) {
    duckdb_string_t& cell = static_cast<duckdb_string_t*>(to.data[to.column])[to.row];
    cell.value.inlined.length = static_cast<std::uint32_t>(value.size());
    std::memset(&cell.value.inlined.inlined[0], 0, kInlinedText);
    std::memcpy(&cell.value.inlined.inlined[0], value.data(), value.size());
  } else {
    to.call.duckdb_vector_assign_string_element_len(to.vectors[to.column], to.row, value.data(), value.size());
  }
  ++to.column;
}

void DuckAppender::integer(std::int64_t value) {
  Handles& to = *handles_;
  static_cast<std::int64_t*>(to.data[to.column])[to.row] = value;
  ++to.column;
}

void DuckAppender::timestamp(std::int64_t seconds) {
  constexpr std::int64_t kMicroseconds = 1000000;
  integer(seconds * kMicroseconds);
}

void DuckAppender::number(double value) {
  Handles& to = *handles_;
  static_cast<double*>(to.data[to.column])[to.row] = value;
  ++to.column;
}

void DuckAppender::date(std::int64_t days) {
  Handles& to = *handles_;
  static_cast<duckdb_date*>(to.data[to.column])[to.row].days = static_cast<std::int32_t>(days);
  ++to.column;
}

__extension__ void DuckAppender::huge(unsigned __int128 value) {
  constexpr int kHalf = 64;
  Handles& to = *handles_;
  static_cast<duckdb_hugeint*>(to.data[to.column])[to.row] = {.lower = static_cast<std::uint64_t>(value),
                                                              .upper = static_cast<std::int64_t>(value >> kHalf)};
  ++to.column;
}

void DuckAppender::null() {
  Handles& to = *handles_;
  to.call.duckdb_vector_ensure_validity_writable(to.vectors[to.column]);
  to.call.duckdb_validity_set_row_invalid(to.call.duckdb_vector_get_validity(to.vectors[to.column]), to.row);
  ++to.column;
}

Result<void> DuckAppender::end_row() {
  Handles& to = *handles_;
  IEZ_ASSERT(to.column == to.vectors.size());
  to.column = 0;
  ++to.row;
  return to.row < to.room ? Result<void>{} : flush();
}

Result<void> DuckAppender::flush() {
  Handles& to = *handles_;
  if (to.row == 0) return {};
  to.call.duckdb_data_chunk_set_size(to.chunk, to.row);
  if (to.call.duckdb_append_data_chunk(to.appender, to.chunk) != DuckDBSuccess) return to.failure();
  to.call.duckdb_data_chunk_reset(to.chunk);
  to.look_at_vectors();
  to.row = 0;
  return {};
}

Result<void> DuckAppender::finish() {
  IEZ_CHECK(flush());
  if (handles_->call.duckdb_appender_close(handles_->appender) != DuckDBSuccess) return handles_->failure();
  return {};
}

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
  if (const auto added = part_of(states[0])->add(DuckBlock(rows, std::move(columns))); !added) {
    pass.call.duckdb_aggregate_function_set_error(info, added.error().message.c_str());
  }
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

static_assert(sizeof(DuckText) == sizeof(duckdb_string_t));

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

std::string sql_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + '\'';
}

}  // namespace iez::jobs
