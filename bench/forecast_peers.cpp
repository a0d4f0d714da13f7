// The published search over 216 orders: ours against statsmodels' and R's, by time and by likelihood.
#include "forecast_parts.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "forecast/order_search.hpp"
#include "forecast/series.hpp"
#include "forecast_data.hpp"
#include "forecast_workloads.hpp"
#include "measure.hpp"
#include "peer.hpp"

namespace iez::bench {

namespace {

constexpr std::string_view kTrace = "ar2_noisy";
constexpr std::size_t kPoints = 72;
constexpr unsigned kQuickSide = 2;  // the peers' p, d and q are below it in a quick run
constexpr std::chrono::seconds kLimit{300};
constexpr int kRounds = 5;
constexpr double kEqual = 1e-4;  // of log-likelihoods: the same maximum

struct PeerFit {
  forecast::ArimaOrder order;
  double log_likelihood = 0;
};

struct PeerGrid {
  bool stopped = false;  // at the limit: nothing but the time is known
  double seconds = 0;    // CPU
  std::uint64_t raised = 0;
  std::uint64_t warned = 0;
  std::vector<PeerFit> fits;
};

struct Compared {
  std::size_t fits = 0;    // of the peer, nothing differenced
  std::size_t better = 0;  // ours is as likely, or more
  std::size_t absent = 0;  // ours did not converge
};

Result<PeerGrid> parse_grid(const std::string& output) {
  std::string_view rest = output;
  const auto word = [&] { return text::take_word(rest); };
  PeerGrid grid;
  const auto seconds = text::parse_double(word());
  const auto fitted = text::parse_u64(word());
  const auto raised = text::parse_u64(word());
  const auto warned = text::parse_u64(word());
  if (!seconds || !fitted || !raised || !warned) return fail(Errc::parse, "the peer printed: " + output.substr(0, 200));
  grid.seconds = *seconds;
  grid.raised = *raised;
  grid.warned = *warned;
  for (std::uint64_t i = 0; i < *fitted; ++i) {
    const auto p = text::parse_u64(word());
    const auto d = text::parse_u64(word());
    const auto q = text::parse_u64(word());
    const auto likelihood = text::parse_double(word());
    if (!p || !d || !q || !likelihood) return fail(Errc::parse, fmt::format("the peer printed no fit {} of {}", i + 1, *fitted));
    grid.fits.push_back(
        {.order = {.p = static_cast<unsigned>(*p), .d = static_cast<unsigned>(*d), .q = static_cast<unsigned>(*q)},
         .log_likelihood = *likelihood});
  }
  return grid;
}

// One thread, as ours.
Result<PeerGrid> ask(std::vector<std::string> command) {
  command.insert(command.begin(), {"env", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1"});
  const double start = cpu_seconds_of_children();
  const auto output = output_of(std::move(command), kLimit);
  if (!output && output.error().code == Errc::limit) {
    return PeerGrid{.stopped = true, .seconds = cpu_seconds_of_children() - start};
  }
  if (!output) return std::unexpected(output.error());
  return parse_grid(*output);
}

Result<PeerGrid> ask_statsmodels(const std::string& path, unsigned side) {
  IEZ_TRY(const std::string python, python_with("statsmodels.tsa.statespace.sarimax", "python3-statsmodels"));
  return ask({python, "-c", std::string(kStatsmodelsGrid), path, std::to_string(side)});
}

Result<PeerGrid> ask_r(const std::string& path, unsigned side) {
  if (!output_of({"Rscript", "--version"})) return fail(Errc::not_found, "r-base-core is not installed: tools/setup bench");
  IEZ_TRY(const TemporaryFile script, TemporaryFile::make());
  IEZ_CHECK(write_text(script.path(), kRGrid));
  return ask({"Rscript", "--vanilla", script.path(), path, std::to_string(side)});
}

// Our likelihood, another optimiser. What it prints in the place of warnings is how often it evaluated the likelihood.
Result<PeerGrid> ask_nlopt(const std::string& path, unsigned side) {
  IEZ_TRY(const std::string program, peer_program("iez-peer-nlopt", "libnlopt-dev"));
  return ask({program, path, std::to_string(side)});
}

struct OurGrid {
  double seconds = 0;
  forecast::GridSearch search;
};

OurGrid our_grid(std::span<const double> values) {
  OurGrid ours;
  std::vector<double> seconds;
  seconds.reserve(kRounds);
  for (int round = 0; round < kRounds; ++round) {
    const double start = cpu_seconds();
    ours.search = forecast::full_grid(values);
    seconds.push_back(cpu_seconds() - start);
  }
  ours.seconds = median(std::move(seconds));
  return ours;
}

// Likelihoods mean the same to all only where nothing is differenced: programs start differenced series in different ways.
Compared compare(const forecast::GridSearch& ours, const PeerGrid& peer) {
  Compared compared;
  for (const PeerFit& fit : peer.fits) {
    if (fit.order.d != 0) continue;
    ++compared.fits;
    const auto row = std::ranges::find(ours.rows, fit.order, [](const forecast::GridRow& one) { return one.fit.order; });
    if (row == ours.rows.end()) {
      ++compared.absent;
    } else if (row->fit.log_likelihood >= fit.log_likelihood - kEqual) {
      ++compared.better;
    }
  }
  return compared;
}

Result<std::optional<Compared>> add_peer(std::string name, double target, const Result<PeerGrid>& peer, const OurGrid& ours,
                                         const std::string& told, std::vector<Figure>& figures) {
  Figure figure{.name = std::move(name), .unit = "x", .target = target};
  std::optional<Compared> compared;
  if (peer) {
    figure.value = peer->seconds / ours.seconds;
    if (peer->stopped) {
      figure.note = fmt::format("{}; at least: the peer was stopped after {:.3g} s", told, peer->seconds);
    } else {
      figure.note = fmt::format("{}; the peer {:.3g} s, once: {} fitted, {} exceptions, {} with warnings", told, peer->seconds,
                                peer->fits.size(), peer->raised, peer->warned);
      compared = compare(ours.search, *peer);
    }
  } else if (peer.error().code == Errc::not_found) {
    figure.note = "skipped: " + peer.error().message;
  } else {
    return std::unexpected(peer.error());
  }
  figures.push_back(std::move(figure));
  return compared;
}

// Why we have an optimiser of our own.
Result<void> add_optimiser(const Result<PeerGrid>& peer, const OurGrid& ours, const std::string& told,
                           std::vector<Figure>& figures) {
  Figure figure{.name = "forecast.vs_nlopt", .unit = "x", .target = 1};
  if (peer && !peer->stopped) {
    std::uint64_t evaluations = 0;
    for (const forecast::GridRow& row : ours.search.rows) evaluations += row.fit.evaluations;
    const Compared compared = compare(ours.search, *peer);
    figure.value = peer->seconds / ours.seconds;
    figure.note = fmt::format(
        "{}, {} evaluations, errors in the sample included; our likelihood with NLopt's limited-memory BFGS {:.3f} s, {} fitted, "
        "{} "
        "evaluations; with nothing differenced ours is as likely in {} of {}",
        told, evaluations, peer->seconds, peer->fits.size(), peer->warned, compared.better, compared.fits);
  } else if (peer || peer.error().code == Errc::not_found) {
    figure.note = peer ? "skipped: it was stopped" : "skipped: " + peer.error().message;
  } else {
    return std::unexpected(peer.error());
  }
  figures.push_back(std::move(figure));
  return {};
}

}  // namespace

Result<void> add_forecast_peers(const Settings& settings, std::vector<Figure>& figures) {
  const unsigned side = settings.quick ? kQuickSide : forecast::kGridSide;
  IEZ_TRY(std::vector<double> values, trace_values(kTrace));
  values.resize(kPoints);
  // Unscaled bytes break the optimisers of the peers.
  const double scale = forecast::mean(values);
  std::string lines;
  for (double& value : values) {
    value /= scale;
    lines += fmt::format("{}\n", value);
  }
  IEZ_TRY(const TemporaryFile file, TemporaryFile::make());
  IEZ_CHECK(write_text(file.path(), lines));
  settings.progress(fmt::format("fitting 216 orders to {} values {} times", values.size(), kRounds));
  const OurGrid ours = our_grid(values);
  std::string told = fmt::format(
      "216 orders, {} values of {} over their mean, one thread, CPU time: iez {:.3f} s, median of {}, {} start an order, {} "
      "fitted",
      values.size(), kTrace, ours.seconds, kRounds, forecast::kGridFit.starts, ours.search.rows.size());
  if (settings.quick) told += fmt::format("; quick: the peer has only {} orders to fit", side * side * side);
  settings.progress(fmt::format("the same with statsmodels (at most {} s)", kLimit.count()));
  IEZ_TRY(const auto by_statsmodels,
          add_peer("forecast.vs_statsmodels", 300, ask_statsmodels(file.path(), side), ours, told, figures));
  settings.progress(fmt::format("the same with R (at most {} s)", kLimit.count()));
  IEZ_TRY(const auto by_r, add_peer("forecast.vs_r", 100, ask_r(file.path(), side), ours, told, figures));
  settings.progress("the same with our likelihood and NLopt's optimiser");
  IEZ_CHECK(add_optimiser(ask_nlopt(file.path(), side), ours, told, figures));

  Figure better{.name = "forecast.grid_better", .unit = "share"};
  Compared both;
  for (const auto& [peer, compared] : {std::pair("statsmodels", by_statsmodels), std::pair("R", by_r)}) {
    if (!compared) continue;
    both.fits += compared->fits;
    both.better += compared->better;
    if (!better.note.empty()) better.note += "; ";
    better.note += fmt::format("{}: {} of {}, {} not fitted by iez", peer, compared->better, compared->fits, compared->absent);
  }
  if (both.fits > 0) {
    better.value = static_cast<double>(both.better) / static_cast<double>(both.fits);
    better.note = fmt::format(
        "models of the peers with nothing differenced in which the log-likelihood of iez is at least theirs less "
        "{}; {}",
        kEqual, better.note);
  } else {
    better.note = "skipped: no peer gave a likelihood";
  }
  figures.push_back(std::move(better));
  return {};
}

}  // namespace iez::bench
