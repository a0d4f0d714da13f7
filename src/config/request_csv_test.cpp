#include "config/request_csv.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "model/layout.hpp"

namespace iez::config {
namespace {

using placement::Request;
using placement::RequestComponent;
using testing::ElementsAre;

std::string refusal(std::string_view text, const RequestLimits& limits = {}) {
  const auto requests = parse_requests(text, "f.csv", limits);
  return requests ? "accepted" : requests.error().message;
}

std::vector<Request> accepted(std::string_view text) {
  auto requests = parse_requests(text, "f.csv");
  EXPECT_TRUE(requests) << (requests ? "" : requests.error().message);
  return requests ? *std::move(requests) : std::vector<Request>{};
}

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> out;
  for (const Request& request : accepted(text)) out.push_back(request.name);
  return out;
}

void expect_equal(const Request& a, const Request& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.stripe_count, b.stripe_count);
  EXPECT_EQ(a.stripe_size, b.stripe_size);
  EXPECT_EQ(a.pool, b.pool);
  EXPECT_EQ(a.overstripe, b.overstripe);
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.read_phase, b.read_phase);
  ASSERT_EQ(a.components.size(), b.components.size());
  for (std::size_t i = 0; i < a.components.size(); ++i) {
    EXPECT_EQ(a.components[i].end, b.components[i].end);
    EXPECT_EQ(a.components[i].stripe_count, b.components[i].stripe_count);
    EXPECT_EQ(a.components[i].stripe_size, b.components[i].stripe_size);
    EXPECT_EQ(a.components[i].pool, b.components[i].pool);
  }
}

TEST(RequestCsv, EveryColumn) {
  const auto requests = accepted(
      "name,bytes,stripe_count,stripe_size,pool,overstripe,components\n"
      "a,1GiB,8,4MiB,flash,yes,\n"
      "b,100,-1,,,no,\n"
      "c,9223372036854775807,,,,,\n"
      "d,1T,,,,1,\"4M:count=1,size=1M 1G:count=4,pool=flash eof:count=-1\"\n");
  ASSERT_EQ(requests.size(), 4U);
  expect_equal(requests[0], {.name = "a",
                             .bytes = Bytes::gib(1),
                             .stripe_count = 8,
                             .stripe_size = Bytes::mib(4),
                             .pool = "flash",
                             .overstripe = true});
  expect_equal(requests[1], {.name = "b", .bytes = {100}, .stripe_count = placement::kAllTargets});
  expect_equal(requests[2], {.name = "c", .bytes = {(std::uint64_t{1} << 63U) - 1}, .stripe_count = 1});
  const std::vector<RequestComponent> pieces{
      {.end = 4 << 20, .stripe_count = 1, .stripe_size = Bytes::mib(1)},
      {.end = 1 << 30, .stripe_count = 4, .pool = "flash"},
      {.end = model::Extent::kEof, .stripe_count = placement::kAllTargets},
  };
  expect_equal(requests[3], {.name = "d", .bytes = Bytes::gib(1024), .overstripe = true, .components = pieces});
}

TEST(RequestCsv, ColumnsInAnyOrderAndAsNeeded) {
  const auto requests = accepted("\xEF\xBB\xBF stripe_count , bytes,name\r\n 4, 1 GiB ,x y\r\n\r\n,20,\"a,\"\"b\"\r\n");
  ASSERT_EQ(requests.size(), 2U);
  expect_equal(requests[0], {.name = "x y", .bytes = Bytes::gib(1), .stripe_count = 4});
  expect_equal(requests[1], {.name = "a,\"b", .bytes = {20}, .stripe_count = 1});
  EXPECT_THAT(names("name,bytes\na,1"), ElementsAre("a"));
  EXPECT_THAT(names("name,bytes\n"), ElementsAre());
  EXPECT_EQ(accepted("name,bytes,components\na,1,4M eof\n")[0].components[0].stripe_count, 1) << "as without components";
}

TEST(RequestCsv, RangesInNames) {
  EXPECT_THAT(names("name,bytes\nckpt.{8..11},1\n"), ElementsAre("ckpt.8", "ckpt.9", "ckpt.10", "ckpt.11"));
  EXPECT_THAT(names("name,bytes\n{08..10}.h5,1\n"), ElementsAre("08.h5", "09.h5", "10.h5"));
  EXPECT_THAT(names("name,bytes\nr{0..010},1\n"), testing::SizeIs(11));
  EXPECT_THAT(names("name,bytes\nr{9..0010}x,1\n"), ElementsAre("r0009x", "r0010x"));
  EXPECT_THAT(names("name,bytes\na{5..5},1\n"), ElementsAre("a5"));
  EXPECT_THAT(names("name,bytes\na{999999999999999998..999999999999999999},1\n"),
              ElementsAre("a999999999999999998", "a999999999999999999"));
  const auto requests = accepted("name,bytes,stripe_count\na{0..2},7,3\n");
  ASSERT_EQ(requests.size(), 3U);
  expect_equal(requests[2], {.name = "a2", .bytes = {7}, .stripe_count = 3});
}

TEST(RequestCsv, BracesThatAreNoRange) {
  for (const auto* name : {"a{b}", "{", "{0", "{0..", "{0..1", "{..1}", "{0.1}", "{a..b}", "{-1..1}", "}{", "a}"}) {
    EXPECT_THAT(names(std::string("name,bytes\n") + name + ",1\n"), ElementsAre(name));
  }
  EXPECT_THAT(names("name,bytes\n{{0..3},1\n"), ElementsAre("{0..3}"));
  EXPECT_THAT(names("name,bytes\n{{{{,1\n"), ElementsAre("{{"));
  EXPECT_THAT(names("name,bytes\n{{{0..1}{{0..7}{x,1\n"), ElementsAre("{0{0..7}{x", "{1{0..7}{x"));
}

TEST(RequestCsv, NoHeader) {
  constexpr std::string_view kHeader =
      "a header line: name,bytes,stripe_count,stripe_size,pool,overstripe,components,phase,read_phase";
  EXPECT_EQ(refusal(""), "f.csv: found an empty file, expected " + std::string(kHeader));
  EXPECT_EQ(refusal("\xEF\xBB\xBF\r\n\n"), "f.csv: found an empty file, expected " + std::string(kHeader));
  EXPECT_EQ(refusal("\nckpt,1GiB,8\n"), "f.csv:2: found 'ckpt' and no column that is known, expected " + std::string(kHeader));
  EXPECT_EQ(refusal("name,stripe_count\n"), "f.csv:1: column bytes: missing in the header, expected it");
  EXPECT_EQ(refusal("bytes\n"), "f.csv:1: column name: missing in the header, expected it");
  EXPECT_EQ(refusal("name,bytes,name\n"), "f.csv:1: column name: found twice in the header, expected once");
  EXPECT_EQ(
      refusal("name,bytes,stripecount\n"),
      "f.csv:1: unknown column 'stripecount': expected name, bytes, stripe_count, stripe_size, pool, overstripe, components, "
      "phase, read_phase; did you mean 'stripe_count'?");
  EXPECT_EQ(refusal("name,bytes,owner\n"),
            "f.csv:1: unknown column 'owner': expected name, bytes, stripe_count, stripe_size, pool, overstripe, components, "
            "phase, read_phase");
}

TEST(RequestCsv, BadRecords) {
  EXPECT_EQ(refusal("name,bytes\n\na,1,2\n"), "f.csv:3: found 3 fields, expected 2, one for each column of the header");
  EXPECT_EQ(refusal("name,bytes\na\n"), "f.csv:2: found 1 field, expected 2, one for each column of the header");
  EXPECT_EQ(refusal("name,bytes\na,\"1\nb,2\n"),
            "f.csv:2: found a quote that opens a field and no quote that closes it, expected both");
  EXPECT_EQ(refusal("name,bytes\n\"a\"x,1\n"),
            "f.csv:2: found text after the quote that closes a field, expected a comma; a quote within is written twice");
  EXPECT_EQ(refusal("name,bytes\na\"x,1\n"),
            "f.csv:2: found a quote within a field, expected the whole field in quotes, and the one within twice");
}

TEST(RequestCsv, Phases) {
  const auto requests = accepted("name,bytes,phase,read_phase\na,1,,\nb.{0..1},1, 7 ,8\nc,1,999999,0\n");
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[0].phase, std::nullopt);
  EXPECT_EQ(requests[0].read_phase, std::nullopt);
  EXPECT_EQ(requests[2].phase, 7U);
  EXPECT_EQ(requests[2].read_phase, 8U);
  EXPECT_EQ(requests[3].phase, 999'999U);
  EXPECT_EQ(to_csv(requests), "name,bytes,stripe_count,phase,read_phase\na,1,1,,\nb.0,1,1,7,8\nb.1,1,1,7,8\nc,1,1,999999,0\n");
  EXPECT_EQ(refusal("name,bytes,phase\na,1,0\nb,1,-1\n"),
            "f.csv:3: column phase: found '-1', expected a whole number from 0 to 999999");
  EXPECT_EQ(refusal("name,bytes,read_phase\na,1,1000000\n"),
            "f.csv:2: column read_phase: found '1000000', expected a whole number from 0 to 999999");
  EXPECT_EQ(refusal("name,bytes,phase,read_phase\na,1,3,3\n"),
            "f.csv:2: column read_phase: found '3', expected another phase than that in which the file is written");
}

TEST(RequestCsv, BadSizes) {
  for (const auto* value : {"0", "", "-1", "many", "9223372036854775808", "18446744073709551616", "8EiB", "1e9", "0x10", "0.1"}) {
    EXPECT_EQ(refusal(std::string("name,bytes\na,") + value + "\n"),
              std::string("f.csv:2: column bytes: found '") + value + "', expected a size from 1 to 2^63-1 bytes, such as 1GiB");
  }
  for (const auto* value : {"0", "1000", "4GiB", "-1", "big", "100KiB"}) {
    EXPECT_EQ(refusal(std::string("name,bytes,stripe_size\na,1,") + value + "\n"),
              std::string("f.csv:2: column stripe_size: found '") + value +
                  "', expected a multiple of 64KiB below 4GiB; empty leaves the choice to iez");
  }
}

TEST(RequestCsv, BadStriping) {
  for (const auto* value : {"0", "-2", "2001", "all", "1.5", "+4", "99999999999999999999"}) {
    EXPECT_EQ(
        refusal(std::string("name,bytes,stripe_count\na,1,") + value + "\n"),
        std::string("f.csv:2: column stripe_count: found '") + value + "', expected 1 to 2000, or -1 for all OSTs; empty is 1");
  }
  EXPECT_EQ(accepted("name,bytes,stripe_count\na,1,2000\n")[0].stripe_count, 2000);
  EXPECT_EQ(refusal("name,bytes,pool\na,1,a/b\n"),
            "f.csv:2: column pool: found 'a/b', expected 1 to 15 letters, digits, '_', '-' or '.'");
  EXPECT_EQ(refusal("name,bytes,overstripe\na,1,maybe\n"), "f.csv:2: column overstripe: found 'maybe', expected yes or no");
}

TEST(RequestCsv, BadComponents) {
  const auto with = [](std::string_view components) {
    return refusal("name,bytes,stripe_count,pool,components\na,1,,,\"" + std::string(components) + "\"\n");
  };
  EXPECT_EQ(with("4M:cuont=1 eof"),
            "f.csv:2: column components: found '4M:cuont=1 eof', expected such as \"4M:count=1 eof:count=8\"; component "
            "'4M:cuont=1': 'cuont=1': expected count=, size=, pool=, osts=, first=, mdt or overstripe; did you mean count?");
  EXPECT_EQ(with("4M 2M eof"),
            "f.csv:2: column components: found '4M 2M eof', expected such as \"4M:count=1 eof:count=8\"; component 2: extent "
            "[4194304, 2097152): ends before it starts");
  EXPECT_EQ(with("4M 8M"), "f.csv:2: column components: found '4M 8M', expected eof as the end of the last component");
  for (const std::string spec : {"1M:mdt eof", "eof:osts=1+2", "eof:first=3"}) {
    EXPECT_EQ(with(spec),
              "f.csv:2: column components: found '" + spec + "', expected no mdt, osts= or first=: the OSTs are to be chosen");
  }
  EXPECT_EQ(with("eof:overstripe"),
            "f.csv:2: column components: found 'eof:overstripe', expected no overstripe in it: use the column overstripe");
  EXPECT_EQ(with("eof:pool=a/b"),
            "f.csv:2: column components: found 'eof:pool=a/b', expected pools of 1 to 15 letters, digits, '_', '-' or '.'");
  EXPECT_EQ(
      refusal("name,bytes,stripe_count,components\na,1,4,eof\n"),
      "f.csv:2: column stripe_count: found '4', expected nothing beside components, which have their own count, size and pool");
  EXPECT_EQ(refusal("name,bytes,pool,components\na,1,p,eof\n"),
            "f.csv:2: column pool: found 'p', expected nothing beside components, which have their own count, size and pool");
  std::string many;
  for (int i = 1; i <= 64; ++i) many += std::to_string(i) + "M ";
  EXPECT_THAT(with(many + "eof"), testing::EndsWith("...', expected at most 64 components"));
}

TEST(RequestCsv, BadNames) {
  using namespace std::string_literals;
  EXPECT_EQ(refusal("name,bytes\n,1\n"), "f.csv:2: column name: found '', expected a path of 1 to 4096 bytes");
  EXPECT_EQ(refusal("name,bytes\n" + std::string(4097, 'x') + ",1\n"),
            "f.csv:2: column name: found '" + std::string(60, 'x') + "...', expected a path of 1 to 4096 bytes");
  EXPECT_EQ(refusal("name,bytes\n" + std::string(4091, 'x') + "{9..10},1\n"),
            "f.csv:2: column name: found '" + std::string(60, 'x') + "...', expected a path of 1 to 4096 bytes");
  EXPECT_EQ(refusal("name,bytes\n" + std::string(4080, 'x') + "{9..10},1\n"), "accepted");
  EXPECT_EQ(refusal("name,bytes\na\0b,1\n"s), "f.csv:2: column name: found 'a\\x00b', expected a path without a zero byte");
  EXPECT_EQ(refusal("name,bytes\na\xFF,1\n"), "f.csv:2: column name: found 'a\\xff', expected a path in UTF-8");
  EXPECT_EQ(refusal("name,bytes\na\xFF{1..3},1\n"), "f.csv:2: column name: found 'a\\xff{1..3}', expected a path in UTF-8");
  EXPECT_EQ(refusal("name,bytes\na{0..1}{0..1},1\n"),
            "f.csv:2: column name: found 'a{0..1}{0..1}', expected one range; {{ stands for a brace");
  for (const std::string range : {"{3..1}", "{0..1000000000000000000}", "{0..99999999999999999999999}"}) {
    EXPECT_EQ(
        refusal("name,bytes\n" + range + ",1\n"),
        "f.csv:2: column name: found '" + range + "', expected a range from low to high, of at most 18 digits, such as {0..63}");
  }
}

TEST(RequestCsv, NamesThatOccurTwice) {
  EXPECT_EQ(refusal("name,bytes\na,1\nb,1\n\na,2\nb,2\n"),
            "f.csv:5: column name: found 'a' a second time, expected another name: line 2 has it");
  EXPECT_EQ(refusal("name,bytes\nr{0..9},1\n\"x\ny\",1\nr7,1\n"),
            "f.csv:5: column name: found 'r7' a second time, expected another name: line 2 has it");
  EXPECT_EQ(refusal("name,bytes\na,1\na,1\na,1\n"),
            "f.csv:3: column name: found 'a' a second time, expected another name: line 2 has it");
}

TEST(RequestCsv, LimitsHoldBeforeMemoryIsTaken) {
  EXPECT_EQ(refusal("name,bytes\na{1..10000001},1\n"),
            "f.csv:2: column name: found 'a{1..10000001}', expected at most 10000000 files in all");
  EXPECT_EQ(refusal("name,bytes\na{0..999999999999999999},1\n"),
            "f.csv:2: column name: found 'a{0..999999999999999999}', expected at most 10000000 files in all");
  EXPECT_EQ(refusal("name,bytes\n" + std::string(4000, 'a') + "{1..10000000},1\n"),
            "f.csv:2: column name: found '" + std::string(60, 'a') +
                "...', expected names and components of at most 1073741824 bytes in all");
  EXPECT_EQ(refusal("name,bytes\na{1..3},1\nb,1\n", {.files = 3}),
            "f.csv:3: column name: found 'b', expected at most 3 files in all");
  EXPECT_EQ(refusal("name,bytes\na{1..3},1\n", {.files = 3}), "accepted");
  EXPECT_EQ(refusal("name,bytes\naaaa,1\nbbbb,1\n", {.text = {8}}), "accepted");
  EXPECT_EQ(refusal("name,bytes\naaaa,1\nbbbb,1\n", {.text = {7}}),
            "f.csv:3: column name: found 'bbbb', expected names and components of at most 7 bytes in all");
}

TEST(RequestCsv, FileNamesInMessagesAreSafe) {
  EXPECT_THAT(parse_requests("", "x\x1b]0;").error().message, testing::StartsWith("x\\x1b]0;: "));
}

TEST(RequestCsv, WritesOnlyWhatIsNeeded) {
  EXPECT_EQ(to_csv({}), "name,bytes,stripe_count\n");
  std::vector<Request> requests{{.name = "a", .bytes = {5}}};
  EXPECT_EQ(to_csv(requests), "name,bytes,stripe_count\na,5,1\n");
  requests.push_back(
      {.name = "x,{0..1}", .bytes = {6}, .overstripe = true, .components = {{.end = model::Extent::kEof, .stripe_count = -1}}});
  EXPECT_EQ(to_csv(requests),
            "name,bytes,stripe_count,overstripe,components\na,5,1,no,\n\"x,{{0..1}\",6,,yes,\"eof:count=-1\"\n");
}

std::string random_name(Rng& rng, std::size_t number) {
  constexpr std::string_view kPieces[] = {"a", ",", "\"", "\n", "\r", "{", "}", "{0..3}", "{{", " ", "\xC3\xA4", "/", "..", "7"};
  std::string name;
  for (std::uint64_t n = rng.below(8); n > 0; --n) name += kPieces[rng.below(std::size(kPieces))];
  return name + "#" + std::to_string(number);
}

std::optional<Bytes> random_stripe_size(Rng& rng) {
  if (rng.chance(0.5)) return std::nullopt;
  return Bytes{rng.between(1, 65535) << 16U};
}

std::string random_pool(Rng& rng) { return rng.chance(0.5) ? "" : "p" + std::to_string(rng.below(100)); }

std::int32_t random_count(Rng& rng) { return rng.chance(0.2) ? -1 : static_cast<std::int32_t>(rng.between(1, 2000)); }

TEST(RequestCsv, WhatIsWrittenIsRead) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<Request> requests(rng.below(20));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Request& request = requests[i];
      request = {.name = random_name(rng, i), .bytes = {(rng.bits() >> rng.between(1, 62)) + 1}, .overstripe = rng.chance(0.2)};
      request.bytes = std::min(request.bytes, Bytes{(std::uint64_t{1} << 63U) - 1});
      if (rng.chance(0.5)) {
        request.stripe_count = random_count(rng);
        request.stripe_size = random_stripe_size(rng);
        request.pool = random_pool(rng);
        continue;
      }
      std::uint64_t end = 0;
      for (std::uint64_t n = rng.below(4); n > 0; --n) {
        end += rng.between(1, 1000) << 16U;
        request.components.push_back({end, random_count(rng), random_stripe_size(rng), random_pool(rng)});
      }
      request.components.push_back({model::Extent::kEof, random_count(rng), random_stripe_size(rng), random_pool(rng)});
    }
    const std::string text = to_csv(requests);
    const auto read = accepted(text);
    ASSERT_EQ(read.size(), requests.size()) << text;
    for (std::size_t i = 0; i < read.size(); ++i) expect_equal(read[i], requests[i]);
    EXPECT_EQ(to_csv(read), text);
  }
}

TEST(RequestCsv, ManyLines) {
  std::string text = "name,bytes,stripe_count\n";
  for (int i = 0; i < 200'000; ++i) text += "out/f" + std::to_string(i) + ",1048576,4\n";
  const auto requests = accepted(text);
  ASSERT_EQ(requests.size(), 200'000U);
  EXPECT_EQ(requests[123'456].name, "out/f123456");
  EXPECT_EQ(refusal(text + "out/f777,1,1\n"),
            "f.csv:200002: column name: found 'out/f777' a second time, expected another name: line 779 has it");
}

}  // namespace
}  // namespace iez::config
