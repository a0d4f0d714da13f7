#include "rank_log/log_format.hpp"

#include <sys/stat.h>

#include <cstring>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "rank_log/index_cursor.hpp"
#include "rank_log/log_report.hpp"
#include "rank_log/log_test_support.hpp"

namespace iez::rank_log {
namespace {

using testing::HasSubstr;

std::uint64_t hash_of(std::string_view bytes) {
  ByteHash hash;
  hash.add(bytes.data(), bytes.size());
  return hash.value();
}

TEST(ByteHash, DoesNotDependOnHowBytesAreCut) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const std::string bytes = random_bytes(rng, rng.below(300));
    ByteHash hash;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = rng.between(0, std::min<std::size_t>(bytes.size() - at, 70));
      hash.add(bytes.data() + at, piece);
      at += piece;
    }
    EXPECT_EQ(hash.value(), hash_of(bytes));
  }
}

TEST(ByteHash, TellsSmallChangesApart) {
  Rng rng(7);
  const std::string bytes = random_bytes(rng, 100);
  std::set<std::uint64_t> seen{hash_of(bytes)};
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    for (std::size_t j = i; j < bytes.size() * 8; j += 64) {  // pairs of the same bit of neighbouring words, too
      std::string changed = bytes;
      flip(changed, i);
      if (j != i) flip(changed, j);
      EXPECT_TRUE(seen.insert(hash_of(changed)).second) << i << ' ' << j;
    }
  }
  for (std::size_t zeros = 0; zeros < 100; ++zeros) EXPECT_TRUE(seen.insert(hash_of(std::string(zeros, '\0'))).second) << zeros;
}

// The format is on disks: these values never change.
TEST(LogFormat, ChecksumsAreFixed) {
  EXPECT_EQ(hash_of(""), 0x5E0D8159267B4B06U);
  EXPECT_EQ(hash_of("abc"), 0xB019DF8019802156U);
  const Record record{
      .kind = kKindWrite, .flags = 0, .sequence = 1, .offset = 2, .block = 3, .stride = 4, .count = 5, .log_offset = 6};
  EXPECT_EQ(record_checksum(record, 7, 8), 0x9AD9F167U);
  EXPECT_NE(record_checksum(record, 7, 9), record_checksum(record, 7, 8)) << "in another place";
  EXPECT_NE(record_checksum(record, 8, 8), record_checksum(record, 7, 8)) << "of another rank";
}

TEST(LogFormat, TheMagicIsText) {
  char text[9] = {};
  std::memcpy(text, &kMagic, 8);
  EXPECT_STREQ(text, "IEZRLOG1");
}

TEST(LogFormat, Names) {
  EXPECT_STREQ(index_name(0).text, "0.index");
  EXPECT_STREQ(data_name(kMaxRank).text, "16777215.data");
  std::uint32_t rank = 99;
  EXPECT_TRUE(parse_rank("16777215.index", ".index", rank));
  EXPECT_EQ(rank, kMaxRank);
  for (const char* const name : {"16777216.index", "99999999999999999999.index", "07.index", ".index", "7", "7.indexx",
                                 "-1.index", "7.data", " 7.index", "7.index.tmp", ""}) {
    EXPECT_FALSE(parse_rank(name, ".index", rank)) << name;
  }
}

TEST(LogReport, FileAndFolder) {
  EXPECT_EQ(log_paths("a/out").folder, "a/out.iezlog");
  EXPECT_EQ(log_paths("a/out.iezlog//").file, "a/out");
  EXPECT_EQ(log_paths("a/out.iezlog").folder, "a/out.iezlog");
  EXPECT_EQ(log_paths("a/.iezlog").folder, "a/.iezlog.iezlog") << "a file of that very name";
  EXPECT_EQ(log_paths(".iezlog").folder, ".iezlog.iezlog");
}

class HeaderCase : public testing::Test {
 protected:
  void SetUp() override {
    LogWriter writer;
    ASSERT_EQ(writer.open(folder_.log().c_str(), 3, {.ranks = 8, .file = {.inode = 77, .born_ns = 99}, .now_ns = 5}), 0);
    write_ok(writer, 1, {{.offset = 0, .block = 2}}, "ab");
    bytes_ = content(folder_.index(3));
  }

  RankCounts counts() {
    Descriptor fd;
    EXPECT_EQ(open_folder(folder_.log().c_str(), fd), 0);
    IndexCursor cursor;
    EXPECT_FALSE(cursor.open(fd.get(), 3));
    Record record{};
    std::uint64_t number = 0;
    bool more = true;
    while (more) EXPECT_FALSE(cursor.next(record, number, more));
    return cursor.counts();
  }

  template <typename Change>
  RankCounts with(Change change, bool sum = true) {
    Header header{};
    std::memcpy(&header, bytes_.data(), sizeof(header));
    change(header);
    if (sum) header.checksum = header_checksum(header);
    std::string changed = bytes_;
    std::memcpy(changed.data(), &header, sizeof(header));
    put(folder_.index(3), changed);
    return counts();
  }

  LogFolder folder_;
  std::string bytes_;
};

TEST_F(HeaderCase, AsWritten) {
  const RankCounts found = counts();
  EXPECT_TRUE(found.sound());
  EXPECT_EQ(found.header.ranks, 8U);
  EXPECT_EQ(found.header.file_inode, 77U);
  EXPECT_EQ(found.header.file_born_ns, 99);
  EXPECT_EQ(found.header.created_ns, 5);
  EXPECT_EQ(found.writes, 1U);
  EXPECT_EQ(damage_of(found), "");
  EXPECT_EQ(bytes_.size(), 128U);
}

TEST_F(HeaderCase, EveryFaultIsTold) {
  EXPECT_THAT(damage_of(with([](Header& header) { header.magic ^= 1U; })), HasSubstr("3.index: begins with 0x31474f4c525a4548"));
  EXPECT_THAT(damage_of(with([](Header& header) { header.byte_order = kForeignByteOrder; })), HasSubstr("big-endian"));
  EXPECT_THAT(damage_of(with([](Header& header) { header.byte_order = 0; })), HasSubstr("byte-order mark"));
  EXPECT_THAT(damage_of(with([](Header& header) { header.version = 2; })),
              HasSubstr("is of format version 2, this iez knows version 1"));
  EXPECT_THAT(damage_of(with([](Header& header) { header.record_size = 32; })),
              HasSubstr("records of 32 bytes, expected 64 and 64"));
  EXPECT_THAT(damage_of(with([](Header& header) { header.ranks = 9; }, false)), HasSubstr("header checksum"));
  EXPECT_THAT(damage_of(with([](Header& header) { header.rank = 4; })),
              HasSubstr("is the index of rank 4: give it the name 4.index"));
  EXPECT_EQ(damage_of(with([](Header& header) { header.minor_version = 9; })), "") << "a later one adds, and changes nothing";
}

TEST_F(HeaderCase, ShortOnesAreUnfinished) {
  for (const std::size_t size : {0U, 1U, 63U}) {
    put(folder_.index(3), bytes_.substr(0, size));
    EXPECT_EQ(counts().header_fault, HeaderFault::unfinished) << size;
    EXPECT_TRUE(counts().sound());
  }
  put(folder_.index(3), std::string(64, '\0'));
  EXPECT_EQ(counts().header_fault, HeaderFault::unfinished);
  put(folder_.index(3), std::string(128, '\0'));
  EXPECT_EQ(counts().header_fault, HeaderFault::magic) << "there was something";
}

TEST_F(HeaderCase, NoFileAtAll) {
  std::filesystem::remove(folder_.index(3));
  ASSERT_EQ(::mkfifo(folder_.index(3).c_str(), 0666), 0);
  EXPECT_EQ(counts().header_fault, HeaderFault::not_file) << "and it did not wait for a writer";
  EXPECT_THAT(damage_of(counts()), HasSubstr("is no regular file"));
}

}  // namespace
}  // namespace iez::rank_log
