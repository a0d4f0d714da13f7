#include "lab/mds.hpp"

#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab/mds_test_support.hpp"
#include "lustre/layout_codec.hpp"
#include "lustre/set_layout.hpp"
#include "lustre/tree_test_support.hpp"

namespace iez::lab {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MdsTest : public testing::Test {
 protected:
  template <typename T>
  static int error_of(const Answer<T>& answer) {
    return answer ? 0 : answer.error();
  }
  Answer<Entry> create(const std::string& name, std::uint64_t parent = kRootInode) {
    return peer_.ask<Entry>(Op::make, MakeRequest{.parent = parent, .name = name, .mode = S_IFREG | 0644, .open = 1});
  }
  std::uint64_t mknod(const std::string& name, std::uint64_t parent = kRootInode) {
    return peer_.ask<Entry>(Op::make, MakeRequest{.parent = parent, .name = name, .mode = S_IFREG | 0644})
        .value()
        .attributes.inode;
  }
  std::uint64_t mkdir(const std::string& name, std::uint64_t parent = kRootInode) {
    return peer_.ask<Entry>(Op::make, MakeRequest{.parent = parent, .name = name, .mode = S_IFDIR | 0755})
        .value()
        .attributes.inode;
  }
  int set_layout(std::uint64_t inode, const std::vector<std::byte>& bytes) {
    return error_of(peer_.ask<Empty>(Op::set_xattr, XattrRequest{.inode = inode, .name = "lustre.lov", .value = bytes}));
  }
  int set_layout(std::uint64_t inode, const model::Layout& layout) {
    return set_layout(inode, lustre::encode_request(layout).value());
  }
  Answer<BytesAnswer> get_layout(std::uint64_t inode) {
    return peer_.ask<BytesAnswer>(Op::get_xattr, XattrRequest{.inode = inode, .name = "lustre.lov"});
  }
  int fault(const FaultRequest& request) { return error_of(peer_.ask<Empty>(Op::fault, request)); }

  static model::Layout wanting(std::vector<std::uint32_t> osts) {
    model::Layout layout;
    layout.components.resize(1);
    for (const std::uint32_t ost : osts) layout.components[0].osts.push_back(OstIndex{ost});
    layout.components[0].stripe_count = static_cast<std::uint16_t>(osts.size());
    layout.components[0].stripe_size = Bytes::kib(128);
    return layout;
  }
  static std::vector<std::uint32_t> osts_of(const std::vector<std::byte>& bytes, std::size_t component = 0) {
    std::vector<std::uint32_t> osts;
    const auto layout = lustre::decode_layout(bytes).value();
    osts.reserve(layout.components.at(component).objects.size());
    for (const auto& object : layout.components.at(component).objects) osts.push_back(object.ost.value);
    return osts;
  }

  lustre::TemporaryTree tree_;
  Config config_ = small_lab(tree_.root());
  RunningMds mds_{config_};
  MdsPeer peer_{config_, 1, 1};
};

TEST_F(MdsTest, names_and_attributes) {
  const Entry made = create("a").value();
  EXPECT_THAT(made.layout, testing::Not(IsEmpty()));
  const Entry found = peer_.ask<Entry>(Op::lookup, NameRequest{.parent = kRootInode, .name = "a"}).value();
  EXPECT_EQ(found.attributes.inode, made.attributes.inode);
  EXPECT_EQ(found.layout, made.layout);
  const auto opened = peer_.ask<Entry>(Op::open, InodeRequest{.inode = found.attributes.inode});
  EXPECT_EQ(opened.value().layout, made.layout);
  mkdir("d");
  const ListAnswer listed = peer_.ask<ListAnswer>(Op::list, ListRequest{.inode = kRootInode, .most = 100}).value();
  ASSERT_EQ(listed.entries.size(), 2U);
  EXPECT_EQ(listed.entries[0].name, "a");
  EXPECT_EQ(listed.entries[1].mode & S_IFMT, std::uint32_t{S_IFDIR});
  const auto set = peer_.ask<Entry>(
      Op::set_attributes, SetAttributesRequest{.attributes = {.inode = made.attributes.inode, .mode = 0600}, .mask = kSetMode});
  EXPECT_EQ(set.value().attributes.mode, std::uint32_t{S_IFREG | 0600});
  EXPECT_EQ(set->layout, made.layout);
  EXPECT_EQ(peer_.ask<Entry>(Op::get_attributes, InodeRequest{.inode = made.attributes.inode}).value().attributes.mode,
            std::uint32_t{S_IFREG | 0600});
  EXPECT_EQ(error_of(peer_.ask<Empty>(
                Op::rename, RenameRequest{.parent = kRootInode, .name = "a", .new_parent = kRootInode, .new_name = "b"})),
            0);
  EXPECT_EQ(error_of(peer_.ask<Entry>(Op::link, LinkRequest{.inode = made.attributes.inode, .parent = kRootInode, .name = "c"})),
            0);
  EXPECT_EQ(error_of(peer_.ask<Empty>(Op::unlink, NameRequest{.parent = kRootInode, .name = "b"})), 0);
  EXPECT_EQ(error_of(peer_.ask<Empty>(Op::remove_directory, NameRequest{.parent = kRootInode, .name = "d"})), 0);
  EXPECT_EQ(error_of(peer_.ask<Empty>(Op::close, InodeRequest{.inode = made.attributes.inode})), 0);
  EXPECT_EQ(error_of(peer_.ask<Entry>(Op::lookup, NameRequest{.parent = kRootInode, .name = "b"})), ENOENT);
}

TEST_F(MdsTest, symbolic_links) {
  const auto made =
      peer_.ask<Entry>(Op::make, MakeRequest{.parent = kRootInode, .name = "l", .mode = S_IFLNK | 0777, .target = "some/where"});
  const auto read = peer_.ask<BytesAnswer>(Op::read_link, InodeRequest{.inode = made.value().attributes.inode}).value();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(read.bytes.data()), read.bytes.size()), "some/where");
}

TEST_F(MdsTest, a_changing_request_that_comes_again_gets_its_first_answer) {
  const auto frame =
      request_frame(Op::make, 77, MakeRequest{.parent = kRootInode, .name = "once", .mode = S_IFREG | 0644, .open = 1});
  peer_.send(frame);
  const RawAnswer first = peer_.receive().value();
  EXPECT_EQ(first.error, 0);
  peer_.send(frame);
  const RawAnswer second = peer_.receive().value();
  EXPECT_EQ(second.number, 77U);
  EXPECT_EQ(second.error, 0);
  EXPECT_EQ(second.fields, first.fields);
  MdsPeer other(config_, 2, 1);
  other.send(frame);
  EXPECT_EQ(other.receive().value().error, EEXIST) << "numbers belong to a client";
  MdsPeer restarted(config_, 1, 2);
  restarted.send(frame);
  EXPECT_EQ(restarted.receive().value().error, EEXIST) << "and to a session of it";
}

TEST_F(MdsTest, damaged_and_early_requests) {
  peer_.send(request_frame(Op::lookup, 5, std::string("ab")));
  EXPECT_EQ(peer_.receive().value().error, EBADMSG);
  peer_.send(request_frame(Op::unlink, 6, std::string("ab")));
  EXPECT_EQ(peer_.receive().value().error, EBADMSG);
  peer_.send(request_frame(Op::write, 7, Empty{}));
  EXPECT_EQ(peer_.receive().value().error, EOPNOTSUPP);
  auto stranger = connect_to(socket_path(config_, "mds"));
  ASSERT_TRUE(stranger.has_value());
  const auto frame = request_frame(Op::unlink, 1, NameRequest{.parent = kRootInode, .name = "x"});
  ASSERT_EQ(::send(stranger->get(), frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
  std::byte answer[20];
  ASSERT_EQ(::recv(stranger->get(), answer, sizeof answer, MSG_WAITALL), 20);
  std::int32_t error = 0;
  std::memcpy(&error, answer + sizeof(Frame), sizeof error);
  EXPECT_EQ(error, ENOTCONN);
}

TEST_F(MdsTest, new_files_go_round_the_osts) {
  std::vector<int> uses(6);
  for (int i = 0; i < 60; ++i) {
    for (const std::uint32_t ost : osts_of(create(fmt::format("f{}", i)).value().layout)) ++uses[ost];
  }
  EXPECT_THAT(uses, testing::Each(10));
}

TEST_F(MdsTest, objects_have_numbers_of_their_own) {
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
  for (int i = 0; i < 20; ++i) {
    const auto layout = lustre::decode_layout(create(fmt::format("f{}", i)).value().layout).value();
    EXPECT_EQ(layout.components[0].stripe_size, config_.stripe_size);
    for (const auto& object : layout.components[0].objects) EXPECT_TRUE(seen.emplace(object.ost.value, object.id.low).second);
  }
}

TEST_F(MdsTest, mknod_then_setxattr_then_open) {
  const std::uint64_t inode = mknod("f");
  EXPECT_EQ(error_of(get_layout(inode)), ENODATA);
  const std::vector<std::byte> request = lustre::encode_request(wanting({3, 1, 2})).value();
  ASSERT_EQ(set_layout(inode, request), 0);
  const std::vector<std::byte> found = get_layout(inode).value().bytes;
  EXPECT_THAT(osts_of(found), ElementsAre(3U, 1U, 2U));
  EXPECT_EQ(found.size(), 104U) << "as on Lustre";
  EXPECT_TRUE(lustre::layout_answers_request({request.data(), request.size()}, found.data(), found.size()));
  EXPECT_EQ(set_layout(inode, wanting({0})), 0) << "no error, as on Lustre";
  EXPECT_EQ(get_layout(inode).value().bytes, found) << "and no change";
  EXPECT_EQ(peer_.ask<Entry>(Op::open, InodeRequest{.inode = inode}).value().layout, found);
  const auto names = peer_.ask<BytesAnswer>(Op::list_xattrs, InodeRequest{.inode = inode}).value().bytes;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(names.data()), names.size()), std::string("lustre.lov\0", 11));
}

TEST_F(MdsTest, a_file_that_is_opened_without_a_layout_gets_one) {
  const std::uint64_t inode = mknod("f");
  const Entry opened = peer_.ask<Entry>(Op::open, InodeRequest{.inode = inode}).value();
  EXPECT_EQ(osts_of(opened.layout).size(), 1U);
  EXPECT_EQ(get_layout(inode).value().bytes, opened.layout);
}

TEST_F(MdsTest, defaults_of_directories) {
  const std::uint64_t d = mkdir("d");
  EXPECT_EQ(error_of(get_layout(d)), ENODATA) << "how the lab is told from other file systems";
  ASSERT_EQ(set_layout(d, wanting({5, 4})), 0);
  EXPECT_THAT(osts_of(create("f", d).value().layout), ElementsAre(5U, 4U));
  const std::uint64_t below = mkdir("below", d);
  EXPECT_EQ(get_layout(below).value().bytes, get_layout(d).value().bytes);
  EXPECT_THAT(osts_of(create("f", below).value().layout), ElementsAre(5U, 4U));
  // A file made without being opened takes what its directory says when it is.
  const std::uint64_t later = mknod("later", below);
  ASSERT_EQ(set_layout(below, wanting({2})), 0);
  EXPECT_THAT(osts_of(peer_.ask<Entry>(Op::open, InodeRequest{.inode = later}).value().layout), ElementsAre(2U));

  model::Layout wide;
  wide.components.resize(1);
  wide.components[0].stripe_count = model::Component::kAllOsts;
  ASSERT_EQ(set_layout(kRootInode, wide), 0);
  EXPECT_EQ(osts_of(create("wide").value().layout).size(), 6U);
  EXPECT_EQ(osts_of(create("g", mkdir("plain")).value().layout).size(), 6U) << "the root's is everybody's";
  EXPECT_EQ(error_of(peer_.ask<Empty>(Op::remove_xattr, XattrRequest{.inode = kRootInode, .name = "lustre.lov"})), 0);
  EXPECT_EQ(error_of(peer_.ask<Empty>(Op::remove_xattr, XattrRequest{.inode = kRootInode, .name = "lustre.lov"})), ENODATA);
  model::Layout nothing;
  nothing.components.resize(1);
  ASSERT_EQ(set_layout(d, nothing), 0);
  EXPECT_EQ(error_of(get_layout(d)), ENODATA);
  EXPECT_EQ(osts_of(create("one").value().layout).size(), 1U);
}

TEST_F(MdsTest, progressive_files_have_all_their_objects_at_once) {
  const std::uint64_t inode = mknod("f");
  model::Layout layout;
  layout.composite = true;
  layout.components.resize(2);
  layout.components[0].extent = {.start = 0, .end = 4U << 20U};
  layout.components[0].stripe_count = 1;
  layout.components[1].extent.start = 4U << 20U;
  layout.components[1].stripe_count = 4;
  const auto request = lustre::encode_request(layout).value();
  ASSERT_EQ(set_layout(inode, request), 0);
  const auto found = get_layout(inode).value().bytes;
  EXPECT_EQ(osts_of(found, 0).size(), 1U);
  EXPECT_EQ(osts_of(found, 1).size(), 4U);
  EXPECT_TRUE(lustre::layout_answers_request({request.data(), request.size()}, found.data(), found.size()));
  EXPECT_EQ(peer_.ask<Entry>(Op::open, InodeRequest{.inode = inode}).value().layout, found);
}

TEST_F(MdsTest, layouts_that_are_refused) {
  const std::uint64_t inode = mknod("f");
  EXPECT_EQ(set_layout(inode, wanting({6})), EINVAL);
  ASSERT_EQ(fault({.kind = FaultKind::off, .ost = 2}), 0);
  EXPECT_EQ(set_layout(inode, wanting({1, 2})), EREMOTEIO);
  EXPECT_EQ(error_of(get_layout(inode)), ENODATA) << "nothing half done";
  for (int i = 0; i < 12; ++i) {
    EXPECT_THAT(osts_of(create(fmt::format("f{}", i)).value().layout), testing::Not(testing::Contains(2U)));
  }
  ASSERT_EQ(fault({.kind = FaultKind::none, .ost = 2}), 0);
  EXPECT_EQ(set_layout(inode, wanting({1, 2})), 0);
  const auto link = peer_.ask<Entry>(Op::make, MakeRequest{.parent = kRootInode, .name = "l", .mode = S_IFLNK, .target = "x"});
  EXPECT_EQ(set_layout(link.value().attributes.inode, wanting({1})), EOPNOTSUPP);
  EXPECT_EQ(set_layout(999, wanting({1})), ESTALE);
  EXPECT_EQ(error_of(peer_.ask<Empty>(Op::remove_xattr, XattrRequest{.inode = inode, .name = "lustre.lov"})), 0);
  EXPECT_FALSE(peer_.ask<Entry>(Op::get_attributes, InodeRequest{.inode = inode}).value().layout.empty());
}

TEST_F(MdsTest, other_attributes) {
  const std::uint64_t inode = mknod("f");
  const std::vector<std::byte> value(5, std::byte{1});
  const auto set = [&](const std::string& name) {
    return error_of(peer_.ask<Empty>(Op::set_xattr, XattrRequest{.inode = inode, .name = name, .value = value}));
  };
  EXPECT_EQ(set("user.x"), 0);
  EXPECT_EQ(set("system.posix_acl_access"), EOPNOTSUPP);
  EXPECT_EQ(peer_.ask<BytesAnswer>(Op::get_xattr, XattrRequest{.inode = inode, .name = "user.x"}).value().bytes, value);
  EXPECT_EQ(error_of(peer_.ask<BytesAnswer>(Op::get_xattr, XattrRequest{.inode = inode, .name = "user.y"})), ENODATA);
  EXPECT_EQ(error_of(peer_.ask<Empty>(Op::remove_xattr, XattrRequest{.inode = inode, .name = "user.x"})), 0);
}

TEST_F(MdsTest, faults) {
  ASSERT_EQ(fault({.kind = FaultKind::full}), 0);
  EXPECT_EQ(error_of(create("f")), ENOSPC);
  ASSERT_EQ(fault({.kind = FaultKind::none}), 0);
  EXPECT_EQ(error_of(create("f")), 0);
  EXPECT_EQ(fault({.kind = FaultKind::drop, .value = 1.5}), EINVAL);
  EXPECT_EQ(fault({.kind = FaultKind::off, .ost = 6}), EINVAL);
  EXPECT_EQ(fault({.kind = FaultKind::slow, .value = 0.5}), EOPNOTSUPP);
  for (std::int32_t ost = 0; ost < 6; ++ost) ASSERT_EQ(fault({.kind = FaultKind::off, .ost = ost}), 0);
  EXPECT_EQ(error_of(create("g")), ENOSPC) << "no OST takes an object";
  EXPECT_EQ(error_of(peer_.ask<Entry>(Op::lookup, NameRequest{.parent = kRootInode, .name = "g"})), ENOENT);
}

TEST_F(MdsTest, lost_requests_and_answers_are_made_good_by_asking_again) {
  ASSERT_EQ(fault({.kind = FaultKind::drop, .value = 0.4}), 0);
  int again = 0;
  for (int i = 0; i < 100; ++i) {
    const auto name = fmt::format("f{}", i);
    for (const auto& frame :
         {request_frame(Op::make, peer_.take_number(), MakeRequest{.parent = kRootInode, .name = name, .mode = S_IFDIR}),
          request_frame(Op::remove_directory, peer_.take_number(), NameRequest{.parent = kRootInode, .name = name})}) {
      std::optional<RawAnswer> answer;
      for (int tries = 0; !answer && tries < 100; ++tries, ++again) {
        peer_.send(frame);
        answer = peer_.receive(10);
      }
      ASSERT_TRUE(answer.has_value());
      EXPECT_EQ(answer->error, 0) << i;
    }
  }
  EXPECT_GT(again, 220);
  ASSERT_EQ(fault({.kind = FaultKind::none}), 0);
  EXPECT_THAT(peer_.ask<ListAnswer>(Op::list, ListRequest{.inode = kRootInode, .most = 9}).value().entries, IsEmpty());
}

TEST_F(MdsTest, describes_itself) {
  create("f");
  const auto json = nlohmann::json::parse(peer_.ask<DescribeAnswer>(Op::describe, Empty{}).value().json);
  EXPECT_EQ(json["inodes"], 2);
  EXPECT_EQ(json["open_files"], 1);
  EXPECT_EQ(json["clients"], nlohmann::json({"test"}));
  EXPECT_EQ(json["osts"].size(), 6U);
  EXPECT_EQ(json["osts"][5]["oss"], 1);
  EXPECT_EQ(json["osts"][5]["connected"], false);
}

TEST_F(MdsTest, open_files_outlive_a_lost_connection_but_not_the_clients_process) {
  const std::uint64_t inode = create("f").value().attributes.inode;
  ASSERT_EQ(error_of(peer_.ask<Empty>(Op::unlink, NameRequest{.parent = kRootInode, .name = "f"})), 0);
  peer_.disconnect();
  peer_.connect();
  EXPECT_EQ(peer_.ask<Entry>(Op::get_attributes, InodeRequest{.inode = inode}).value().attributes.links, 0U);
  MdsPeer restarted(config_, 1, 2);
  EXPECT_EQ(error_of(restarted.ask<Entry>(Op::get_attributes, InodeRequest{.inode = inode})), ESTALE);
}

}  // namespace
}  // namespace iez::lab
