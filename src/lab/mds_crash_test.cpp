// A metadata server that is killed in the middle of its work: whoever asks again gets each thing done exactly once.
#include <linux/fs.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "lab/mds_test_support.hpp"
#include "lustre/layout_codec.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

// Requests that succeed when they are done once, in order, and fail when they are done twice.
class Workload {
 public:
  explicit Workload(std::uint64_t seed) : rng_(seed) {}

  std::vector<std::byte> next(std::uint64_t number) {
    switch (names_.empty() ? 0 : rng_.below(4)) {
      case 0: {
        const std::string name = fmt::format("f{}", made_++);
        names_.insert(name);
        const bool is_file = rng_.chance(0.5);
        return request_frame(
            Op::make, number,
            MakeRequest{
                .parent = kRootInode, .name = name, .mode = S_IFREG | 0600U, .open = static_cast<std::uint8_t>(is_file ? 1 : 0)});
      }
      case 1: {
        const std::string name = take();
        return request_frame(Op::unlink, number, NameRequest{.parent = kRootInode, .name = name});
      }
      case 2: {
        const std::string from = take();
        const std::string to = fmt::format("r{}", made_++);
        names_.insert(to);
        return request_frame(
            Op::rename, number,
            RenameRequest{
                .parent = kRootInode, .name = from, .new_parent = kRootInode, .new_name = to, .flags = RENAME_NOREPLACE});
      }
      default: {
        const std::string from = take();
        const std::string to = names_.empty() ? fmt::format("r{}", made_++) : *names_.begin();
        names_.insert(to);  // replaced
        return request_frame(Op::rename, number,
                             RenameRequest{.parent = kRootInode, .name = from, .new_parent = kRootInode, .new_name = to});
      }
    }
  }
  const std::set<std::string>& names() const { return names_; }

 private:
  std::string take() {
    auto at = names_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(rng_.below(names_.size())));
    return names_.extract(at).value();
  }
  Rng rng_;
  std::set<std::string> names_;
  int made_ = 0;
};

TEST(MdsCrashTest, every_request_is_done_exactly_once) {
  constexpr std::uint64_t kSeed = 20;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  const lustre::TemporaryTree tree;
  const Config config = small_lab(tree.root());
  Rng rng(kSeed);
  Workload workload(kSeed);
  auto server = std::make_unique<MdsProcess>(config);
  MdsPeer peer(config, 1, 1);
  int kills = 0;
  int lost = 0;  // answers that the kill took
  for (int round = 0; round < 40; ++round) {
    std::map<std::uint64_t, std::vector<std::byte>> unanswered;
    for (std::uint64_t i = 0, count = rng.between(20, 60); i < count; ++i) {
      const std::uint64_t number = peer.take_number();
      unanswered[number] = workload.next(number);
    }
    for (const auto& [number, frame] : unanswered) peer.send(frame);
    // Somewhere among them: mostly in the middle, at times before the first or after the last.
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(4000)));
    server->kill();
    ++kills;
    while (const auto answer = peer.receive(0)) {
      EXPECT_EQ(answer->error, 0) << "request " << answer->number;
      EXPECT_EQ(unanswered.erase(answer->number), 1U) << "answered twice: " << answer->number;
    }
    lost += static_cast<int>(unanswered.size());
    server = std::make_unique<MdsProcess>(config);
    peer.connect();
    for (const auto& [number, frame] : unanswered) peer.send(frame);
    while (!unanswered.empty()) {
      const auto answer = peer.receive();
      ASSERT_TRUE(answer.has_value());
      EXPECT_EQ(answer->error, 0) << "request " << answer->number << ", done before and not remembered";
      EXPECT_EQ(unanswered.erase(answer->number), 1U);
    }
  }
  EXPECT_GT(lost, kills) << "the kills came too late to tell anything";

  std::set<std::string> names;
  std::set<std::pair<std::uint32_t, std::uint64_t>> objects;
  std::uint64_t after = 0;
  for (bool more = true; more;) {
    const auto page = peer.ask<ListAnswer>(Op::list, ListRequest{.inode = kRootInode, .after = after, .most = 50}).value();
    more = !page.entries.empty();
    for (const Listed& entry : page.entries) {
      after = entry.cookie;
      names.insert(entry.name);
      const auto found = peer.ask<Entry>(Op::get_attributes, InodeRequest{.inode = entry.inode}).value();
      EXPECT_EQ(found.attributes.links, 1U);
      if (found.layout.empty()) continue;
      const auto layout = lustre::decode_layout(found.layout).value();
      for (const auto& object : layout.components[0].objects) {
        EXPECT_TRUE(objects.emplace(object.ost.value, object.id.low).second) << "two files share an object";
      }
    }
  }
  EXPECT_EQ(names, workload.names());
}

}  // namespace
}  // namespace iez::lab
