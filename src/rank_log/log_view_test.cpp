#include "rank_log/log_view.hpp"

#include <cerrno>

#include <gtest/gtest.h>

#include "rank_log/log_test_support.hpp"

namespace iez::rank_log {
namespace {

TEST(LogView, OverTheFileAndBehindIt) {
  const LogFolder folder;
  put(folder.file(), "0123456789");
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
  write_ok(writer, 1, {{.offset = 2, .block = 2, .stride = 10, .count = 2}}, "abcd");
  Descriptor fd;
  ASSERT_EQ(open_folder(folder.log().c_str(), fd), 0);
  const Descriptor file(::open(folder.file().c_str(), O_RDONLY | O_CLOEXEC));
  LogView view(fd.get(), file.get());
  ASSERT_FALSE(view.open());
  EXPECT_EQ(view.size(), 14U);
  EXPECT_EQ(view.survey().writes, 1U);
  char buffer[32];
  std::size_t done = 0;
  ASSERT_FALSE(view.read(1, buffer, sizeof(buffer), done));
  EXPECT_EQ(std::string(buffer, done), std::string("1ab456789\0\0cd", 13));
  ASSERT_FALSE(view.read(14, buffer, sizeof(buffer), done));
  EXPECT_EQ(done, 0U);
  ASSERT_FALSE(view.read(kMaxOffset, buffer, sizeof(buffer), done));
  EXPECT_EQ(done, 0U);

  write_ok(writer, 2, {{.offset = 0, .block = 1}}, "X");
  ASSERT_FALSE(view.read(0, buffer, 1, done));
  EXPECT_EQ(buffer[0], '0') << "what is seen is what there was when it was opened";
}

TEST(LogView, WithoutAFile) {
  const LogFolder folder;
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
  write_ok(writer, 1, {{.offset = 3, .block = 1}}, "x");
  EXPECT_EQ(folder.read_back(), std::string("\0\0\0x", 4));
}

TEST(LogView, MoreRecordsThanMemory) {
  const LogFolder folder;
  LogWriter writer;
  ASSERT_EQ(writer.open(folder.log().c_str(), 0, {}), 0);
  for (std::uint64_t i = 0; i < 40; ++i) write_ok(writer, i, {{.offset = i * i, .block = 1}}, "x");
  Descriptor fd;
  ASSERT_EQ(open_folder(folder.log().c_str(), fd), 0);
  LogView view(fd.get(), -1);
  EXPECT_EQ(view.open(20 * sizeof(Entry)).error, ENOMEM);
  EXPECT_FALSE(view.open(40 * sizeof(Entry)));
}

}  // namespace
}  // namespace iez::rank_log
