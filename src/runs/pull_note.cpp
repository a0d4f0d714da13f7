#include "runs/pull_note.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/plan_json.hpp"
#include "runs/remote_plan.hpp"

namespace iez::runs {

namespace {

using nlohmann::json;

constexpr const char* kKey = "pull";
constexpr std::uint64_t kMaxRow = 0xFFFFFFFE;

bool take_text(const json& from, const char* key, std::string& out) {
  const auto found = from.find(key);
  if (found == from.end() || !found->is_string()) return false;
  out = found->get<std::string>();
  return true;
}

// Two numbers, as an item of a list.
std::optional<std::pair<std::uint64_t, std::uint64_t>> pair_of(const json& item) {
  if (!item.is_array() || item.size() != 2 || !item[0].is_number_unsigned() || !item[1].is_number_unsigned()) return std::nullopt;
  return std::pair(item[0].get<std::uint64_t>(), item[1].get<std::uint64_t>());
}

const json* list_of(const json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_array() ? &*found : nullptr;
}

// Items are [OST, speed]. False: one is something else, or there are too many.
bool take_slow(const json& list, std::vector<api::SlowOst>& out) {
  for (const json& item : list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_number_unsigned() || !item[1].is_number()) return false;
    const auto ost = item[0].get<std::uint64_t>();
    const auto speed = item[1].get<double>();
    if (ost > kMaxRow || !(speed > 0 && speed <= 1) || out.size() == api::kMaxSlowOsts) return false;
    out.push_back({.ost = static_cast<std::uint32_t>(ost), .speed = speed});
  }
  return true;
}

}  // namespace

Result<std::string> with_pull_note(std::string_view model, const PullNote& note) {
  json out = json::parse(model, nullptr, false);
  if (!out.is_object()) out = json::object();
  json rows = json::array();
  for (std::size_t i = 0; i < note.rows.size();) {
    std::size_t end = i + 1;
    while (end < note.rows.size() && note.rows[end] == note.rows[end - 1] + 1) ++end;
    rows.push_back({note.rows[i], end - i});
    i = end;
  }
  json freed = json::array();
  for (const api::FreedBytes& one : note.freed) freed.push_back({one.ost, one.bytes});
  out[kKey] = {{"host", note.host},         {"file_system", note.file_system}, {"rows", std::move(rows)},
               {"freed", std::move(freed)}, {"always", note.always},           {"gap_s", note.gap_s},
               {"ran_s", note.ran_s}};
  for (const api::SlowOst& one : note.slow) out[kKey]["slow"].push_back({one.ost, one.speed});
  std::string text = out.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > store::kMaxText) {
    return fail(Errc::limit,
                fmt::format("the prediction's files are {} bytes to tell apart, and {} are kept", text.size(), store::kMaxText));
  }
  return text;
}

std::optional<PullNote> pull_note_of(std::string_view model) {
  if (model.find("\"pull\"") == std::string_view::npos) return std::nullopt;
  const json whole = json::parse(model, nullptr, false);
  if (!whole.is_object()) return std::nullopt;
  const auto in = whole.find(kKey);
  if (in == whole.end() || !in->is_object()) return std::nullopt;
  PullNote note;
  if (!take_text(*in, "host", note.host) || !take_text(*in, "file_system", note.file_system)) return std::nullopt;
  const json* const rows = list_of(*in, "rows");
  const json* const freed = list_of(*in, "freed");
  if (rows == nullptr || freed == nullptr) return std::nullopt;
  std::uint64_t after = 0;
  for (const json& item : *rows) {
    const auto run = pair_of(item);
    if (!run || run->first < after || run->first > kMaxRow - api::kMaxPlannedFiles ||
        run->second > api::kMaxPlannedFiles - note.rows.size()) {
      return std::nullopt;
    }
    for (std::uint64_t i = 0; i < run->second; ++i) note.rows.push_back(static_cast<std::uint32_t>(run->first + i));
    after = run->first + run->second;
  }
  for (const json& item : *freed) {
    const auto one = pair_of(item);
    if (!one || one->first > kMaxRow) return std::nullopt;
    note.freed.push_back({.ost = static_cast<std::uint32_t>(one->first), .bytes = one->second});
  }
  // Notes of 0.1 have none of these.
  if (const json* const slow = list_of(*in, "slow"); slow != nullptr && !take_slow(*slow, note.slow)) return std::nullopt;
  if (const auto always = in->find("always"); always != in->end() && always->is_boolean()) note.always = always->get<bool>();
  if (const auto gap = in->find("gap_s"); gap != in->end() && gap->is_number()) note.gap_s = std::max(0.0, gap->get<double>());
  if (const auto ran = in->find("ran_s"); ran != in->end() && ran->is_number()) note.ran_s = std::max(0.0, ran->get<double>());
  return note;
}

Result<api::PlanRequest> pulled_request(const std::string& application, const store::Prediction& prediction, const PullNote& note,
                                        std::int64_t now_ns) {
  if (!note.rows.empty() && note.rows.back() >= prediction.rows.size()) {
    return fail(Errc::parse, fmt::format("prediction {} has {} rows, and its note names row {}", prediction.id,
                                         prediction.rows.size(), note.rows.back()));
  }
  api::PlanRequest request = request_of({.application = application,
                                         .host = note.host,
                                         .file_system = note.file_system,
                                         .prediction = prediction,
                                         .rows = note.rows,
                                         .freed = note.freed,
                                         .slow = note.slow,
                                         .always = note.always,
                                         .gap_s = note.gap_s,
                                         .idle_s = std::max(0.0, static_cast<double>(now_ns - prediction.made_ns) * 1e-9),
                                         .ran_s = note.ran_s});
  if (const std::size_t size = api::to_json(request).size(); size > api::kMaxRequestBytes) {
    return fail(Errc::limit, fmt::format("the request of prediction {} has {} bytes, and {} are taken", prediction.id, size,
                                         api::kMaxRequestBytes));
  }
  return request;
}

}  // namespace iez::runs
