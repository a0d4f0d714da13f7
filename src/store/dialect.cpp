#include "store/dialect.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace iez::store {

// Bytes are BLOBs: SQLite compares a BLOB and a text as different even where their bytes are the same, and names are bytes.
const Dialect kSqlite{
    .name = "SQLite",
    .id = "INTEGER PRIMARY KEY AUTOINCREMENT",
    .integer = "INTEGER",
    .real = "REAL",
    .word = "BLOB",
    .key = "BLOB",
    .path = "BLOB",
    .text = "BLOB",
    .empty = "x''",
    .table = "",
    .keyed = "WITHOUT ROWID",
    .as_text = "CAST({} AS TEXT)",
    .table_exists = "SELECT count(*) FROM sqlite_master WHERE type IN ('table', 'view') AND name = CAST(? AS TEXT)",
    .column_exists = "SELECT count(*) FROM pragma_table_info(CAST(? AS TEXT)) WHERE name = CAST(? AS TEXT)",
    .index_exists =
        "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND tbl_name = CAST(? AS TEXT) AND name = CAST(? AS TEXT)",
    .any_table = "SELECT count(*) FROM sqlite_master",
    .size = "SELECT c.page_count * s.page_size FROM pragma_page_count() AS c, pragma_page_size() AS s",
    .ignore = "INSERT OR IGNORE",
    .drop_index = "DROP INDEX {1}",
    .schema_lock = "",
    .schema_unlock = "",
    .batch = 1,
};

const Dialect kMariadb{
    .name = "MariaDB",
    .id = "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY",
    .integer = "BIGINT",
    .real = "DOUBLE",
    .word = "VARBINARY(255)",
    .key = "VARBINARY(32)",
    .path = "VARBINARY(4096)",
    .text = "LONGBLOB",
    .empty = "''",
    .table = "ENGINE=InnoDB",
    .keyed = "ENGINE=InnoDB",
    .as_text = "{}",  // a comparison with a text is one of bytes already
    .table_exists = "SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?",
    .column_exists =
        "SELECT count(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? "
        "AND column_name = ?",
    .index_exists =
        "SELECT count(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? "
        "AND index_name = ?",
    .any_table = "SELECT 0",  // a site may have tables of its own beside ours
    .size =
        "SELECT CAST(COALESCE(SUM(data_length + index_length), 0) AS SIGNED) FROM information_schema.tables "
        "WHERE table_schema = DATABASE()",
    .ignore = "INSERT IGNORE",
    .drop_index = "ALTER TABLE {0} DROP INDEX {1}",
    // Statements that change a schema commit by themselves: only a lock of its own keeps two of us apart.
    .schema_lock = "SELECT GET_LOCK(CONCAT('iez_', LEFT(DATABASE(), 48)), 60)",
    .schema_unlock = "SELECT RELEASE_LOCK(CONCAT('iez_', LEFT(DATABASE(), 48)))",
    .batch = 64,
};

std::string expand(std::string_view sql, const Dialect& dialect) {
  const std::array<std::pair<std::string_view, std::string_view>, 12> words{{{"{id}", dialect.id},
                                                                             {"{int}", dialect.integer},
                                                                             {"{real}", dialect.real},
                                                                             {"{word}", dialect.word},
                                                                             {"{key}", dialect.key},
                                                                             {"{path}", dialect.path},
                                                                             {"{text}", dialect.text},
                                                                             {"{empty}", dialect.empty},
                                                                             {"{table}", dialect.table},
                                                                             {"{keyed}", dialect.keyed},
                                                                             {"{ignore}", dialect.ignore},
                                                                             {"{size}", dialect.size}}};
  std::string out(sql);
  for (const auto& [word, meaning] : words) {
    for (std::size_t at = out.find(word); at != std::string::npos; at = out.find(word, at + meaning.size())) {
      out.replace(at, word.size(), meaning);
    }
  }
  return out;
}

std::string as_text(const Dialect& dialect, std::string_view expression) {
  return fmt::format(fmt::runtime(dialect.as_text), expression);
}

std::string drop_index_sql(const Dialect& dialect, std::string_view table, std::string_view index) {
  return fmt::format(fmt::runtime(dialect.drop_index), table, index);
}

}  // namespace iez::store
