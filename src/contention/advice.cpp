#include "contention/advice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/binary_size.hpp"
#include "contention/stripe_size.hpp"

namespace iez::contention {

namespace {

// Differences below this are the model's rounding, not the world's.
constexpr double kEqual = 1e-9;

Result<void> check(const AdviceRequest& request) {
  if (request.ranks == 0 || request.ranks_per_node == 0) {
    return fail(Errc::invalid_argument,
                fmt::format("job: {} ranks, {} per node; expected at least 1 of each", request.ranks, request.ranks_per_node));
  }
  if (request.bytes.count == 0) return fail(Errc::invalid_argument, "job: bytes is 0; expected what it writes in all");
  if (request.transfer.count == 0) return fail(Errc::invalid_argument, "job: transfer is 0; expected the size of one write");
  if (request.block && request.block->count == 0) {
    return fail(Errc::invalid_argument, "job: block is 0; leave it out if it is not known");
  }
  const bool share = request.accept >= 0 && request.accept < 1;  // false for no number, too
  if (!share) {
    return fail(Errc::invalid_argument,
                fmt::format("accept: {}; expected a share of the speed from 0 to below 1", request.accept));
  }
  return {};
}

Bytes file_size(const AdviceRequest& request) {
  return request.files == FileUse::shared ? request.bytes : Bytes{request.bytes.count / request.ranks};
}

JobShape shape_of(const AdviceRequest& request) {
  return {.ranks = request.ranks, .nodes = (request.ranks - 1) / request.ranks_per_node + 1, .files = request.files};
}

Result<std::vector<std::uint32_t>> candidates(const Machine& machine, const AdviceRequest& request) {
  const std::uint32_t most = std::min(machine.max_stripes, machine.osts);
  const std::uint32_t useful = useful_stripes(file_size(request), machine.rpc_size, most);
  std::vector<std::uint32_t> counts = request.candidates;
  if (counts.empty()) {
    for (std::uint32_t n = 1; n <= useful; n += n < 16 ? 1U : n < 64 ? 8U : 16U) counts.push_back(n);
    counts.push_back(useful);
  }
  for (const std::uint32_t count : counts) {
    if (count == 0 || count > most) {
      return fail(Errc::invalid_argument, fmt::format("candidates: {} stripes; expected 1 to {}", count, most));
    }
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  std::erase_if(counts, [&](std::uint32_t count) { return count > useful; });
  if (counts.empty()) counts.push_back(useful);
  return counts;
}

Result<Load> others_at(const Machine& machine, const AdviceRequest& request, std::uint32_t stripes) {
  if (!request.others_follow || request.others.jobs == 0) return request.others;
  const std::uint64_t files = request.files == FileUse::shared ? 1 : request.ranks;
  std::uint64_t streams = 0;
  if (__builtin_mul_overflow(files, request.others.jobs, &streams)) {
    return fail(Errc::limit, fmt::format("others: {} jobs of {} files each are too many to count", request.others.jobs, files));
  }
  Load load{.jobs = request.others.jobs};
  IEZ_TRY(load.sharing, expected_sharing(machine.osts, stripes, streams));
  return load;
}

// The fewest stripes of equals: the curve ascends.
std::size_t fastest_of(const std::vector<Choice>& curve) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    if (curve[i].expected.speed.value > curve[best].expected.speed.value * (1 + kEqual)) best = i;
  }
  return best;
}

std::size_t chosen_of(const std::vector<Choice>& curve, double accept) {
  const auto acceptable = [&](const Choice& choice) { return choice.share_of_best >= 1 - accept - kEqual; };
  double least = 1;
  for (const Choice& choice : curve) {
    if (acceptable(choice)) least = std::min(least, choice.expected.slowdown);
  }
  const auto chosen = std::ranges::find_if(
      curve, [&](const Choice& choice) { return acceptable(choice) && choice.expected.slowdown <= least + kAlikeSlowdown; });
  return static_cast<std::size_t>(chosen - curve.begin());  // there is one: the fastest is acceptable
}

// As many writers as keep every OST below the number of streams from which contention shows, at one stripe each.
Result<std::optional<Aggregation>> aggregation(const Machine& machine, const AdviceRequest& request, BytesPerSecond speed) {
  if (request.files != FileUse::per_process || machine.contention_from < 1) return std::nullopt;
  IEZ_TRY(const std::uint64_t too_many, jobs_to_pass_load(machine.osts, 1, machine.contention_from));
  std::uint64_t writers = std::max<std::uint64_t>(too_many - 1, 1);
  if (request.ranks <= writers) return std::nullopt;
  JobShape shape = shape_of(request);
  if (writers > shape.nodes) writers -= writers % shape.nodes;  // the same number on each node
  shape.ranks = writers;
  IEZ_TRY(const Load others, others_at(machine, request, 1));
  IEZ_TRY(const Prediction fewer, predict(machine, others, shape, 1));
  if (fewer.speed.value <= speed.value * (1 + kEqual)) return std::nullopt;
  return Aggregation{writers, fewer.speed};
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string_view limit_of(const Prediction& expected) {
  if (expected.speed == expected.clients) return "the client nodes";
  return expected.speed == expected.targets ? "the OSTs" : "the servers";
}

std::string reason_of(const AdviceRequest& request, const Advice& advice, const StripeSize& size) {
  const Choice& chosen = advice.curve[advice.chosen];
  const Choice& fastest = advice.curve[advice.fastest];
  std::string text =
      fmt::format("{} stripe{}{}: {} of the best speed ({} of {} at {})", chosen.stripes, chosen.stripes == 1 ? "" : "s",
                  request.files == FileUse::shared ? "" : " for each file", percent(chosen.share_of_best),
                  to_string(chosen.expected.speed), to_string(fastest.expected.speed), fastest.stripes);
  text += fmt::format(", limited by {}; {:.0f} OSTs in use by {:.2f} streams each", limit_of(chosen.expected),
                      chosen.expected.after.in_use, chosen.expected.after.load);
  if (request.others.jobs > 0) {
    text +=
        fmt::format("; the others lose {} instead of {}", percent(chosen.expected.slowdown), percent(fastest.expected.slowdown));
  }
  text += fmt::format(". Stripe size {}: {}.", to_binary_string(size.size), size.reason);
  if (advice.aggregation) {
    text += fmt::format(" {} files at once contend with each other: {} writers would reach {}.", request.ranks,
                        advice.aggregation->writers, to_string(advice.aggregation->speed));
  }
  return text;
}

}  // namespace

Result<Advice> advise(const Machine& machine, const AdviceRequest& request) {
  IEZ_CHECK(validate(machine));
  IEZ_CHECK(check(request));
  IEZ_TRY(const std::vector<std::uint32_t> counts, candidates(machine, request));

  Advice advice;
  for (const std::uint32_t stripes : counts) {
    IEZ_TRY(const Load others, others_at(machine, request, stripes));
    IEZ_TRY(Prediction expected, predict(machine, others, shape_of(request), stripes));
    advice.curve.push_back({.stripes = stripes, .expected = expected});
  }
  advice.fastest = fastest_of(advice.curve);
  for (Choice& choice : advice.curve) {
    choice.share_of_best = choice.expected.speed.value / advice.curve[advice.fastest].expected.speed.value;
  }
  advice.chosen = chosen_of(advice.curve, request.accept);
  advice.stripes = advice.curve[advice.chosen].stripes;
  IEZ_TRY(advice.aggregation, aggregation(machine, request, advice.curve[advice.fastest].expected.speed));

  const WritePattern pattern{.file_size = file_size(request),
                             .writers = request.files == FileUse::shared ? request.ranks : 1,
                             .ranks_per_node = request.files == FileUse::shared ? request.ranks_per_node : 1,
                             .transfer = request.transfer,
                             .block = request.block};
  const StripeSize size = choose_stripe_size(pattern, advice.stripes, machine.rpc_size);
  advice.stripe_size = size.size;
  advice.reason = reason_of(request, advice, size);
  return advice;
}

}  // namespace iez::contention
