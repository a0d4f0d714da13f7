#include "collective/hints.hpp"

#include <map>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace iez::collective {
namespace {

static_assert(std::is_trivially_copyable_v<Hints>);

std::map<std::string, std::string> in_force(const Hints& hints) {
  std::map<std::string, std::string> all;
  hints.each([&](const char* key, const char* value) { EXPECT_TRUE(all.emplace(key, value).second) << key; });
  return all;
}

Hints with(std::string_view key, std::string_view value) {
  Hints hints;
  EXPECT_TRUE(hints.take(key, value)) << key;
  return hints;
}

TEST(Hints, AllSixOfTheSource) {
  EXPECT_EQ(with("directIO", "enable"), (Hints{.direct_writes = true, .direct_reads = true}));
  EXPECT_EQ(with("CO", "4"), (Hints{.clients_per_ost = 4}));
  EXPECT_EQ(with("ds_in_coll", "enable"), (Hints{.fill_holes = Switch::enable}));
  EXPECT_EQ(with("ds_in_coll", "disable"), (Hints{.fill_holes = Switch::disable}));
  EXPECT_EQ(with("big_req_size", "1048576"), (Hints{.big_request = 1 << 20}));
  EXPECT_EQ(with("same_io_size", "yes"), (Hints{.same_io_size = true}));
  EXPECT_EQ(with("contiguous_data", "yes"), (Hints{.contiguous_data = true}));
}

TEST(Hints, RomiosWords) {
  EXPECT_EQ(with("direct_read", "true"), (Hints{.direct_reads = true}));
  EXPECT_EQ(with("direct_write", "TRUE"), (Hints{.direct_writes = true}));
  EXPECT_EQ(with("romio_lustre_co_ratio", "2"), with("CO", "2"));
  EXPECT_EQ(with("romio_lustre_coll_threshold", "65536"), with("big_req_size", "64k"));
  EXPECT_EQ(with("romio_lustre_ds_in_coll", "ENABLE"), with("ds_in_coll", "enable"));
  EXPECT_EQ(with("romio_cb_write", "disable"), (Hints{.collect_writes = Switch::disable}));
  EXPECT_EQ(with("romio_cb_read", "enable"), (Hints{.collect_reads = Switch::enable}));
  EXPECT_EQ(with("romio_cb_read", "automatic"), Hints{});
  EXPECT_EQ(with("collective_buffering", "false"), (Hints{.collect_writes = Switch::disable, .collect_reads = Switch::disable}));
  EXPECT_EQ(with("cb_nodes", "12"), (Hints{.aggregators = 12}));
  EXPECT_EQ(with("cb_buffer_size", "33554432"), (Hints{.buffer_bytes = 32 << 20}));
  EXPECT_EQ(with("striping_unit", "4MiB"), (Hints{.stripe_size = 4 << 20}));
  EXPECT_EQ(with("striping_factor", "16"), (Hints{.stripes = 16}));
  EXPECT_EQ(with("start_iodevice", "3"), (Hints{.first_ost = 3}));
}

TEST(Hints, Modes) {
  EXPECT_EQ(with("iez_mode", "collective").mode, Mode::collective);
  EXPECT_EQ(with("iez_mode", "independent").mode, Mode::independent);
  EXPECT_EQ(with("iez_mode", " Log ").mode, Mode::log);
  EXPECT_EQ(with("iez_mode", "choose").mode, Mode::choose);
  EXPECT_EQ(with("iez_mode", "off").mode, Mode::off);
  Hints hints = with("iez_mode", "off");
  hints.take("iez_mode", "auto");
  EXPECT_EQ(hints.mode, Mode::automatic);
}

TEST(Hints, TheLastOneCounts) {
  Hints hints = with("CO", "4");
  hints.take("romio_lustre_co_ratio", "2");
  EXPECT_EQ(hints.clients_per_ost, 2U);
}

TEST(Hints, UnknownKeysAreNotOurs) {
  Hints hints;
  EXPECT_FALSE(hints.take("access_style", "write_once"));
  EXPECT_FALSE(hints.take("", ""));
  EXPECT_FALSE(hints.take("co", "3"));
  EXPECT_EQ(hints, Hints{});
}

TEST(Hints, BadValuesAreCountedAndChangeNothing) {
  const std::pair<const char*, const char*> bad[] = {
      {"CO", "0"},
      {"CO", "-1"},
      {"CO",
       "4 "
       "x"},
      {"CO", ""},
      {"CO", "4294967296"},
      {"CO", "two"},
      {"directIO", "maybe"},
      {"ds_in_coll", "2"},
      {"big_req_size", "-5"},
      {"big_req_size", "1X"},
      {"big_req_size", "9223372036854775807k"},
      {"big_req_size", "99999999999999999999"},
      {"same_io_size", "automatic"},
      {"cb_buffer_size", "0"},
      {"cb_nodes", "1.5"},
      {"striping_unit", "M"},
      {"start_iodevice", "-2"},
      {"iez_mode", "fast"},
      {"iez_flatten", "never"},
      {"iez_osts", "-1"},
      {"iez_switch_every", "often"},
      {"romio_cb_write", "ENABLED"},
      {"cb_nodes", "*:1"},
  };
  Hints hints = with("CO", "3");
  Hints expected = hints;
  for (const auto& [key, value] : bad) {
    EXPECT_TRUE(hints.take(key, value));
    ++expected.bad_values;
    EXPECT_EQ(hints, expected) << key << " = " << value;
  }
}

TEST(Hints, ReportsWhatIsInForce) {
  const std::map<std::string, std::string> standard{
      {"iez_mode", "auto"},
      {"directIO", "disable"},
      {"CO", "1"},
      {"ds_in_coll", "automatic"},
      {"big_req_size", "0"},
      {"same_io_size", "no"},
      {"contiguous_data", "no"},
      {"direct_read", "false"},
      {"direct_write", "false"},
      {"romio_lustre_co_ratio", "1"},
      {"romio_lustre_coll_threshold", "0"},
      {"romio_lustre_ds_in_coll", "automatic"},
      {"romio_cb_read", "automatic"},
      {"romio_cb_write", "automatic"},
      {"cb_buffer_size", "16777216"},
      {"iez_flatten", "close"},
  };
  EXPECT_EQ(in_force(Hints{}), standard);

  Hints hints = with("CO", "4");
  hints.take("direct_write", "true");  // reads not: the word for both has no value
  hints.take("collective_buffering", "true");
  hints.take("cb_nodes", "8");
  hints.take("big_req_size", "9223372036854775807");
  hints.take("start_iodevice", "0");
  auto expected = standard;
  expected["CO"] = expected["romio_lustre_co_ratio"] = "4";
  expected["direct_write"] = "true";
  expected.erase("directIO");
  expected["collective_buffering"] = "true";
  expected["romio_cb_write"] = expected["romio_cb_read"] = "enable";
  expected["cb_nodes"] = "8";
  expected["big_req_size"] = expected["romio_lustre_coll_threshold"] = "9223372036854775807";
  expected["start_iodevice"] = "0";
  EXPECT_EQ(in_force(hints), expected);
}

// What is reported can be given: a program that copies the hints of one file to the next one changes nothing.
TEST(Hints, WhatIsReportedCanBeTaken) {
  Hints hints{.mode = Mode::log,
              .collect_writes = Switch::enable,
              .collect_reads = Switch::disable,
              .fill_holes = Switch::enable,
              .direct_writes = true,
              .same_io_size = true,
              .contiguous_data = true,
              .flatten_later = true,
              .clients_per_ost = 7,
              .aggregators = 3,
              .big_request = 77,
              .buffer_bytes = 1234567,
              .stripe_size = 65536,
              .stripes = 9,
              .first_ost = 2,
              .osts = 12};
  Hints copy;
  hints.each([&](const char* key, const char* value) { EXPECT_TRUE(copy.take(key, value)) << key; });
  EXPECT_EQ(copy, hints);
}

}  // namespace
}  // namespace iez::collective
