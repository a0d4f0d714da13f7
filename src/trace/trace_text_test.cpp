#include "trace/trace_text.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "trace/trace_csv.hpp"

namespace iez::trace {
namespace {

std::string front_of(std::string_view fixture) {
  std::ifstream file(std::string(IEZ_TEST_DATA) + "/darshan/" + std::string(fixture), std::ios::binary);
  EXPECT_TRUE(file) << fixture;
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  return whole.substr(0, kDetectFront);
}

TEST(TraceText, DarshanByItsHeader) {
  for (const char* const name : {"example-3.10.txt", "macsio-3.21.txt", "noposixopens-3.10.txt"}) {
    EXPECT_EQ(detect_text_format(front_of(name)), TextFormat::darshan) << name;
  }
  EXPECT_EQ(detect_text_format("# WARNING: something\n\n# darshan log version: 2.06\n"), TextFormat::darshan);
}

TEST(TraceText, DarshanByItsRows) {
  EXPECT_EQ(detect_text_format("POSIX\t-1\t7\tPOSIX_OPENS\t1\t/a\t/\text4\n"), TextFormat::darshan);
  EXPECT_EQ(detect_text_format("0\t7\tCP_POSIX_OPENS\t1\t.../a\t/\text4\n"), TextFormat::darshan);
  EXPECT_EQ(detect_text_format("ABC\t-1\t7\tPOSIX_OPENS\t1\t/a\t/\text4\n"), TextFormat::unknown);
  EXPECT_EQ(detect_text_format("#<module>\t<rank>\t<record id>\n"), TextFormat::darshan);
}

TEST(TraceText, RecorderOfBothVersions) {
  EXPECT_EQ(detect_text_format("0.000214 0.000236 open 0 0 ( /a 66 420 )\n"), TextFormat::recorder);
  EXPECT_EQ(detect_text_format("\n0.000214 0.000236 17 open ( /a 66 420 )\r\n"), TextFormat::recorder);
  EXPECT_EQ(detect_text_format("0.000214 0.000236 open\n"), TextFormat::unknown);
}

TEST(TraceText, Csv) {
  EXPECT_EQ(detect_text_format(to_csv({})), TextFormat::csv);
  EXPECT_EQ(detect_text_format("\xEF\xBB\xBF" + to_csv({})), TextFormat::csv);
  EXPECT_EQ(detect_text_format("filename,bytes\n"), TextFormat::csv) << "its reader tells what is wrong with the header";
}

TEST(TraceText, DarshanLogsThatWereNotPrinted) {
  using std::string_literals::operator""s;
  EXPECT_EQ(detect_text_format("3.41\0\0\0\0"
                               "75d\0\0\0\0\0rest"s),
            TextFormat::darshan_log);
  EXPECT_EQ(detect_text_format("3.41\0\0\0\0\0\0\0\0\0d57"s), TextFormat::darshan_log);
  EXPECT_EQ(detect_text_format("3.41\0\0\0\0"s), TextFormat::unknown);
}

TEST(TraceText, AllElse) {
  using std::string_literals::operator""s;
  for (const std::string& text : {""s, "\n\n"s, "# a comment"s, "hello"s, "\0,\0"s, "\x1f\x8b\x08"s, "#"s}) {
    EXPECT_EQ(detect_text_format(text), TextFormat::unknown) << text;
  }
}

TEST(TraceText, Names) {
  EXPECT_EQ(to_string(TextFormat::csv), "csv");
  EXPECT_EQ(to_string(TextFormat::darshan), "darshan");
  EXPECT_EQ(to_string(TextFormat::recorder), "recorder");
  EXPECT_EQ(to_string(TextFormat::darshan_log), "darshan log");
  EXPECT_EQ(to_string(TextFormat::unknown), "unknown");
}

}  // namespace
}  // namespace iez::trace
