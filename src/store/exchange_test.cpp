#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/record_json.hpp"
#include "store/store_test_support.hpp"

namespace iez::store {
namespace {

using testing::HasSubstr;

class ExchangeTest : public StoreTest {
 protected:
  void fill() {
    const Id app = application("a \xff b");
    const std::vector<FileRow> files{{.name = "/x\xff", .written = Bytes{3}, .created = true},
                                     {.name = "/\"\\\n", .renamed = "/r"}};
    const std::vector<Miss> misses{{.name = "/m", .why = "refused"}};
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_->record_run(run_at(app, i), files, misses));
    const Id run = store_->runs(app)->front().id;
    for (int i = 0; i < 4; ++i) {
      Prediction prediction = prediction_at(app, 10 + i, 3);
      prediction.run = run;
      const Id id = store_->put_prediction(prediction).value();
      const Id plan = store_->put_allocation(allocation_of(id, 20 + i, 3)).value();
      const std::vector<std::uint32_t> made{1};
      ASSERT_TRUE(store_->set_states(plan, PlanState::created, made));
    }
  }

  static std::string exported(Store& store) {
    std::string out;
    const auto done = store.export_lines([&](std::string_view line) -> Result<void> {
      out += line;
      return {};
    });
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return out;
  }

  static Result<Imported> import(Store& store, std::string_view text) {
    const auto stream = input::memory_stream(text);
    return store.import_lines(*stream, "export.jsonl");
  }

  static std::string without_head(const std::string& text) { return text.substr(text.find('\n')); }
};

INSTANTIATE_TEST_SUITE_P(Engines, ExchangeTest, testing::ValuesIn(engines()), [](const auto& one) { return one.param; });

TEST_P(ExchangeTest, WhatIsExportedIsImportedOnce) {
  reopen({.keep_runs = 2});
  fill();
  const std::string text = exported(*store_);
  // Into itself: all is there.
  const auto own = import(*store_, text);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->runs + own->predictions + own->allocations + own->applications, 0U);
  EXPECT_EQ(without_head(exported(*store_)), without_head(text));
  // Into an empty one.
  auto other = Store::open("sqlite:" + folder_.file("other.db"), clock_);
  ASSERT_TRUE(other);
  const auto done = import(**other, text);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->applications, 1U);
  EXPECT_EQ(done->runs, 3U);
  EXPECT_EQ(done->present, 0U);
  EXPECT_EQ(without_head(exported(**other)), without_head(text));
  EXPECT_EQ((*other)->check().value(), std::vector<std::string>());
  EXPECT_EQ((*other)->latest_prediction((*other)->applications()->front().application.id).value()->rows.size(), 3U);
}

TEST_P(ExchangeTest, ACutOrWrongExportChangesNothing) {
  fill();
  const std::string text = exported(*store_);
  auto other = Store::open("sqlite:" + folder_.file("other.db"), clock_);
  ASSERT_TRUE(other);
  std::size_t lines = 0;
  for (std::size_t end = text.find('\n'); end + 1 < text.size(); end = text.find('\n', end + 1)) {
    const auto cut = import(**other, text.substr(0, end + 1));
    ASSERT_FALSE(cut) << ++lines;
    EXPECT_THAT(cut.error().message, HasSubstr("nothing was imported"));
  }
  std::string wrong = text;
  wrong.insert(text.rfind("{\"end\""), "{\"file\": {\"name\": 5}}\n");
  const auto refused = import(**other, wrong);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("file: field name: expected a text"));
  EXPECT_FALSE(import(**other, ""));
  EXPECT_FALSE(import(**other, "{\"iez_store\":{\"version\":5}}\n{\"end\":{\"lines\":1}}\n"));
  EXPECT_FALSE(import(**other, text + text));
  EXPECT_EQ((*other)->applications()->size(), 0U);
  EXPECT_EQ((*other)->check().value(), std::vector<std::string>());
}

TEST(ExportLines, OfBytesThatAreNoText) {
  const Miss miss{.name = "/a\xc3\x28\xed\xa0\x80", .why = "\xe4\xb8\xad"};
  const std::string line = encode_line(miss);
  EXPECT_EQ(line, "{\"miss\":{\"name\":{\"hex\":\"2f61c328eda080\"},\"why\":\"\xe4\xb8\xad\"}}");
  EXPECT_EQ(std::get<Miss>(decode_line(line).value()), miss);
}

TEST(ExportLines, ThatAreWrongAreTold) {
  const auto message = [](std::string_view text) { return decode_line(text).error().message; };
  EXPECT_THAT(message("{"), HasSubstr("no JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("an object of one member"));
  EXPECT_THAT(message("{\"a\":{},\"b\":{}}"), HasSubstr("an object of one member"));
  EXPECT_THAT(message("{\"colour\":{}}"), HasSubstr("'colour' is no kind of line"));
  EXPECT_THAT(message("{\"run\":{\"ranks\":-1}}"), HasSubstr("run: field ranks: expected a whole number that fits"));
  EXPECT_THAT(message("{\"run\":{\"written\":18446744073709551615}}"), HasSubstr("written"));
  EXPECT_THAT(message("{\"run\":{\"mode\":\"fly\"}}"), HasSubstr("mode"));
  EXPECT_THAT(message("{\"miss\":{\"name\":{\"hex\":\"0g\"}}}"), HasSubstr("hexadecimal"));
  EXPECT_THAT(message("{\"allocated\":{\"layouts\":[1]}}"), HasSubstr("layouts"));
  EXPECT_THAT(message(std::string(1000, '[')), HasSubstr("too many brackets"));
}

}  // namespace
}  // namespace iez::store
