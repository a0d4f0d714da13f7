#include "command_line.hpp"

namespace iez::cli {

void CommandLine::add_store_flags(CLI::App& command, StoreOptions& options) {
  command.add_option("--store", options.store, "The database: sqlite:PATH or mysql://USER@HOST/DATABASE (default: as set)")
      ->type_name("URL");
  command.add_flag("--json", options.json, "One JSON document");
}

void CommandLine::add_store() {
  CLI::App* const db = app_.add_subcommand("db", "The interaction database: runs, predictions, plans");
  db->require_subcommand(1);

  CLI::App* const show = db->add_subcommand("show", "What is in it");
  add_store_flags(*show, db_show_);
  on(show, [this](Context& context) { return run_db_show(db_show_, context); });

  CLI::App* const output = db->add_subcommand("export", "All of it as JSON lines");
  output->add_option("-o,--output", db_export_.output, "The file to write (default: stdout)")->type_name("FILE");
  output->add_option("--store", db_export_.common.store, "The database (default: as set)")->type_name("URL");
  on(output, [this](Context& context) { return run_db_export(db_export_, context); });

  CLI::App* const input = db->add_subcommand("import", "Adds what an export has: all or nothing, and nothing twice");
  input->add_option("FILE", db_import_.input, "An export ('-': stdin)")->required()->type_name("");
  add_store_flags(*input, db_import_.common);
  on(input, [this](Context& context) { return run_db_import(db_import_, context); });

  CLI::App* const check = db->add_subcommand("check", "Is it whole? Reads everything");
  add_store_flags(*check, db_check_);
  on(check, [this](Context& context) { return run_db_check(db_check_, context); });

  CLI::App* const migrate = db->add_subcommand("migrate", "Brings its schema to the version of this iez");
  migrate->add_flag("--dry-run", db_migrate_.dry_run, "Only tell what would be done");
  add_store_flags(*migrate, db_migrate_.common);
  on(migrate, [this](Context& context) { return run_db_migrate(db_migrate_, context); });

  CLI::App* const serve = db->add_subcommand("serve", "Over HTTP, for a coordinator that pulls; until it is ended");
  serve->add_option("--listen", db_serve_.listen, "Address for HTTP (default: 127.0.0.1:9853)")->type_name("HOST:PORT");
  serve->add_option("--tokens", db_serve_.tokens, "Who may ask, made by `iez token --admin`; needed outside of loopback")
      ->type_name("FILE");
  serve->add_option("--certificate", db_serve_.certificate, "Chain in PEM: serves HTTPS")->type_name("FILE");
  serve->add_option("--certificate-key", db_serve_.certificate_key, "Its key")->type_name("FILE");
  serve->add_option("--rate-limit", db_serve_.rate_limit, "Requests of one user a second, 0 for any number (default: 100)")
      ->type_name("N")
      ->check(number(0.0, 1e9));
  add_store_flags(*serve, db_serve_.common);
  on(serve, [this](Context& context) { return run_db_serve(db_serve_, context); });
}

void CommandLine::add_application() {
  CLI::App* const app = app_.add_subcommand("app", "Applications: what is known of them");
  app->require_subcommand(1);

  CLI::App* const list = app->add_subcommand("list", "Those that have run");
  list->add_flag("-a,--all", app_list_.all, "Those of all users");
  add_store_flags(*list, app_list_.common);
  list->add_flag("--no-header", app_list_.no_header, "Rows only");
  on(list, [this](Context& context) { return run_app_list(app_list_, context); });

  CLI::App* const show = app->add_subcommand("show", "Model, how well it foretold, plan, runs");
  offer(show->add_option("NAME", app_show_.name, "An application, or the start of its name")->required()->type_name(""),
        Gathered::applications);
  show->add_option("--owner", app_show_.owner, "Of this user (default: yours)")->type_name("USER");
  show->add_option("-n,--limit", app_show_.limit, "At most N runs, 0 for all (default: 20)")
      ->type_name("N")
      ->check(whole_number());
  add_store_flags(*show, app_show_.common);
  on(show, [this](Context& context) { return run_app_show(app_show_, context); });

  CLI::App* const forget = app->add_subcommand("forget", "Removes one of yours, with all that is known of it");
  offer(forget->add_option("NAME", app_forget_.name, "An application")->required()->type_name(""), Gathered::applications);
  add_store_flags(*forget, app_forget_.common);
  on(forget, [this](Context& context) { return run_app_forget(app_forget_, context); });
}

}  // namespace iez::cli
