// Plans that were cut short, changed, or made by somebody who means harm.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "model/layout_spec.hpp"
#include "plan/plan_reader.hpp"
#include "plan/plan_test_support.hpp"

namespace iez::plan {
namespace {

const std::vector<std::string>& asked_names() {
  static const std::vector<std::string> kNames{
      "/s/a",      "/s/b",         "/s/tmp",         "/s/wide",    "/s/pool",    "/s/c.1.2",       "/s/c.7.30",
      "/s/x.y.h5", "/s/nothing/x", "/s/unplanned.1", "/elsewhere", "/s/c.1.2.3", "/s/run.1/00003", "/"};
  return kNames;
}

// Something of everything.
std::string small_plan(const TemporaryFolder& folder) {
  PlanWriter::Options options = test_options();
  options.bucket_count = 3;
  PlanWriter writer(folder.path("plan"), options);
  std::vector<std::uint32_t> wide;
  wide.reserve(20);
  for (std::uint32_t i = 0; i < 20; ++i) wide.push_back(i);
  const auto file = [&](std::string_view name, std::string_view created_as, const Request& request) {
    EXPECT_TRUE(writer.add(PlannedFile{.name = name, .created_as = created_as, .request = request}));
  };
  file("/s/a", "", on_osts({1}));
  file("/s/b", "", on_osts({2, 3, 4}));
  file("/s/final", "/s/tmp", on_osts({5}));
  file("/s/wide", "", on_osts(wide));
  file("/s/pool", "", request_of({.stripe_count = 2, .pool = "flash"}));
  const auto rule = [&](const PlannedRule& given) { EXPECT_TRUE(writer.add(given)); };
  rule({.text = "/s/c.{step}.{rank}", .turn = "rank+2*step", .requests = {on_osts({1}), on_osts({2}), on_osts({3})}});
  rule({.text = "/s/{a*}.{b*}.h5", .requests = {on_osts({6}), on_osts({7})}});
  rule({.text = "/s/run.{run}/{rank:5}", .requests = {on_osts(wide)}});
  rule({.type = RuleType::spread, .text = "/s/", .requests = {on_osts({8}), on_osts({9}), on_osts({10})}});
  rule({.type = RuleType::leave, .text = "/s/nothing/"});
  EXPECT_TRUE(writer.finish());
  return read_file(folder.path("plan"));
}

std::map<std::string, Answer> right_answers(const std::string& bytes) {
  std::map<std::string, Answer> answers;
  LookedUp plan(bytes);
  EXPECT_EQ(plan.state, PlanState::ready);
  for (const std::string& name : asked_names()) answers[name] = plan.find(name);
  EXPECT_EQ(answers["/s/tmp"].found, Found::file);
  EXPECT_EQ(answers["/s/c.7.30"].request, on_osts({3}));  // 30 + 14 = 44
  EXPECT_EQ(answers["/s/x.y.h5"].found, Found::pattern);
  EXPECT_EQ(answers["/s/run.1/00003"].found, Found::pattern);
  EXPECT_EQ(answers["/s/unplanned.1"].found, Found::spread);
  EXPECT_TRUE(answers["/s/nothing/x"].by.left_alone);
  return answers;
}

TEST(PlanDamage, CutAtEveryByte) {
  const TemporaryFolder folder;
  const std::string whole = small_plan(folder);
  const auto answers = right_answers(whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    LookedUp plan(whole.substr(0, size));
    ASSERT_NE(plan.state, PlanState::ready) << size;
    ASSERT_EQ(plan.state, size < sizeof(abi::Header) ? PlanState::not_a_plan : PlanState::damaged) << size;
    // Opened while it was whole, cut afterwards.
    LookedUp later(whole);
    later.file().bytes.resize(size);
    for (const std::string& name : asked_names()) {
      const Answer answer = later.find(name);
      ASSERT_TRUE(answer == answers.at(name) || answer.found == Found::damaged) << size << ' ' << name;
    }
  }
}

TEST(PlanDamage, EveryBitFlipIsNoticedOrHarmless) {
  const TemporaryFolder folder;
  const std::string whole = small_plan(folder);
  const auto answers = right_answers(whole);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    LookedUp plan(whole);
    std::string& bytes = plan.file().bytes;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    for (const std::string& name : asked_names()) {
      const Answer answer = plan.find(name);
      ASSERT_TRUE(answer == answers.at(name) || answer.found == Found::damaged) << bit << ' ' << name;
    }
    OpenPlan opened;
    const PlanState state = open_plan(kMemoryCalls, 0, opened);
    if (bit / 8 < sizeof(abi::Header) || bit / 8 >= whole.size() - 8) {
      ASSERT_NE(state, PlanState::ready) << bit;
    } else {
      ASSERT_EQ(state, PlanState::ready) << bit;
    }
  }
}

TEST(PlanDamage, TheReaderNoticesEveryFlippedByte) {
  const TemporaryFolder folder;
  const std::string whole = small_plan(folder);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    std::ofstream(folder.path("bad"), std::ios::binary) << bytes;
    const auto reader = PlanReader::open(folder.path("bad"));
    if (!reader) continue;
    const auto checked = reader->check();
    ASSERT_FALSE(checked) << at;
    ASSERT_EQ(checked.error().message.find(folder.path("bad") + ": damaged"), 0U) << checked.error().message;
  }
}

TEST(PlanDamage, RandomBytesBehindAGoodHeader) {
  const TemporaryFolder folder;
  const std::string whole = small_plan(folder);
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    LookedUp plan(whole);
    std::string& bytes = plan.file().bytes;
    const std::uint64_t changes = 1 + rng.below(200);
    for (std::uint64_t i = 0; i < changes; ++i) {
      bytes[sizeof(abi::Header) + rng.below(bytes.size() - sizeof(abi::Header))] = static_cast<char>(rng.below(256));
    }
    for (const std::string& name : asked_names()) (void)plan.find(name);
  }
}

// Whoever knows the checks can make a plan that passes them.
class Hostile {
 public:
  explicit Hostile(std::string bytes) : bytes_(std::move(bytes)) { std::memcpy(&header_, bytes_.data(), sizeof(header_)); }

  abi::Header& header() { return header_; }
  std::string sealed() {
    header_.checksum = abi::header_checksum(header_);
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return bytes_;
  }
  char* at(std::uint64_t offset) { return bytes_.data() + offset; }

  void seal_node(std::uint64_t offset) {
    char* const node = at(header_.trie_at + offset);
    abi::TrieNode head{};
    std::memcpy(&head, node, sizeof(head));
    head.check = abi::node_check(header_.id, offset, node + 4, head.size - 4);
    std::memcpy(node, &head, sizeof(head));
  }

 private:
  std::string bytes_;
  abi::Header header_{};
};

TEST(PlanDamage, SizesThatContradictEachOther) {
  const TemporaryFolder folder;
  const std::string whole = small_plan(folder);
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  const auto state_with = [&](auto change) {
    Hostile hostile(whole);
    change(hostile.header());
    return LookedUp(hostile.sealed()).state;
  };
  EXPECT_EQ(state_with([](abi::Header&) {}), PlanState::ready);
  EXPECT_EQ(state_with([](abi::Header& h) { h.version = 2; }), PlanState::other_version);
  EXPECT_EQ(state_with([](abi::Header& h) { h.byte_order = abi::kForeignByteOrder; }), PlanState::other_version);
  EXPECT_EQ(state_with([](abi::Header& h) { h.minor_version = 9; }), PlanState::ready);
  EXPECT_EQ(state_with([](abi::Header& h) { h.magic = 1; }), PlanState::not_a_plan);
  for (const auto change : {+[](abi::Header& h) { h.file_size = kHuge; }, +[](abi::Header& h) { h.file_size = 0; },
                            +[](abi::Header& h) { h.bucket_count = kHuge; }, +[](abi::Header& h) { h.bucket_count = 0; },
                            +[](abi::Header& h) { h.directory_at = kHuge; }, +[](abi::Header& h) { h.directory_at = 0; },
                            +[](abi::Header& h) { h.layouts_size = kHuge; }, +[](abi::Header& h) { h.rules_at = kHuge - 3; },
                            +[](abi::Header& h) { h.trie_size = kHuge; }, +[](abi::Header& h) { h.id = 0; },
                            +[](abi::Header& h) { h.header_size = 512; }}) {
    EXPECT_EQ(state_with(change), PlanState::damaged);
  }
}

TEST(PlanDamage, LoopsAndLongWaysEnd) {
  const TemporaryFolder folder;
  const std::string whole = small_plan(folder);
  // The root leads to itself.
  Hostile circle(whole);
  abi::TrieEdge edge{};
  std::memcpy(&edge, circle.at(circle.header().trie_at + sizeof(abi::TrieNode)), sizeof(edge));
  edge.node = 0;
  edge.kind = abi::kEdgeLiteral;
  edge.first = '/';
  std::memcpy(circle.at(circle.header().trie_at + sizeof(abi::TrieNode)), &edge, sizeof(edge));
  circle.seal_node(0);
  EXPECT_EQ(LookedUp(circle.sealed()).find("/s/c.1.2").found, Found::damaged);

  // Open fields in a row: the number of ways grows without bound, the search does not.
  PlanWriter writer(folder.path("long"), test_options());
  std::string text = "/";
  for (int i = 0; i < 15; ++i) text += "{f" + std::to_string(i) + "*}a";
  text += "b";
  ASSERT_TRUE(writer.add(PlannedRule{.text = text, .requests = {on_osts({1})}}));
  ASSERT_TRUE(writer.finish());
  LookedUp plan(read_file(folder.path("long")));
  plan.file().reads = 0;
  EXPECT_EQ(plan.find("/" + std::string(4000, 'a')).found, Found::nothing);
  EXPECT_LE(plan.file().reads, abi::kMaxSteps);
  // One way of many fits.
  std::string fits = "/";
  for (int i = 0; i < 15; ++i) fits += "xa";
  EXPECT_EQ(plan.find(fits + "b").found, Found::pattern);
  EXPECT_EQ(plan.find(fits).found, Found::nothing);
}

}  // namespace
}  // namespace iez::plan
