#include "workload/options.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::workload {
namespace {

using ::testing::HasSubstr;

Options everything() {
  return {.pattern = {.kind = Kind::hacc,
                      .interface = Interface::mpiio,
                      .file = "a=b c\n",
                      .ranks = 7,
                      .file_per_process = true,
                      .random_offsets = true,
                      .reorder = true,
                      .block = {12},
                      .transfer = {6},
                      .segments = 3,
                      .particles = 5,
                      .header = {9},
                      .arrays = 12,
                      .blocks = 13,
                      .cells = 14,
                      .guard = 15,
                      .files = 16,
                      .grid = {17, 18, 19},
                      .law = SizeLaw::lognormal,
                      .spread = 0.1,
                      .seed = 11},
          .write = false,
          .keep = true,
          .sync = true,
          .verify = true,
          .drop_cache = true,
          .collective = true,
          .repetitions = 4,
          .multiple = true,
          .in_place = true,
          .meet = "m=1",
          .parties = 3,
          .json = true};
}

TEST(WorkloadOptions, ComeBackFromWords) {
  const auto back = options_of(to_words(everything()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, everything());
}

TEST(WorkloadOptions, BadWordsAreNamed) {
  const auto message = [](const std::string& word) {
    auto words = to_words(everything());
    words.push_back(word);
    const auto read = options_of(words);
    return read ? std::string("fine") : read.error().message;
  };
  EXPECT_THAT(message("nothing"), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(message("colour=red"), HasSubstr("colour"));
  EXPECT_THAT(message("ranks=-1"), HasSubstr("ranks=-1"));
  EXPECT_THAT(message("ranks=4294967296"), HasSubstr("ranks"));
  EXPECT_THAT(message("kind=4"), HasSubstr("kind=4"));
  EXPECT_THAT(message("sync=2"), HasSubstr("sync=2"));
}

TEST(WorkloadOptions, RepetitionsHaveFilesOfTheirOwnIfAskedFor) {
  Options options{.pattern = {.file = "x", .ranks = 3, .file_per_process = true}};
  EXPECT_EQ(file_name(options, 2, 1), "x.00000002");
  options.multiple = true;
  EXPECT_EQ(file_name(options, 2, 1), "x.00000002.1");
}

TEST(WorkloadOptions, NothingToDoIsAnError) {
  Options options{.pattern = {.file = "x"}, .write = false, .read = false};
  ASSERT_FALSE(check(options));
  EXPECT_THAT(check(options).error().message, HasSubstr("nothing to do"));
}

}  // namespace
}  // namespace iez::workload
