#include "collective_cells.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loop_results.hpp"
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
  unsigned most_rounds = 25;  // until it is known whether the ratio is above or below the target
  std::uint32_t ranks = 8;
  std::uint32_t mpich_ranks = 2;  // it polls while it waits: with more ranks than processors, the scheduler is measured
  std::uint64_t memory_bytes = 128 * kMib;
  std::uint64_t lab_bytes = 64 * kMib;
};
const Scale kFull;
const Scale kQuick{.rounds = 1, .most_rounds = 1, .ranks = 2, .mpich_ranks = 2, .memory_bytes = 8 * kMib, .lab_bytes = 8 * kMib};

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

struct Direction {
  const char* name;
  double (Measured::*rate)() const;
};
constexpr std::array kDirections{Direction{"writes", &Measured::write_mib_s}, Direction{"reads", &Measured::read_mib_s}};

// "lab, one mount, ROMIO, reads of strided 64 KiB"
std::string name_of(const std::string& place, const Stack& stack, const Direction& direction, const Pattern& pattern) {
  return fmt::format("{}, {}, {} of {}", place, name_of(stack.without), direction.name, name_of(pattern));
}

// Runs that follow each other: with over without, of the rates without and with.
struct Cell {
  std::string name;
  std::vector<double> ratios;
  std::vector<double> mib_s_without;
  std::vector<double> mib_s_with;

  [[nodiscard]] double ratio() const { return median(ratios); }
  [[nodiscard]] bool is_doubtful() const { return !is_settled(ratios, kNeverSlower); }
  [[nodiscard]] std::string text() const {
    const auto [least, most] = std::ranges::minmax(ratios);
    return fmt::format("{}: {:.2f} ({:.2f} to {:.2f}, {} pairs), {:.0f} -> {:.0f} MiB/s", name, ratio(), least, most,
                       ratios.size(), median(mib_s_without), median(mib_s_with));
  }
};

class Cells {
 public:
  Cells(const Settings& settings, const CollectiveRuns& runs)
      : settings_(settings), scale_(settings.quick ? kQuick : kFull), runs_(runs) {}

  const Scale& scale() const { return scale_; }

  void missing(std::string what) { missing_.push_back(std::move(what)); }

  // Whether a cell of such a place is wanted.
  [[nodiscard]] bool wants(const std::string& place) const {
    return std::ranges::any_of(kStacks, [&](const Stack& stack) { return !patterns_of(place, stack, false).empty(); });
  }

  // Without and with the library one right after the other, in turns which of them is first. What is in doubt after the first
  // rounds is run again, and all its pairs count.
  Result<void> measure(const Place& place) {
    for (unsigned round = 0; round < scale_.most_rounds; ++round) {
      const bool again = round >= scale_.rounds;
      bool any = false;
      for (const Stack& stack : kStacks) {
        const std::vector<Pattern> patterns = patterns_of(place.name, stack, again);
        if (gone_.contains(stack.without) || patterns.empty()) continue;
        any = true;
        say(fmt::format("{}, {}: round {} of {}{}", place.name, bench::name_of(stack.without), round + 1,
                        again ? scale_.most_rounds : scale_.rounds, again ? ", what is in doubt" : ""));
        IEZ_CHECK(measure(place, stack, patterns, round % 2 == 0));
      }
      if (!any) break;
    }
    return {};
  }

  // Fails if none was wanted.
  Result<Figure> figure() const {
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
      if (missing_.empty()) {
        return fail(Errc::invalid_argument,
                    fmt::format("no cell has '{}' in its name; they are like '{}'", fmt::join(settings_.cells, "' or '"),
                                name_of("lab, one mount", kStacks[1], kDirections[1], kPatterns[0])));
      }
      figure.target.reset();
      return figure;
    }
    figure.value = worst->ratio();
    figure.note =
        fmt::format("the lowest of {} cells, medians of {} pairs or more; {} below {}; the worst, {}{}{}", cells_.size(),
                    scale_.rounds, slower, kNeverSlower, worst->text(), figure.note.empty() ? "" : "; not there: ", figure.note);
    return figure;
  }

 private:
  void say(const std::string& line) const {
    if (settings_.progress) settings_.progress(line);
  }

  [[nodiscard]] bool is_wanted(const std::string& cell) const {
    return settings_.cells.empty() ||
           std::ranges::any_of(settings_.cells, [&cell](const std::string& part) { return cell.contains(part); });
  }

  // Those with a cell that is wanted, or that was measured and is doubtful.
  [[nodiscard]] std::vector<Pattern> patterns_of(const std::string& place, const Stack& stack, bool doubtful) const {
    std::vector<Pattern> some;
    std::ranges::copy_if(kPatterns, std::back_inserter(some), [&](const Pattern& pattern) {
      return std::ranges::any_of(kDirections, [&](const Direction& direction) {
        const std::string name = name_of(place, stack, direction, pattern);
        if (!doubtful) return is_wanted(name);
        const auto found = cells_.find(name);
        return found != cells_.end() && found->second.is_doubtful();
      });
    });
    return some;
  }

  Result<void> measure(const Place& place, const Stack& stack, const std::vector<Pattern>& patterns, bool plain_first) {
    auto one = run(plain_first ? stack.without : stack.with, place, patterns);
    auto other = one ? run(plain_first ? stack.with : stack.without, place, patterns) : one;
    if (one && other) {
      add(place, stack, patterns, plain_first ? *one : *other, plain_first ? *other : *one);
      return {};
    }
    Error error = one ? std::move(other).error() : std::move(one).error();
    if (error.code != Errc::not_found) return std::unexpected(std::move(error));
    gone_[stack.without] = true;
    missing(error.message);
    return {};
  }

  [[nodiscard]] Result<std::vector<Measured>> run(Layer layer, const Place& place, const std::vector<Pattern>& patterns) const {
    const bool mpich = layer == Layer::mpich || layer == Layer::ours_on_mpich;
    return runs_.run(
        layer,
        {.ranks = mpich ? scale_.mpich_ranks : scale_.ranks, .bytes = place.bytes, .patterns = patterns, .mounts = place.mounts});
  }

  void add(const Place& place, const Stack& stack, const std::vector<Pattern>& patterns, const std::vector<Measured>& without,
           const std::vector<Measured>& with) {
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      for (const Direction& direction : kDirections) {
        const std::string name = name_of(place.name, stack, direction, patterns[i]);
        if (!is_wanted(name)) continue;
        Cell& cell = cells_[name];
        cell.name = name;
        const double before = (without[i].*direction.rate)();
        const double after = (with[i].*direction.rate)();
        cell.ratios.push_back(after / before);
        cell.mib_s_without.push_back(before);
        cell.mib_s_with.push_back(after);
      }
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
  const std::string memory = "memory";
  const std::string one_mount = "lab, one mount";
  const std::string four_mounts = "lab, four mounts";
  if (cells.wants(memory)) IEZ_CHECK(cells.measure({.name = memory, .mounts = {}, .bytes = cells.scale().memory_bytes}));
  if (cells.wants(one_mount) || cells.wants(four_mounts)) {
    auto lab = RunningLab::up(
        settings.program, folder,
        {"--oss", std::to_string(kServers), "--osts", std::to_string(kOstsOfServer), "--clients", std::to_string(kClients),
         "--stripe-count", std::to_string(kServers * kOstsOfServer), "--stripe-size", "1M", "--ost-size", "1G", "--rate", kRate});
    if (!lab) {
      cells.missing(lab.error().message);
    } else {
      IEZ_CHECK(cells.measure({.name = one_mount, .mounts = {lab->mount(0)}, .bytes = cells.scale().lab_bytes}));
      Place several{.name = four_mounts, .mounts = {}, .bytes = cells.scale().lab_bytes};
      for (unsigned client = 0; client < kClients; ++client) several.mounts.push_back(lab->mount(client));
      IEZ_CHECK(cells.measure(several));
    }
  }
  IEZ_TRY(Figure figure, cells.figure());
  return std::vector<Figure>{std::move(figure)};
}

}  // namespace iez::bench
