#include "base/exec_strings.hpp"

#include <cstdlib>

#include <gmock/gmock.h>

namespace iez {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

std::vector<std::string> texts(ExecStrings& strings) {
  std::vector<std::string> out;
  for (char* const* at = strings.get(); *at != nullptr; ++at) out.emplace_back(*at);
  return out;
}

TEST(ExecStrings, EndWithNull) {
  ExecStrings none;
  EXPECT_EQ(*none.get(), nullptr);
  ExecStrings words({"a", "b c"});
  words.add("");
  EXPECT_THAT(texts(words), ElementsAre("a", "b c", ""));
}

TEST(ExecStrings, VariablesReplaceThoseOfTheirNameAlone) {
  ::setenv("IEZ_TEST", "old", 1);
  ::setenv("IEZ_TEST_LONGER", "kept", 1);
  const std::vector<std::pair<std::string, std::string>> variables{{"IEZ_TEST", "new=value"}};
  ExecStrings all = environment_with(variables);
  ::unsetenv("IEZ_TEST");
  ::unsetenv("IEZ_TEST_LONGER");
  EXPECT_THAT(texts(all), Contains("IEZ_TEST=new=value").Times(1));
  EXPECT_THAT(texts(all), Contains("IEZ_TEST_LONGER=kept").Times(1));
  EXPECT_THAT(texts(all), Not(Contains("IEZ_TEST=old")));
}

}  // namespace
}  // namespace iez
