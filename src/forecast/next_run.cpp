#include "forecast/next_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "forecast/forecaster.hpp"
#include "forecast/run_history.hpp"
#include "forecast/template_discovery.hpp"

namespace iez::forecast {
namespace {

constexpr double kDataShare = 0.01;      // of the bytes of a run: smaller templates do not grow with the problem
constexpr double kUnknownSpread = 0.1;   // of the size of a single file seen once
constexpr double kWholeExponent = 0.15;  // an exponent that near to a whole number is that number
constexpr double kMaxExponent = 2;
constexpr std::int64_t kMaxPhase = 1'000'000;
constexpr double kFullCoverage = 0.9;  // of a template: below, only names of the last run are expected again

Bytes to_bytes(double size) {
  constexpr double kMost = 9.2e18;
  return {static_cast<std::uint64_t>(std::llround(std::clamp(size, 0.0, kMost)))};
}

Bytes times(Bytes size, std::uint64_t count) { return to_bytes(static_cast<double>(size.count) * static_cast<double>(count)); }

// A name that is to be, before its size is known.
struct Expected {
  PredictedFile file;
  std::optional<std::uint32_t> slot;  // none: no run had it
};

class TemplatePredictor {
 public:
  struct Situation {
    std::span<const FileSeen> files;  // of all runs
    std::span<const ObservedName> observed;
    std::span<const std::uint32_t> ranks;  // of each run
    std::vector<bool> basis;               // runs whose sizes count
    std::uint32_t basis_ranks = 0;
    std::uint32_t ranks_wanted = 0;
    std::uint32_t last_run = 0;
    double last_bytes = 0;  // of the last run
  };

  TemplatePredictor(const Discovery& discovery, std::uint32_t t, std::span<const std::uint32_t> names, const Situation& situation,
                    const NextRunOptions& options, std::size_t& searches)
      : template_(discovery.templates[t]),
        names_(names),
        situation_(situation),
        options_(options),
        searches_(searches),
        history_(discovery, t, basis_names(), situation.observed),
        latest_(latest_run()) {}

  // False: more names than allowed.
  bool predict(PredictedTemplate& summary, std::vector<PredictedFile>& files, std::uint64_t allowed) {
    choose_exponent(summary);
    factor_ = growth(summary.exponent);
    profile_ = make_profile();
    phases_ = make_phases();
    std::vector<Expected> expected;
    if (!enumerate_names(expected, allowed)) return false;
    set_sizes(expected);
    for (Expected& one : expected) {
      summary.files += one.file.files;
      summary.bytes += times(one.file.bytes, one.file.files);
      files.push_back(std::move(one.file));
    }
    summary.name = template_;
    return true;
  }

 private:
  struct Profile {
    double middle = 0;    // of the sizes in the last run of the basis
    double relative = 0;  // spread of a size seen once
    bool shared = false;
    std::uint32_t stripe_count = 0;
  };

  const FileSeen& seen(const Cell& cell) const { return situation_.files[cell.file]; }
  double size(const Cell& cell) const { return static_cast<double>(seen(cell).bytes.count); }

  std::vector<std::uint32_t> basis_names() const {
    std::vector<std::uint32_t> chosen;
    chosen.reserve(names_.size());
    for (const std::uint32_t name : names_) {
      if (situation_.basis[situation_.observed[name].run]) chosen.push_back(name);
    }
    if (chosen.empty()) chosen.assign(names_.begin(), names_.end());
    return chosen;
  }

  // Least squares of log(bytes of a file) over log(ranks), one point a run.
  void choose_exponent(PredictedTemplate& summary) const {
    std::map<std::uint32_t, std::pair<double, double>> runs;  // bytes, files
    double writers = 0;
    for (const std::uint32_t name : names_) {
      auto& [bytes, count] = runs[situation_.observed[name].run];
      bytes += static_cast<double>(situation_.files[name].bytes.count);
      count += 1;
      writers += situation_.files[name].ranks > 1 ? 1 : 0;
    }
    summary.exponent = 2 * writers > static_cast<double>(names_.size()) ? 1 : 0;
    std::vector<Observation> points;
    for (const auto& [run, totals] : runs) {
      if (situation_.ranks[run] == 0 || totals.first <= 0) continue;
      points.push_back({.time = std::log(situation_.ranks[run]), .value = std::log(totals.first / totals.second)});
    }
    double mean_t = 0;
    double mean_v = 0;
    for (const Observation& point : points) {
      mean_t += point.time / static_cast<double>(points.size());
      mean_v += point.value / static_cast<double>(points.size());
    }
    double tt = 0;
    double tv = 0;
    for (const Observation& point : points) {
      tt += (point.time - mean_t) * (point.time - mean_t);
      tv += (point.time - mean_t) * (point.value - mean_v);
    }
    if (tt < 1e-6) return;
    const double slope = std::clamp(tv / tt, -kMaxExponent, kMaxExponent);
    summary.exponent = std::abs(slope - std::round(slope)) < kWholeExponent ? std::round(slope) : slope;
    summary.fitted = true;
  }

  double growth(double exponent) const {
    double factor = 1;
    if (situation_.basis_ranks > 0 && situation_.ranks_wanted > 0) {
      factor = std::pow(static_cast<double>(situation_.ranks_wanted) / situation_.basis_ranks, exponent);
    }
    double bytes = 0;
    for (const Cell& cell : history_.all()) bytes += cell.run == situation_.last_run ? size(cell) : 0;
    return bytes >= kDataShare * situation_.last_bytes ? factor * options_.scale : factor;
  }

  Profile make_profile() const {
    Profile profile;
    std::vector<double> sizes;
    std::vector<double> changes;
    std::map<std::uint32_t, std::uint64_t> counts;
    std::uint64_t shared = 0;
    const Cell* before = nullptr;
    for (const Cell& cell : history_.all()) {
      if (cell.run != latest_) continue;
      sizes.push_back(size(cell));
      shared += seen(cell).ranks > 1 ? 1U : 0U;
      ++counts[seen(cell).stripe_count];
      if (before != nullptr && before->slot == cell.slot) changes.push_back(size(cell) - size(*before));
      before = &cell;
    }
    if (sizes.empty()) return profile;
    profile.middle = median(sizes);
    profile.shared = 2 * shared > sizes.size();
    profile.stripe_count = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->first;
    const double level = mean(sizes);
    if (sizes.size() < 2 || level == 0) {
      profile.relative = kUnknownSpread;
      return profile;
    }
    if (changes.empty()) {
      for (const double one : sizes) changes.push_back(one - level);
    }
    profile.relative = spread(changes) / level;
    return profile;
  }

  std::uint32_t latest_run() const {
    std::uint32_t latest = 0;
    for (const Cell& cell : history_.all()) latest = std::max(latest, cell.run);
    return latest;
  }

  // Of each step of the last run, by majority.
  std::map<std::uint32_t, std::int32_t> make_phases() const {
    std::map<std::uint32_t, std::map<std::int32_t, std::uint64_t>> counts;
    for (const Cell& cell : history_.all()) {
      if (cell.run == latest_ && seen(cell).phase >= 0) ++counts[cell.step][seen(cell).phase];
    }
    std::map<std::uint32_t, std::int32_t> phases;
    for (const auto& [step, of] : counts) {
      phases[step] = std::ranges::max_element(of, {}, [](const auto& one) { return one.second; })->first;
    }
    return phases;
  }

  // Parts of a step may be written one after the other: each has a phase of its own then. Where several files of a step are told
  // apart by nothing that comes again, they have none.
  std::optional<std::int32_t> own_phase(std::optional<std::uint32_t> slot, std::uint32_t step) const {
    if (!slot) return std::nullopt;
    std::optional<std::int32_t> own;
    for (const Cell& cell : history_.at(*slot, step)) {
      if (cell.run != latest_ || seen(cell).phase < 0) continue;
      if (own) return std::nullopt;
      own = seen(cell).phase;
    }
    return own;
  }

  std::int32_t phase_of(std::optional<std::uint32_t> slot, std::uint32_t step) const {
    if (phases_.empty()) return -1;
    if (const auto own = own_phase(slot, step)) return *own;
    const std::int32_t phase = phase_of_step(step);
    const auto [last_step, last_phase] = *phases_.rbegin();
    if (step <= last_step) return phase;
    // As far from the others as in the last step seen.
    return std::max(0, phase + own_phase(slot, last_step).value_or(last_phase) - last_phase);
  }

  std::int32_t phase_of_step(std::uint32_t step) const {
    const auto known = phases_.find(step);
    if (known != phases_.end()) return known->second;
    const auto [last_step, last_phase] = *phases_.rbegin();
    if (step < last_step) return phases_.lower_bound(step)->second;
    const auto [first_step, first_phase] = *phases_.begin();
    const std::int64_t between =
        last_step > first_step ? std::max<std::int64_t>(1, (last_phase - first_phase) / (std::int64_t{last_step} - first_step))
                               : 1;
    return static_cast<std::int32_t>(std::min<std::int64_t>(last_phase + between * (step - last_step), kMaxPhase));
  }

  // The open fields of a name seen, to write names that can be read again.
  std::vector<FieldValue> open_values() const {
    std::vector<FieldValue> values;
    std::vector<FieldValue> open;
    if (!match(template_, situation_.observed[names_.back()].name, values)) return open;
    for (std::size_t f = 0; f < values.size(); ++f) {
      if (template_.fields[f].open) open.push_back(values[f]);
    }
    return open;
  }

  bool enumerate_names(std::vector<Expected>& expected, std::uint64_t allowed) {
    const auto open = open_values();
    const bool rescaled = situation_.ranks_wanted != situation_.basis_ranks;
    const bool gaps = template_.coverage < kFullCoverage;
    const bool open_name = std::ranges::any_of(template_.fields, &Field::open);
    // Where a part that cannot be known differs within a run, one name stands for many.
    const auto alike = static_cast<std::uint64_t>(open_name ? std::max(1LL, std::llround(template_.coverage)) : 1);
    std::vector<FieldValue> values;
    const NextRunShape shape{.ranks = situation_.ranks_wanted, .max_names = allowed + 1, .open_values = open};
    enumerate(template_, shape, [&](const NextName& next) {
      Expected one;
      one.file.step = static_cast<std::uint32_t>(next.step);
      one.file.rank = alike > 1 ? -1 : static_cast<std::int32_t>(next.rank);
      one.file.files = alike;
      if (match(template_, next.name, values)) {
        one.slot = rescaled ? slot_at_position(next.rank, values) : history_.slot_of(values);
        one.file.name = predicted_name(template_, values);
        one.file.open = open_name;
      } else {
        one.file.name = next.name;
        one.file.open = next.open;
      }
      if (gaps && !rescaled && !in_last_run(one)) return true;
      expected.push_back(std::move(one));
      return true;
    });
    return expected.size() <= allowed;
  }

  bool in_last_run(const Expected& one) const {
    if (!one.slot) return false;
    const auto cells = history_.at(*one.slot, one.file.step);
    return std::ranges::any_of(cells, [&](const Cell& cell) { return cell.run == situation_.last_run; });
  }

  // With another number of ranks the slot at the same place in the row of ranks; the same slot, where ranks do not make the
  // slots.
  std::optional<std::uint32_t> slot_at_position(std::int64_t rank, std::span<const FieldValue> values) const {
    const std::size_t slots = history_.slots();
    if (rank < 0 || slots != situation_.basis_ranks || situation_.ranks_wanted < 2) return history_.slot_of(values);
    const double place = static_cast<double>(rank) / static_cast<double>(situation_.ranks_wanted - 1);
    return static_cast<std::uint32_t>(std::llround(std::clamp(place, 0.0, 1.0) * static_cast<double>(slots - 1)));
  }

  bool continues() const {
    return std::ranges::any_of(template_.variables, [](const Variable& v) { return v.role == FieldRole::step && v.continues; });
  }

  void set_sizes(std::vector<Expected>& expected) {
    const bool goes_on = continues();
    std::unordered_map<std::uint32_t, SeriesForecast> of_slot;
    // The largest first, since searches are counted.
    std::vector<std::size_t> order(expected.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::vector<double> last(expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      set_categories(expected[i]);
      const auto cells = cells_of(expected[i]);
      last[i] = cells.empty() ? profile_.middle : size(cells.back());
    }
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return std::tuple(-last[a], a) < std::tuple(-last[b], b); });
    for (const std::size_t i : order) {
      Expected& one = expected[i];
      if (goes_on && one.slot) {
        auto [entry, fresh] = of_slot.try_emplace(*one.slot);
        if (fresh) entry->second = forecast_cells(history_.of_slot(*one.slot), history_.steps(), true);
        const std::size_t step = std::min<std::size_t>(one.file.step, entry->second.mean.size() - 1);
        set_size(one.file, entry->second, step);
      } else {
        set_size(one.file, forecast_cells(cells_of(one), 1, false), 0);
      }
    }
  }

  std::span<const Cell> cells_of(const Expected& one) const {
    if (!one.slot) return {};
    const auto cells = history_.at(*one.slot, one.file.step);
    if (!cells.empty()) return cells;
    return {};
  }

  void set_categories(Expected& one) const {
    one.file.phase = phase_of(one.slot, one.file.step);
    const auto cells = one.slot ? history_.of_slot(*one.slot) : std::span<const Cell>{};
    one.file.stripe_count = cells.empty() ? profile_.stripe_count : seen(cells.back()).stripe_count;
    one.file.shared = cells.empty() ? profile_.shared : seen(cells.back()).ranks > 1;
    if (one.file.shared) {
      one.file.rank = -1;
    } else if (one.file.rank < 0 && one.file.files == 1 && !cells.empty()) {
      one.file.rank = seen(cells.back()).rank;
    }
  }

  // By run, then by step, if the steps go on; else the cells are of one step, and by run already.
  SeriesForecast forecast_cells(std::span<const Cell> cells, std::size_t horizon, bool goes_on) {
    if (cells.size() < 2) {
      const double size_once = cells.empty() ? profile_.middle : size(cells.front());
      SeriesForecast once;
      once.mean.assign(horizon, size_once);
      once.spread.assign(horizon, size_once * profile_.relative);
      return once;
    }
    std::vector<Cell> sorted(cells.begin(), cells.end());
    if (goes_on) std::ranges::sort(sorted, {}, [](const Cell& cell) { return std::tuple(cell.run, cell.step); });
    std::vector<double> sizes;
    sizes.reserve(sorted.size());
    for (const Cell& cell : sorted) sizes.push_back(size(cell));
    std::span<const double> used = sizes;
    if (sizes.size() >= kFew && !constant(sizes)) {
      if (searches_ == 0) {
        used = used.last(kFew - 1);
      } else {
        --searches_;
      }
    }
    auto forecast = forecast_series(used, {.horizon = horizon});
    IEZ_ASSERT(forecast.has_value());  // sizes are finite, and there are some
    return *std::move(forecast);
  }

  void set_size(PredictedFile& file, const SeriesForecast& forecast, std::size_t step) const {
    file.bytes = to_bytes(forecast.mean[step] * factor_);
    file.high = std::max(file.bytes, to_bytes(forecast.quantile(step, options_.reserve) * factor_));
  }

  const NameTemplate& template_;
  std::span<const std::uint32_t> names_;
  const Situation& situation_;
  const NextRunOptions& options_;
  std::size_t& searches_;  // left
  TemplateHistory history_;
  std::uint32_t latest_ = 0;  // run of it
  Profile profile_;
  std::map<std::uint32_t, std::int32_t> phases_;  // by step
  double factor_ = 1;
};

class RunPredictor {
 public:
  RunPredictor(std::span<const RunSeen> runs, const NextRunOptions& options) : runs_(runs), options_(options) {}

  Result<NextRun> predict() {
    IEZ_CHECK(flatten());
    discovery_ = discover(observed_);
    std::vector<std::vector<std::uint32_t>> names(discovery_.templates.size());
    for (std::size_t i = 0; i < observed_.size(); ++i) names[discovery_.template_of[i]].push_back(static_cast<std::uint32_t>(i));

    std::size_t searches = options_.max_searches;
    std::vector<std::vector<PredictedFile>> files(discovery_.templates.size());
    for (std::uint32_t t = 0; t < discovery_.templates.size(); ++t) {
      if (!expected_again(names[t])) continue;
      PredictedTemplate summary;
      TemplatePredictor predictor(discovery_, t, names[t], situation_, options_, searches);
      if (!predictor.predict(summary, files[result_.templates.size()], options_.max_files - predicted_)) {
        return fail(Errc::limit,
                    fmt::format("the next run has more than {} files: raise the limit, or leave runs out", options_.max_files));
      }
      predicted_ += summary.files;
      result_.templates.push_back(std::move(summary));
    }
    order(files);
    note_assumptions(searches);
    return std::move(result_);
  }

 private:
  Result<void> flatten() {
    if (runs_.empty()) return fail(Errc::invalid_argument, "no run is given: expected at least one");
    std::size_t count = 0;
    for (const RunSeen& run : runs_) count += run.files.size();
    if (count == 0) return fail(Errc::invalid_argument, "the runs have no files: expected at least one that was written");
    if (count >= std::numeric_limits<std::uint32_t>::max())
      return fail(Errc::limit, "the runs have too many files: leave some out");
    files_.reserve(count);
    observed_.reserve(count);
    for (std::uint32_t run = 0; run < runs_.size(); ++run) {
      ranks_.push_back(runs_[run].ranks);
      for (const FileSeen& file : runs_[run].files) {
        files_.push_back(file);
        observed_.push_back({.name = file.name, .rank = file.rank, .run = run});
      }
    }
    set_situation();
    return {};
  }

  void set_situation() {
    std::uint32_t last = 0;
    for (std::uint32_t run = 0; run < runs_.size(); ++run) {
      if (!runs_[run].files.empty()) last = run;
    }
    situation_.files = files_;
    situation_.observed = observed_;
    situation_.ranks = ranks_;
    situation_.last_run = last;
    situation_.ranks_wanted = options_.ranks > 0 ? options_.ranks : ranks_[last];
    const bool known = std::ranges::find(ranks_, situation_.ranks_wanted) != ranks_.end();
    situation_.basis_ranks = known ? situation_.ranks_wanted : ranks_[last];
    for (const std::uint32_t ranks : ranks_) situation_.basis.push_back(ranks == situation_.basis_ranks);
    for (const FileSeen& file : runs_[last].files) situation_.last_bytes += static_cast<double>(file.bytes.count);
    result_.runs = static_cast<std::uint32_t>(runs_.size());
    result_.ranks = situation_.ranks_wanted;
  }

  bool expected_again(std::span<const std::uint32_t> names) const {
    std::vector<bool> in(runs_.size());
    for (const std::uint32_t name : names) in[observed_[name].run] = true;
    return in[situation_.last_run] || 2 * static_cast<std::size_t>(std::ranges::count(in, true)) >= runs_.size();
  }

  // The largest template first, its files behind each other.
  void order(std::vector<std::vector<PredictedFile>>& files) {
    std::vector<std::uint32_t> by_bytes(result_.templates.size());
    for (std::uint32_t t = 0; t < by_bytes.size(); ++t) by_bytes[t] = t;
    std::ranges::sort(by_bytes, {}, [&](std::uint32_t t) { return std::pair(~result_.templates[t].bytes.count, t); });
    std::vector<PredictedTemplate> templates;
    templates.reserve(by_bytes.size());
    for (const std::uint32_t t : by_bytes) {
      for (PredictedFile& file : files[t]) {
        file.of = static_cast<std::uint32_t>(templates.size());
        result_.total += times(file.bytes, file.files);
        result_.total_high += times(file.high, file.files);
        result_.files.push_back(std::move(file));
      }
      templates.push_back(std::move(result_.templates[t]));
    }
    result_.templates = std::move(templates);
  }

  void note_assumptions(std::size_t searches_left) {
    if (runs_.size() == 1) result_.notes.emplace_back("only one run was seen: the next one is taken to be like it");
    if (situation_.basis_ranks != situation_.ranks_wanted) {
      const bool fitted = std::ranges::any_of(result_.templates, [](const PredictedTemplate& one) { return one.fitted; });
      result_.notes.push_back(
          fmt::format("no run had {} ranks: sizes are those of {} ranks, {}", situation_.ranks_wanted, situation_.basis_ranks,
                      fitted ? "grown as they did between runs of different ranks"
                             : "the same for a file of one rank, and growing with the ranks for a shared one"));
    }
    if (options_.max_searches > 0 && searches_left == 0) {
      result_.notes.push_back(
          fmt::format("more than {} series needed a search: smaller files are told by their last runs", options_.max_searches));
    }
  }

  std::span<const RunSeen> runs_;
  const NextRunOptions& options_;
  std::vector<FileSeen> files_;
  std::vector<ObservedName> observed_;
  std::vector<std::uint32_t> ranks_;
  Discovery discovery_;
  TemplatePredictor::Situation situation_;
  std::uint64_t predicted_ = 0;
  NextRun result_;
};

}  // namespace

std::string predicted_name(const NameTemplate& name_template, std::span<const FieldValue> values) {
  std::string name = name_template.literals[0];
  for (std::size_t f = 0; f < values.size(); ++f) {
    if (name_template.fields[f].open) {
      name += '*';
    } else {
      write_field(name_template.fields[f], values[f], name);
    }
    name += name_template.literals[f + 1];
  }
  return name;
}

Result<NextRun> predict_next_run(std::span<const RunSeen> runs, const NextRunOptions& options) {
  IEZ_TRY(NextRun next, RunPredictor(runs, options).predict());
  if (runs.size() < 2 || runs.back().files.empty()) return next;
  NextRunOptions earlier = options;
  earlier.ranks = runs.back().ranks;
  earlier.scale = 1;
  const auto before = RunPredictor(runs.first(runs.size() - 1), earlier).predict();
  if (before) next.last_run = score(*before, runs.back());
  return next;
}

}  // namespace iez::forecast
