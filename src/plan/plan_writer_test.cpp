#include "plan/plan_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/packed_layout.hpp"
#include "plan/plan_reader.hpp"
#include "plan/plan_test_support.hpp"

namespace iez::plan {
namespace {

using testing::HasSubstr;

PlannedFile one(std::string_view name, const Request& request, std::uint64_t origin = 0) {
  return {.name = name, .created_as = {}, .request = request, .origin = origin};
}

TEST(PlanWriter, PacksLayoutsAndBack) {
  const auto size_of = [](const Request& request) -> std::size_t {
    const auto packed = pack_layout(request);
    EXPECT_TRUE(packed);
    FoundLayout layout;
    EXPECT_TRUE(expand_layout(packed->data(), packed->size(), layout));
    EXPECT_EQ(Request(layout.bytes, layout.bytes + layout.size), request);
    return packed->size();
  };
  EXPECT_EQ(size_of(on_osts({3})), 6U);
  EXPECT_EQ(size_of(on_osts({3, 1, 2, 0})), 12U);
  EXPECT_EQ(size_of(on_osts({3, 3}, true)), 8U);
  EXPECT_EQ(size_of(on_osts({3, 65'536})), 12U);
  EXPECT_EQ(size_of(request_of({.stripe_size = Bytes::mib(1), .stripe_count = 4})), 33U);
  EXPECT_EQ(size_of(request_of({.stripe_size = Bytes::mib(1), .stripe_count = 4, .pool = "flash"})), 49U);
  // What a list cannot say is kept as it is: a first OST that is not the first of the list, a pool.
  model::Component rotated{.stripe_count = 2, .first_ost = OstIndex{5}, .osts = {OstIndex{4}, OstIndex{5}}};
  EXPECT_EQ(size_of(request_of(rotated)), 97U);
  model::Component pooled{.stripe_count = 2, .pool = "flash", .osts = {OstIndex{4}, OstIndex{5}}};
  EXPECT_EQ(size_of(request_of(pooled)), 97U);
  const auto whole = on_osts({1});
  EXPECT_FALSE(pack_layout(std::span(whole).first(20)));
  EXPECT_FALSE(pack_layout(Request(kMaxRequest + 1)));
}

TEST(PlanWriter, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const std::string path = folder.path("plan");
  {
    PlanWriter unfinished(path, test_options());
    ASSERT_TRUE(unfinished.add(one("/a", on_osts({1}))));
  }
  EXPECT_EQ(folder.entries(), 0U);
  PlanWriter writer(path, test_options());
  ASSERT_TRUE(writer.add(one("/a", on_osts({1}))));
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(folder.entries(), 1U);
  struct stat about{};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777U, 0644U);

  // One that fails leaves the older plan as it is.
  const std::string before = read_file(path);
  PlanWriter twice(path, test_options());
  ASSERT_TRUE(twice.add(one("/b", on_osts({1}), 3)));
  ASSERT_TRUE(twice.add(one("/b", on_osts({2}), 9)));
  const auto failed = twice.finish();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "found '/b' twice, in lines 3 and 9, expected each name once");
  EXPECT_EQ(read_file(path), before);
  EXPECT_EQ(folder.entries(), 1U);

  PlanWriter::Options options = test_options();
  options.mode = 0600;
  PlanWriter mine(path, options);
  ASSERT_TRUE(mine.finish());
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777U, 0600U);
}

TEST(PlanWriter, ReplacedWhileOpen) {
  const TemporaryFolder folder;
  const std::string path = folder.path("plan");
  const auto write = [&](std::uint64_t id, std::uint32_t ost) {
    PlanWriter::Options options = test_options();
    options.id = id;
    PlanWriter writer(path, options);
    EXPECT_TRUE(writer.add(one("/a", on_osts({ost}))));
    EXPECT_TRUE(writer.finish());
  };
  write(1, 1);
  const auto old = PlanReader::open(path);
  ASSERT_TRUE(old);
  write(2, 2);
  EXPECT_EQ(old->explain("/a")->request, on_osts({1}));
  EXPECT_EQ(PlanReader::open(path)->explain("/a")->request, on_osts({2}));

  // Written over in place, which nobody should do: noticed.
  const std::string other = read_file(path);
  write(1, 1);
  LookedUp looked(read_file(path));
  ASSERT_EQ(looked.find("/a").found, Found::file);
  looked.file().bytes = other;
  EXPECT_EQ(looked.find("/a").found, Found::damaged);
  looked.file().bytes.resize(300);
  EXPECT_EQ(looked.find("/a").found, Found::damaged);
}

TEST(PlanWriter, RefusesWhatItCannotKeep) {
  const TemporaryFolder folder;
  PlanWriter writer(folder.path("plan"), test_options());
  const Request request = on_osts({1});
  const auto message = [](const Result<void>& result) { return result ? std::string("none") : result.error().message; };
  EXPECT_THAT(message(writer.add(one("", request))), HasSubstr("0 bytes, expected 1 to 4096"));
  EXPECT_THAT(message(writer.add(one("a", request))), HasSubstr("expected an absolute one"));
  EXPECT_THAT(message(writer.add(one(std::string(1, '/') + std::string(4096, 'x'), request))), HasSubstr("4097 bytes"));
  EXPECT_THAT(message(writer.add(one(std::string_view("/a\0b", 4), request))), HasSubstr("zero byte"));
  EXPECT_THAT(message(writer.add(one("/a", {}))), HasSubstr("a layout of 0 bytes"));
  const auto rule = [&](const PlannedRule& given) { return message(writer.add(given)); };
  EXPECT_THAT(rule({.text = "/a", .requests = {request}}), HasSubstr("without a field"));
  EXPECT_THAT(rule({.text = "/{rank}"}), HasSubstr("found no layout"));
  EXPECT_THAT(rule({.type = RuleType::leave, .text = "/a", .requests = {request}}), HasSubstr("none with leave"));
  EXPECT_THAT(rule({.type = RuleType::leave, .text = "a"}), HasSubstr("expected an absolute one"));
  EXPECT_THAT(rule({.text = "/{step}", .created_as = "/{rank}", .requests = {request}}), HasSubstr("the field {step}"));
  EXPECT_EQ(rule({.text = "/{rank}", .requests = {request}, .origin = 4}), "none");
  EXPECT_THAT(rule({.text = "/{step}", .requests = {request}}), HasSubstr("the same names as '/{rank}' in lines 4"));
  EXPECT_EQ(rule({.type = RuleType::leave, .text = "/a", .origin = 5}), "none");
  EXPECT_THAT(rule({.type = RuleType::spread, .text = "/a/", .requests = {request}}), HasSubstr("the same names as '/a/'"));
}

TEST(PlanWriter, NeedsAFolderThatIsThere) {
  PlanWriter writer("/nowhere/at/all/plan", test_options());
  ASSERT_TRUE(writer.add(one("/a", on_osts({1}))));
  const auto failed = writer.finish();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("/nowhere/at/all/plan: cannot create the plan"));
  PlanWriter device("/dev/null", test_options());
  EXPECT_THAT(device.finish().error().message, HasSubstr("no regular file"));
}

TEST(PlanWriter, LongNamesFitByMoreBuckets) {
  const TemporaryFolder folder;
  PlanWriter writer(folder.path("plan"), test_options());
  std::vector<std::string> names;
  names.reserve(2000);
  for (int i = 0; i < 2000; ++i) names.push_back("/" + std::string(4089, 'n') + std::to_string(100'000 + i));
  for (const std::string& name : names) ASSERT_TRUE(writer.add(one(name, on_osts({1}))));
  const auto summary = writer.finish();
  ASSERT_TRUE(summary) << summary.error().message;
  LookedUp plan(read_file(folder.path("plan")));
  for (const std::string& name : names) ASSERT_EQ(plan.find(name).found, Found::file);
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(PlanWriter, SameInputSameBytes) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& path, bool backwards) {
    PlanWriter writer(folder.path(path), test_options());
    for (int i = 0; i < 1000; ++i) {
      const int number = backwards ? 999 - i : i;
      EXPECT_TRUE(writer.add(one("/f" + std::to_string(number), on_osts({static_cast<std::uint32_t>(number)}))));
    }
    EXPECT_TRUE(writer.finish());
    return read_file(folder.path(path));
  };
  EXPECT_EQ(write("a", false), write("b", true));
}

}  // namespace
}  // namespace iez::plan
