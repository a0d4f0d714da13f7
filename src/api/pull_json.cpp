#include "api/pull_json.hpp"

#include <limits>
#include <optional>

#include <fmt/format.h>

#include "api/json_cursor.hpp"
#include "api/json_text.hpp"
#include "api/plan_json.hpp"

namespace iez::api {

namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

bool is_key(std::string_view key) {
  return key.size() == 32 && key.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<void> check_key(std::string_view key) {
  if (is_key(key)) return {};
  return fail(Errc::parse, "a prediction whose key is not 32 hexadecimal digits");
}

void too_many(JsonCursor& json, std::size_t count) {
  if (count > kMaxPageItems) json.refuse(fmt::format("expected at most {} on a page", kMaxPageItems));
}

OfferedPrediction offered(JsonCursor& json, std::string& key) {
  OfferedPrediction out;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "key") {
      out.key = json.text(kMaxKey);
    } else if (key == "number") {
      out.number = json.whole(kMost);
    } else if (key == "owner") {
      out.owner = json.text(kMaxWord);
    } else if (key == "request") {
      out.request = read_plan_request(json);
    } else {
      json.skip();
    }
  }
  return out;
}

AllocationHead head(JsonCursor& json, std::string& key) {
  AllocationHead out;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "plan") {
      out.plan = json.text(kMaxWord);
    } else if (key == "number") {
      out.number = json.whole(kMost);
    } else if (key == "revision") {
      out.revision = json.whole(kMost);
    } else if (key == "planned") {
      out.planned = json.whole(kMost);
    } else if (key == "created") {
      out.created = json.whole(kMost);
    } else if (key == "expired") {
      out.expired = json.whole(kMost);
    } else {
      json.skip();
    }
  }
  return out;
}

// A page of items, which read_one() reads, with the numbers that each page has.
template <typename Page, typename Item>
Result<Page> parse_page(std::string_view text, std::string_view name, std::vector<Item> Page::* items,
                        Item (*read_one)(JsonCursor& json, std::string& key)) {
  JsonCursor json(text);
  Page page;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "revision") {
      page.revision = json.whole(kMost);
    } else if (key == "next") {
      page.next = json.whole(kMost);
    } else if (key == name) {
      for (json.enter_array(); json.next_item();) {
        (page.*items).push_back(read_one(json, key));
        too_many(json, (page.*items).size());
      }
    } else {
      json.skip();
    }
  }
  IEZ_CHECK(json.finish());
  return page;
}

}  // namespace

std::string revision_json(std::uint64_t revision) {
  JsonText json;
  return json.begin_object().field("revision", revision).end_object().take();
}

std::string to_json(const OfferedPrediction& prediction) {
  JsonText json;
  json.begin_object().field("key", prediction.key).field("number", prediction.number).field("owner", prediction.owner);
  return json.key("request").raw(to_json(prediction.request)).end_object().take();
}

std::string to_json(const PredictionPage& page) {
  JsonText json;
  json.begin_object().field("revision", page.revision).key("predictions").begin_array();
  for (const OfferedPrediction& one : page.predictions) json.raw(to_json(one));
  return json.end_array().field("next", page.next).end_object().take();
}

std::string to_json(const PostedAllocation& posted) {
  JsonText json;
  json.begin_object().field("prediction", posted.prediction).field("planner", posted.planner);
  return json.key("answer").raw(to_json(posted.answer)).end_object().take();
}

std::string to_json(const AllocationPage& page) {
  JsonText json;
  json.begin_object().field("revision", page.revision).key("allocations").begin_array();
  for (const AllocationHead& one : page.allocations) {
    json.begin_object()
        .field("plan", one.plan)
        .field("number", one.number)
        .field("revision", one.revision)
        .field("planned", one.planned)
        .field("created", one.created)
        .field("expired", one.expired)
        .end_object();
  }
  return json.end_array().field("next", page.next).end_object().take();
}

std::string to_json(const AllocationStates& states) {
  JsonText json;
  json.begin_object().field("plan", states.plan).field("planned", states.planned).key("created").begin_array();
  for (const auto& [first, count] : states.created) json.begin_array().value(first).value(count).end_array();
  return json.end_array().end_object().take();
}

Result<std::uint64_t> parse_revision(std::string_view text) {
  JsonCursor json(text);
  std::string key;
  std::optional<std::uint64_t> revision;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "revision") {
      revision = json.whole(kMost);
    } else {
      json.skip();
    }
  }
  IEZ_CHECK(json.finish());
  if (!revision) return fail(Errc::parse, "field 'revision' is missing");
  return *revision;
}

Result<PredictionPage> parse_prediction_page(std::string_view text) {
  IEZ_TRY(PredictionPage page, parse_page(text, "predictions", &PredictionPage::predictions, offered));
  for (const OfferedPrediction& one : page.predictions) {
    IEZ_CHECK(check_key(one.key));
    if (one.owner.empty()) return fail(Errc::parse, fmt::format("prediction {} has no owner", one.key));
  }
  return page;
}

Result<PostedAllocation> parse_posted_allocation(std::string_view text) {
  JsonCursor json(text);
  PostedAllocation out;
  std::string key;
  for (json.enter_object(); json.next_key(key);) {
    if (key == "prediction") {
      out.prediction = json.text(kMaxKey);
    } else if (key == "planner") {
      out.planner = json.text(kMaxWord);
    } else if (key == "answer") {
      out.answer = read_plan_answer(json);
    } else {
      json.skip();
    }
  }
  IEZ_CHECK(json.finish());
  if (!out.prediction.empty()) IEZ_CHECK(check_key(out.prediction));
  IEZ_CHECK(check_answer(out.answer));
  if (out.prediction.empty() && out.answer.plan.empty()) return fail(Errc::parse, "neither a prediction nor a plan is named");
  return out;
}

Result<AllocationPage> parse_allocation_page(std::string_view text) {
  return parse_page(text, "allocations", &AllocationPage::allocations, head);
}

Result<AllocationStates> parse_allocation_states(std::string_view text) {
  JsonCursor json(text);
  AllocationStates out;
  std::string key;
  std::uint64_t after = 0;  // entries come in ascending order
  for (json.enter_object(); json.next_key(key);) {
    if (key == "plan") {
      out.plan = json.text(kMaxWord);
    } else if (key == "planned") {
      out.planned = json.whole(kMost);
    } else if (key == "created") {
      for (json.enter_array(); json.next_item();) {
        std::uint64_t first = 0;
        std::uint64_t count = 0;
        json.enter_array();
        if (json.next_item()) first = json.whole(kMaxPlannedFiles);
        if (json.next_item()) count = json.whole(kMaxPlannedFiles);
        while (json.next_item()) json.skip();
        if (!json.failed() && (first < after || count == 0 || first + count > kMaxPlannedFiles)) {
          json.refuse("expected [first, count] of entries in ascending order");
        }
        if (json.failed()) break;
        after = first + count;
        out.created.emplace_back(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count));
      }
    } else {
      json.skip();
    }
  }
  IEZ_CHECK(json.finish());
  return out;
}

}  // namespace iez::api
