#include "lab/metadata_store.hpp"

#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lustre/layout_codec.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kClient = 7;

class MetadataStoreTest : public testing::Test {
 protected:
  void SetUp() override { reopen(); }

  void reopen(const StoreOptions& options = {}) {
    store_.reset();
    auto opened = MetadataStore::open(tree_.path("mds"), 1000, 100, 1, options);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    store_ = *std::move(opened);
  }

  // One change, as a server does it. The time moves on with every one.
  template <typename Run>
  auto change(Run run) -> decltype(run()) {
    ++now_;
    store_->begin();
    auto answer = run();
    if (answer) {
      EXPECT_TRUE(store_->commit());
    } else {
      store_->rollback();
    }
    EXPECT_EQ(store_->take_failure(), "");
    return answer;
  }
  template <typename T>
  static int error_of(const Answer<T>& answer) {
    return answer ? 0 : answer.error();
  }

  Answer<Attributes> make(std::uint64_t parent, const std::string& name, std::uint32_t mode, const Caller& caller = {}) {
    return change([&] {
      return store_->make({.caller = caller, .parent = parent, .name = name, .mode = mode, .target = S_ISLNK(mode) ? "to" : ""},
                          now_);
    });
  }
  std::uint64_t file(std::uint64_t parent, const std::string& name) { return make(parent, name, S_IFREG | 0644).value().inode; }
  std::uint64_t directory(std::uint64_t parent, const std::string& name) {
    return make(parent, name, S_IFDIR | 0755).value().inode;
  }
  int unlink(std::uint64_t parent, const std::string& name) {
    return error_of(change([&] { return store_->unlink(parent, name, now_); }));
  }
  int rmdir(std::uint64_t parent, const std::string& name) {
    return error_of(change([&] { return store_->remove_directory(parent, name, now_); }));
  }
  int link(std::uint64_t inode, std::uint64_t parent, const std::string& name) {
    return error_of(change([&] { return store_->link({.inode = inode, .parent = parent, .name = name}, now_); }));
  }
  int rename(std::uint64_t from, const std::string& name, std::uint64_t to, const std::string& new_name,
             std::uint32_t flags = 0) {
    return error_of(change([&] {
      return store_->rename({.parent = from, .name = name, .new_parent = to, .new_name = new_name, .flags = flags}, now_);
    }));
  }
  void open(std::uint64_t inode, std::uint64_t client = kClient) {
    EXPECT_TRUE(change([&] { return store_->open(client, inode); }).has_value());
  }
  void close(std::uint64_t inode, std::uint64_t client = kClient) {
    change([&]() -> Answer<void> {
      store_->close(client, inode);
      return {};
    });
  }
  std::vector<std::string> names(std::uint64_t directory) {
    std::vector<std::string> result;
    const ListAnswer listed = store_->list(directory, 0, 1000).value();
    result.reserve(listed.entries.size());
    for (const Listed& entry : listed.entries) result.push_back(entry.name);
    return result;
  }
  Attributes stat(std::uint64_t inode) { return store_->attributes(inode).value(); }
  std::uint64_t inode_of(std::uint64_t parent, const std::string& name) {
    return store_->lookup(parent, name).value().attributes.inode;
  }
  // A file with one object on each of these OSTs.
  void set_layout(std::uint64_t inode, const std::vector<std::uint32_t>& osts) {
    model::Layout layout;
    layout.components.resize(1);
    layout.components[0].stripe_size = Bytes::mib(1);
    layout.components[0].stripe_count = static_cast<std::uint16_t>(osts.size());
    EXPECT_TRUE(change([&] {
                  for (const std::uint32_t ost : osts) {
                    layout.components[0].objects.push_back(
                        {.ost = OstIndex{ost}, .id = {.high = 1, .low = store_->take_object(ost)}});
                  }
                  return store_->set_layout(inode, lustre::encode_layout(layout).value());
                }).has_value());
  }

  lustre::TemporaryTree tree_;
  std::unique_ptr<MetadataStore> store_;
  std::int64_t now_ = 1000;
};

TEST_F(MetadataStoreTest, a_new_store_has_an_empty_root) {
  const Attributes root = stat(kRootInode);
  EXPECT_EQ(root.mode, std::uint32_t{S_IFDIR | 0755});
  EXPECT_EQ(root.links, 2U);
  EXPECT_EQ(root.uid, 1000U);
  EXPECT_EQ(root.gid, 100U);
  EXPECT_EQ(root.modify_ns, 1);
  EXPECT_THAT(names(kRootInode), IsEmpty());
  EXPECT_EQ(store_->list(kRootInode, 0, 10).value().parent, kRootInode);
}

TEST_F(MetadataStoreTest, what_is_committed_is_there_after_reopening) {
  const std::uint64_t a = file(kRootInode, "a");
  reopen();
  EXPECT_EQ(inode_of(kRootInode, "a"), a);
  EXPECT_EQ(unlink(kRootInode, "a"), 0);
  reopen();
  EXPECT_EQ(error_of(store_->lookup(kRootInode, "a")), ENOENT);
  EXPECT_EQ(error_of(store_->attributes(a)), ESTALE);
  EXPECT_NE(file(kRootInode, "a"), a) << "an inode number was given twice";
}

TEST_F(MetadataStoreTest, what_is_rolled_back_is_not) {
  store_->begin();
  ASSERT_TRUE(store_->make({.parent = kRootInode, .name = "a", .mode = S_IFREG | 0600}, 5).has_value());
  store_->rollback();
  EXPECT_THAT(names(kRootInode), IsEmpty());
  EXPECT_EQ(stat(kRootInode).modify_ns, 1);
}

TEST_F(MetadataStoreTest, names_are_checked) {
  EXPECT_EQ(error_of(make(kRootInode, std::string(256, 'x'), S_IFREG)), ENAMETOOLONG);
  EXPECT_EQ(error_of(make(kRootInode, std::string(255, 'x'), S_IFREG)), 0);
  EXPECT_EQ(error_of(make(kRootInode, "", S_IFREG)), ENOENT);
  EXPECT_EQ(error_of(make(kRootInode, ".", S_IFREG)), EINVAL);
  EXPECT_EQ(error_of(make(kRootInode, "..", S_IFDIR)), EINVAL);
  EXPECT_EQ(error_of(make(kRootInode, "a/b", S_IFREG)), EINVAL);
  EXPECT_EQ(error_of(make(kRootInode, std::string("a\0b", 3), S_IFREG)), EINVAL);
  EXPECT_EQ(error_of(make(kRootInode, "\xff\xfe not UTF-8", S_IFREG)), 0);
  EXPECT_EQ(error_of(store_->lookup(kRootInode, std::string(256, 'x'))), ENAMETOOLONG);
  EXPECT_EQ(store_->lookup(kRootInode, "\xff\xfe not UTF-8").has_value(), true);
}

TEST_F(MetadataStoreTest, making_needs_a_directory_and_a_free_name) {
  const std::uint64_t a = file(kRootInode, "a");
  EXPECT_EQ(error_of(make(kRootInode, "a", S_IFREG)), EEXIST);
  EXPECT_EQ(error_of(make(kRootInode, "a", S_IFDIR)), EEXIST);
  EXPECT_EQ(error_of(make(a, "b", S_IFREG)), ENOTDIR);
  EXPECT_EQ(error_of(make(999, "b", S_IFREG)), ESTALE);
  EXPECT_EQ(error_of(make(kRootInode, "b", 0644)), EINVAL) << "no type";
}

TEST_F(MetadataStoreTest, kinds_of_inodes) {
  const auto null =
      change([&] { return store_->make({.parent = kRootInode, .name = "null", .mode = S_IFCHR | 0666, .device = 0x103}, now_); });
  EXPECT_EQ(null.value().device, 0x103U);
  const auto target = make(kRootInode, "link", S_IFLNK | 0777);
  EXPECT_EQ(target.value().size, 2U);
  EXPECT_EQ(store_->link_target(target->inode).value(), "to");
  EXPECT_EQ(error_of(store_->link_target(null->inode)), EINVAL);
  EXPECT_EQ(error_of(store_->link_target(999)), ESTALE);
  EXPECT_EQ(stat(directory(kRootInode, "d")).size, 4096U);
  const std::string far(4096, 'x');
  EXPECT_EQ(
      error_of(change([&] { return store_->make({.parent = kRootInode, .name = "far", .mode = S_IFLNK, .target = far}, now_); })),
      ENAMETOOLONG);
}

TEST_F(MetadataStoreTest, times_of_a_directory_follow_its_entries) {
  const std::uint64_t d = directory(kRootInode, "d");
  const std::uint64_t a = file(d, "a");
  EXPECT_EQ(stat(d).modify_ns, now_);
  EXPECT_EQ(stat(d).change_ns, now_);
  EXPECT_EQ(stat(kRootInode).modify_ns, now_ - 1) << "the parent of the parent is not concerned";
  EXPECT_EQ(link(a, kRootInode, "b"), 0);
  EXPECT_EQ(stat(a).change_ns, now_);
  EXPECT_EQ(stat(a).modify_ns, now_ - 1);
  EXPECT_EQ(stat(kRootInode).modify_ns, now_);
  EXPECT_EQ(rename(d, "a", kRootInode, "c"), 0);
  EXPECT_EQ(stat(d).modify_ns, now_);
  EXPECT_EQ(stat(kRootInode).change_ns, now_);
  EXPECT_EQ(stat(a).change_ns, now_);
  EXPECT_EQ(unlink(kRootInode, "c"), 0);
  EXPECT_EQ(stat(a).change_ns, now_);
  EXPECT_EQ(stat(a).links, 1U);
}

TEST_F(MetadataStoreTest, attributes_that_are_set) {
  const std::uint64_t a = file(kRootInode, "a");
  auto set = change([&] {
    return store_->set_attributes({.inode = a, .mode = S_IFDIR | 04755, .uid = 5, .gid = 6}, kSetMode | kSetUid, now_);
  });
  EXPECT_EQ(set.value().mode, std::uint32_t{S_IFREG | 04755}) << "the type stays";
  EXPECT_EQ(set->uid, 5U);
  EXPECT_EQ(set->gid, 0U);
  EXPECT_EQ(set->change_ns, now_);
  EXPECT_EQ(set->modify_ns, now_ - 1);
  set = change(
      [&] { return store_->set_attributes({.inode = a, .access_ns = 11, .modify_ns = 12}, kSetAccess | kSetModify, now_); });
  EXPECT_EQ(set.value().access_ns, 11);
  EXPECT_EQ(set->modify_ns, 12);
  EXPECT_EQ(stat(a).modify_ns, 12);
  set = change([&] { return store_->set_attributes({.inode = a}, kSetChange, now_); });
  EXPECT_EQ(set.value().modify_ns, now_);
  EXPECT_EQ(error_of(change([&] { return store_->set_attributes({.inode = 999}, kSetMode, now_); })), ESTALE);
}

TEST_F(MetadataStoreTest, set_group_id_is_inherited) {
  const std::uint64_t d = directory(kRootInode, "d");
  ASSERT_TRUE(change([&] {
                return store_->set_attributes({.inode = d, .mode = 02775, .gid = 50}, kSetMode | kSetGid, now_);
              }).has_value());
  const Caller caller{.uid = 1, .gid = 2};
  const Attributes below = make(d, "below", S_IFDIR | 0755, caller).value();
  EXPECT_EQ(below.mode, std::uint32_t{S_IFDIR | 02755});
  EXPECT_EQ(below.uid, 1U);
  EXPECT_EQ(below.gid, 50U);
  const Attributes plain = make(d, "plain", S_IFREG | 0644, caller).value();
  EXPECT_EQ(plain.mode, std::uint32_t{S_IFREG | 0644});
  EXPECT_EQ(plain.gid, 50U);
  EXPECT_EQ(make(d, "program", S_IFREG | 02755, caller).value().mode, std::uint32_t{S_IFREG | 0755});
  EXPECT_EQ(make(d, "of-member", S_IFREG | 02755, {.uid = 1, .gid = 50}).value().mode, std::uint32_t{S_IFREG | 02755});
  EXPECT_EQ(make(kRootInode, "elsewhere", S_IFDIR | 0755, caller).value().gid, 2U);
}

TEST_F(MetadataStoreTest, links_of_directories) {
  const std::uint64_t a = directory(kRootInode, "a");
  const std::uint64_t b = directory(kRootInode, "b");
  directory(a, "x");
  file(a, "f");
  EXPECT_EQ(stat(kRootInode).links, 4U);
  EXPECT_EQ(stat(a).links, 3U);
  EXPECT_EQ(rename(a, "x", b, "x"), 0);
  EXPECT_EQ(stat(a).links, 2U);
  EXPECT_EQ(stat(b).links, 3U);
  EXPECT_EQ(store_->list(inode_of(b, "x"), 0, 1).value().parent, b);
  EXPECT_EQ(rename(a, "f", b, "x", RENAME_EXCHANGE), 0);
  EXPECT_EQ(stat(a).links, 3U);
  EXPECT_EQ(stat(b).links, 2U);
  EXPECT_EQ(store_->list(inode_of(a, "f"), 0, 1).value().parent, a);
  EXPECT_EQ(rmdir(a, "f"), 0);
  EXPECT_EQ(stat(a).links, 2U);
}

TEST_F(MetadataStoreTest, what_cannot_be_removed) {
  const std::uint64_t d = directory(kRootInode, "d");
  const std::uint64_t f = file(d, "f");
  EXPECT_EQ(unlink(kRootInode, "d"), EISDIR);
  EXPECT_EQ(rmdir(kRootInode, "d"), ENOTEMPTY);
  EXPECT_EQ(rmdir(d, "f"), ENOTDIR);
  EXPECT_EQ(rmdir(kRootInode, "none"), ENOENT);
  EXPECT_EQ(unlink(kRootInode, "none"), ENOENT);
  EXPECT_EQ(unlink(f, "x"), ENOTDIR);
  EXPECT_EQ(unlink(999, "x"), ESTALE);
  EXPECT_EQ(rmdir(d, "."), EINVAL);
  EXPECT_EQ(rmdir(d, ".."), ENOTEMPTY);
  EXPECT_EQ(stat(f).links, 1U);
}

TEST_F(MetadataStoreTest, hard_links) {
  const std::uint64_t a = file(kRootInode, "a");
  const std::uint64_t d = directory(kRootInode, "d");
  EXPECT_EQ(link(a, d, "b"), 0);
  EXPECT_EQ(stat(a).links, 2U);
  EXPECT_EQ(inode_of(d, "b"), a);
  EXPECT_EQ(link(a, d, "b"), EEXIST);
  EXPECT_EQ(link(d, d, "c"), EPERM);
  EXPECT_EQ(link(999, d, "c"), ESTALE);
  EXPECT_EQ(rename(kRootInode, "a", d, "b"), 0) << "two names of one file";
  EXPECT_EQ(inode_of(kRootInode, "a"), a) << "and nothing happened";
  EXPECT_EQ(unlink(kRootInode, "a"), 0);
  EXPECT_EQ(stat(a).links, 1U);
  open(a);
  EXPECT_EQ(unlink(d, "b"), 0);
  EXPECT_EQ(link(a, d, "again"), ENOENT) << "a file without a name gets none";
}

TEST_F(MetadataStoreTest, too_many_links) {
  reopen({.max_links = 4});
  const std::uint64_t a = file(kRootInode, "a");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(link(a, kRootInode, fmt::format("a{}", i)), 0);
  EXPECT_EQ(link(a, kRootInode, "a3"), EMLINK);
  const std::uint64_t d = directory(kRootInode, "d");
  directory(kRootInode, "e");
  EXPECT_EQ(error_of(make(kRootInode, "f", S_IFDIR)), EMLINK);
  EXPECT_EQ(error_of(make(kRootInode, "f", S_IFREG)), 0);
  directory(d, "x");
  EXPECT_EQ(rename(d, "x", kRootInode, "x"), EMLINK);
  EXPECT_EQ(rename(d, "x", kRootInode, "a", RENAME_EXCHANGE), EMLINK);
  EXPECT_EQ(rename(d, "x", kRootInode, "e"), 0) << "one comes, one goes";
  EXPECT_EQ(rename(kRootInode, "d", kRootInode, "dd"), 0);
}

TEST_F(MetadataStoreTest, renames_that_fail) {
  const std::uint64_t d = directory(kRootInode, "d");
  const std::uint64_t e = directory(d, "e");
  file(kRootInode, "f");
  file(e, "g");
  EXPECT_EQ(rename(kRootInode, "none", kRootInode, "x"), ENOENT);
  EXPECT_EQ(rename(kRootInode, "d", e, "x"), EINVAL) << "into its own subtree";
  EXPECT_EQ(rename(kRootInode, "d", d, "x"), EINVAL);
  EXPECT_EQ(rename(kRootInode, "d", e, "g", RENAME_EXCHANGE), EINVAL);
  EXPECT_EQ(rename(e, "g", kRootInode, "d", RENAME_EXCHANGE), EINVAL);
  EXPECT_EQ(rename(kRootInode, "f", kRootInode, "d"), EISDIR);
  EXPECT_EQ(rename(kRootInode, "d", kRootInode, "f"), ENOTDIR);
  EXPECT_EQ(rename(d, "e", kRootInode, "d"), ENOTEMPTY);
  EXPECT_EQ(rename(kRootInode, "f", e, "g", RENAME_NOREPLACE), EEXIST);
  EXPECT_EQ(rename(kRootInode, "f", e, "new", RENAME_EXCHANGE), ENOENT);
  EXPECT_EQ(rename(kRootInode, "f", e, "new", RENAME_WHITEOUT), EINVAL);
  EXPECT_EQ(rename(kRootInode, "f", e, "new", RENAME_NOREPLACE | RENAME_EXCHANGE), EINVAL);
  EXPECT_EQ(rename(kRootInode, "f", e, std::string(256, 'x')), ENAMETOOLONG);
  EXPECT_EQ(rename(kRootInode, "f", inode_of(e, "g"), "x"), ENOTDIR);
  EXPECT_EQ(rename(kRootInode, "f", 999, "x"), ESTALE);
  EXPECT_THAT(names(kRootInode), ElementsAre("d", "f"));
  EXPECT_THAT(names(e), ElementsAre("g"));
}

TEST_F(MetadataStoreTest, renames_that_replace) {
  const std::uint64_t d = directory(kRootInode, "d");
  const std::uint64_t empty = directory(kRootInode, "empty");
  const std::uint64_t a = file(kRootInode, "a");
  const std::uint64_t b = file(kRootInode, "b");
  set_layout(b, {3});
  EXPECT_EQ(rename(kRootInode, "a", kRootInode, "b"), 0);
  EXPECT_EQ(inode_of(kRootInode, "b"), a);
  EXPECT_EQ(error_of(store_->attributes(b)), ESTALE);
  EXPECT_THAT(store_->doomed(0, 10, 10), ElementsAre(ObjectName{.ost = 3, .object = 1}));
  EXPECT_EQ(rename(kRootInode, "d", kRootInode, "empty"), 0);
  EXPECT_EQ(inode_of(kRootInode, "empty"), d);
  EXPECT_EQ(error_of(store_->attributes(empty)), ESTALE);
  EXPECT_EQ(stat(kRootInode).links, 3U);
  EXPECT_THAT(names(kRootInode), UnorderedElementsAre("empty", "b"));
  EXPECT_EQ(rename(kRootInode, "b", kRootInode, "empty", RENAME_EXCHANGE), 0);
  EXPECT_EQ(inode_of(kRootInode, "empty"), a);
}

TEST_F(MetadataStoreTest, a_file_lives_while_it_is_open) {
  const std::uint64_t a = file(kRootInode, "a");
  set_layout(a, {2, 4});
  open(a);
  open(a, 8);
  EXPECT_EQ(unlink(kRootInode, "a"), 0);
  EXPECT_EQ(stat(a).links, 0U);
  EXPECT_THAT(store_->doomed(0, 10, 10), IsEmpty());
  close(a);
  close(a);
  EXPECT_EQ(stat(a).links, 0U) << "another client has it open";
  reopen();
  close(a, 8);
  EXPECT_EQ(error_of(store_->attributes(a)), ESTALE);
  EXPECT_THAT(store_->doomed(0, 10, 10),
              UnorderedElementsAre(ObjectName{.ost = 2, .object = 1}, ObjectName{.ost = 4, .object = 1}));
  EXPECT_THAT(store_->doomed(3, 2, 10), ElementsAre(ObjectName{.ost = 4, .object = 1}));
  change([&]() -> Answer<void> {
    store_->forget_doomed(std::vector<ObjectName>{{.ost = 2, .object = 1}});
    return {};
  });
  EXPECT_THAT(store_->doomed(0, 10, 10), ElementsAre(ObjectName{.ost = 4, .object = 1}));
  EXPECT_EQ(change([&]() -> Answer<std::uint64_t> { return store_->take_object(2); }).value(), 2U) << "a number comes once";
}

TEST_F(MetadataStoreTest, a_file_that_is_replaced_lives_while_it_is_open) {
  const std::uint64_t a = file(kRootInode, "a");
  file(kRootInode, "b");
  open(a);
  EXPECT_EQ(rename(kRootInode, "b", kRootInode, "a"), 0);
  EXPECT_EQ(stat(a).links, 0U);
  close(a);
  EXPECT_EQ(error_of(store_->attributes(a)), ESTALE);
}

TEST_F(MetadataStoreTest, a_removed_directory_that_is_open_takes_nothing) {
  const std::uint64_t d = directory(kRootInode, "d");
  open(d);
  EXPECT_EQ(rmdir(kRootInode, "d"), 0);
  EXPECT_EQ(stat(d).links, 0U);
  EXPECT_THAT(names(d), IsEmpty());
  EXPECT_EQ(error_of(make(d, "x", S_IFREG)), ENOENT);
  file(kRootInode, "f");
  EXPECT_EQ(rename(kRootInode, "f", d, "f"), ENOENT);
  close(d);
  EXPECT_EQ(error_of(store_->attributes(d)), ESTALE);
}

TEST_F(MetadataStoreTest, another_session_closes_and_forgets) {
  const std::uint64_t a = file(kRootInode, "a");
  const auto begin = [&](std::uint64_t session) {
    change([&]() -> Answer<void> {
      store_->begin_session(kClient, session);
      return {};
    });
  };
  begin(1);
  open(a);
  const std::vector<std::byte> frame(3, std::byte{9});
  change([&]() -> Answer<void> {
    store_->keep_answer(kClient, 5, frame);
    return {};
  });
  EXPECT_EQ(unlink(kRootInode, "a"), 0);
  begin(1);
  EXPECT_EQ(store_->kept_answer(kClient, 5), frame);
  EXPECT_EQ(store_->kept_answer(kClient + 1, 5), std::nullopt);
  EXPECT_THAT(store_->clients_with_open_files(), ElementsAre(kClient));
  begin(2);
  EXPECT_EQ(store_->kept_answer(kClient, 5), std::nullopt);
  EXPECT_THAT(store_->clients_with_open_files(), IsEmpty());
  EXPECT_EQ(error_of(store_->attributes(a)), ESTALE);
}

TEST_F(MetadataStoreTest, only_the_last_answers_are_kept) {
  const std::vector<std::byte> frame(20);
  store_->begin();
  const std::uint64_t last = kKeptAnswers + 3000;
  for (std::uint64_t number = 1; number <= last; ++number) store_->keep_answer(kClient, number, frame);
  ASSERT_TRUE(store_->commit());
  EXPECT_EQ(store_->kept_answer(kClient, 1), std::nullopt);
  EXPECT_EQ(store_->kept_answer(kClient, last - kKeptAnswers + 1), frame);
  EXPECT_EQ(store_->kept_answer(kClient, last), frame);
}

TEST_F(MetadataStoreTest, extended_attributes) {
  const std::uint64_t a = file(kRootInode, "a");
  const auto bytes = [](std::string_view text) {
    const auto view = std::as_bytes(std::span(text.data(), text.size()));
    return std::vector<std::byte>(view.begin(), view.end());
  };
  const auto set = [&](const std::string& name, std::string_view value, std::uint32_t flags = 0) {
    return error_of(
        change([&] { return store_->set_xattr({.inode = a, .name = name, .value = bytes(value), .flags = flags}, now_); }));
  };
  EXPECT_EQ(error_of(store_->xattr(a, "user.x")), ENODATA);
  EXPECT_EQ(set("user.x", "1", XATTR_REPLACE), ENODATA);
  EXPECT_EQ(set("user.x", "1", XATTR_CREATE), 0);
  EXPECT_EQ(stat(a).change_ns, now_);
  EXPECT_EQ(set("user.x", "2", XATTR_CREATE), EEXIST);
  EXPECT_EQ(set("user.x", "3", XATTR_REPLACE), 0);
  EXPECT_EQ(set("user.empty", ""), 0);
  EXPECT_EQ(set(std::string(256, 'x'), "1"), ERANGE);
  EXPECT_EQ(set("user.big", std::string(65537, 'x')), E2BIG);
  EXPECT_EQ(store_->xattr(a, "user.x").value(), bytes("3"));
  EXPECT_EQ(store_->xattr(a, "user.empty").value(), bytes(""));
  EXPECT_THAT(store_->xattr_names(a).value(), ElementsAre("user.empty", "user.x"));
  EXPECT_EQ(error_of(change([&] { return store_->remove_xattr(a, "user.x", now_); })), 0);
  EXPECT_EQ(error_of(change([&] { return store_->remove_xattr(a, "user.x", now_); })), ENODATA);
  EXPECT_EQ(error_of(store_->xattr(999, "user.x")), ESTALE);
}

TEST_F(MetadataStoreTest, a_listing_gives_each_entry_that_stays_once) {
  for (int i = 0; i < 10; ++i) file(kRootInode, fmt::format("f{}", i));
  auto first = store_->list(kRootInode, 0, 4).value().entries;
  ASSERT_EQ(first.size(), 4U);
  EXPECT_GE(first[0].cookie, kFirstCookie);
  // Between two pages: one entry goes, one is renamed, one is replaced, one comes.
  EXPECT_EQ(unlink(kRootInode, "f3"), 0);
  EXPECT_EQ(rename(kRootInode, "f7", kRootInode, "renamed"), 0);
  EXPECT_EQ(rename(kRootInode, "f0", kRootInode, "f8"), 0);
  file(kRootInode, "late");
  std::vector<std::string> rest;
  const ListAnswer second = store_->list(kRootInode, first.back().cookie, 100).value();
  rest.reserve(second.entries.size());
  for (const Listed& entry : second.entries) rest.push_back(entry.name);
  EXPECT_THAT(rest, ElementsAre("f4", "f5", "f6", "renamed", "f8", "f9", "late"));
  EXPECT_EQ(store_->list(kRootInode, 0, 100).value().entries[0].cookie, first[1].cookie);
}

TEST_F(MetadataStoreTest, defaults_of_directories_are_inherited_but_for_the_root) {
  const std::vector<std::byte> wanted(32, std::byte{1});
  const auto set = [&](std::uint64_t inode) {
    EXPECT_TRUE(change([&] { return store_->set_layout(inode, wanted); }).has_value());
  };
  set(kRootInode);
  const std::uint64_t d = directory(kRootInode, "d");
  EXPECT_THAT(store_->layout(d).value(), IsEmpty());
  set(d);
  EXPECT_EQ(store_->layout(directory(d, "below")).value(), wanted);
  EXPECT_THAT(store_->layout(file(d, "f")).value(), IsEmpty());
}

TEST_F(MetadataStoreTest, a_damaged_store_says_so) {
  store_.reset();
  tree_.write("mds/metadata.sqlite", std::string(8192, 'x'));
  const auto opened = MetadataStore::open(tree_.path("mds"), 0, 0, 1);
  ASSERT_FALSE(opened.has_value());
  EXPECT_THAT(opened.error().message, testing::HasSubstr("metadata.sqlite: file is not a database"));
}

}  // namespace
}  // namespace iez::lab
