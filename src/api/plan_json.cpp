#include "api/plan_json.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "api/json_cursor.hpp"
#include "api/json_text.hpp"
#include "base/text.hpp"

namespace iez::api {

namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMaxText = 64UL << 10U;
constexpr std::uint32_t kMaxOst = 999'999;
constexpr std::size_t kMaxSpread = 1000;
constexpr std::size_t kMaxStripes = 2000;
constexpr std::string_view kHex = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    out.push_back(kHex[static_cast<unsigned char>(c) >> 4U]);
    out.push_back(kHex[static_cast<unsigned char>(c) & 15U]);
  }
  return out;
}

std::string from_hex(JsonCursor& json, std::size_t limit) {
  const std::string digits = json.text(2 * limit);
  std::string out;
  out.reserve(digits.size() / 2);
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const std::size_t high = kHex.find(text::to_lower(digits[i]));
    const std::size_t low = kHex.find(text::to_lower(digits[i + 1]));
    if (high == std::string_view::npos || low == std::string_view::npos) {
      json.refuse("expected hexadecimal digits");
      return {};
    }
    out.push_back(static_cast<char>(high * 16 + low));
  }
  if (digits.size() % 2 != 0) json.refuse("expected an even number of hexadecimal digits");
  return out;
}

void put_bytes(JsonText& json, std::string_view name, std::string_view bytes) {
  if (is_utf8(bytes)) {
    json.field(name, bytes);
  } else {
    json.field(std::string(name) + "_hex", to_hex(bytes));
  }
}

void put(JsonText& json, const FileRequest& file) {
  json.begin_object();
  put_bytes(json, "name", file.name);
  json.field("bytes", file.bytes);
  if (file.high != 0) json.field("high", file.high);
  if (file.files != 1) json.field("files", file.files);
  if (file.stripe_count != 0) json.field("stripe_count", file.stripe_count);
  if (file.stripe_size != 0) json.field("stripe_size", file.stripe_size);
  if (!file.pool.empty()) json.field("pool", file.pool);
  if (file.rank >= 0) json.field("rank", file.rank);
  if (file.shared) json.field("shared", file.shared);
  if (file.phase != 0) json.field("phase", file.phase);
  if (file.read_phase >= 0) json.field("read_phase", file.read_phase);
  if (file.left_alone) json.field("left_alone", file.left_alone);
  if (file.default_stripe_count != 1) json.field("default_stripe_count", file.default_stripe_count);
  if (file.default_stripe_size != 0) json.field("default_stripe_size", file.default_stripe_size);
  json.end_object();
}

std::int32_t stripe_count(JsonCursor& json) {
  return static_cast<std::int32_t>(json.whole_signed(kAllTargets, std::numeric_limits<std::int32_t>::max()));
}

FileRequest file_request(JsonCursor& json, std::string& key) {
  FileRequest file;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "name") {
      file.name = json.text(kMaxName);
    } else if (key == "name_hex") {
      file.name = from_hex(json, kMaxName);
    } else if (key == "bytes") {
      file.bytes = json.whole(kMost);
    } else if (key == "high") {
      file.high = json.whole(kMost);
    } else if (key == "files") {
      file.files = json.whole(kMost);
    } else if (key == "stripe_count") {
      file.stripe_count = stripe_count(json);
    } else if (key == "stripe_size") {
      file.stripe_size = json.whole(kMost);
    } else if (key == "pool") {
      file.pool = json.text(kMaxWord);
    } else if (key == "rank") {
      file.rank = json.whole_signed(-1, kLatest);
    } else if (key == "shared") {
      file.shared = json.flag();
    } else if (key == "phase") {
      file.phase = static_cast<std::uint32_t>(json.whole(kMaxPhase));
    } else if (key == "read_phase") {
      file.read_phase = json.whole_signed(-1, kMaxPhase);
    } else if (key == "left_alone") {
      file.left_alone = json.flag();
    } else if (key == "default_stripe_count") {
      file.default_stripe_count = stripe_count(json);
    } else if (key == "default_stripe_size") {
      file.default_stripe_size = json.whole(kMost);
    } else {
      json.skip();
    }
  }
  return file;
}

void put(JsonText& json, const Costs& costs) {
  json.begin_object().field("ost_cost", costs.ost).field("oss_cost", costs.oss).end_object();
}

Costs costs(JsonCursor& json, std::string& key) {
  Costs out;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "ost_cost") {
      out.ost = json.number();
    } else if (key == "oss_cost") {
      out.oss = json.number();
    } else {
      json.skip();
    }
  }
  return out;
}

void put(JsonText& json, std::span<const OstWeight> weights) {
  json.begin_array();
  for (const OstWeight& weight : weights) json.begin_array().value(weight.ost).value(weight.weight).end_array();
  json.end_array();
}

std::uint32_t small(JsonCursor& json, std::uint64_t limit) { return static_cast<std::uint32_t>(json.whole(limit)); }

// The next member of a list that must have it.
bool member(JsonCursor& json, std::string_view what) {
  if (json.next_item()) return true;
  json.refuse(fmt::format("expected {}", what));
  return false;
}

void no_more(JsonCursor& json) {
  while (json.next_item()) json.skip();
}

std::vector<OstWeight> weights(JsonCursor& json) {
  std::vector<OstWeight> out;
  for (json.enter_array(); json.next_item();) {
    OstWeight weight;
    json.enter_array();
    if (member(json, "an OST")) weight.ost = small(json, kMaxOst);
    if (member(json, "a weight")) weight.weight = small(json, 1000);
    no_more(json);
    if (!json.failed()) out.push_back(weight);
  }
  return out;
}

std::vector<FreedBytes> freed(JsonCursor& json) {
  std::vector<FreedBytes> out;
  for (json.enter_array(); json.next_item();) {
    FreedBytes row;
    json.enter_array();
    if (member(json, "an OST")) row.ost = small(json, kMaxOst);
    if (member(json, "bytes")) row.bytes = json.whole(kMaxFileBytes);
    no_more(json);
    if (!json.failed()) out.push_back(row);
    if (out.size() > kMaxOst) json.refuse("expected one row for each OST");
  }
  return out;
}

std::vector<SlowOst> slow(JsonCursor& json) {
  std::vector<SlowOst> out;
  for (json.enter_array(); json.next_item();) {
    SlowOst row;
    json.enter_array();
    if (member(json, "an OST")) row.ost = small(json, kMaxOst);
    if (member(json, "a speed")) row.speed = json.number();
    no_more(json);
    if (!json.failed() && !(row.speed > 0 && row.speed <= 1)) json.refuse("expected a speed above 0, and at most 1");
    if (!json.failed()) out.push_back(row);
    if (out.size() > kMaxSlowOsts) json.refuse(fmt::format("expected at most {} slow OSTs", kMaxSlowOsts));
  }
  return out;
}

double seconds(JsonCursor& json) {
  const double value = json.number();
  if (value < 0) json.refuse("expected seconds: a number that is not negative");
  return value;
}

// [stripe size, [OST, ...]]
PlannedLayout layout(JsonCursor& json) {
  PlannedLayout out;
  json.enter_array();
  if (member(json, "a stripe size")) out.stripe_size = json.whole(kMost);
  if (member(json, "a list of OSTs")) {
    for (json.enter_array(); json.next_item();) {
      out.osts.push_back(small(json, kMaxOst));
      if (out.osts.size() > kMaxStripes) json.refuse(fmt::format("expected at most {} stripes", kMaxStripes));
    }
  }
  no_more(json);
  return out;
}

FileAnswer file_answer(JsonCursor& json, std::string& key) {
  FileAnswer file;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "layouts") {
      for (json.enter_array(); json.next_item();) file.layouts.push_back(layout(json));
    } else if (key == "reason") {
      file.reason = small(json, std::numeric_limits<std::uint32_t>::max());
    } else {
      json.skip();
    }
  }
  return file;
}

std::vector<std::string> texts(JsonCursor& json) {
  std::vector<std::string> out;
  for (json.enter_array(); json.next_item();) out.push_back(json.text(kMaxText));
  return out;
}

PlanRow plan_row(JsonCursor& json, std::string& key) {
  PlanRow row;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "plan") {
      row.plan = json.text(kMaxWord);
    } else if (key == "application") {
      row.application = json.text(kMaxWord);
    } else if (key == "user") {
      row.user = json.text(kMaxWord);
    } else if (key == "file_system") {
      row.file_system = json.text(kMaxWord);
    } else if (key == "state") {
      row.state = json.text(kMaxWord);
    } else if (key == "database") {
      row.database = json.text(kMaxName);
    } else if (key == "revision") {
      row.revision = json.whole(kMost);
    } else if (key == "made_ns") {
      row.made_ns = json.whole_signed(0, kLatest);
    } else if (key == "expires_ns") {
      row.expires_ns = json.whole_signed(0, kLatest);
    } else if (key == "files") {
      row.files = json.whole(kMost);
    } else if (key == "created") {
      row.created = json.whole(kMost);
    } else if (key == "reserved") {
      row.reserved = json.whole(kMost);
    } else {
      json.skip();
    }
  }
  return row;
}

// Absolute, and every part of it means what it says.
bool plain_path(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) return false;
  path.remove_prefix(1);
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    const bool last = end == path.size();
    if (part == "." || part == ".." || (part.empty() && !last)) return false;
    if (last) return true;
    path.remove_prefix(end + 1);
  }
}

}  // namespace

std::string to_json(const PlanRequest& request) {
  JsonText json;
  json.reserve(256 + 128 * request.files.size());
  json.begin_object().field("application", request.application);
  if (!request.file_system.empty()) json.field("file_system", request.file_system);
  if (!request.run.empty()) json.field("run", request.run);
  if (!request.host.empty()) json.field("host", request.host);
  if (!request.database.empty()) json.field("database", request.database);
  if (request.ttl_s != 0) json.field("ttl_s", request.ttl_s);
  if (request.gap_s != 0) json.field("gap_s", request.gap_s);
  if (request.idle_s != 0) json.field("idle_s", request.idle_s);
  if (request.ran_s != 0) json.field("ran_s", request.ran_s);
  if (request.keep_earlier) json.field("keep_earlier", request.keep_earlier);
  if (request.always) json.field("always", request.always);
  json.key("files").begin_array();
  for (const FileRequest& file : request.files) put(json, file);
  json.end_array();
  if (!request.phase_seconds.empty()) {
    json.key("phase_seconds").begin_array();
    for (const double seconds : request.phase_seconds) json.value(seconds);
    json.end_array();
  }
  if (!request.spread.empty()) {
    json.key("spread").begin_array();
    for (const std::string& directory : request.spread) json.value(directory);
    json.end_array();
  }
  if (!request.freed.empty()) {
    json.key("freed").begin_array();
    for (const FreedBytes& freed : request.freed) json.begin_array().value(freed.ost).value(freed.bytes).end_array();
    json.end_array();
  }
  if (!request.slow.empty()) {
    json.key("slow").begin_array();
    for (const SlowOst& slow : request.slow) json.begin_array().value(slow.ost).value(slow.speed).end_array();
    json.end_array();
  }
  return json.end_object().take();
}

std::string to_json(const PlanAnswer& answer) {
  JsonText json;
  json.reserve(512 + 96 * answer.files.size());
  json.begin_object()
      .field("plan", answer.plan)
      .field("revision", answer.revision)
      .field("made_ns", answer.made_ns)
      .field("expires_ns", answer.expires_ns)
      .field("application", answer.application)
      .field("policy", answer.policy)
      .field("file_system", answer.file_system);
  if (!answer.verdict.empty()) json.field("verdict", answer.verdict);
  if (answer.gain != 1) json.field("gain", answer.gain);
  json.key("files").begin_array();
  for (const FileAnswer& file : answer.files) {
    json.begin_object().key("layouts").begin_array();
    for (const PlannedLayout& layout : file.layouts) {
      json.begin_array().value(layout.stripe_size).begin_array();
      for (const std::uint32_t ost : layout.osts) json.value(ost);
      json.end_array().end_array();
    }
    json.end_array().field("reason", file.reason).end_object();
  }
  json.end_array().key("reasons").begin_array();
  for (const std::string& reason : answer.reasons) json.value(reason);
  json.end_array().key("weights");
  put(json, answer.weights);
  json.key("before");
  put(json, answer.before);
  json.key("after");
  put(json, answer.after);
  json.key("notes").begin_array();
  for (const std::string& note : answer.notes) json.value(note);
  return json.end_array().end_object().take();
}

std::string to_json(const CreatedRequest& request) {
  JsonText json;
  json.begin_object();
  if (request.all) json.field("all", true);
  json.key("files").begin_array();
  for (const CreatedFile& file : request.files) json.begin_array().value(file.file).value(file.files).end_array();
  return json.end_array().end_object().take();
}

std::string to_json(const Ticket& ticket) {
  JsonText json;
  json.begin_object()
      .field("plan", ticket.plan)
      .field("state", "queued")
      .field("retry_after_s", ticket.retry_after_s)
      .field("why", ticket.why)
      .field("busy", ticket.busy);
  return json.end_object().take();
}

std::string to_json(const Problem& problem) {
  JsonText json;
  json.begin_object()
      .field("type", problem.type.empty() ? std::string_view("about:blank") : std::string_view(problem.type))
      .field("title", problem.title)
      .field("status", problem.status)
      .field("detail", problem.detail);
  return json.end_object().take();
}

std::string to_json(std::span<const PlanRow> rows) {
  JsonText json;
  json.begin_object().key("plans").begin_array();
  for (const PlanRow& row : rows) {
    json.begin_object()
        .field("plan", row.plan)
        .field("application", row.application)
        .field("user", row.user)
        .field("file_system", row.file_system)
        .field("state", row.state)
        .field("database", row.database)
        .field("revision", row.revision)
        .field("made_ns", row.made_ns)
        .field("expires_ns", row.expires_ns)
        .field("files", row.files)
        .field("created", row.created)
        .field("reserved", row.reserved)
        .end_object();
  }
  return json.end_array().end_object().take();
}

std::string to_json(std::string_view file_system, std::span<const OstWeight> weights) {
  JsonText json;
  json.begin_object().field("file_system", file_system).key("weights");
  put(json, weights);
  return json.end_object().take();
}

PlanRequest read_plan_request(JsonCursor& json) {
  PlanRequest request;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "application") {
      request.application = json.text(kMaxWord);
    } else if (key == "file_system") {
      request.file_system = json.text(kMaxWord);
    } else if (key == "run") {
      request.run = json.text(kMaxWord);
    } else if (key == "host") {
      request.host = json.text(kMaxWord);
    } else if (key == "database") {
      request.database = json.text(kMaxName);
    } else if (key == "ttl_s") {
      request.ttl_s = json.whole(kMost);
    } else if (key == "gap_s") {
      request.gap_s = seconds(json);
    } else if (key == "idle_s") {
      request.idle_s = seconds(json);
    } else if (key == "ran_s") {
      request.ran_s = seconds(json);
    } else if (key == "keep_earlier") {
      request.keep_earlier = json.flag();
    } else if (key == "always") {
      request.always = json.flag();
    } else if (key == "phase_seconds") {
      for (json.enter_array(); json.next_item();) {
        request.phase_seconds.push_back(seconds(json));
        if (request.phase_seconds.size() > kMaxPhaseSeconds) {
          json.refuse(fmt::format("expected at most {} phases", kMaxPhaseSeconds));
        }
      }
    } else if (key == "files") {
      for (json.enter_array(); json.next_item();) {
        request.files.push_back(file_request(json, key));
        if (request.files.size() > kMaxPlannedFiles) json.refuse(fmt::format("expected at most {} files", kMaxPlannedFiles));
      }
    } else if (key == "spread") {
      for (json.enter_array(); json.next_item();) {
        request.spread.push_back(json.text(kMaxName));
        if (request.spread.size() > kMaxSpread) json.refuse(fmt::format("expected at most {} directories", kMaxSpread));
      }
    } else if (key == "freed") {
      request.freed = freed(json);
    } else if (key == "slow") {
      request.slow = slow(json);
    } else {
      json.skip();
    }
  }
  return request;
}

Result<PlanRequest> parse_plan_request(std::string_view text) {
  if (text.size() > kMaxRequestBytes) {
    return fail(Errc::limit, fmt::format("a request of {} bytes; at most {} are taken", text.size(), kMaxRequestBytes));
  }
  JsonCursor json(text);
  PlanRequest request = read_plan_request(json);
  IEZ_CHECK(json.finish());
  return request;
}

PlanAnswer read_plan_answer(JsonCursor& json) {
  PlanAnswer answer;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "plan") {
      answer.plan = json.text(kMaxWord);
    } else if (key == "revision") {
      answer.revision = json.whole(kMost);
    } else if (key == "made_ns") {
      answer.made_ns = json.whole_signed(0, kLatest);
    } else if (key == "expires_ns") {
      answer.expires_ns = json.whole_signed(0, kLatest);
    } else if (key == "application") {
      answer.application = json.text(kMaxWord);
    } else if (key == "policy") {
      answer.policy = json.text(kMaxWord);
    } else if (key == "file_system") {
      answer.file_system = json.text(kMaxWord);
    } else if (key == "verdict") {
      answer.verdict = json.text(kMaxText);
    } else if (key == "gain") {
      answer.gain = json.number();
    } else if (key == "files") {
      for (json.enter_array(); json.next_item();) answer.files.push_back(file_answer(json, key));
    } else if (key == "reasons") {
      answer.reasons = texts(json);
    } else if (key == "weights") {
      answer.weights = weights(json);
    } else if (key == "before") {
      answer.before = costs(json, key);
    } else if (key == "after") {
      answer.after = costs(json, key);
    } else if (key == "notes") {
      answer.notes = texts(json);
    } else {
      json.skip();
    }
  }
  return answer;
}

Result<PlanAnswer> parse_plan_answer(std::string_view text) {
  JsonCursor json(text);
  PlanAnswer answer = read_plan_answer(json);
  IEZ_CHECK(json.finish());
  IEZ_CHECK(check_answer(answer));
  return answer;
}

Result<void> check_answer(const PlanAnswer& answer) {
  if (answer.plan.empty() && answer.verdict.empty()) {
    return fail(Errc::parse, "an answer without the id of its plan, and without a verdict");
  }
  for (const FileAnswer& file : answer.files) {
    if (answer.plan.empty() && !file.layouts.empty()) return fail(Errc::parse, "layouts without the id of their plan");
    if (file.reason >= answer.reasons.size() && !(file.reason == 0 && answer.reasons.empty())) {
      return fail(Errc::parse, fmt::format("reason {} of {}", file.reason, answer.reasons.size()));
    }
  }
  return {};
}

Result<CreatedRequest> parse_created_request(std::string_view text) {
  JsonCursor json(text);
  CreatedRequest request;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "all") {
      request.all = json.flag();
    } else if (key == "files") {
      for (json.enter_array(); json.next_item();) {
        CreatedFile file;
        json.enter_array();
        if (member(json, "the number of a file")) file.file = small(json, kMaxPlannedFiles);
        if (json.next_item()) {
          file.files = json.whole(kMost);
          no_more(json);
        }
        if (!json.failed()) request.files.push_back(file);
        if (request.files.size() > kMaxPlannedFiles) json.refuse(fmt::format("expected at most {} files", kMaxPlannedFiles));
      }
    } else {
      json.skip();
    }
  }
  IEZ_CHECK(json.finish());
  return request;
}

Result<Ticket> parse_ticket(std::string_view text) {
  JsonCursor json(text);
  Ticket ticket;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "plan") {
      ticket.plan = json.text(kMaxWord);
    } else if (key == "retry_after_s") {
      ticket.retry_after_s = json.whole(kMost);
    } else if (key == "why") {
      ticket.why = json.text(kMaxText);
    } else if (key == "busy") {
      ticket.busy = json.flag();
    } else {
      json.skip();
    }
  }
  IEZ_CHECK(json.finish());
  if (ticket.plan.empty()) return fail(Errc::parse, "a ticket without the id of its plan");
  return ticket;
}

Result<Problem> parse_problem(std::string_view text) {
  JsonCursor json(text);
  Problem problem;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "type") {
      problem.type = json.text(kMaxText);
    } else if (key == "title") {
      problem.title = json.text(kMaxText);
    } else if (key == "status") {
      problem.status = small(json, 999);
    } else if (key == "detail") {
      problem.detail = json.text(kMaxText);
    } else {
      json.skip();
    }
  }
  IEZ_CHECK(json.finish());
  return problem;
}

Result<std::vector<PlanRow>> parse_plan_rows(std::string_view text) {
  JsonCursor json(text);
  std::vector<PlanRow> rows;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key != "plans") {
      json.skip();
      continue;
    }
    for (json.enter_array(); json.next_item();) rows.push_back(plan_row(json, key));
  }
  IEZ_CHECK(json.finish());
  return rows;
}

Result<std::vector<OstWeight>> parse_weights(std::string_view text) {
  JsonCursor json(text);
  std::vector<OstWeight> out;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "weights") {
      out = weights(json);
    } else {
      json.skip();
    }
  }
  IEZ_CHECK(json.finish());
  return out;
}

Result<void> check(const PlanRequest& request) {
  if (request.application.empty()) return fail(Errc::invalid_argument, "field 'application' is missing or empty");
  if (request.files.empty() && request.spread.empty()) {
    return fail(Errc::invalid_argument, "neither 'files' nor 'spread' has anything: there is nothing to plan");
  }
  std::uint64_t planned = 0;
  for (std::size_t i = 0; i < request.files.size(); ++i) {
    const FileRequest& file = request.files[i];
    const auto complain = [&](std::string_view what) {
      return fail(Errc::invalid_argument, fmt::format("files[{}] '{}': {}", i, text::printable(file.name), what));
    };
    if (!plain_path(file.name) || file.name.ends_with('/')) {
      return complain("expected the absolute name of a file, without '//', '.' and '..'");
    }
    if (file.bytes == 0) return complain("'bytes' is 0: a file that stays empty needs no plan");
    if (file.bytes > kMaxFileBytes || file.high > kMaxFileBytes) return complain("is larger than 4 EiB");
    if (file.files == 0) return complain("'files' is 0");
    if (file.files > 1 && file.name.find('{') == std::string::npos)
      return complain("'files' is more than 1, but it is no pattern");
    if (file.files > kMaxPlannedFiles - planned) {
      return complain(fmt::format("with it the request has more than {} files", kMaxPlannedFiles));
    }
    planned += file.files;
  }
  for (const std::string& directory : request.spread) {
    if (!plain_path(directory)) {
      return fail(Errc::invalid_argument, fmt::format("spread '{}': expected an absolute directory, without '//', '.' and '..'",
                                                      text::printable(directory)));
    }
  }
  return {};
}

}  // namespace iez::api
