#include "lab/object_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/rng.hpp"

namespace iez::lab {
namespace {

constexpr std::uint64_t kBlock = ObjectStore::kBlock;

class ObjectStoreTest : public testing::Test {
 protected:
  ObjectStoreTest() {
    std::string name = (std::filesystem::temp_directory_path() / "iez-store-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  ObjectStore open(Bytes capacity = Bytes::mib(1)) const {
    auto store = ObjectStore::open(dir_ + "/ost0000", capacity);
    EXPECT_TRUE(store.has_value());
    return *std::move(store);
  }

  std::string dir_;
};

std::vector<std::byte> bytes(std::string_view text) {
  std::vector<std::byte> result;
  result.reserve(text.size());
  for (const char c : text) result.push_back(static_cast<std::byte>(c));
  return result;
}

std::string text(ObjectStore& store, std::uint64_t object, std::uint64_t offset, std::uint64_t size) {
  std::vector<std::byte> data;
  EXPECT_EQ(store.read(object, offset, size, data), 0);
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

TEST_F(ObjectStoreTest, WritesReadsAndForgets) {
  ObjectStore store = open();
  EXPECT_EQ(store.state(5).modify_ns, 0);
  EXPECT_EQ(text(store, 5, 0, 10), "");
  EXPECT_EQ(store.write(5, 3, bytes("abc")), 0);
  EXPECT_EQ(text(store, 5, 0, 100), std::string("\0\0\0abc", 6));
  EXPECT_EQ(text(store, 5, 4, 1), "b");
  EXPECT_EQ(text(store, 5, 6, 1), "");
  EXPECT_EQ(store.state(5).size, 6U);
  EXPECT_EQ(store.state(5).blocks, 8U);
  EXPECT_GT(store.state(5).modify_ns, 0);
  EXPECT_EQ(store.objects(), 1U);
  EXPECT_EQ(store.used().count, kBlock);
  EXPECT_EQ(store.destroy(5), 0);
  EXPECT_EQ(store.destroy(5), 0);
  EXPECT_EQ(store.objects(), 0U);
  EXPECT_EQ(store.used().count, 0U);
  EXPECT_EQ(text(store, 5, 0, 10), "");
}

TEST_F(ObjectStoreTest, PunchSetsTheSizeAndGivesSpaceBack) {
  ObjectStore store = open();
  ASSERT_EQ(store.write(1, 0, std::vector<std::byte>(3 * kBlock)), 0);
  EXPECT_EQ(store.punch(1, kBlock + 1), 0);
  EXPECT_EQ(store.state(1).size, kBlock + 1);
  EXPECT_EQ(store.used().count, 2 * kBlock);
  EXPECT_EQ(store.punch(1, 1'000'000'000), 0);  // a hole takes none
  EXPECT_EQ(store.state(1).size, 1'000'000'000U);
  EXPECT_EQ(store.used().count, 2 * kBlock);
  EXPECT_EQ(store.punch(2, 0), 0);
  EXPECT_EQ(store.objects(), 1U);
  EXPECT_EQ(store.punch(2, 10), 0);
  EXPECT_EQ(text(store, 2, 0, 100), std::string(10, '\0'));
  EXPECT_EQ(store.punch(1, ~std::uint64_t{0}), EFBIG);
}

TEST_F(ObjectStoreTest, IsFullToTheBlockAndStoresNothingHalf) {
  ObjectStore store = open(Bytes{10 * kBlock});
  ASSERT_EQ(store.write(1, 0, std::vector<std::byte>(8 * kBlock)), 0);
  EXPECT_EQ(store.write(2, 0, std::vector<std::byte>(2 * kBlock + 1)), ENOSPC);
  EXPECT_EQ(store.objects(), 1U);
  EXPECT_EQ(store.used().count, 8 * kBlock);
  EXPECT_EQ(store.write(2, 0, std::vector<std::byte>(2 * kBlock)), 0);
  EXPECT_EQ(store.free().count, 0U);
  EXPECT_EQ(store.write(1, kBlock, bytes("what is there can be written over")), 0);
  EXPECT_EQ(store.write(1, 8 * kBlock - 1, bytes("ab")), ENOSPC);  // one byte too far
  EXPECT_EQ(store.state(1).size, 8 * kBlock);
  EXPECT_EQ(store.destroy(2), 0);
  EXPECT_EQ(store.write(1, 8 * kBlock - 1, bytes("ab")), 0);
}

TEST_F(ObjectStoreTest, RefusesWhatNoFileCanHave) {
  ObjectStore store = open();
  EXPECT_EQ(store.write(1, ~std::uint64_t{0}, bytes("a")), EFBIG);
  EXPECT_EQ(store.write(1, (std::uint64_t{1} << 63U) - 4, bytes("abcdefgh")), EFBIG);
  EXPECT_EQ(store.objects(), 0U);
}

TEST_F(ObjectStoreTest, FindsEverythingAgain) {
  std::map<std::uint64_t, ObjectState> before;
  Bytes used;
  {
    ObjectStore store = open();
    for (std::uint64_t object = 1; object <= 200; ++object) {  // more than it keeps open
      ASSERT_EQ(store.write(object, object * 10, bytes("data")), 0);
    }
    ASSERT_EQ(store.write(7, 20 * kBlock, bytes("far")), 0);
    ASSERT_EQ(store.destroy(9), 0);
    for (std::uint64_t object = 1; object <= 200; ++object) before[object] = store.state(object);
    used = store.used();
  }
  std::ofstream(dir_ + "/ost0000/d3/README") << "not an object";
  std::ofstream(dir_ + "/ost0000/d3/4") << "4 belongs to d4";
  ObjectStore store = open();
  EXPECT_EQ(store.objects(), 199U);
  EXPECT_EQ(store.used(), used);
  for (const auto& [object, state] : before) {
    EXPECT_EQ(store.state(object).size, state.size) << object;
    EXPECT_EQ(store.state(object).blocks, state.blocks) << object;
    EXPECT_EQ(store.state(object).modify_ns, state.modify_ns) << object;
  }
  EXPECT_EQ(text(store, 7, 20 * kBlock, 3), "far");
}

TEST_F(ObjectStoreTest, SaysWhereItCannotWork) {
  std::ofstream(dir_ + "/ost0000") << "a file";
  const auto store = ObjectStore::open(dir_ + "/ost0000", Bytes::mib(1));
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("ost0000"), std::string::npos);
}

TEST_F(ObjectStoreTest, AgreesWithAModelForRandomOperations) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::filesystem::remove_all(dir_ + "/ost0000");
    Rng rng(seed);
    constexpr std::uint64_t kCapacity = 20 * kBlock;
    ObjectStore store = open(Bytes{kCapacity});
    struct Object {
      std::string data;
      std::vector<bool> blocks = std::vector<bool>(64);
    };
    std::map<std::uint64_t, Object> model;
    const auto used = [&model] {
      std::uint64_t sum = 0;
      for (const auto& [number, object] : model)
        sum += kBlock * static_cast<std::uint64_t>(std::ranges::count(object.blocks, true));
      return sum;
    };
    for (int step = 0; step < 150; ++step) {
      const std::uint64_t number = rng.below(4);
      const std::uint64_t offset = rng.below(15 * kBlock);
      const std::uint64_t size = rng.between(1, 4 * kBlock);
      switch (rng.below(6)) {
        case 0:
          ASSERT_EQ(store.destroy(number), 0);
          model.erase(number);
          break;
        case 1: {
          ASSERT_EQ(store.punch(number, offset), 0);
          if (offset > 0 || model.contains(number)) {
            Object& object = model[number];
            object.data.resize(offset, '\0');
            for (std::uint64_t block = (offset + kBlock - 1) / kBlock; block < 64; ++block) object.blocks[block] = false;
          }
          break;
        }
        case 2:
          store = open(Bytes{kCapacity});
          break;
        default: {
          Object after = model.contains(number) ? model[number] : Object{};
          const std::string data(size, static_cast<char>('a' + rng.below(26)));
          if (after.data.size() < offset + size) after.data.resize(offset + size, '\0');
          after.data.replace(offset, size, data);
          std::uint64_t growth = 0;
          for (std::uint64_t block = offset / kBlock; block <= (offset + size - 1) / kBlock; ++block) {
            growth += after.blocks[block] ? 0 : kBlock;
            after.blocks[block] = true;
          }
          const int expected = used() + growth > kCapacity ? ENOSPC : 0;
          ASSERT_EQ(store.write(number, offset, bytes(data)), expected);
          if (expected == 0) model[number] = after;
        }
      }
      ASSERT_EQ(store.used().count, used());
      const std::string whole = model.contains(number) ? model[number].data : "";
      ASSERT_EQ(store.state(number).size, whole.size());
      ASSERT_EQ(text(store, number, offset, size), offset < whole.size() ? whole.substr(offset, size) : "");
    }
  }
}

}  // namespace
}  // namespace iez::lab
