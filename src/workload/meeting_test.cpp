#include "workload/meeting.hpp"

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::workload {
namespace {

using ::testing::HasSubstr;

class MeetingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "iez-meeting-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string place() const { return folder_ + "/place"; }

 private:
  std::string folder_;
};

TEST_F(MeetingTest, NobodyIsAPhaseAhead) {
  constexpr std::uint32_t kParties = 4;
  constexpr int kPhases = 50;
  std::vector<std::atomic<int>> reached(kParties);
  std::atomic<int> ahead{0};
  {
    std::vector<std::jthread> parties;
    parties.reserve(kParties);
    for (std::uint32_t party = 0; party < kParties; ++party) {
      parties.emplace_back([this, party, &reached, &ahead] {
        Meeting meeting(place(), kParties);
        for (int phase = 0; phase < kPhases; ++phase) {
          reached[party] = phase;
          if (!meeting.meet()) ++ahead;
          for (const auto& other : reached) ahead += other < phase ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(ahead, 0);
}

TEST_F(MeetingTest, AFileOfAnEarlierMeetingIsRefused) {
  std::ofstream(place()) << "xx";
  Meeting meeting(place(), 2);
  const auto met = meeting.meet();
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, Errc::invalid_argument);
  EXPECT_THAT(met.error().message, HasSubstr("2 have met there already"));
  EXPECT_EQ(std::filesystem::file_size(place()), 2U) << "who is refused has not arrived";
}

TEST_F(MeetingTest, APlaceThatCannotBeMadeIsNamed) {
  Meeting meeting(place() + "/none/file", 2);
  const auto met = meeting.meet();
  ASSERT_FALSE(met);
  EXPECT_THAT(met.error().message, HasSubstr("/none/file"));
}

}  // namespace
}  // namespace iez::workload
