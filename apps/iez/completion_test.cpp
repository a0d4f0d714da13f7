#include "completion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iez::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ValueWords choices(std::initializer_list<std::string_view> words) {
  ValueWords values;
  for (const std::string_view word : words) values.choices.push_back({.word = std::string(word), .text = "one"});
  return values;
}

CommandWords tree() {
  const OptionWords root{.names = {"--root", "-r"},
                         .text = "where",
                         .takes_value = true,
                         .repeats = true,
                         .values = {.names = ShellNames::directory}};
  const OptionWords sort{
      .names = {"--sort", "-s"}, .text = "order", .takes_value = true, .values = choices({"rate", "read", "write"})};
  const OptionWords osts{.names = {"--osts"}, .takes_value = true, .values = {.gathered = Gathered::osts, .list = true}};
  const OptionWords count{.names = {"-n"}, .takes_value = true};
  CommandWords iez{.name = "iez", .options = {{.names = {"--log"}, .takes_value = true, .values = choices({"debug", "info"})}}};
  iez.commands.push_back(
      {.name = "top", .text = "jobs", .options = {root, sort, osts, count, {.names = {"--json"}, .text = "as JSON"}}});
  iez.commands.push_back(
      {.name = "run", .arguments = {{.values = {.names = ShellNames::command}, .many = true}}, .options = {count}});
  CommandWords app{.name = "app"};
  app.commands.push_back({.name = "show", .text = "one", .arguments = {{.values = {.gathered = Gathered::applications}}}});
  app.commands.push_back({.name = "list", .arguments = {{.values = {.names = ShellNames::file}, .many = true}}});
  iez.commands.push_back(app);
  iez.commands.push_back({.name = "help"});
  return iez;
}

struct Answer {
  std::vector<std::string> words;
  ShellNames names;
  std::size_t number;
};

Answer answer(const std::vector<std::string>& line, std::vector<GivenOption>* seen = nullptr) {
  const Completion made = complete(tree(), line, [&](Gathered what, std::span<const GivenOption> given) {
    if (seen != nullptr) seen->assign(given.begin(), given.end());
    if (what == Gathered::osts) return std::vector<OfferedWord>{{"0", ""}, {"1", ""}, {"10", ""}};
    return std::vector<OfferedWord>{{"ior-1f", "2 runs"}, {"hacc-2e", "1 run"}};
  });
  Answer plain{.words = {}, .names = made.names, .number = made.number};
  for (const OfferedWord& one : made.words) plain.words.push_back(one.word);
  return plain;
}

std::vector<std::string> words(const std::vector<std::string>& line) { return answer(line).words; }

TEST(Complete, CommandsAndTheirDescriptions) {
  EXPECT_THAT(words({""}), ElementsAre("top", "run", "app", "help"));
  EXPECT_THAT(words({"t"}), ElementsAre("top"));
  EXPECT_THAT(words({"app", ""}), ElementsAre("show", "list"));
  EXPECT_EQ(complete(tree(), std::vector<std::string>{"to"}, {}).words, (std::vector<OfferedWord>{{"top", "jobs"}}));
}

TEST(Complete, OptionsOfACommandAndOfThoseAboveIt) {
  EXPECT_THAT(words({"top", "--"}), ElementsAre("--root", "--sort", "--osts", "--json", "--log"));
  EXPECT_THAT(words({"top", "-"}), ElementsAre("--root", "--sort", "--osts", "-n", "--json", "--log"));
  EXPECT_THAT(words({"app", "show", "--l"}), ElementsAre("--log"));
}

TEST(Complete, WhatWasGivenIsNotOfferedAgainUnlessItMayBe) {
  EXPECT_THAT(words({"top", "--json", "--root", "x", "--sort=rate", "-n5", "-"}), ElementsAre("--root", "--osts", "--log"));
}

TEST(Complete, ValuesOfOptions) {
  EXPECT_THAT(words({"top", "--sort", "r"}), ElementsAre("rate", "read"));
  EXPECT_THAT(words({"top", "-s", ""}), ElementsAre("rate", "read", "write"));
  EXPECT_THAT(words({"--log", ""}), ElementsAre("debug", "info"));
  EXPECT_THAT(words({"top", "--sort", "rate", "--log", "d"}), ElementsAre("debug"));
  EXPECT_THAT(words({"top", "--sort=w"}), ElementsAre("--sort=write"));
  EXPECT_THAT(words({"top", "--json=w"}), IsEmpty());
  EXPECT_THAT(words({"top", "--none=w"}), IsEmpty());
  EXPECT_THAT(words({"top", "-n", ""}), IsEmpty());
  EXPECT_EQ(answer({"top", "-n", ""}).names, ShellNames::none);  // a number is no file
}

TEST(Complete, NamesOfFilesAreTheShells) {
  const Answer directory = answer({"top", "--root", "x"});
  EXPECT_EQ(directory.names, ShellNames::directory);
  EXPECT_EQ(directory.number, 0U);
  EXPECT_EQ(answer({"top", "--root=x"}).number, 7U);
  EXPECT_EQ(answer({"app", "list", "a", "b", ""}).names, ShellNames::file);
  EXPECT_EQ(answer({"app", ""}).names, ShellNames::none);
}

TEST(Complete, ListsGoOnBehindAComma) {
  EXPECT_THAT(words({"top", "--osts", ""}), ElementsAre("0", "1", "10"));
  EXPECT_THAT(words({"top", "--osts", "1,"}), ElementsAre("1,0", "1,10"));
  EXPECT_THAT(words({"top", "--osts=0,1"}), ElementsAre("--osts=0,1", "--osts=0,10"));
}

TEST(Complete, WhatIsGatheredKnowsTheLine) {
  std::vector<GivenOption> seen;
  EXPECT_THAT(answer({"app", "show", "--log=info", "i"}, &seen).words, ElementsAre("ior-1f"));
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].name, "--log");
  EXPECT_EQ(seen[0].value, "info");
  EXPECT_THAT(words({"app", "show", "ior-1f", ""}), IsEmpty());  // it takes one
}

TEST(Complete, ACommandBehindDashesIsTheShells) {
  for (const auto& line : {std::vector<std::string>{"run", "--", "ls"}, {"run", "--", "ls", "-l", "--log", "d"}}) {
    EXPECT_EQ(answer(line).names, ShellNames::command);
    EXPECT_EQ(answer(line).number, 2U);
    EXPECT_THAT(answer(line).words, IsEmpty());
  }
  EXPECT_EQ(answer({"run", "-n", "4", "ls", "-l"}).number, 3U);
  EXPECT_THAT(words({"run", "-"}), ElementsAre("-n", "--log"));
}

TEST(Complete, HelpTakesThePathOfACommand) {
  EXPECT_THAT(words({"help", ""}), ElementsAre("top", "run", "app", "help"));
  EXPECT_THAT(words({"help", "app", "s"}), ElementsAre("show"));
  EXPECT_THAT(words({"help", "app", "show", ""}), IsEmpty());
}

TEST(Complete, WordsThatNobodyKnows) {
  EXPECT_THAT(words({"nosuch", ""}), IsEmpty());
  EXPECT_THAT(words({"--nosuch", "to"}), ElementsAre("top"));
  EXPECT_THAT(words({}), ElementsAre("top", "run", "app", "help"));
}

TEST(Complete, AsText) {
  EXPECT_EQ(to_text({.words = {{"a", "one"}, {"b\n", ""}}, .names = ShellNames::file, .number = 7}),
            "file 7\na\tone\nb\\x0a\t\n");
}

TEST(SplitLine, AsAShell) {
  EXPECT_THAT(split_line("iez"), IsEmpty());
  EXPECT_THAT(split_line("iez "), ElementsAre(""));
  EXPECT_THAT(split_line("iez  top --sort=r"), ElementsAre("top", "--sort=r"));
  EXPECT_THAT(split_line("iez 'a b' c\\ d \"e 'f\" "), ElementsAre("a b", "c d", "e 'f", ""));
  EXPECT_THAT(split_line("iez 'a b"), ElementsAre("a b"));
}

}  // namespace
}  // namespace iez::cli
