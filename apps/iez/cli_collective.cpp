#include "command_line.hpp"

namespace iez::cli {

void CommandLine::add_collective() {
  CLI::App* const command = app_.add_subcommand("collective", "Collective I/O: what it would do for a program, and why");
  command->require_subcommand(1);

  CLI::App* const explain =
      command->add_subcommand("explain", "Aggregators, windows, calls and locks for a pattern, with reasons; or what a run did");
  CollectiveExplainOptions& o = collective_explain_;
  CLI::Option* const file =
      explain->add_option("--file", o.file, "With the layout of this file (default: no Lustre)")->type_name("FILE");
  explain->add_flag("--raw", o.raw, "FILE holds the bytes of a 'lustre.lov' attribute, e.g. from getfattr")->needs(file);
  CLI::Option* const stripes = explain->add_option("-c,--stripe-count", o.stripes, "With a layout of N stripes")
                                   ->type_name("N")
                                   ->check(whole_number())
                                   ->excludes(file);
  add_quantity<Bytes>(*explain, "-S,--stripe-size", "Of that layout (default: 1MiB)", "SIZE", parse_bytes, [&o](Bytes size) {
    o.stripe_size = size;
  })->needs(stripes);
  explain->add_option("-n,--ranks", o.ranks, "Processes (default: 16)")->type_name("N")->check(whole_number());
  explain->add_option("--nodes", o.nodes, "That they are on (default: 1)")->type_name("N")->check(whole_number());
  explain->add_option("--cpus", o.cpus, "Of a node (default: one for each of its ranks)")->type_name("N")->check(whole_number());
  add_quantity<Bytes>(*explain, "-b,--block", "Bytes of a rank that lie together in the file (default: 64KiB)", "SIZE",
                      parse_bytes, [&o](Bytes size) { o.block = size; });
  add_quantity<Bytes>(*explain, "--bytes", "Of each rank: a multiple of --block (default: 8MiB)", "SIZE", parse_bytes,
                      [&o](Bytes size) { o.bytes = size; });
  add_quantity<Bytes>(*explain, "--hole", "Behind each block, that nobody touches (default: 0)", "SIZE", parse_bytes,
                      [&o](Bytes size) { o.hole = size; });
  add_quantity<Bytes>(*explain, "--offset", "Of the first block (default: 0)", "SIZE", parse_bytes,
                      [&o](Bytes size) { o.offset = size; });
  explain->add_flag("--contiguous", o.contiguous, "The blocks of a rank lie one behind the other (default: ranks take turns)");
  explain->add_flag("--read", o.read, "They read (default: they write)");
  explain->add_option("--hint", o.hints, "As the program would give it to MPI: CO=4, cb_nodes=8; repeat for more")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  // After all others, which it excludes.
  CLI::Option* const counters =
      explain->add_option("--counters", o.counters, "What happened in a run: the FILE that IEZ_COLLECTIVE_COUNTERS named")
          ->type_name("FILE");
  for (CLI::Option* const other : explain->get_options()) {
    if (other != counters && other->get_name() != "--help") counters->excludes(other);
  }
  explain->add_flag("--json", o.json, "One JSON document");
  explain->add_flag("--no-header", o.no_header, "Rows only");
  on(explain, [this](Context& context) { return run_collective_explain(collective_explain_, context); });
}

}  // namespace iez::cli
