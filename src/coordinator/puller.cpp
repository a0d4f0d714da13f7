#include "coordinator/puller.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <openssl/sha.h>

#include "base/text.hpp"
#include "coordinator/stored_plan.hpp"

namespace iez::coordinator {

namespace {

constexpr std::size_t kMaxOffered = 100'000;
constexpr std::size_t kMaxHeads = 1'000'000;
constexpr std::uint32_t kMostDoublings = 16;

// True: there is another page. Fails where a database would be asked without end.
Result<bool> another(std::uint64_t& after, std::uint64_t next, std::size_t sum, std::size_t most) {
  if (next == 0) return false;
  if (next <= after) return fail(Errc::parse, fmt::format("page {} comes after page {}: its pages do not go on", next, after));
  if (sum > most) return fail(Errc::limit, fmt::format("more than {} records", most));
  after = next;
  return true;
}

}  // namespace

std::uint64_t plan_id(std::string_view owner, std::string_view key) {
  std::string text(owner);
  text.push_back('\0');
  text += key;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < 8; ++i) id = id << 8U | digest.at(i);
  id &= ~std::uint64_t{0} >> 1U;  // the ledger's numbers are signed
  return std::max<std::uint64_t>(id, 1);
}

Duration Puller::turn(Duration now) {
  ++figures_.turns;
  const auto done = work(now);
  figures_.waiting = offered_.size();
  if (done) {
    if (failed_ > 0) log_.warning("the database answers again", {{"database", options_.url}});
    failed_ = 0;
    figures_.up = true;
    return now + options_.interval;
  }
  // Once for each time that it goes away.
  if (failed_ == 0) {
    log_.warning("a database cannot be pulled from",
                 {{"database", options_.url}, {"why", text::printable(done.error().message)}});
  }
  ++figures_.failures;
  figures_.up = false;
  known_ = false;
  seen_.reset();
  const std::uint32_t doublings = std::min(failed_++, kMostDoublings);
  const Duration longest = std::max(options_.longest, options_.interval);
  return now + (options_.interval > longest / (1 << doublings) ? longest : options_.interval * (1 << doublings));
}

Result<void> Puller::work(Duration now) {
  IEZ_TRY(const std::uint64_t revision, database_.revision());
  const bool due = std::ranges::any_of(refused_, [&](const auto& one) { return one.second <= now; });
  const bool look = seen_ != revision || unfinished_ || due;
  if (look) {
    known_ = false;
    IEZ_CHECK(fetch(now));
    IEZ_CHECK(list());
    known_ = true;
  }
  if (look || planning_.changes() != changes_) IEZ_CHECK(settle());
  // What changed since it was asked for shows in the next turn.
  seen_ = revision;
  figures_.revision = revision;
  return {};
}

Result<void> Puller::fetch(Duration now) {
  unfinished_ = false;
  offered_.clear();
  std::map<std::string, Duration, std::less<>> refused;
  std::uint64_t after = 0;
  bool more = true;
  while (more) {
    IEZ_TRY(const api::PredictionPage page, database_.predictions(after));
    for (const api::OfferedPrediction& prediction : page.predictions) {
      offered_.insert(id_text(plan_id(prediction.owner, prediction.key)));
      IEZ_CHECK(plan_one(prediction, now));
      if (const auto found = refused_.find(prediction.key); found != refused_.end()) refused.insert(*found);
    }
    IEZ_TRY(more, another(after, page.next, offered_.size(), kMaxOffered));
  }
  refused_ = std::move(refused);
  return {};
}

Result<void> Puller::plan_one(const api::OfferedPrediction& prediction, Duration now) {
  if (const auto found = refused_.find(prediction.key); found != refused_.end()) {
    if (found->second > now) return {};
    refused_.erase(found);
  }
  ++figures_.fetched;
  api::PlanRequest request = prediction.request;
  request.database = options_.url;
  request.keep_earlier = false;
  auto reply = planning_.plan(plan_id(prediction.owner, prediction.key), prediction.owner, request);
  if (!reply) {
    const std::uint32_t status = reply.error().status;
    if (status == 503 || status == 507) {
      unfinished_ = true;  // not its fault: later
    } else {
      refuse(prediction, reply.error().detail, now);
    }
    return {};
  }
  std::optional<api::PlanAnswer> answer = std::move(reply->answer);
  if (!answer) {
    unfinished_ = true;
    return {};
  }
  return deliver(prediction, *std::move(answer), now);
}

Result<void> Puller::deliver(const api::OfferedPrediction& prediction, api::PlanAnswer answer, Duration now) {
  const bool verdict = answer.plan.empty();
  const std::string plan = verdict ? id_text(plan_id(prediction.owner, prediction.key)) : answer.plan;
  const auto posted = database_.post({.prediction = prediction.key, .planner = options_.planner, .answer = std::move(answer)});
  if (!posted) {
    const Errc code = posted.error().code;
    if (code == Errc::io || code == Errc::permission) return std::unexpected(posted.error());
    refuse(prediction, posted.error().message, now);
    return {};
  }
  offered_.erase(plan);
  if (verdict) {
    ++(*posted == api::Posted::stored ? figures_.verdicts : figures_.replaced);
    // A request that waited at the gate is still there, with its answer.
    if (!planning_.expire(prediction.owner, plan)) unfinished_ = true;
    return {};
  }
  if (*posted == api::Posted::stored) {
    ++figures_.posted;
    log_.info("plan sent", {{"database", options_.url}, {"plan", plan}, {"owner", text::printable(prediction.owner)}});
    return {};
  }
  ++figures_.replaced;
  if (!planning_.expire(prediction.owner, plan)) unfinished_ = true;
  return {};
}

void Puller::refuse(const api::OfferedPrediction& prediction, std::string_view why, Duration now) {
  ++figures_.refused;
  refused_[prediction.key] = now + options_.retry;
  log_.warning("a prediction cannot be planned", {{"database", options_.url},
                                                  {"prediction", prediction.key},
                                                  {"owner", text::printable(prediction.owner)},
                                                  {"why", text::printable(why)}});
  // Whatever there is of it holds no space while it waits.
  (void)planning_.expire(prediction.owner, id_text(plan_id(prediction.owner, prediction.key)));
}

Result<void> Puller::list() {
  heads_.clear();
  std::uint64_t after = 0;
  bool more = true;
  while (more) {
    IEZ_TRY(api::AllocationPage page, database_.allocations(after));
    for (api::AllocationHead& head : page.allocations) {
      std::string plan = head.plan;
      heads_.insert_or_assign(std::move(plan), std::move(head));
    }
    IEZ_TRY(more, another(after, page.next, heads_.size(), kMaxHeads));
  }
  std::erase_if(told_, [&](const auto& one) { return !heads_.contains(one.first); });
  return {};
}

Result<void> Puller::settle() {
  IEZ_ASSERT(known_);
  const std::uint64_t changes = planning_.changes();
  bool done = true;
  for (const PulledPlan& plan : planning_.pending()) {
    const auto head = heads_.find(plan.plan);
    if (head == heads_.end()) {
      // Its prediction was replaced, or its application forgotten, before the plan was sent.
      if (!offered_.contains(plan.plan)) done = planning_.expire(plan.owner, plan.plan) && done;
      continue;
    }
    IEZ_CHECK(tell(plan, head->second));
    if (head->second.planned > 0 && plan.revision > head->second.revision) IEZ_CHECK(renew(plan, head->second));
  }
  if (done) changes_ = changes;
  return {};
}

Result<void> Puller::tell(const PulledPlan& plan, const api::AllocationHead& head) {
  const std::pair now(head.created, head.expired);
  const auto known = told_.find(plan.plan);
  if (known != told_.end() ? known->second == now : now == std::pair<std::uint64_t, std::uint64_t>(0, 0)) return {};
  const auto states = database_.states(plan.plan);
  if (!states && states.error().code != Errc::not_found) return std::unexpected(states.error());
  bool done = true;
  if (states && !states->created.empty()) {
    api::CreatedRequest created;
    for (const auto& [first, count] : states->created) {
      for (std::uint32_t i = 0; i < count; ++i) created.files.push_back({.file = first + i, .files = 0});
    }
    done = planning_.created(plan.owner, plan.plan, created);
  }
  if (!states || states->planned == 0) done = planning_.expire(plan.owner, plan.plan) && done;
  if (done) {
    told_.insert_or_assign(plan.plan, now);
  } else {
    unfinished_ = true;
  }
  return {};
}

Result<void> Puller::renew(const PulledPlan& plan, api::AllocationHead& head) {
  auto reply = planning_.find(plan.owner, plan.plan);
  std::optional<api::PlanAnswer> answer;
  if (reply) answer = std::move(reply->answer);
  if (!answer) return {};  // it ended meanwhile
  const std::uint64_t revision = answer->revision;
  IEZ_TRY(const api::Posted posted,
          database_.post({.prediction = "", .planner = options_.planner, .answer = *std::move(answer)}));
  if (posted == api::Posted::stored) {
    ++figures_.posted;
    head.revision = revision;
    return {};
  }
  ++figures_.replaced;
  if (!planning_.expire(plan.owner, plan.plan)) unfinished_ = true;
  return {};
}

}  // namespace iez::coordinator
