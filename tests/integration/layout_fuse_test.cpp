// Layouts of files on a mounted file system: the code paths of a lab without Lustre, with real system calls.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lustre/layout_codec.hpp"
#include "lustre/layout_file.hpp"
#include "xattr_fs.hpp"

namespace iez::lustre {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr long kFuseMagic = 0x65735546;

// Mounts on construction and, whatever happens, unmounts on destruction and ends the server.
class FuseMount {
 public:
  explicit FuseMount(const std::string& base)
      : root_(base + "/root"), mount_point_(base + "/mnt"), server_(start_server(root_, mount_point_)) {}
  ~FuseMount() {
    if (server_ <= 0) return;
    ::umount2(mount_point_.c_str(), MNT_DETACH);
    if (!ended_within(5s)) ::kill(server_, SIGTERM);
    if (!ended_within(5s)) {
      ::kill(server_, SIGKILL);
      ended_within(5s);
    }
    ::umount2(mount_point_.c_str(), MNT_DETACH);
  }
  FuseMount(const FuseMount&) = delete;
  FuseMount& operator=(const FuseMount&) = delete;

  bool ready_within(std::chrono::seconds limit) {
    return holds_within(limit, [this] {
      struct statfs status{};
      return ::statfs(mount_point_.c_str(), &status) == 0 && status.f_type == kFuseMagic;
    });
  }
  const std::string& path() const { return mount_point_; }
  const std::string& root() const { return root_; }

 private:
  static pid_t start_server(const std::string& root, const std::string& mount_point) {
    std::filesystem::create_directories(root);
    std::filesystem::create_directories(mount_point);
    const pid_t server = ::fork();
    if (server == 0) ::_exit(iez::testing::serve_xattr_fs(root, mount_point));
    return server;
  }

  bool ended_within(std::chrono::seconds limit) {
    if (ended_) return true;
    ended_ = holds_within(limit, [this] { return ::waitpid(server_, nullptr, WNOHANG) == server_; });
    return ended_;
  }

  template <typename Condition>
  static bool holds_within(std::chrono::seconds limit, Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }

  std::string root_;
  std::string mount_point_;
  pid_t server_;
  bool ended_ = false;
};

class LayoutOnFuse : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "/dev/fuse cannot be opened here";
    if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root here";
    std::string name = "/tmp/iez-fuse-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base_ = name;
    mount_ = std::make_unique<FuseMount>(base_);
    if (!mount_->ready_within(10s)) {
      mount_.reset();
      FAIL() << "the file system did not mount within 10 s, though /dev/fuse is there and we are root";
    }
  }
  void TearDown() override {
    mount_.reset();
    if (!base_.empty()) std::filesystem::remove_all(base_);
  }

  std::string at(const std::string& name) const { return mount_->path() + "/" + name; }

  static model::Layout on_osts(const std::vector<OstIndex>& osts) {
    model::Layout layout;
    layout.components.resize(1);
    layout.components[0].stripe_size = Bytes::mib(1);
    layout.components[0].osts = osts;
    return layout;
  }

  std::string base_;
  std::unique_ptr<FuseMount> mount_;
};

TEST_F(LayoutOnFuse, IsALab) {
  EXPECT_EQ(file_system_kind(mount_->path()).value(), FileSystemKind::lab);
  EXPECT_EQ(file_system_kind(at("new")).value(), FileSystemKind::lab);
  EXPECT_EQ(file_system_kind(mount_->root()).value(), FileSystemKind::other);
  EXPECT_EQ(file_system_kind_at(system_layout_calls(), AT_FDCWD, at("new").c_str()), FileSystemKind::lab);
}

TEST_F(LayoutOnFuse, CreatesOnTheListedOsts) {
  const auto got = create_with_layout(at("file"), on_osts({{3}, {1}, {2}}), 0640);
  ASSERT_TRUE(got) << got.error().message;
  std::vector<OstIndex> osts;
  for (const auto& object : got->components[0].objects) osts.push_back(object.ost);
  EXPECT_EQ(osts, (std::vector<OstIndex>{{3}, {1}, {2}}));
  EXPECT_EQ(got->components[0].stripe_size, Bytes::mib(1));
  EXPECT_EQ(read_layout(at("file")).value(), *got);
  struct stat status{};
  ASSERT_EQ(::stat(at("file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U & ~0640U, 0U);
}

TEST_F(LayoutOnFuse, CreatesComposite) {
  model::Layout layout;
  layout.composite = true;
  layout.components.resize(2);
  layout.components[0].extent.end = layout.components[1].extent.start = Bytes::mib(4).count;
  const auto got = create_with_layout(at("file"), layout, 0644);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(got->composite);
  EXPECT_EQ(got->components[1].extent.start, Bytes::mib(4).count);
}

TEST_F(LayoutOnFuse, RefusalNamesTheRemedyAndLeavesNothing) {
  const auto unknown = create_with_layout(at("file"), on_osts({{77}}), 0644);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().os_errno, EINVAL);
  EXPECT_THAT(unknown.error().message, HasSubstr(at("file") + ": cannot set the layout: an OST that does not exist"));
  const auto inactive = create_with_layout(at("file"), on_osts({{5}}), 0644);
  ASSERT_FALSE(inactive);
  EXPECT_EQ(inactive.error().os_errno, EREMOTEIO);
  EXPECT_THAT(inactive.error().message, HasSubstr("inactive at the metadata server"));
  EXPECT_TRUE(std::filesystem::is_empty(mount_->path()));
}

TEST_F(LayoutOnFuse, ExistingFilesAreLeftAlone) {
  ASSERT_TRUE(create_with_layout(at("file"), on_osts({{1}}), 0644));
  const auto before = read_layout(at("file"));
  const auto again = create_with_layout(at("file"), on_osts({{2}}), 0644);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::exists);
  EXPECT_THAT(again.error().message, HasSubstr("only a new file"));
  EXPECT_EQ(read_layout(at("file")).value(), before.value());
}

TEST_F(LayoutOnFuse, MissingDirectoryIsNamed) {
  const auto created = create_with_layout(at("no/file"), on_osts({{1}}), 0644);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().os_errno, ENOENT);
}

TEST_F(LayoutOnFuse, NoLayoutYet) {
  ASSERT_EQ(::mknod(at("node").c_str(), S_IFREG | 0644, 0), 0);
  EXPECT_THAT(read_layout(at("node")).error().message, HasSubstr("has no layout yet"));
  EXPECT_EQ(read_layout(at("node")).error().code, Errc::not_found);
  EXPECT_THAT(read_layout(mount_->path()).error().message, HasSubstr("no default layout"));
}

TEST_F(LayoutOnFuse, OpenRelativeToADirectory) {
  ASSERT_EQ(::mkdir(at("sub").c_str(), 0755), 0);
  const int directory = ::open(at("sub").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(directory, 0);
  const auto bytes = encode_request(on_osts({{4}, {0}})).value();
  const LayoutResult result =
      open_with_layout(system_layout_calls(), FileSystemKind::lab,
                       {.dirfd = directory, .path = "file", .flags = O_CREAT | O_EXCL | O_WRONLY, .mode = 0600},
                       {.bytes = bytes.data(), .size = bytes.size()});
  ASSERT_GE(result.fd, 0);
  EXPECT_EQ(result.outcome, LayoutOutcome::applied);
  EXPECT_EQ(::write(result.fd, "x", 1), 1);
  EXPECT_EQ(::fcntl(result.fd, F_GETFL) & O_ASYNC, 0);
  ::close(result.fd);
  ::close(directory);
  EXPECT_EQ(read_layout(at("sub/file")).value().components[0].objects[0].ost, OstIndex{4});
}

}  // namespace
}  // namespace iez::lustre
