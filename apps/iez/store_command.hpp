// `iez db show|export|import|check|migrate|serve` and `iez app list|show|forget`: the interaction database.
#pragma once

#include <cstddef>
#include <string>

#include "command.hpp"
#include "store/store.hpp"

namespace iez::cli {

struct StoreOptions {
  std::string store;  // URL; empty: as the settings say, or the file of the user's state folder
  bool json = false;
};

struct DbExportOptions {
  StoreOptions common;
  std::string output = "-";
};

struct DbImportOptions {
  StoreOptions common;
  std::string input;  // "-": stdin
};

struct DbMigrateOptions {
  StoreOptions common;
  bool dry_run = false;
};

struct DbServeOptions {
  StoreOptions common;
  std::string listen = "127.0.0.1:9853";
  std::string tokens;
  std::string certificate;
  std::string certificate_key;
  double rate_limit = 100;
};

struct AppListOptions {
  StoreOptions common;
  bool all = false;  // of all users
  bool no_header = false;
};

struct AppShowOptions {
  StoreOptions common;
  std::string name;
  std::string owner;  // empty: whoever calls
  std::size_t limit = 20;
};

struct AppForgetOptions {
  StoreOptions common;
  std::string name;
};

// The URL that is meant: the flag, the settings, the default.
[[nodiscard]] Result<std::string> store_url(const std::string& flag);

// The application of this name, or the only one whose name begins so. Errc::not_found names what is perhaps meant.
enum class Naming { whole, or_its_start };
[[nodiscard]] Result<store::Application> application_named(store::Store& store, const std::string& owner, const std::string& name,
                                                           Naming naming);

// The name of whoever runs this: what the applications of a database belong to.
std::string current_user();

[[nodiscard]] Result<void> run_db_show(const StoreOptions& options, Context& context);
[[nodiscard]] Result<void> run_db_export(const DbExportOptions& options, Context& context);
[[nodiscard]] Result<void> run_db_import(const DbImportOptions& options, Context& context);
[[nodiscard]] Result<void> run_db_check(const StoreOptions& options, Context& context);
[[nodiscard]] Result<void> run_db_migrate(const DbMigrateOptions& options, Context& context);
[[nodiscard]] Result<void> run_db_serve(const DbServeOptions& options, Context& context);
[[nodiscard]] Result<void> run_app_list(const AppListOptions& options, Context& context);
[[nodiscard]] Result<void> run_app_show(const AppShowOptions& options, Context& context);
[[nodiscard]] Result<void> run_app_forget(const AppForgetOptions& options, Context& context);

}  // namespace iez::cli
