#include "http/certificate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace iez::http {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CertificateTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (fs::temp_directory_path() / "iez-certificate-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    for (const char* name : {"one", "two"}) {
      const std::string command =
          "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=iez -addext " +
          std::string("'subjectAltName=DNS:mds1,DNS:mds1.site,IP:127.0.0.1,IP:::1' -keyout ") + folder + "/" + name +
          ".key -out " + folder + "/" + name + ".pem 2>/dev/null";
      ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(*): as an administrator makes one
    }
    std::ofstream(folder + "/text") << "no certificate\n";
  }
  static void TearDownTestSuite() { fs::remove_all(folder); }
  static std::string path(const std::string& name) { return folder + "/" + name; }
  static std::string folder;
};
std::string CertificateTest::folder;

TEST_F(CertificateTest, TellsHowLongAndForWhom) {
  const auto info = read_certificate(path("one.pem"));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_THAT(info->names, testing::ElementsAre("mds1", "mds1.site", "127.0.0.1", "::1"));
  EXPECT_EQ(info->not_after - info->not_before, 30LL * 24 * 3600);
  EXPECT_LT(std::abs(info->not_before - static_cast<std::int64_t>(std::time(nullptr))), 600);
}

TEST_F(CertificateTest, SaysWhichFileIsWrongAndHow) {
  EXPECT_TRUE(check_pair(path("one.pem"), path("one.key")));
  const auto why = [](const std::string& certificate, const std::string& key) {
    const auto checked = check_pair(path(certificate), path(key));
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_THAT(why("one.pem", "two.key"), HasSubstr("two.key: not the key of the certificate"));
  EXPECT_THAT(why("one.pem", "text"), HasSubstr("text: not a key in PEM"));
  EXPECT_THAT(why("text", "one.key"), HasSubstr("text: not a certificate chain in PEM"));
  EXPECT_THAT(why("one.pem", "none"), HasSubstr("none: No such file"));
  EXPECT_THAT(why("none", "one.key"), HasSubstr("none: No such file"));
  if (::geteuid() != 0) {
    fs::permissions(path("two.key"), fs::perms::none);
    EXPECT_THAT(why("two.pem", "two.key"), HasSubstr("two.key: Permission denied"));
  }
}

}  // namespace
}  // namespace iez::http
