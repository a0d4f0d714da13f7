// The store against a model of it: random operations, the same answers, and the same state after each.
#include <linux/fs.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "lab/metadata_store.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

constexpr std::uint32_t kMaxLinks = 6;

// A tree in memory, written down as plainly as possible: a directory is a map of names, links are counted when they are asked
// for.
class Model {
 public:
  struct Node {
    bool is_directory = false;
    std::map<std::string, std::uint64_t> names;
    std::set<std::uint64_t> open;  // clients
    std::int64_t modified = 0;
    std::int64_t changed = 0;
  };

  Model() { nodes_[kRootInode] = {.is_directory = true, .modified = 1, .changed = 1}; }

  std::map<std::uint64_t, Node>& nodes() { return nodes_; }

  std::uint32_t links(std::uint64_t inode) const {
    const Node& node = nodes_.at(inode);
    std::uint32_t named = inode == kRootInode ? 1 : 0;
    std::uint32_t below = 0;
    for (const auto& [id, other] : nodes_) {
      for (const auto& [name, target] : other.names) named += target == inode ? 1U : 0U;
    }
    if (!node.is_directory) return named;
    for (const auto& [name, target] : node.names) below += nodes_.at(target).is_directory ? 1U : 0U;
    return named == 0 ? 0 : 2 + below;
  }
  bool is_removed(std::uint64_t inode) const { return links(inode) == 0; }
  bool holds(std::uint64_t ancestor, std::uint64_t inode) const {
    if (ancestor == inode) return true;
    for (const auto& [name, below] : nodes_.at(ancestor).names) {
      if (nodes_.at(below).is_directory && holds(below, inode)) return true;
    }
    return false;
  }
  int usable_parent(std::uint64_t parent) const {
    if (!nodes_.contains(parent)) return ESTALE;
    if (!nodes_.at(parent).is_directory) return ENOTDIR;
    return 0;
  }
  std::optional<std::uint64_t> find(std::uint64_t parent, const std::string& name) const {
    const auto& names = nodes_.at(parent).names;
    const auto found = names.find(name);
    if (found == names.end()) return std::nullopt;
    return found->second;
  }

  int make(std::uint64_t parent, const std::string& name, bool is_directory, std::uint64_t inode, std::int64_t now) {
    if (const int error = usable_parent(parent); error != 0) return error;
    if (is_removed(parent)) return ENOENT;
    if (find(parent, name)) return EEXIST;
    if (is_directory && links(parent) >= kMaxLinks) return EMLINK;
    nodes_[inode] = {.is_directory = is_directory, .modified = now, .changed = now};
    nodes_[parent].names[name] = inode;
    touch(parent, now);
    return 0;
  }
  int link(std::uint64_t inode, std::uint64_t parent, const std::string& name, std::int64_t now) {
    if (const int error = usable_parent(parent); error != 0) return error;
    if (is_removed(parent)) return ENOENT;
    if (!nodes_.contains(inode)) return ESTALE;
    if (nodes_[inode].is_directory) return EPERM;
    if (is_removed(inode)) return ENOENT;
    if (find(parent, name)) return EEXIST;
    if (links(inode) >= kMaxLinks) return EMLINK;
    nodes_[parent].names[name] = inode;
    nodes_[inode].changed = now;
    touch(parent, now);
    return 0;
  }
  int remove(std::uint64_t parent, const std::string& name, bool directory, std::int64_t now) {
    if (const int error = usable_parent(parent); error != 0) return error;
    const auto found = find(parent, name);
    if (!found) return ENOENT;
    const Node& node = nodes_[*found];
    if (directory && !node.is_directory) return ENOTDIR;
    if (!directory && node.is_directory) return EISDIR;
    if (!node.names.empty()) return ENOTEMPTY;
    nodes_[parent].names.erase(name);
    nodes_[*found].changed = now;
    touch(parent, now);
    bury(*found);
    return 0;
  }
  int rename(const RenameRequest& request, std::int64_t now) {
    if (const int error = usable_parent(request.parent); error != 0) return error;
    if (const int error = usable_parent(request.new_parent); error != 0) return error;
    if (is_removed(request.new_parent)) return ENOENT;
    const auto from = find(request.parent, request.name);
    const auto to = find(request.new_parent, request.new_name);
    if (!from) return ENOENT;
    if (request.flags == RENAME_NOREPLACE && to) return EEXIST;
    if (request.flags == RENAME_EXCHANGE && !to) return ENOENT;
    if (to == from) return 0;
    const bool moves_directory = nodes_[*from].is_directory;
    if (moves_directory && holds(*from, request.new_parent)) return EINVAL;
    if (request.flags == RENAME_EXCHANGE) {
      if (nodes_[*to].is_directory && holds(*to, request.parent)) return EINVAL;
    } else if (to) {
      const Node& replaced = nodes_[*to];
      if (moves_directory && !replaced.is_directory) return ENOTDIR;
      if (!moves_directory && replaced.is_directory) return EISDIR;
      if (!replaced.names.empty()) return ENOTEMPTY;
    }
    // The rest may only fail for too many links: try it, and take it back.
    const auto before = nodes_;
    nodes_[request.parent].names.erase(request.name);
    nodes_[request.new_parent].names[request.new_name] = *from;
    if (request.flags == RENAME_EXCHANGE) nodes_[request.parent].names[request.name] = *to;
    for (const std::uint64_t parent : {request.parent, request.new_parent}) {
      if (links(parent) > kMaxLinks) {
        nodes_ = before;
        return EMLINK;
      }
    }
    nodes_[*from].changed = now;
    if (to) nodes_[*to].changed = now;
    touch(request.parent, now);
    touch(request.new_parent, now);
    if (to) bury(*to);
    return 0;
  }
  int open(std::uint64_t client, std::uint64_t inode) {
    if (!nodes_.contains(inode)) return ESTALE;
    nodes_[inode].open.insert(client);
    return 0;
  }
  void close(std::uint64_t client, std::uint64_t inode) {
    if (!nodes_.contains(inode)) return;
    nodes_[inode].open.erase(client);
    bury(inode);
  }
  void close_all(std::uint64_t client) {
    std::vector<std::uint64_t> inodes;
    inodes.reserve(nodes_.size());
    for (const auto& [inode, node] : nodes_) inodes.push_back(inode);
    for (const std::uint64_t inode : inodes) close(client, inode);
  }

 private:
  void touch(std::uint64_t inode, std::int64_t now) { nodes_[inode].modified = nodes_[inode].changed = now; }
  void bury(std::uint64_t inode) {
    if (nodes_.at(inode).open.empty() && is_removed(inode)) nodes_.erase(inode);
  }
  std::map<std::uint64_t, Node> nodes_;
};

class Comparison {
 public:
  explicit Comparison(std::uint64_t seed) : rng_(seed) { reopen(); }

  void step() {
    ++now_;
    switch (rng_.below(16)) {
      case 0:
      case 1:
      case 2:
        return make(false);
      case 3:
      case 4:
        return make(true);
      case 5:
        return remove(false);
      case 6:
        return remove(true);
      case 7:
        return link();
      case 8:
      case 9:
      case 10:
      case 11:
        return rename();
      case 12:
      case 13:
        return open();
      case 14:
        return close();
      default:
        if (rng_.chance(0.05)) return reopen();
        if (rng_.chance(0.1)) return close_all();
        return page_through();
    }
  }

  void compare() {
    std::map<std::uint64_t, Model::Node>& nodes = model_.nodes();
    EXPECT_EQ(store_->counts().inodes, nodes.size());
    for (const auto& [inode, node] : nodes) {
      const auto found = store_->attributes(inode);
      ASSERT_TRUE(found.has_value()) << "inode " << inode;
      EXPECT_EQ(S_ISDIR(found->mode), node.is_directory);
      EXPECT_EQ(found->links, model_.links(inode)) << "inode " << inode;
      EXPECT_EQ(found->modify_ns, node.modified) << "inode " << inode;
      EXPECT_EQ(found->change_ns, node.changed) << "inode " << inode;
      if (!node.is_directory) continue;
      std::map<std::string, std::uint64_t> names;
      const ListAnswer listed = store_->list(inode, 0, 1000).value();
      for (const Listed& entry : listed.entries) {
        names[entry.name] = entry.inode;
        EXPECT_EQ(S_ISDIR(entry.mode), nodes.at(entry.inode).is_directory);
        if (S_ISDIR(entry.mode)) {
          EXPECT_EQ(store_->parent_of(entry.inode), inode);
        }
      }
      EXPECT_EQ(names, node.names) << "directory " << inode;
    }
  }

 private:
  void reopen() {
    store_.reset();
    store_ = MetadataStore::open(tree_.path("mds"), 0, 0, 1, {.max_links = kMaxLinks}).value();
  }

  template <typename Run>
  int change(Run run) {
    store_->begin();
    const auto answer = run();
    if (answer) {
      EXPECT_TRUE(store_->commit());
    } else {
      store_->rollback();
    }
    EXPECT_EQ(store_->take_failure(), "");
    return answer ? 0 : answer.error();
  }

  std::string name() { return fmt::format("n{}", rng_.below(5)); }
  std::uint64_t inode() {
    if (rng_.chance(0.02)) return last_ + 1 + rng_.below(3);
    auto at = model_.nodes().begin();
    std::advance(at, static_cast<std::ptrdiff_t>(rng_.below(model_.nodes().size())));
    return at->first;
  }
  std::uint64_t directory() {
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t drawn = inode();
      if (model_.nodes().contains(drawn) && model_.nodes()[drawn].is_directory) return drawn;
    }
    return inode();
  }

  void make(bool is_directory) {
    const MakeRequest request{.parent = directory(), .name = name(), .mode = (is_directory ? S_IFDIR : S_IFREG) | 0700U};
    std::uint64_t made = 0;
    const int error = change([&] {
      auto answer = store_->make(request, now_);
      if (answer) made = answer->inode;
      return answer;
    });
    EXPECT_EQ(error, model_.make(request.parent, request.name, is_directory, made, now_)) << "make";
    if (error == 0) {
      EXPECT_GT(made, std::exchange(last_, made));
    }
  }
  void remove(bool is_directory) {
    const std::uint64_t parent = directory();
    const std::string which = name();
    const int error = change(
        [&] { return is_directory ? store_->remove_directory(parent, which, now_) : store_->unlink(parent, which, now_); });
    EXPECT_EQ(error, model_.remove(parent, which, is_directory, now_)) << "remove " << parent << "/" << which;
  }
  void link() {
    const LinkRequest request{.inode = inode(), .parent = directory(), .name = name()};
    const int error = change([&] { return store_->link(request, now_); });
    EXPECT_EQ(error, model_.link(request.inode, request.parent, request.name, now_)) << "link " << request.inode;
  }
  void rename() {
    constexpr std::uint32_t kFlags[] = {0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE};
    const RenameRequest request{
        .parent = directory(), .name = name(), .new_parent = directory(), .new_name = name(), .flags = kFlags[rng_.below(4)]};
    const int error = change([&] { return store_->rename(request, now_); });
    EXPECT_EQ(error, model_.rename(request, now_)) << fmt::format("rename {}/{} {}/{} {}", request.parent, request.name,
                                                                  request.new_parent, request.new_name, request.flags);
  }
  void open() {
    const std::uint64_t which = inode();
    const std::uint64_t client = rng_.below(2);
    EXPECT_EQ(change([&] { return store_->open(client, which); }), model_.open(client, which)) << "open";
  }
  void close() {
    const std::uint64_t which = inode();
    const std::uint64_t client = rng_.below(2);
    change([&]() -> Answer<void> {
      store_->close(client, which);
      return {};
    });
    model_.close(client, which);
  }
  void close_all() {
    const std::uint64_t client = rng_.below(2);
    change([&]() -> Answer<void> {
      store_->close_all(client);
      return {};
    });
    model_.close_all(client);
  }
  // A listing in pages, with changes in between: what is there before and after is seen once, by its inode.
  void page_through() {
    const std::uint64_t where = directory();
    if (!model_.nodes().contains(where) || !model_.nodes()[where].is_directory) return;
    const auto before = model_.nodes()[where].names;
    std::map<std::string, int> seen;
    std::uint64_t after = 0;
    for (bool more = true; more;) {
      const auto page = store_->list(where, after, 2);
      if (!page) return;  // removed meanwhile
      more = !page->entries.empty();
      for (const Listed& entry : page->entries) {
        EXPECT_GT(entry.cookie, after);
        after = entry.cookie;
        ++seen[entry.name];
      }
      // Only names that begin otherwise come and go.
      const std::string other = fmt::format("x{}", rng_.below(4));
      ++now_;
      if (rng_.chance(0.5)) {
        std::uint64_t made = 0;
        const MakeRequest request{.parent = where, .name = other, .mode = S_IFREG};
        const int error = change([&] {
          auto answer = store_->make(request, now_);
          if (answer) made = answer->inode;
          return answer;
        });
        EXPECT_EQ(error, model_.make(where, other, false, made, now_));
        if (error == 0) last_ = made;
      } else {
        EXPECT_EQ(change([&] { return store_->unlink(where, other, now_); }), model_.remove(where, other, false, now_));
      }
    }
    for (const auto& [each, target] : before) {
      if (each.starts_with('n')) {
        EXPECT_EQ(seen[each], 1) << each;
      }
    }
  }

  lustre::TemporaryTree tree_;
  Rng rng_;
  Model model_;
  std::unique_ptr<MetadataStore> store_;
  std::int64_t now_ = 10;
  std::uint64_t last_ = kRootInode;
};

TEST(MetadataModelTest, random_operations_give_the_same_answers_and_the_same_tree) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Comparison comparison(seed);
    for (int i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
      comparison.step();
      if (i % 10 == 0) comparison.compare();
    }
    comparison.compare();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace iez::lab
