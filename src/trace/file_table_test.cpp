#include "trace/file_table.hpp"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "trace/segment_test_support.hpp"

namespace iez::trace {
namespace {

std::vector<std::string> names_of(FileTable& table) {
  std::vector<std::string> names;
  for (const PackedRow* row : table.sorted()) names.emplace_back(row->name());
  return names;
}

// Names of few letters and many lengths: long common fronts, names that are the front of others, bytes above 127.
std::string tricky_name(Rng& rng) {
  std::string name = rng.chance(0.5) ? "/common/front/of/many/names/" : "/";
  for (std::uint64_t i = rng.below(20); i > 0; --i) name += rng.chance(0.1) ? '\xFF' : static_cast<char>('a' + rng.below(2));
  return name;
}

TEST(FileTable, SortsAsBytesDo) {
  FileTable table;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::map<std::string, std::uint64_t> expected;
    for (std::uint64_t i = rng.below(5000); i > 0; --i) {
      const std::string name = tricky_name(rng);
      const std::uint64_t written = rng.below(100);
      expected[name] += written;
      table.add({.written = written}, name, "", 0);
    }
    std::map<std::string, std::uint64_t> found;
    std::vector<std::string> order;
    for (const PackedRow* row : table.sorted()) {
      order.emplace_back(row->name());
      found[order.back()] = row->counters.written;
    }
    EXPECT_TRUE(std::ranges::is_sorted(order));
    EXPECT_EQ(order.size(), expected.size());
    EXPECT_EQ(found, expected);
    table.clear();
    EXPECT_EQ(table.size(), 0U);
    EXPECT_TRUE(table.sorted().empty());
  }
}

TEST(FileTable, KeepsTheGreatestNewName) {
  FileTable table;
  table.add({.opens = 1}, "/a", "/b", 0);
  table.add({.opens = 1}, "/a", "", 0);
  table.add({.opens = 1}, "/a", std::string(3000, '/') + "c", 0);
  EXPECT_EQ(table.sorted().front()->renamed(), "/b");
  table.add({.opens = 1}, "/a", "/long" + std::string(3000, 'c'), 0);
  table.add({.opens = 1}, "/a", "/c", 0);
  ASSERT_EQ(table.size(), 1U);
  EXPECT_EQ(table.sorted().front()->name(), "/a");
  EXPECT_EQ(table.sorted().front()->renamed(), "/long" + std::string(3000, 'c'));
  EXPECT_EQ(table.sorted().front()->counters.opens, 5U);
}

TEST(FileTable, CountsAProcessOnceByTheMostItDid) {
  const FileCounters opened{.opens = 1};
  const FileCounters read{.read = 1, .rank = 1, .ranks = 1};
  const FileCounters written{.written = 1, .rank = 1, .ranks = 1};
  const auto ranks = [](std::initializer_list<std::pair<FileCounters, std::uint32_t>> rows) {
    FileTable table;
    for (const auto& [counters, source] : rows) table.add(counters, "/a", "", source);
    return table.sorted().front()->counters.ranks;
  };
  EXPECT_EQ(ranks({{written, 1}, {written, 1}}), 1U);
  EXPECT_EQ(ranks({{written, 1}, {written, 2}}), 2U);
  EXPECT_EQ(ranks({{read, 1}, {written, 1}, {read, 1}, {written, 1}}), 1U);
  EXPECT_EQ(ranks({{opened, 1}, {read, 1}, {opened, 1}, {read, 1}}), 1U);
  EXPECT_EQ(ranks({{written, 1}, {read, 2}, {written, 2}, {read, 2}, {written, 2}}), 2U);
  EXPECT_EQ(ranks({{written, 0}, {written, 0}}), 2U) << "of 0 nothing is known";
}

TEST(FileTable, CountsItsMemory) {
  FileTable table;
  const std::size_t empty = table.memory();
  for (int i = 0; i < 1000; ++i) table.add({}, "/file" + std::to_string(i), "", 0);
  EXPECT_GE(table.memory() - empty, 1000 * (sizeof(PackedRow) + 8));
  for (int i = 0; i < 1000; ++i) table.add({}, "/file" + std::to_string(i), "", 0);
  EXPECT_EQ(names_of(table).size(), 1000U);
}

}  // namespace
}  // namespace iez::trace
