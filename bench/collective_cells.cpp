#include "collective_cells.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "measure.hpp"
#include "running_lab.hpp"

namespace iez::bench {

namespace {

constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kMib = 1024 * kKib;
constexpr double kNeverSlower = 0.97;
constexpr unsigned kClients = 4;
constexpr unsigned kServers = 3;
constexpr unsigned kOstsOfServer = 5;
constexpr const char* kRate = "12MB/s";  // so that OSTs decide, and not processors

struct Scale {
  unsigned rounds = 5;
  std::uint32_t ranks = 8;
  std::uint32_t mpich_ranks = 2;  // it polls while it waits: with more ranks than processors, the scheduler is measured
  std::uint64_t memory_bytes = 128 * kMib;
  std::uint64_t lab_bytes = 64 * kMib;
};
const Scale kFull;
const Scale kQuick{.rounds = 1, .ranks = 2, .mpich_ranks = 2, .memory_bytes = 8 * kMib, .lab_bytes = 8 * kMib};

const std::vector<Pattern> kPatterns{{"strided", 64 * kKib}, {"strided", 256 * kKib}, {"strided", kMib},
                                     {"strided", 4 * kMib},  {"segments", kMib},      {"views", 64 * kKib}};

// An MPI-IO without our library and with it.
struct Stack {
  Layer without;
  Layer with;
};
constexpr std::array kStacks{Stack{Layer::ompio, Layer::ours}, Stack{Layer::romio, Layer::ours_on_romio},
                             Stack{Layer::mpich, Layer::ours_on_mpich}};

struct Place {
  std::string name;
  std::vector<std::string> mounts;  // none: in the folder
  std::uint64_t bytes = 0;
};

std::string name_of(const Pattern& pattern) {
  const bool whole = pattern.block >= kMib;
  return fmt::format("{} {} {}", pattern.mode, pattern.block / (whole ? kMib : kKib), whole ? "MiB" : "KiB");
}

// Runs that follow each other: with over without, of the seconds without and with.
struct Cell {
  std::string name;
  std::vector<double> ratios;
  std::vector<double> mib_s_without;
  std::vector<double> mib_s_with;

  [[nodiscard]] double ratio() const { return median(ratios); }
  [[nodiscard]] std::string text() const {
    const auto [least, most] = std::ranges::minmax(ratios);
    return fmt::format("{}: {:.2f} ({:.2f} to {:.2f}), {:.0f} -> {:.0f} MiB/s", name, ratio(), least, most, median(mib_s_without),
                       median(mib_s_with));
  }
};

class Cells {
 public:
  Cells(const Settings& settings, const CollectiveRuns& runs)
      : settings_(settings), scale_(settings.quick ? kQuick : kFull), runs_(runs) {}

  const Scale& scale() const { return scale_; }

  void missing(std::string what) { missing_.push_back(std::move(what)); }

  // Without and with the library one right after the other, in turns which of them is first.
  Result<void> measure(const Place& place) {
    for (unsigned round = 0; round < scale_.rounds; ++round) {
      for (const Stack& stack : kStacks) {
        if (gone_.contains(stack.without)) continue;
        say(fmt::format("{}, {}: round {} of {}", place.name, bench::name_of(stack.without), round + 1, scale_.rounds));
        const bool first = round % 2 == 0;
        auto one = run(first ? stack.without : stack.with, place);
        auto other = one ? run(first ? stack.with : stack.without, place) : one;
        if (!one || !other) {
          Error error = one ? std::move(other).error() : std::move(one).error();
          if (error.code != Errc::not_found) return std::unexpected(std::move(error));
          gone_[stack.without] = true;
          missing(error.message);
          continue;
        }
        add(place, stack, first ? *one : *other, first ? *other : *one);
      }
    }
    return {};
  }

  Figure figure() const {
    const Cell* worst = nullptr;
    std::size_t slower = 0;
    for (const auto& [key, cell] : cells_) {
      if (worst == nullptr || cell.ratio() < worst->ratio()) worst = &cell;
      if (cell.ratio() < kNeverSlower) ++slower;
      say(cell.text());
    }
    Figure figure{.name = "collective.never_slower",
                  .value = {},
                  .unit = "x",
                  .higher_is_better = true,
                  .target = kNeverSlower,
                  .note = ""};
    for (const std::string& what : missing_) figure.note += fmt::format("{}{}", figure.note.empty() ? "" : "; ", what);
    if (worst == nullptr) {
      figure.target.reset();
      return figure;
    }
    figure.value = worst->ratio();
    figure.note =
        fmt::format("the lowest of {} cells, medians of {} pairs; {} below {}; the worst, {}{}{}", cells_.size(), scale_.rounds,
                    slower, kNeverSlower, worst->text(), figure.note.empty() ? "" : "; not there: ", figure.note);
    return figure;
  }

 private:
  void say(const std::string& line) const {
    if (settings_.progress) settings_.progress(line);
  }

  [[nodiscard]] Result<std::vector<Measured>> run(Layer layer, const Place& place) const {
    const bool mpich = layer == Layer::mpich || layer == Layer::ours_on_mpich;
    return runs_.run(layer, {.ranks = mpich ? scale_.mpich_ranks : scale_.ranks,
                             .bytes = place.bytes,
                             .patterns = kPatterns,
                             .mounts = place.mounts});
  }

  void add(const Place& place, const Stack& stack, const std::vector<Measured>& without, const std::vector<Measured>& with) {
    for (std::size_t i = 0; i < kPatterns.size(); ++i) {
      const auto put = [&](const char* what, double (Measured::*rate)() const) {
        const std::string name =
            fmt::format("{}, {}, {} of {}", place.name, bench::name_of(stack.without), what, name_of(kPatterns[i]));
        Cell& cell = cells_[name];
        cell.name = name;
        const double before = (without[i].*rate)();
        const double after = (with[i].*rate)();
        cell.ratios.push_back(after / before);
        cell.mib_s_without.push_back(before);
        cell.mib_s_with.push_back(after);
      };
      put("writes", &Measured::write_mib_s);
      put("reads", &Measured::read_mib_s);
    }
  }

  const Settings& settings_;
  const Scale& scale_;
  const CollectiveRuns& runs_;
  std::map<std::string, Cell> cells_;
  std::map<Layer, bool> gone_;
  std::vector<std::string> missing_;
};

}  // namespace

Result<std::vector<Figure>> measure_cells(const Settings& settings, const CollectiveRuns& runs, const std::string& folder) {
  Cells cells(settings, runs);
  IEZ_CHECK(cells.measure({.name = "memory", .mounts = {}, .bytes = cells.scale().memory_bytes}));
  auto lab = RunningLab::up(
      settings.program, folder,
      {"--oss", std::to_string(kServers), "--osts", std::to_string(kOstsOfServer), "--clients", std::to_string(kClients),
       "--stripe-count", std::to_string(kServers * kOstsOfServer), "--stripe-size", "1M", "--ost-size", "1G", "--rate", kRate});
  if (!lab) {
    cells.missing(lab.error().message);
  } else {
    IEZ_CHECK(cells.measure({.name = "lab, one mount", .mounts = {lab->mount(0)}, .bytes = cells.scale().lab_bytes}));
    Place several{.name = "lab, four mounts", .mounts = {}, .bytes = cells.scale().lab_bytes};
    for (unsigned client = 0; client < kClients; ++client) several.mounts.push_back(lab->mount(client));
    IEZ_CHECK(cells.measure(several));
  }
  return std::vector<Figure>{cells.figure()};
}

}  // namespace iez::bench
