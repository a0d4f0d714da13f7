#include "telemetry/sample.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "telemetry/cbor.hpp"

namespace iez::telemetry {
namespace {

Sample small_sample() {
  Sample sample{.agent = "oss1",
                .roles = {.oss = true, .mds = true},
                .instance = 0xfedcba9876543210,
                .sequence = 7,
                .sent = WallTime{Duration{1'794'728'864'962'408'475}},
                .interval = std::chrono::seconds{60},
                .dropped = 3,
                .skipped = 2,
                .last = true,
                .host = {.cpu = 0.25, .memory = 0.1, .load_1min = 3.5, .cores = 64}};
  FileSystemSample fs{.name = "scratch", .version = "2.15.4", .servers = {{.name = "oss1", .load = {.cpu = 0.25}}}};
  fs.servers.push_back({.name = "10.0.0.2@tcp", .load = {}});
  fs.osts.push_back({.index = OstIndex{0},
                     .server = 0,
                     .total = Bytes::gib(100),
                     .free = Bytes::gib(60),
                     .available = Bytes::gib(50),
                     .state = {.active = false, .degraded = true, .read_only = true, .no_create = true},
                     .seen_by = lustre::SpaceSource::obdfilter,
                     .read_bytes = 0,
                     .write_bytes = ~std::uint64_t{0},
                     .jobs = 10'000});
  fs.osts.push_back({.index = OstIndex{9}, .server = 1, .total = Bytes{5}, .seen_by = lustre::SpaceSource::osp});
  fs.mdts = {0, 2};
  sample.file_systems.push_back(std::move(fs));
  return sample;
}

TEST(Sample, RoundTrip) {
  const Sample sample = small_sample();
  const auto back = decode(encode(sample));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample);
  const Sample least{.agent = "a", .sequence = 1};
  EXPECT_EQ(decode(encode(least)).value(), least);
}

TEST(Sample, KeepsItsBytes) {
  // {0: 1, 1: "a", 2: 1, 3: 5, 4: 1, 5: 0, 6: 1000000000, 11: []}: agents of this version are in the field.
  const Sample sample{.agent = "a", .roles = {.oss = true}, .instance = 5, .sequence = 1, .interval = std::chrono::seconds{1}};
  constexpr unsigned char kBytes[] = {0xa8, 0x00, 0x01, 0x01, 0x61, 'a',  0x02, 0x01, 0x03, 0x05, 0x04,
                                      0x01, 0x05, 0x00, 0x06, 0x1a, 0x3b, 0x9a, 0xca, 0x00, 0x0b, 0x80};
  const auto bytes = encode(sample);
  ASSERT_EQ(bytes.size(), sizeof kBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(static_cast<unsigned>(bytes[i]), kBytes[i]) << i;
}

TEST(Sample, ALaterVersionAddsKeys) {
  CborWriter out;
  out.map(7);
  out.number(0), out.number(kSampleVersion);
  out.number(1), out.text("new");
  out.number(3), out.number(1);
  out.number(4), out.number(2);
  out.number(99), out.map(1), out.number(0), out.array(2), out.text("x"), out.real(0.5);
  out.number(12), out.boolean(true);
  out.number(1'000'000), out.integer(-5);
  const auto back = decode(out.take());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, (Sample{.agent = "new", .instance = 1, .sequence = 2}));
}

TEST(Sample, AnotherMajorVersionIsNamed) {
  CborWriter out;
  out.map(4);
  out.number(0), out.number(2);
  out.number(1), out.text("new");
  out.number(3), out.number(1);
  out.number(4), out.number(2);
  const auto back = decode(out.take());
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Errc::unsupported);
  EXPECT_EQ(back.error().message, "a sample of version 2, and this program reads version 1");
}

TEST(Sample, CutAnywhereItIsRefused) {
  const auto bytes = encode(small_sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode(std::span(bytes).first(size))) << size;
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(longer));
}

TEST(Sample, DamagedItNeverHarms) {
  constexpr std::uint64_t kSeed = 20261116;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  const auto bytes = encode(small_sample());
  for (int round = 0; round < 20'000; ++round) {
    auto damaged = bytes;
    const std::uint64_t changes = rng.between(1, 4);
    for (std::uint64_t i = 0; i < changes; ++i) damaged[rng.below(damaged.size())] = static_cast<std::byte>(rng.bits());
    if (const auto back = decode(damaged)) {
      EXPECT_EQ(decode(encode(*back)).value(), *back);
    }
  }
}

TEST(Sample, Limits) {
  Sample sample = small_sample();
  const auto code = [&sample](const Limits& limits) { return decode(encode(sample), limits).error().code; };
  EXPECT_EQ(code({.bytes = 10}), Errc::limit);
  EXPECT_EQ(code({.file_systems = 0}), Errc::limit);
  EXPECT_EQ(code({.osts = 1}), Errc::limit);
  EXPECT_EQ(code({.servers = 1}), Errc::limit);
  EXPECT_EQ(code({.mdts = 1}), Errc::limit);
  EXPECT_EQ(code({.name = 3}), Errc::parse);
}

TEST(Sample, WhatMakesNoSenseIsRefused) {
  const auto refused = [](auto change) {
    Sample sample = small_sample();
    change(sample);
    return !decode(encode(sample));
  };
  EXPECT_TRUE(refused([](Sample& s) { s.agent = ""; }));
  EXPECT_TRUE(refused([](Sample& s) { s.agent = "a\x1b[2J"; }));
  EXPECT_TRUE(refused([](Sample& s) { s.sequence = 0; }));
  EXPECT_TRUE(refused([](Sample& s) { s.interval = Duration{-1}; }));
  EXPECT_TRUE(refused([](Sample& s) { s.host.cpu = 1.5; }));
  EXPECT_TRUE(refused([](Sample& s) { s.file_systems[0].osts[1].server = 2; }));
  EXPECT_TRUE(refused([](Sample& s) { s.file_systems[0].osts[1].index = OstIndex{0}; }));
  EXPECT_TRUE(refused([](Sample& s) { s.file_systems[0].osts[0].free = Bytes::gib(101); }));
  EXPECT_TRUE(refused([](Sample& s) { s.file_systems[0].osts[0].total = Bytes{~std::uint64_t{0}}; }));
  EXPECT_TRUE(refused([](Sample& s) { s.file_systems[0].mdts = {2, 2}; }));
  EXPECT_TRUE(refused([](Sample& s) { s.file_systems.push_back(s.file_systems[0]); }));
}

TEST(Request, RoundTripAndRefusals) {
  const RateRequest request{.every = std::chrono::seconds{1}, .lasting = std::chrono::seconds{15}, .names = {"oss1", "oss2"}};
  EXPECT_EQ(decode_request(encode(request)).value(), request);
  EXPECT_FALSE(decode_request(encode(RateRequest{.every = Duration{-1}})));
  EXPECT_FALSE(decode_request({}));
  const auto bytes = encode(request);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_request(std::span(bytes).first(size))) << size;
}

TEST(Roles, Words) {
  EXPECT_EQ(to_string(Roles{}), "none");
  EXPECT_EQ(to_string(Roles{.oss = true, .client = true}), "oss+client");
  EXPECT_EQ(ost_name("scratch", OstIndex{10}), "scratch-OST000a");
}

}  // namespace
}  // namespace iez::telemetry
