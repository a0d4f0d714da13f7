#include "runs/remote_plan.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "api/coordinator_client.hpp"
#include "api/plan_messages.hpp"
#include "runs/model_text.hpp"
#include "runs/ost_cost.hpp"

namespace iez::runs {

namespace {

constexpr Duration kGlance{1'000'000'000};

Result<std::unique_ptr<api::CoordinatorClient>> client_of(const config::Settings& settings, Duration timeout) {
  api::CoordinatorClient::Options options;
  options.url = settings.coordinator.url;
  options.ca_file = settings.coordinator.ca_file;
  options.connect_timeout = std::min(timeout, options.connect_timeout);
  options.timeout = timeout;
  if (!settings.coordinator.token_file.empty()) {
    IEZ_TRY(options.token, api::read_token(settings.coordinator.token_file));
  }
  return api::CoordinatorClient::make(options);
}

PlanDetails details_of(const api::PlanAnswer& answer, std::span<const store::AllocationRow> rows) {
  PlanDetails details;
  std::set<OstIndex> used;
  for (const store::AllocationRow& row : rows) {
    for (const store::StripeLayout& layout : row.layouts) used.insert(layout.osts.begin(), layout.osts.end());
  }
  details.osts.assign(used.begin(), used.end());
  details.ost_cost_before = answer.before.ost;
  details.oss_cost_before = answer.before.oss;
  details.ost_cost_after = answer.after.ost;
  details.oss_cost_after = answer.after.oss;
  details.revision = answer.revision;
  details.notes = answer.notes;
  if (!answer.verdict.empty()) details.notes.insert(details.notes.begin(), answer.verdict);
  return details;
}

// The rows that are wanted, in the order of the request.
std::vector<std::uint32_t> asked_rows(const WantedRows& wanted) {
  std::vector<std::uint32_t> rows(wanted.rows.begin(), wanted.rows.end());
  std::ranges::stable_partition(rows, [&](std::uint32_t row) { return !wanted.prediction.rows.at(row).left_alone; });
  return rows;
}

// What stripe counts are in a request: all of them is a number below 0 there.
std::int32_t count_of(std::uint32_t stripes) {
  return stripes > std::uint32_t{std::numeric_limits<std::int32_t>::max()} ? std::int32_t{api::kAllTargets}
                                                                           : static_cast<std::int32_t>(stripes);
}

}  // namespace

api::PlanRequest request_of(const WantedRows& wanted) {
  api::PlanRequest request;
  request.application = wanted.application;
  request.file_system = wanted.file_system;
  request.host = wanted.host;
  request.run = fmt::format("{}", wanted.prediction.run);
  request.always = wanted.always;
  request.gap_s = wanted.gap_s;
  request.idle_s = wanted.idle_s;
  request.ran_s = wanted.ran_s;
  const auto& seconds = wanted.prediction.phase_seconds;
  request.phase_seconds.assign(seconds.begin(),
                               seconds.begin() + static_cast<std::ptrdiff_t>(std::min(seconds.size(), api::kMaxPhaseSeconds)));
  request.files.reserve(wanted.rows.size());
  for (const std::uint32_t number : asked_rows(wanted)) {
    const store::PredictionRow& row = wanted.prediction.rows.at(number);
    api::FileRequest file;
    file.name = row.name;
    file.bytes = std::max<std::uint64_t>(1, row.bytes.count);
    file.high = std::max(file.bytes, row.high.count);
    file.files = row.files;
    file.stripe_count = count_of(row.stripe_count);
    file.stripe_size = row.stripe_size.count;
    file.rank = row.rank;
    file.shared = row.shared;
    file.phase = std::min(row.phase, api::kMaxPhase);
    file.read_phase = row.read_phase;
    file.left_alone = row.left_alone;
    file.default_stripe_count = count_of(std::max(1U, row.default_stripes));
    file.default_stripe_size = row.default_stripe_size.count;
    request.files.push_back(std::move(file));
  }
  request.freed = wanted.freed;
  request.slow = wanted.slow;
  return request;
}

std::vector<api::FreedBytes> freed_bytes(std::span<const placement::Reservation> replaced) {
  std::map<std::uint32_t, std::uint64_t> sums;
  for (const placement::Reservation& one : replaced) sums[one.ost.value] += one.bytes.count;
  std::vector<api::FreedBytes> out;
  out.reserve(sums.size());
  for (const auto& [ost, bytes] : sums) out.push_back({.ost = ost, .bytes = bytes});
  return out;
}

std::vector<api::SlowOst> slow_osts(std::span<const planning::SlowTarget> slow) {
  std::vector<api::SlowOst> out;
  for (const planning::SlowTarget& one : slow) {
    if (!one.tried && out.size() < api::kMaxSlowOsts) out.push_back({.ost = one.ost.value, .speed = one.speed});
  }
  return out;
}

Result<std::vector<store::AllocationRow>> rows_of(const api::PlanAnswer& answer, std::span<const std::uint32_t> rows) {
  if (answer.files.size() != rows.size()) {
    return fail(Errc::parse, fmt::format("the coordinator answered {} files, expected {}", answer.files.size(), rows.size()));
  }
  std::vector<store::AllocationRow> out;
  out.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const api::FileAnswer& file = answer.files[i];
    store::AllocationRow row;
    row.row = rows[i];
    for (const api::PlannedLayout& layout : file.layouts) {
      store::StripeLayout& added = row.layouts.emplace_back();
      added.stripe_size = Bytes{layout.stripe_size};
      for (const std::uint32_t ost : layout.osts) added.osts.push_back(OstIndex{ost});
      if (added.osts.empty()) return fail(Errc::parse, fmt::format("the coordinator gave file {} no OST", i));
    }
    if (row.layouts.empty()) continue;
    if (file.reason < answer.reasons.size()) row.reason = answer.reasons[file.reason];
    out.push_back(std::move(row));
  }
  return out;
}

Result<PlanOutcome> ask_coordinator(const RemoteQuestion& question) {
  const Duration timeout = question.settings.coordinator.timeout;
  IEZ_TRY(const auto client, client_of(question.settings, timeout));
  IEZ_TRY(const api::Submitted submitted, client->plan(request_of(question.wanted), timeout, question.clock));
  if (!submitted.answer) {
    (void)client->expire(submitted.ticket.plan);  // else it would reserve space for a plan that nobody carries out
    // On a terminal, behind who says it and that the plan was made here, the line has 80 columns.
    if (submitted.ticket.busy) return fail(Errc::io, fmt::format("coordinator {}", submitted.ticket.why));
    return fail(Errc::io, fmt::format("the coordinator has no plan yet: {}", submitted.ticket.why));
  }
  PlanOutcome outcome{.allocation = std::nullopt, .verdict = submitted.answer->verdict, .gain = submitted.answer->gain};
  if (submitted.answer->plan.empty()) return outcome;
  IEZ_TRY(outcome.allocation, allocation_of(*submitted.answer, question.wanted, question.settings.coordinator.url));
  return outcome;
}

Result<store::Allocation> allocation_of(const api::PlanAnswer& answer, const WantedRows& wanted, std::string_view planner) {
  store::Allocation allocation;
  IEZ_TRY(allocation.rows, rows_of(answer, asked_rows(wanted)));
  allocation.prediction = wanted.prediction.id;
  allocation.plan = answer.plan;
  allocation.made_ns = answer.made_ns;
  allocation.planner = planner.substr(0, store::kMaxShort);
  allocation.policy = answer.policy;
  allocation.file_system = answer.file_system.empty() ? wanted.file_system : answer.file_system;
  allocation.details = to_text(details_of(answer, allocation.rows));
  return allocation;
}

Result<void> renew_from_coordinator(const config::Settings& settings, store::Store& store, const store::Allocation& allocation) {
  IEZ_TRY(const PlanDetails known, parse_details(allocation.details.empty() ? "{}" : allocation.details));
  IEZ_TRY(const auto client, client_of(settings, kGlance));
  auto polled = client->begin(allocation.plan);
  // A plan that is written, or was taken back, is none of its business any more; ours still tells where files go.
  if (!polled && polled.error().code == Errc::not_found) return {};
  if (!polled) return std::unexpected(std::move(polled).error());
  if (!polled->answer || polled->answer->revision <= known.revision) return {};
  const api::PlanAnswer& answer = *polled->answer;
  IEZ_TRY(auto whole, store.allocation(allocation.id));
  if (!whole || whole->rows.empty()) return fail(Errc::not_found, "the plan's files are gone from the store");
  std::vector<std::uint32_t> numbers;
  numbers.reserve(whole->rows.size());
  for (const store::AllocationRow& row : whole->rows) numbers.push_back(row.row);
  // Of rows that are left alone, which come last, the store knows nothing.
  if (answer.files.size() > numbers.size()) numbers.resize(answer.files.size());
  IEZ_TRY(const auto rows, rows_of(answer, numbers));
  if (rows.size() != whole->rows.size()) {
    return fail(Errc::parse, fmt::format("the coordinator has {} files of plan {}, and {} are known here", rows.size(),
                                         allocation.plan, whole->rows.size()));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (whole->rows[i].state != store::PlanState::planned) continue;
    whole->rows[i].layouts = rows[i].layouts;
    whole->rows[i].reason = rows[i].reason;
  }
  whole->id = 0;
  whole->key.clear();
  whole->made_ns = std::max(answer.made_ns, allocation.made_ns + 1);
  PlanDetails details = details_of(answer, whole->rows);
  details.run_cost_before = known.run_cost_before;
  details.file_system_osts = known.file_system_osts;
  details.run_cost_after = ost_cost(*whole, settings.place.least_file, details.file_system_osts);
  whole->details = to_text(details);
  IEZ_TRY([[maybe_unused]] const auto id, store.put_allocation(*whole));
  return {};
}

void tell_created(const config::Settings& settings, const store::Allocation& allocation, std::span<const std::uint32_t> rows) {
  if (!settings.coordinator.asked()) return;
  const auto client = client_of(settings, kGlance);
  if (!client) return;
  const std::set<std::uint32_t> made(rows.begin(), rows.end());
  api::CreatedRequest request;
  for (std::size_t i = 0; i < allocation.rows.size(); ++i) {
    if (made.contains(allocation.rows[i].row)) request.files.push_back({.file = static_cast<std::uint32_t>(i), .files = 0});
  }
  request.all = request.files.size() == allocation.rows.size();
  if (request.all) request.files.clear();
  (void)(*client)->created(allocation.plan, request);
}

void take_back(const config::Settings& settings, const std::string& plan) {
  if (!settings.coordinator.asked()) return;
  if (const auto client = client_of(settings, kGlance)) (void)(*client)->expire(plan);
}

}  // namespace iez::runs
