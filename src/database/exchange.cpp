#include "database/exchange.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "api/pull_json.hpp"
#include "base/text.hpp"
#include "runs/compile_plan.hpp"
#include "runs/model_text.hpp"
#include "runs/planner.hpp"
#include "runs/pull_note.hpp"
#include "runs/remote_plan.hpp"

namespace iez::database {

namespace {

constexpr std::size_t kHeads = 100;  // read at once: each has its model
constexpr std::uint64_t kMostNumber = ~std::uint64_t{0} >> 1U;

store::Id number_of(std::uint64_t after) { return static_cast<store::Id>(std::min(after, kMostNumber)); }

Result<std::optional<api::OfferedPrediction>> offer(store::Store& store, const store::Prediction& head, std::int64_t now_ns) {
  const auto note = runs::pull_note_of(head.model);
  if (!note) return std::nullopt;
  IEZ_TRY(const auto whole, store.prediction(head.id));
  IEZ_TRY(const auto application, store.application(head.application));
  if (!whole || !application || whole->rows.empty()) return std::nullopt;  // gone meanwhile
  IEZ_TRY(auto request, runs::pulled_request(application->name, *whole, *note, now_ns));
  return api::OfferedPrediction{
      .key = head.key, .number = static_cast<std::uint64_t>(head.id), .owner = application->owner, .request = std::move(request)};
}

Result<std::optional<store::Prediction>> prediction_of(store::Store& store, const api::PostedAllocation& posted) {
  if (!posted.prediction.empty()) return store.find_prediction(posted.prediction);
  IEZ_TRY(const auto before, store.find_allocation(posted.answer.plan));
  if (!before) return std::nullopt;
  return store.prediction(before->prediction);
}

Result<Stored> take_verdict(store::Store& store, const api::PostedAllocation& posted) {
  IEZ_TRY(const auto prediction, store.find_prediction(posted.prediction));
  if (!prediction) return fail(Errc::exists, fmt::format("prediction {} is gone", posted.prediction));
  if (!runs::pull_note_of(prediction->model)) {
    return fail(Errc::exists, fmt::format("prediction {} is not for a coordinator", prediction->key));
  }
  IEZ_TRY(const auto newest, store.latest_prediction(prediction->application));
  if (!newest || newest->id != prediction->id || newest->allocation != 0) {
    return fail(Errc::exists, fmt::format("prediction {} has a plan, or is not the newest one any more", prediction->key));
  }
  IEZ_CHECK(store.set_verdict(prediction->id, posted.answer.verdict));
  return Stored{};
}

}  // namespace

Result<api::PredictionPage> offered_predictions(store::Store& store, std::uint64_t after, std::int64_t now_ns, Logger& log) {
  api::PredictionPage page;
  IEZ_TRY(page.revision, store.revision());
  std::size_t bytes = 0;
  store::Id last = number_of(after);
  while (true) {
    IEZ_TRY(const auto heads, store.unallocated_predictions(last, kHeads));
    for (const store::Prediction& head : heads) {
      last = head.id;
      auto one = offer(store, head, now_ns);
      if (!one && (one.error().code == Errc::limit || one.error().code == Errc::parse)) {
        log.warning("a prediction cannot be offered", {{"prediction", head.key}, {"why", one.error().message}});
        continue;
      }
      if (!one) return std::unexpected(std::move(one).error());
      if (!*one) continue;
      bytes += api::to_json(**one).size();
      page.predictions.push_back(**std::move(one));
      if (bytes < api::kPageBytes && page.predictions.size() < api::kMaxPageItems) continue;
      page.next = static_cast<std::uint64_t>(last);
      return page;
    }
    if (heads.size() < kHeads) return page;
  }
}

Result<Stored> take_allocation(store::Store& store, const api::PostedAllocation& posted) {
  if (posted.answer.plan.empty()) return take_verdict(store, posted);
  if (runs::plan_number(posted.answer.plan) == 0) {
    return fail(Errc::invalid_argument,
                fmt::format("plan '{}': expected 16 hexadecimal digits", text::printable(posted.answer.plan)));
  }
  IEZ_TRY(const auto prediction, prediction_of(store, posted));
  if (!prediction) return fail(Errc::exists, fmt::format("the prediction of plan {} is gone", posted.answer.plan));
  const auto note = runs::pull_note_of(prediction->model);
  if (!note) return fail(Errc::exists, fmt::format("prediction {} is not for a coordinator", prediction->key));
  // Without rows it is an old one; the store says so.
  auto allocation = runs::allocation_of(posted.answer,
                                        {.application = "",
                                         .host = note->host,
                                         .file_system = note->file_system,
                                         .prediction = *prediction,
                                         .rows = note->rows,
                                         .freed = {}},
                                        posted.planner);
  if (!allocation) return fail(Errc::invalid_argument, allocation.error().message);
  allocation->key = fmt::format("{}{:016x}", posted.answer.plan, posted.answer.revision);
  auto id = store.put_late_allocation(*allocation);
  if (!id && id.error().code == Errc::not_found) return fail(Errc::exists, id.error().message);
  if (!id) return std::unexpected(std::move(id).error());
  return Stored{.allocation = *id};
}

Result<api::AllocationPage> newest_allocations(store::Store& store, std::uint64_t after) {
  api::AllocationPage page;
  IEZ_TRY(page.revision, store.revision());
  IEZ_TRY(const auto heads, store.newest_allocations(number_of(after), api::kMaxPageItems));
  for (const store::Allocation& head : heads) {
    if (head.planner == runs::kLocalPlanner) continue;
    const auto details = runs::parse_details(head.details.empty() ? "{}" : head.details);
    page.allocations.push_back({.plan = head.plan,
                                .number = static_cast<std::uint64_t>(head.id),
                                .revision = details ? details->revision : 0,
                                .planned = head.planned,
                                .created = head.created,
                                .expired = head.expired});
  }
  if (heads.size() == api::kMaxPageItems) page.next = static_cast<std::uint64_t>(heads.back().id);
  return page;
}

Result<api::AllocationStates> states_of(store::Store& store, std::string_view plan) {
  IEZ_TRY(const auto found, store.find_allocation(plan));
  if (!found) return fail(Errc::not_found, fmt::format("there is no plan {}", text::printable(plan)));
  api::AllocationStates states{.plan = found->plan, .planned = found->planned, .created = {}};
  for (std::uint32_t i = 0; i < found->rows.size(); ++i) {
    if (found->rows[i].state != store::PlanState::created) continue;
    if (!states.created.empty() && states.created.back().first + states.created.back().second == i) {
      ++states.created.back().second;
    } else {
      states.created.emplace_back(i, 1);
    }
  }
  return states;
}

}  // namespace iez::database
