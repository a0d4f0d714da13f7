#include "command_line.hpp"
#include "demo_cases.hpp"

namespace iez::cli {
namespace {

using workload::Interface;
using workload::Kind;

constexpr std::array<std::pair<std::string_view, Interface>, 3> kInterfaces{
    {{"POSIX", Interface::posix}, {"MPIIO", Interface::mpiio}, {"HDF5", Interface::hdf5}}};
constexpr std::array<std::pair<std::string_view, Interface>, 2> kHaccInterfaces{
    {{"POSIX", Interface::posix}, {"MPIIO", Interface::mpiio}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kMpis{{{"openmpi", "openmpi"}, {"mpich", "mpich"}}};

}  // namespace

void CommandLine::add_workload_common(CLI::App& command, WorkloadOptions& options) {
  workload::Options& asked = options.workload;
  command.add_option("-n,--ranks", options.ranks, "Processes, without a launcher (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  add_choice(command, "--mpi", options.mpi, kMpis,
             "Which MPI starts them, where one is needed (default: the first that is there)");
  command.add_flag("-w", options.only_write, "Write, and do not read unless -r is given, too (default: both)");
  command.add_flag("-r", options.only_read, "Read");
  command.add_flag("-e", asked.sync, "fsync() before closing");
  command.add_flag("-k", asked.keep, "Keep the files");
  command.add_flag("-C", asked.pattern.reorder, "Each process reads what its neighbour wrote");
  command.add_flag("-R,--verify", asked.verify, "Compare every byte that is read");
  command.add_flag("--drop-cache", asked.drop_cache, "Read from the servers, not from the memory of this node");
  command.add_option("-i", asked.repetitions, "Repetitions (default: 1)")->type_name("N")->check(whole_number());
  command.add_flag("-m", asked.multiple, "Every repetition has files of its own, with its number behind the name");
  command.add_flag("-E", asked.in_place, "Write over files that exist (default: they are removed first)");
  command.add_option("--meet", asked.meet, "Wait before each phase for other workloads that name the same file, which is made")
      ->type_name("FILE");
  command.add_option("--parties", asked.parties, "With --meet: how many workloads there are, with this one (default: 2)")
      ->type_name("N")
      ->check(whole_number());
  command.add_option("--seed", asked.pattern.seed, "Of sizes, orders and bytes (default: 0)")
      ->type_name("N")
      ->check(whole_number());
  command.add_flag("--json", asked.json, "One JSON document");
}

void CommandLine::add_workload_sizes(CLI::App& command, WorkloadOptions& options) {
  workload::Options& asked = options.workload;
  add_quantity<workload::Sizes>(command, "--sizes",
                                "How the processes differ: equal, uniform:SPREAD, lognormal:DEVIATION (default: equal)", "LAW",
                                workload::parse_sizes, [&asked](workload::Sizes given) {
                                  asked.pattern.law = given.law;
                                  asked.pattern.spread = given.spread;
                                });
}

void CommandLine::add_array_options(CLI::App& command, WorkloadOptions& options) {
  workload::Options& asked = options.workload;
  asked.pattern.interface = Interface::mpiio;
  asked.collective = true;
  command.add_option("PREFIX", asked.pattern.file, "What names of files begin with")->required()->type_name("");
  add_choice(command, "-a", asked.pattern.interface, kInterfaces, "By these calls (default: MPIIO)");
  command.add_flag("--independent", options.independent, "Each process by itself (default: collective calls; POSIX has none)");
}

void CommandLine::add_workload() {
  CLI::App* const command = app_.add_subcommand("workload", "Write and read as well-known benchmarks do, and verify every byte");
  command->require_subcommand(1);

  CLI::App* const ior = command->add_subcommand("ior", "As IOR does: blocks of every process, in one file or in one for each");
  workload::Options& i = workload_ior_.workload;
  i.pattern.kind = Kind::ior;
  add_choice(*ior, "-a", i.pattern.interface, kInterfaces, "By these calls (default: POSIX)");
  ior->add_option("-o", i.pattern.file, "The file; with -F, .00000000 and so on are added")->required()->type_name("FILE");
  ior->add_flag("-F", i.pattern.file_per_process, "A file for each process");
  add_quantity<Bytes>(*ior, "-b", "Block: bytes of a process that lie together (default: 1 MiB)", "SIZE", parse_bytes,
                      [&i](Bytes given) { i.pattern.block = given; });
  add_quantity<Bytes>(*ior, "-t", "Transfer: bytes of one call (default: 256 KiB)", "SIZE", parse_bytes,
                      [&i](Bytes given) { i.pattern.transfer = given; });
  ior->add_option("-s", i.pattern.segments, "Segments: blocks of each process (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  ior->add_flag("-z", i.pattern.random_offsets, "In random order");
  ior->add_flag("-c", i.collective, "Collective calls, with -a MPIIO or HDF5");
  ior->add_flag("-U,--view", i.pattern.view, "All blocks of a process by one call, as an interleaved view; -t does not matter");
  add_workload_common(*ior, workload_ior_);
  add_workload_sizes(*ior, workload_ior_);
  on(ior, [this](Context& context) { return run_workload(workload_ior_, context); });

  CLI::App* const hacc = command->add_subcommand("hacc", "As HACC-IO does: nine variables of every particle");
  workload::Options& h = workload_hacc_.workload;
  h.pattern.kind = Kind::hacc;
  h.pattern.file_per_process = true;
  hacc->add_option("PARTICLES", h.pattern.particles, "Of each process; 38 bytes each")
      ->required()
      ->check(whole_number())
      ->type_name("");
  hacc->add_option("PREFIX", h.pattern.file, "Files are PREFIX-Part00000000-of-00000001.data and so on")
      ->required()
      ->type_name("");
  add_choice(*hacc, "-a", h.pattern.interface, kHaccInterfaces, "By these calls (default: POSIX)");
  hacc->add_flag_callback("--shared", [&h] { h.pattern.file_per_process = false; }, "One file for all processes");
  add_quantity<Bytes>(*hacc, "--header", "Bytes before the variables (default: 24 MiB)", "SIZE", parse_bytes,
                      [&h](Bytes given) { h.pattern.header = given; });
  add_workload_common(*hacc, workload_hacc_);
  add_workload_sizes(*hacc, workload_hacc_);
  on(hacc, [this](Context& context) { return run_workload(workload_hacc_, context); });

  CLI::App* const flash =
      command->add_subcommand("flash", "As FLASH-IO does: a checkpoint of many unknowns of the blocks of all processes");
  workload::Options& f = workload_flash_.workload;
  f.pattern.kind = Kind::flash;
  add_array_options(*flash, workload_flash_);
  flash->add_option("--blocks", f.pattern.blocks, "Of each process (default: 10)")->type_name("N")->check(whole_number());
  flash->add_option("--cells", f.pattern.cells, "Of a block in each dimension (default: 8)")
      ->type_name("N")
      ->check(whole_number());
  flash->add_option("--guard", f.pattern.guard, "Cells of its neighbours on each side, in memory only (default: 4)")
      ->type_name("N")
      ->check(whole_number());
  flash->add_option("--unknowns", f.pattern.arrays, "Of a cell (default: 24)")->type_name("N")->check(whole_number());
  add_workload_common(*flash, workload_flash_);
  on(flash, [this](Context& context) { return run_workload(workload_flash_, context); });

  CLI::App* const chimera =
      command->add_subcommand("chimera", "As CHIMERA's restarts: files of three-dimensional arrays, shared in blocks");
  workload::Options& c = workload_chimera_.workload;
  c.pattern.kind = Kind::chimera;
  c.pattern.arrays = 6;
  add_array_options(*chimera, workload_chimera_);
  add_quantity<std::array<std::uint64_t, 3>>(*chimera, "--grid", "Elements of an array, of all processes (default: 64x64x64)",
                                             "XxYxZ", workload::parse_grid,
                                             [&c](std::array<std::uint64_t, 3> given) { c.pattern.grid = given; });
  chimera->add_option("--arrays", c.pattern.arrays, "Of a file (default: 6)")->type_name("N")->check(whole_number());
  chimera->add_option("--files", c.pattern.files, "How many (default: 8)")->type_name("N")->check(whole_number());
  add_workload_common(*chimera, workload_chimera_);
  on(chimera, [this](Context& context) { return run_workload(workload_chimera_, context); });

  CLI::App* const rank = command->add_subcommand("rank", "Be a process of a workload; the others start it")->group("");
  rank->add_option("WORDS", workload_rank_.words, "key=value")->required()->type_name("");
  on(rank, [this](Context& context) { return run_workload_rank(workload_rank_, context); });
}

void CommandLine::add_demo() {
  CLI::App* const command =
      app_.add_subcommand("demo", "See it work: applications on a lab, by default and placed; needs no Lustre");
  command->add_option("--out", demo_.out, "Folder for the page and its data (default: iez-demo)")->type_name("DIR");
  CLI::Option* const cases = command->add_option("--case", demo_.cases, "Only this case; repeat for more")
                                 ->type_name("NAME")
                                 ->expected(1)
                                 ->take_all()
                                 ->allow_extra_args(false);
  for (const DemoCase& known : demo_cases(false)) offer(cases, std::array{known.id});
  command->add_option("--repeat", demo_.repetitions, "Runs of each way, in turn (default: 3; with --quick 1)")
      ->type_name("N")
      ->check(whole_number(1, 100));
  add_quantity<BytesPerSecond>(*command, "--rate",
                               "Of each OST (default: 8MB/s); the slower, the less the speed of this machine matters", "RATE",
                               parse_rate, [this](BytesPerSecond rate) { demo_.ost_rate = rate; });
  command->add_flag("--local", demo_.local, "Without coordinator and agents: each run plans by itself");
  command->add_flag("--quick", demo_.quick, "Small files: shows that it works, measures nothing");
  command->add_flag("--json", demo_.json, "One JSON document");
  on(command, [this](Context& context) { return run_demo(demo_, context); });
}

}  // namespace iez::cli
