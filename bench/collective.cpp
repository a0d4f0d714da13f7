#include "collective.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "collective_cells.hpp"
#include "collective_runs.hpp"
#include "measure.hpp"
#include "running_lab.hpp"
#include "temporary_folder.hpp"

namespace iez::bench {

namespace {

constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kMib = 1024 * kKib;

struct Scale {
  unsigned rounds = 3;
  std::vector<std::uint32_t> ranks{16, 32};
  std::uint64_t bytes = 128 * kMib;
  std::uint64_t mpich_bytes = 256 * kMib;
  std::uint64_t lab_bytes = 32 * kMib;
  std::uint32_t calls = 1000;
};
const Scale kFull;
const Scale kQuick{.rounds = 1, .ranks = {3}, .bytes = kMib, .mpich_bytes = kMib, .lab_bytes = kMib, .calls = 3};

const std::vector<std::uint64_t> kBlocks{kKib, 4 * kKib, 16 * kKib, 64 * kKib};
const std::vector<std::uint64_t> kMpichBlocks{kKib, 4 * kKib, 64 * kKib};
constexpr std::uint32_t kCopiers = 2;
constexpr unsigned kLabClients = 4;
constexpr std::uint32_t kLabRanks = 16;

constexpr double kVsRomio = 1.5;
constexpr double kVsOmpio = 3;
constexpr double kWorstCell = 1.1;
constexpr double kCpuShare = 0.7;
constexpr double kMemcpyShare = 0.5;
constexpr double kCallShare = 0.25;
constexpr double kLabVsPosix = 3;
constexpr double kLabVsRomio = 1.3;
constexpr double kCommShare = 0.2;

// All runs of one layer with one number of ranks and one size of blocks.
struct Cell {
  std::vector<double> write_mib_s;
  std::vector<double> read_mib_s;
  std::vector<double> cpu_s;  // of both

  void add(const Measured& measured) {
    write_mib_s.push_back(measured.write_mib_s());
    read_mib_s.push_back(measured.read_mib_s());
    cpu_s.push_back(measured.write_cpu_s + measured.read_cpu_s);
  }
};
using CellKey = std::pair<std::uint32_t, std::uint64_t>;  // ranks, block
using Cells = std::map<Layer, std::map<CellKey, Cell>>;

struct Ratios {
  double mean = 1;  // geometric
  double worst = 0;
  CellKey worst_at;
};

// `of` gives our value over theirs; the worst is the smallest.
template <typename Of>
Ratios ratios(const Cells& cells, Layer ours, const Of& of) {
  Ratios all;
  double logarithms = 0;
  for (const auto& [key, cell] : cells.at(ours)) {
    const double ratio = of(key, cell);
    logarithms += std::log(ratio);
    if (all.worst == 0 || ratio < all.worst) {
      all.worst = ratio;
      all.worst_at = key;
    }
  }
  all.mean = std::exp(logarithms / static_cast<double>(cells.at(ours).size()));
  return all;
}

std::string cell_text(const CellKey& key) { return fmt::format("{} ranks, {} KiB", key.first, key.second / kKib); }

Figure skipped(std::string name, std::string why) {
  return {.name = std::move(name), .value = {}, .unit = "x", .higher_is_better = true, .target = {}, .note = std::move(why)};
}

class Comparison {
 public:
  Comparison(const Settings& settings, const std::string& folder)
      : settings_(settings), scale_(settings.quick ? kQuick : kFull), runs_(settings, folder), folder_(folder) {}

  Result<std::vector<Figure>> run() {
    if (!settings_.cells.empty()) return measure_cells(settings_, runs_, folder_);
    IEZ_CHECK(measure_open_mpi());
    add_rates();
    add_cost();
    IEZ_CHECK(measure_lab());
    IEZ_CHECK(measure_comm_share());
    measure_mpich();
    // The cells take half an hour more.
    for (const Figure& figure : figures_) {
      say(fmt::format("{}: {}", figure.name, figure.value ? fmt::format("{:.4g} {}", *figure.value, figure.unit) : figure.note));
    }
    IEZ_TRY(auto cells, measure_cells(settings_, runs_, folder_));
    std::ranges::move(cells, std::back_inserter(figures_));
    return std::move(figures_);
  }

 private:
  void say(const std::string& line) const {
    if (settings_.progress) settings_.progress(line);
  }

  // One after the other, and all again: what else the machine does meets all of them.
  Result<void> measure_open_mpi() {
    for (unsigned round = 0; round < scale_.rounds; ++round) {
      for (const std::uint32_t ranks : scale_.ranks) {
        for (const Layer layer : {Layer::ompio, Layer::romio, Layer::ours}) {
          say(fmt::format("round {} of {}: {}, {} ranks, {} MiB", round + 1, scale_.rounds, name_of(layer), ranks,
                          scale_.bytes / kMib));
          IEZ_TRY(const auto measured, runs_.run(layer, {.ranks = ranks, .bytes = scale_.bytes, .blocks = kBlocks}));
          for (const Measured& one : measured) cells_[layer][{ranks, one.block}].add(one);
          IEZ_CHECK(measure_calls(layer, ranks));
        }
      }
      IEZ_TRY(const auto copied,
              runs_.run(Layer::ompio, {.mode = "copy", .ranks = kCopiers, .bytes = scale_.bytes, .blocks = {64 * kKib}}));
      copy_mib_s_.push_back(copied[0].write_mib_s());
    }
    return {};
  }

  // Ours are collected: so small ones would be the MPI's for half a second, and then be on trial.
  Result<void> measure_calls(Layer layer, std::uint32_t ranks) {
    if (ranks != scale_.ranks.back()) return {};
    IEZ_TRY(const auto measured, runs_.run(layer, {.mode = "calls",
                                                   .ranks = ranks,
                                                   .bytes = std::uint64_t{scale_.calls} * ranks * kKib,
                                                   .blocks = {kKib},
                                                   .hints = "iez_mode=collective"}));
    call_us_[layer].push_back(measured[0].write_s * 1e6 / scale_.calls);
    return {};
  }

  void add_rates() {
    const auto add = [this](const char* name, Layer peer, std::vector<double> Cell::* member, double target, bool bounded) {
      const Ratios found = ratios(cells_, Layer::ours, [this, peer, member](const CellKey& key, const Cell& cell) {
        return median(cell.*member) / median(cells_.at(peer).at(key).*member);
      });
      figures_.push_back({.name = fmt::format("collective.{}", name),
                          .value = found.mean,
                          .unit = "x",
                          .higher_is_better = true,
                          .target = target,
                          .note = fmt::format("MiB/s over {}'s, geometric mean of {} cells, {} MiB; median of {}", name_of(peer),
                                              cells_.at(peer).size(), scale_.bytes / kMib, scale_.rounds)});
      figures_.push_back({.name = fmt::format("collective.{}_worst", name),
                          .value = found.worst,
                          .unit = "x",
                          .higher_is_better = true,
                          .target = bounded ? std::optional(kWorstCell) : std::nullopt,
                          .note = "of the same, the worst cell: " + cell_text(found.worst_at)});
    };
    add("write_vs_romio", Layer::romio, &Cell::write_mib_s, kVsRomio, true);
    add("write_vs_ompio", Layer::ompio, &Cell::write_mib_s, kVsOmpio, true);
    add("read_vs_romio", Layer::romio, &Cell::read_mib_s, kVsRomio, false);
    add("read_vs_ompio", Layer::ompio, &Cell::read_mib_s, kVsOmpio, false);
  }

  void add_cost() {
    const Ratios cpu = ratios(cells_, Layer::ours, [this](const CellKey& key, const Cell& cell) {
      const double best = std::min(median(cells_.at(Layer::romio).at(key).cpu_s), median(cells_.at(Layer::ompio).at(key).cpu_s));
      return median(cell.cpu_s) / best;
    });
    figures_.push_back({.name = "collective.cpu_vs_best",
                        .value = cpu.mean,
                        .unit = "x",
                        .higher_is_better = false,
                        .target = kCpuShare,
                        .note = "CPU seconds of all ranks, write and read, over the better of OMPIO and ROMIO; geometric mean"});
    const double copy = median(copy_mib_s_);
    const Ratios share =
        ratios(cells_, Layer::ours, [copy](const CellKey&, const Cell& cell) { return median(cell.write_mib_s) / copy; });
    figures_.push_back(
        {.name = "collective.memcpy_share",
         .value = share.mean,
         .unit = "x",
         .higher_is_better = true,
         .target = kMemcpyShare,
         .note = fmt::format("MiB/s of writes over one memcpy() and pwrite() of the same bytes by {} ranks, {:.0f} MiB/s",
                             kCopiers, copy)});
    const double ours = median(call_us_.at(Layer::ours));
    const double romio = median(call_us_.at(Layer::romio));
    figures_.push_back(
        {.name = "collective.call_us",
         .value = ours,
         .unit = "us",
         .higher_is_better = false,
         .target = romio * kCallShare,
         .note = fmt::format("one write of 1 KiB a rank, {} ranks; ROMIO {:.0f}, OMPIO {:.0f}; the target is a quarter "
                             "of ROMIO's",
                             scale_.ranks.back(), romio, median(call_us_.at(Layer::ompio)))});
  }

  // Ranks in four mounts of one lab: extents that two of them want are locked and given back.
  Result<void> measure_lab() {
    say("starting a lab of 4 OSTs and 4 mounts");
    auto lab = RunningLab::up(settings_.program, folder_,
                              {"--oss", "2", "--osts", "2", "--clients", std::to_string(kLabClients), "--stripe-count", "4",
                               "--stripe-size", "1M", "--ost-size", "1G"});
    if (!lab) {
      for (const char* const name : {"collective.lab_gain_posix", "collective.lab_gain_romio"}) {
        figures_.push_back(skipped(name, lab.error().message));
      }
      return {};
    }
    CollectiveRun run{.ranks = kLabRanks, .bytes = scale_.lab_bytes, .blocks = {4 * kKib}};
    for (unsigned client = 0; client < kLabClients; ++client) run.mounts.push_back(lab->mount(client));
    struct Way {
      std::string name;
      std::string mode;
      Layer layer;  // of POSIX calls it does not matter
    };
    std::map<std::string, std::vector<double>> rates;
    for (unsigned round = 0; round < scale_.rounds; ++round) {
      say(fmt::format("lab: round {} of {}", round + 1, scale_.rounds));
      for (const Way& way :
           {Way{"posix", "posix", Layer::ompio}, Way{"romio", "views", Layer::romio}, Way{"ours", "views", Layer::ours}}) {
        run.mode = way.mode;
        IEZ_TRY(const auto measured, runs_.run(way.layer, run));
        rates[way.name].push_back(measured[0].write_mib_s());
      }
    }
    const double ours = median(rates["ours"]);
    const auto add = [&](const char* name, const std::string& peer, double target) {
      const double theirs = median(rates[peer]);
      figures_.push_back({.name = name,
                          .value = ours / theirs,
                          .unit = "x",
                          .higher_is_better = true,
                          .target = target,
                          .note = fmt::format("writes of {} ranks in {} mounts, 4 KiB blocks, 4 OSTs: {:.0f} MiB/s over {:.0f}",
                                              kLabRanks, kLabClients, ours, theirs)});
    };
    add("collective.lab_gain_posix", "posix", kLabVsPosix);
    add("collective.lab_gain_romio", "romio", kLabVsRomio);
    return {};
  }

  // Where the source measured it, OSTs were slower than what is between ranks, and so are those of this lab. Ranks take
  // themselves for four nodes, so that data is sent between them.
  Result<void> measure_comm_share() {
    const std::string name = "collective.comm_share";
    say("starting a lab of 4 OSTs of 20 MB/s");
    auto lab = RunningLab::up(settings_.program, folder_,
                              {"--oss", "2", "--osts", "2", "--clients", std::to_string(kLabClients), "--stripe-count", "4",
                               "--stripe-size", "1M", "--ost-size", "1G", "--rate", "20MB/s"});
    if (!lab) {
      figures_.push_back(skipped(name, lab.error().message));
      return {};
    }
    CollectiveRun run{.mode = "writes", .ranks = kLabRanks, .bytes = 4 * scale_.lab_bytes, .blocks = {4 * kKib}};
    for (unsigned client = 0; client < kLabClients; ++client) run.mounts.push_back(lab->mount(client));
    run.hints = fmt::format("iez_ranks_per_node={}", kLabRanks / kLabClients);
    std::vector<double> shares;
    for (unsigned round = 0; round < scale_.rounds; ++round) {
      say(fmt::format("lab of slow OSTs: round {} of {}", round + 1, scale_.rounds));
      static_cast<void>(runs_.take_counters());
      IEZ_TRY(const auto measured, runs_.run(Layer::ours, run));
      const auto counted = runs_.take_counters();
      if (!counted) {
        figures_.push_back(skipped(name, "the library did not count: it passed the calls on"));
        return {};
      }
      const double other = counted->copy_s + counted->send_s + counted->wait_s;
      shares.push_back(other / (other + counted->file_s));
    }
    figures_.push_back(
        {.name = name,
         .value = median(shares),
         .unit = "of the time",
         .higher_is_better = false,
         .target = kCommShare,
         .note = fmt::format("copying, sending and waiting, of the time that aggregators spend in writes; {} ranks on {} "
                             "imagined nodes, 4 KiB blocks, 4 OSTs of 20 MB/s",
                             kLabRanks, kLabClients)});
    return {};
  }

  // At two ranks: it polls while it waits. Without MPICH there is nothing to say.
  void measure_mpich() {
    Cells cells;
    for (unsigned round = 0; round < scale_.rounds; ++round) {
      say(fmt::format("MPICH: round {} of {}", round + 1, scale_.rounds));
      for (const Layer layer : {Layer::mpich, Layer::ours_on_mpich}) {
        const auto measured = runs_.run(layer, {.ranks = 2, .bytes = scale_.mpich_bytes, .blocks = kMpichBlocks});
        if (!measured) {
          figures_.push_back(skipped("collective.mpich_write", measured.error().message));
          figures_.push_back(skipped("collective.mpich_read", measured.error().message));
          return;
        }
        for (const Measured& one : *measured) cells[layer][{one.ranks, one.block}].add(one);
      }
    }
    const auto add = [&](const char* name, std::vector<double> Cell::* member) {
      const Ratios found = ratios(cells, Layer::ours_on_mpich, [&cells, member](const CellKey& key, const Cell& cell) {
        return median(cell.*member) / median(cells.at(Layer::mpich).at(key).*member);
      });
      figures_.push_back({.name = name,
                          .value = found.mean,
                          .unit = "x",
                          .higher_is_better = true,
                          .target = {},
                          .note = fmt::format("MiB/s over MPICH's own, 2 ranks, {} MiB; the worst {:.2f}: {}",
                                              scale_.mpich_bytes / kMib, found.worst, cell_text(found.worst_at))});
    };
    add("collective.mpich_write", &Cell::write_mib_s);
    add("collective.mpich_read", &Cell::read_mib_s);
  }

  const Settings& settings_;
  const Scale& scale_;
  CollectiveRuns runs_;
  std::string folder_;
  Cells cells_;
  std::map<Layer, std::vector<double>> call_us_;
  std::vector<double> copy_mib_s_;
  std::vector<Figure> figures_;
};

}  // namespace

Result<std::vector<Figure>> run_collective(const Settings& settings) {
  // In memory, where there is such a place: what is compared is the way to the file, not a disk.
  constexpr const char* kMemory = "/dev/shm";
  IEZ_TRY(const TemporaryFolder folder, TemporaryFolder::make(::access(kMemory, W_OK) == 0 ? kMemory : ""));
  auto figures = Comparison(settings, folder.path()).run();
  if (figures || figures.error().code != Errc::not_found) return figures;
  std::vector<Figure> none;
  for (const char* const name : {"write_vs_romio", "write_vs_ompio", "read_vs_romio", "read_vs_ompio", "cpu_vs_best",
                                 "memcpy_share", "call_us", "lab_gain_posix", "lab_gain_romio", "comm_share", "never_slower"}) {
    none.push_back(skipped(fmt::format("collective.{}", name), figures.error().message));
  }
  return none;
}

}  // namespace iez::bench
