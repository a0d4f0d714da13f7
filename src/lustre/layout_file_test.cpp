#include "lustre/layout_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lustre/layout_abi.hpp"
#include "lustre/layout_codec.hpp"
#include "lustre/set_layout.hpp"

namespace iez::lustre {
namespace {

using testing::HasSubstr;
using ByteVector = std::vector<std::byte>;

ByteVector request_for(const std::vector<std::uint32_t>& osts) {
  model::Layout layout;
  layout.components.resize(1);
  layout.components[0].stripe_size = Bytes::mib(1);
  for (const std::uint32_t ost : osts) layout.components[0].osts.push_back({ost});
  return encode_request(layout).value();
}

model::Layout progressive_layout() {
  model::Layout layout;
  layout.composite = true;
  layout.components.resize(2);
  layout.components[0].extent.end = Bytes::mib(4).count;
  layout.components[1].extent.start = Bytes::mib(4).count;
  return layout;
}

// ---- A Lustre of the size of a test
// -------------------------------------------------------------------------------------------------

// Behaves as the measured one: six OSTs, of which 4 creates no objects and 5 is inactive at the MDS. As a lab it has no ioctl and
// no delayed create. There is one user, not root, and directories "locked/" (no entry may be made) and "gone/" (does not exist).
class FakeFileSystem {
 public:
  struct File {
    mode_t mode = 0644;
    ByteVector layout;  // empty: none yet
    std::string data;
  };

  FileSystemKind kind = FileSystemKind::lustre;
  std::map<std::string, File> files;
  std::function<void()> before_setting;  // another client, between create and layout
  bool other_client = false;             // who opens now does not see the delayed opens of the first
  bool keeps_async = false;
  int mknod_errno = 0;
  int calls = 0;  // that go to the metadata server
  std::vector<std::string> log;

  FakeFileSystem() { current = this; }
  ~FakeFileSystem() { current = nullptr; }
  FakeFileSystem(const FakeFileSystem&) = delete;
  FakeFileSystem& operator=(const FakeFileSystem&) = delete;

  static const LayoutCalls& table();

  // As the application sees its descriptor: 0 or errno.
  int write(int fd, const std::string& text) {
    const Open& open = fds_.at(fd);
    File& file = files.at(open.path);
    if ((open.flags & O_ACCMODE) == O_RDONLY || file.layout.empty()) return EBADF;
    file.data += text;
    return 0;
  }

  // A plain open for writing by somebody else.
  void instantiate(const std::string& path) {
    File& file = files[path];
    if (file.layout.empty()) file.layout = default_layout();
  }

  std::size_t open_descriptors() const { return fds_.size(); }
  int flags_of(int fd) const { return fds_.at(fd).flags; }

  static ByteVector default_layout() { return file_layout({0}, static_cast<std::uint32_t>(Bytes::mib(4).count)); }

 private:
  struct Open {
    std::string path;
    int flags;
  };

  static int fail_with(int code) {
    errno = code;
    return -1;
  }

  static ByteVector file_layout(const std::vector<std::uint32_t>& osts, std::uint32_t stripe_size) {
    model::Layout layout;
    layout.generation = 0xffff;
    layout.components.resize(1);
    layout.components[0].stripe_size = Bytes{stripe_size};
    layout.components[0].stripe_count = static_cast<std::uint16_t>(osts.size());
    for (const std::uint32_t ost : osts) layout.components[0].objects.push_back({.ost = {ost}, .id = {}, .generation = 0});
    return encode_layout(layout).value();
  }

  int make(const std::string& path, mode_t mode) {
    if (path.starts_with("gone/")) return fail_with(ENOENT);
    if (path.starts_with("locked/")) return fail_with(EACCES);
    files[path] = {.mode = mode & 07777U, .layout = {}, .data = {}};
    return 0;
  }

  bool delayed_open_of(const std::string& path) const {
    return std::any_of(fds_.begin(), fds_.end(), [&](const auto& entry) {
      return entry.second.path == path && (entry.second.flags & abi::kOpenDelayCreate) == abi::kOpenDelayCreate;
    });
  }

  int add_descriptor(const std::string& path, int flags) {
    fds_[++last_fd_] = {.path = path, .flags = flags};
    return last_fd_;
  }

  int open(const std::string& path, int flags, mode_t mode) {
    if ((flags & O_PATH) != 0) {
      return (flags & O_DIRECTORY) != 0 || files.contains(path) ? add_descriptor(path, flags) : fail_with(ENOENT);
    }
    ++calls;
    log.push_back(fmt::format("open {}{}{}", path, (flags & O_EXCL) != 0 ? " excl" : "",
                              (flags & abi::kOpenDelayCreate) == abi::kOpenDelayCreate ? " delay" : ""));
    const bool existed = files.contains(path);
    if (existed && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return fail_with(EEXIST);
    if (!existed && (flags & O_CREAT) == 0) return fail_with(ENOENT);
    if (!existed && make(path, mode) != 0) return -1;
    const bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if (existed && writes && (files[path].mode & 0200U) == 0) return fail_with(EACCES);
    if (existed && (flags & O_TRUNC) != 0) files[path].data.clear();
    const bool delay = kind == FileSystemKind::lustre && (flags & abi::kOpenDelayCreate) == abi::kOpenDelayCreate;
    if (writes && !delay && (other_client || !delayed_open_of(path))) instantiate(path);
    return add_descriptor(path, flags);
  }

  // Both ways to set; `silent` is what distinguishes setxattr on a file that has a layout.
  int set(const std::string& path, const ByteVector& request, bool silent) {
    ++calls;
    if (before_setting) before_setting();
    if (!files.contains(path)) return fail_with(ESTALE);
    File& file = files.at(path);
    if (!file.layout.empty()) return silent ? 0 : fail_with(EEXIST);
    const auto asked = decode_layout(request);
    if (!asked) return fail_with(EINVAL);
    if (asked->composite) {
      file.layout = request;
      return 0;
    }
    std::vector<std::uint32_t> osts;
    for (const OstIndex ost : asked->components[0].osts) {
      if (ost.value > 5) return fail_with(EINVAL);
      if (ost.value == 5) return fail_with(EREMOTEIO);
      if (ost.value == 4) return fail_with(ENOBUFS);
      osts.push_back(ost.value);
    }
    file.layout = file_layout(osts, static_cast<std::uint32_t>(asked->components[0].stripe_size.count));
    return 0;
  }

  ssize_t get(const std::string& path, void* value, std::size_t size) {
    if (kind == FileSystemKind::other) return fail_with(ENOTSUP);
    const ByteVector& layout = files[path].layout;
    if (layout.empty()) return fail_with(ENODATA);
    if (size != 0 && layout.size() > size) return fail_with(ERANGE);
    if (size != 0) std::copy(layout.begin(), layout.end(), static_cast<std::byte*>(value));
    return static_cast<ssize_t>(layout.size());
  }

  const std::string& of_proc(const char* path) const {
    return fds_.at(std::stoi(path + std::string_view("/proc/self/fd/").size())).path;
  }

  static FakeFileSystem* current;
  std::map<int, Open> fds_;
  int last_fd_ = 100;
};

FakeFileSystem* FakeFileSystem::current = nullptr;

const LayoutCalls& FakeFileSystem::table() {
  static constexpr LayoutCalls kTable = {
      .openat = [](int, const char* path, int flags, mode_t mode) { return current->open(path, flags, mode); },
      .close = [](int fd) { return current->fds_.erase(fd) == 1 ? 0 : fail_with(EBADF); },
      .ioctl = [](int fd, unsigned long request, const void* argument) -> int {
        current->log.emplace_back("ioctl");
        if (current->kind != FileSystemKind::lustre || request != abi::kIocSetStripe) return fail_with(ENOTTY);
        const auto* bytes = static_cast<const std::byte*>(argument);
        const std::uint32_t magic = abi::load_u32(bytes);
        const std::size_t listed =
            magic == abi::kMagicSpecific ? abi::load_u16(bytes + offsetof(abi::LayoutV1, stripe_count)) : 0;
        const std::size_t size = abi::plain_header_size(magic) + listed * sizeof(abi::OstData);
        return current->set(current->fds_.at(fd).path, ByteVector(bytes, bytes + size), false);
      },
      // Lustre forgets O_ASYNC; other file systems keep it.
      .getfl = [](int fd) { return current->fds_.at(fd).flags & (current->keeps_async ? ~0 : ~O_ASYNC); },
      .setfl =
          [](int fd, int flags) {
            current->fds_.at(fd).flags = flags;
            return 0;
          },
      .mknodat = [](int, const char* path, mode_t mode) -> int {
        ++current->calls;
        if (current->mknod_errno != 0) return fail_with(current->mknod_errno);
        return current->files.contains(path) ? fail_with(EEXIST) : current->make(path, mode);
      },
      .unlinkat = [](int, const char* path) -> int {
        current->log.push_back(fmt::format("unlink {}", path));
        return current->files.erase(path) == 1 ? 0 : fail_with(ENOENT);
      },
      .fsetxattr = [](int fd, const char*, const void* value, std::size_t size) -> int {
        current->log.emplace_back("fsetxattr");
        const auto* bytes = static_cast<const std::byte*>(value);
        return current->set(current->fds_.at(fd).path, ByteVector(bytes, bytes + size), true);
      },
      .setxattr = [](const char* path, const char*, const void* value, std::size_t size) -> int {
        const auto* bytes = static_cast<const std::byte*>(value);
        return current->set(current->of_proc(path), ByteVector(bytes, bytes + size), true);
      },
      .getxattr = [](const char* path, const char*, void* value,
                     std::size_t size) { return current->get(current->of_proc(path), value, size); },
      .fstatfs = [](int, struct statfs* answer) -> int {
        answer->f_type = current->kind == FileSystemKind::lustre ? abi::kStatfsMagic : 0x65735546;
        return 0;
      },
  };
  return kTable;
}

constexpr int kCreate = O_CREAT | O_WRONLY | O_TRUNC;

class SetLayout : public testing::Test {
 protected:
  LayoutResult open(const std::string& path, int flags, const ByteVector& request, mode_t mode = 0644) const {
    return open_with_layout(FakeFileSystem::table(), fs_.kind,
                            {.dirfd = AT_FDCWD, .path = path.c_str(), .flags = flags, .mode = mode},
                            {.bytes = request.data(), .size = request.size()});
  }

  // A second creator of the same plan comes between creation and layout of the first.
  void expect_one_layout_for_two() {
    const ByteVector request = request_for({3, 1});
    LayoutResult second{};
    fs_.before_setting = [&] {
      if (std::exchange(fs_.other_client, true)) return;
      second = open("a", kCreate, request);
      fs_.other_client = false;
    };
    const LayoutResult first = open("a", kCreate, request);
    EXPECT_EQ(first.outcome, LayoutOutcome::applied) << "of the two, its creator counts it";
    EXPECT_EQ(second.outcome, LayoutOutcome::exists);
    EXPECT_EQ(osts_of("a"), (std::vector<std::uint32_t>{3, 1}));
    EXPECT_EQ(fs_.write(first.fd, "x"), 0);
    EXPECT_EQ(fs_.write(second.fd, "x"), 0);
    EXPECT_EQ(fs_.open_descriptors(), 2U);
  }

  // The OSTs of a plain file, in order.
  std::vector<std::uint32_t> osts_of(const std::string& path) const {
    const model::Layout layout = decode_layout(fs_.files.at(path).layout).value();
    std::vector<std::uint32_t> osts;
    for (const auto& object : layout.components[0].objects) osts.push_back(object.ost.value);
    return osts;
  }

  FakeFileSystem fs_;
};

class SetLayoutInLab : public SetLayout {
 protected:
  SetLayoutInLab() { fs_.kind = FileSystemKind::lab; }
};

TEST_F(SetLayout, NewFileGetsItForOneCallMore) {
  errno = ESRCH;
  const LayoutResult result = open("a", kCreate, request_for({3, 1, 2}));
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(result.outcome, LayoutOutcome::applied);
  EXPECT_EQ(result.layout_errno, 0);
  EXPECT_EQ(fs_.calls, 2);
  EXPECT_EQ(osts_of("a"), (std::vector<std::uint32_t>{3, 1, 2}));
  EXPECT_EQ(fs_.write(result.fd, "x"), 0);
}

TEST_F(SetLayout, CompositeGoesByXattr) {
  const LayoutResult result = open("a", kCreate, encode_request(progressive_layout()).value());
  EXPECT_EQ(result.outcome, LayoutOutcome::applied);
  EXPECT_EQ(fs_.log, (std::vector<std::string>{"open a excl delay", "fsetxattr"}));
  EXPECT_EQ(fs_.calls, 2);
}

TEST_F(SetLayout, RefusalLeavesAUsableDescriptor) {
  const std::map<std::uint32_t, int> errno_of_ost = {{77, EINVAL}, {5, EREMOTEIO}, {4, ENOBUFS}};
  for (const auto& [ost, expected] : errno_of_ost) {
    const std::string path = fmt::format("on{}", ost);
    const LayoutResult result = open(path, kCreate | O_EXCL, request_for({ost}));
    EXPECT_EQ(result.outcome, LayoutOutcome::refused);
    EXPECT_EQ(result.layout_errno, expected);
    EXPECT_EQ(result.open_errno, 0);
    ASSERT_GE(result.fd, 0);
    EXPECT_EQ(fs_.write(result.fd, "x"), 0) << "the trap: EBADF";
    EXPECT_EQ(fs_.files.at(path).layout, FakeFileSystem::default_layout());
  }
  EXPECT_EQ(fs_.open_descriptors(), 3U);
}

TEST_F(SetLayout, RefusalOfAFileTheOwnerMayNotWrite) {
  const LayoutResult result = open("ro", kCreate | O_EXCL, request_for({77}), 0444);
  EXPECT_EQ(result.outcome, LayoutOutcome::refused);
  EXPECT_EQ(result.layout_errno, EINVAL);
  EXPECT_EQ(fs_.write(result.fd, "x"), 0);
  EXPECT_EQ(fs_.files.at("ro").mode, 0444U);
  EXPECT_EQ(fs_.open_descriptors(), 1U);
}

TEST_F(SetLayout, ExistingFilesAreNotTouched) {
  fs_.files["old"] = {.mode = 0644, .layout = FakeFileSystem::default_layout(), .data = "kept"};
  fs_.files["bare"] = {};  // made by mknod: a layout could still be set
  EXPECT_EQ(open("old", O_CREAT | O_RDWR, request_for({1})).outcome, LayoutOutcome::exists);
  EXPECT_EQ(fs_.files.at("old").data, "kept");
  EXPECT_EQ(osts_of("old"), std::vector<std::uint32_t>{0});
  EXPECT_EQ(open("bare", O_CREAT | O_RDONLY, request_for({1})).outcome, LayoutOutcome::exists);
  EXPECT_TRUE(fs_.files.at("bare").layout.empty());
  EXPECT_EQ(open("old", kCreate, request_for({1})).outcome, LayoutOutcome::exists);
  EXPECT_EQ(fs_.files.at("old").data, "") << "O_TRUNC is the caller's";
}

TEST_F(SetLayout, ErrorsAreThoseOfThePlainOpen) {
  fs_.files["old"] = {.mode = 0444, .layout = FakeFileSystem::default_layout(), .data = {}};
  const auto errno_of = [&](const std::string& path, int flags) {
    errno = 0;
    const LayoutResult result = open(path, flags, request_for({1}));
    EXPECT_EQ(result.outcome, LayoutOutcome::open_failed);
    EXPECT_EQ(result.fd, -1);
    EXPECT_EQ(result.open_errno, errno);
    return result.open_errno;
  };
  EXPECT_EQ(errno_of("old", kCreate | O_EXCL), EEXIST);
  EXPECT_EQ(errno_of("old", kCreate), EACCES);
  EXPECT_EQ(errno_of("gone/a", kCreate), ENOENT);
  EXPECT_EQ(errno_of("gone/a", kCreate | O_EXCL), ENOENT);
  EXPECT_EQ(errno_of("locked/a", kCreate), EACCES);
  EXPECT_EQ(errno_of("absent", O_WRONLY), ENOENT);
  EXPECT_EQ(fs_.files.at("old").mode, 0444U) << "an existing file is never removed";
  EXPECT_EQ(fs_.open_descriptors(), 0U);
}

TEST_F(SetLayout, AnotherClientWasFirst) {
  fs_.before_setting = [&] { fs_.instantiate("a"); };
  const LayoutResult result = open("a", kCreate, request_for({1}));
  EXPECT_EQ(result.outcome, LayoutOutcome::already_has_layout);
  EXPECT_EQ(result.layout_errno, EEXIST);
  EXPECT_EQ(fs_.write(result.fd, "x"), 0);
}

TEST_F(SetLayout, CreatorsOfOneFileHelpEachOther) { expect_one_layout_for_two(); }

TEST_F(SetLayoutInLab, CreatorsOfOneFileHelpEachOther) { expect_one_layout_for_two(); }

TEST_F(SetLayout, RefusedHelpIsNoHarm) {
  fs_.files["bare"] = {};
  const LayoutResult result = open("bare", kCreate, request_for({77}));
  EXPECT_EQ(result.outcome, LayoutOutcome::exists);
  EXPECT_EQ(osts_of("bare"), std::vector<std::uint32_t>{0});
  EXPECT_EQ(fs_.write(result.fd, "x"), 0);
}

TEST_F(SetLayout, RemovedBySomebodyBeforeTheReopen) {
  fs_.before_setting = [&] { fs_.files.erase("a"); };
  const LayoutResult result = open("a", kCreate, request_for({1}));
  EXPECT_EQ(result.outcome, LayoutOutcome::refused);
  EXPECT_EQ(result.layout_errno, ESTALE);
  EXPECT_EQ(fs_.write(result.fd, "x"), 0);
}

TEST_F(SetLayout, OtherOpensPassUnchanged) {
  fs_.files["old"] = {.mode = 0644, .layout = FakeFileSystem::default_layout(), .data = {}};
  EXPECT_EQ(open("old", O_RDONLY, request_for({1})).outcome, LayoutOutcome::left_alone);
  EXPECT_EQ(open("new", kCreate | abi::kOpenDelayCreate, request_for({1})).outcome, LayoutOutcome::left_alone);
  EXPECT_TRUE(fs_.files.at("new").layout.empty()) << "`lfs setstripe` sets its own";
  EXPECT_EQ(open("old", O_PATH | O_CREAT, request_for({1})).outcome, LayoutOutcome::left_alone);
}

TEST_F(SetLayout, AsyncDoesNotStay) {
  fs_.keeps_async = true;
  const LayoutResult result = open("a", kCreate, request_for({1}));
  EXPECT_EQ(result.outcome, LayoutOutcome::applied);
  EXPECT_EQ(fs_.flags_of(result.fd) & O_ASYNC, 0);
}

TEST_F(SetLayout, ElsewhereAPlainOpen) {
  fs_.kind = FileSystemKind::other;
  const LayoutResult result = open("a", kCreate, request_for({1}));
  EXPECT_EQ(result.outcome, LayoutOutcome::not_lustre);
  EXPECT_EQ(fs_.log, std::vector<std::string>{"open a"});
}

TEST_F(SetLayoutInLab, NewFileGetsIt) {
  const LayoutResult result = open("a", kCreate | O_EXCL, request_for({2, 0}));
  EXPECT_EQ(result.outcome, LayoutOutcome::applied);
  EXPECT_EQ(osts_of("a"), (std::vector<std::uint32_t>{2, 0}));
  EXPECT_EQ(fs_.write(result.fd, "x"), 0);
  EXPECT_EQ(fs_.open_descriptors(), 1U);
  EXPECT_EQ(open("b", kCreate, encode_request(progressive_layout()).value()).outcome, LayoutOutcome::applied);
}

TEST_F(SetLayoutInLab, SilentSetxattrIsNoticed) {
  fs_.before_setting = [&] { fs_.instantiate("a"); };
  const LayoutResult result = open("a", kCreate, request_for({2, 0}));
  EXPECT_EQ(result.outcome, LayoutOutcome::already_has_layout);
  EXPECT_EQ(result.layout_errno, EEXIST);
  EXPECT_EQ(fs_.write(result.fd, "x"), 0);
}

TEST_F(SetLayoutInLab, LayoutsLargerThanTheReadBackAreTrusted) {
  fs_.before_setting = [&] { fs_.files["a"].layout.resize(10000); };
  EXPECT_EQ(open("a", kCreate, request_for({1})).outcome, LayoutOutcome::applied);
}

TEST_F(SetLayoutInLab, RefusalAndMissingMknod) {
  LayoutResult result = open("a", kCreate, request_for({77}));
  EXPECT_EQ(result.outcome, LayoutOutcome::refused);
  EXPECT_EQ(result.layout_errno, EINVAL);
  EXPECT_EQ(fs_.write(result.fd, "x"), 0);
  fs_.mknod_errno = EPERM;
  result = open("b", kCreate | O_EXCL, request_for({1}));
  EXPECT_EQ(result.outcome, LayoutOutcome::refused);
  EXPECT_EQ(result.layout_errno, EPERM);
  EXPECT_EQ(fs_.write(result.fd, "x"), 0);
}

TEST_F(SetLayoutInLab, ExistingFilesAndExclusion) {
  fs_.files["old"] = {};
  EXPECT_EQ(open("old", O_CREAT | O_RDONLY, request_for({1})).outcome, LayoutOutcome::exists);
  EXPECT_TRUE(fs_.files.at("old").layout.empty());
  EXPECT_EQ(open("old", kCreate | O_EXCL, request_for({1})).open_errno, EEXIST);
  EXPECT_EQ(open("gone/a", kCreate, request_for({1})).open_errno, ENOENT);
}

TEST_F(SetLayout, KindOfTheDirectory) {
  const auto kind_of = [](const std::string& path) {
    return file_system_kind_at(FakeFileSystem::table(), AT_FDCWD, path.c_str());
  };
  errno = ESRCH;
  for (const FileSystemKind kind : {FileSystemKind::lustre, FileSystemKind::lab, FileSystemKind::other}) {
    fs_.kind = kind;
    for (const std::string path : {"a", "/a", "dir/sub/a"}) EXPECT_EQ(kind_of(path), kind) << path;
  }
  fs_.kind = FileSystemKind::lustre;
  EXPECT_EQ(kind_of(std::string(5000, 'd') + "/a"), FileSystemKind::unknown);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(fs_.open_descriptors(), 0U);
}

TEST(LayoutAnswersRequest, ComparesWhatWasAskedFor) {
  const auto answers = [](const ByteVector& asked, const ByteVector& found) {
    return layout_answers_request({.bytes = asked.data(), .size = asked.size()}, found.data(), found.size());
  };
  const ByteVector composite = encode_request(progressive_layout()).value();
  ByteVector other_extent = composite;
  abi::store_u64(&other_extent[sizeof(abi::CompositeHeader) + offsetof(abi::CompositeEntry, end)], Bytes::mib(8).count);
  EXPECT_TRUE(answers(composite, composite));
  EXPECT_FALSE(answers(composite, other_extent));
  EXPECT_FALSE(answers(composite, FakeFileSystem::default_layout()));
  EXPECT_FALSE(answers(request_for({0}), composite));
  EXPECT_FALSE(answers(request_for({0}), FakeFileSystem::default_layout())) << "stripe size";
  for (std::size_t size = 0; size < composite.size(); ++size) {
    const ByteVector cut(composite.begin(), composite.begin() + static_cast<std::ptrdiff_t>(size));
    answers(cut, composite);
    answers(composite, cut);
    answers(request_for({0, 1}), cut);
  }
}

// ---- Real file systems that are not Lustre
// ------------------------------------------------------------------------------------------

class ElsewhereThanLustre : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (::access(GetParam().c_str(), W_OK) != 0) GTEST_SKIP() << GetParam() << " is not writable here";
    std::string name = GetParam() + "/iez-layout-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  std::string directory_;
};

TEST_P(ElsewhereThanLustre, SaysSoAndLeavesNothing) {
  model::Layout layout;
  layout.components.resize(1);
  const std::string path = directory_ + "/file";
  EXPECT_EQ(file_system_kind(directory_).value(), FileSystemKind::other);
  EXPECT_EQ(file_system_kind(path).value(), FileSystemKind::other);
  const auto created = create_with_layout(path, layout, 0644);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Errc::unsupported);
  EXPECT_THAT(created.error().message, HasSubstr(path + ": not on a Lustre file system"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  const auto read = read_layout(directory_);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::unsupported);
}

TEST_P(ElsewhereThanLustre, AnOpenIsAnOpen) {
  const std::string path = directory_ + "/file";
  const ByteVector request = request_for({0});
  const LayoutCalls& calls = system_layout_calls();
  const FileSystemKind kind = file_system_kind_at(calls, AT_FDCWD, path.c_str());
  EXPECT_EQ(kind, FileSystemKind::other);
  const LayoutResult result =
      open_with_layout(calls, kind, {.dirfd = AT_FDCWD, .path = path.c_str(), .flags = O_CREAT | O_WRONLY, .mode = 0600},
                       {request.data(), request.size()});
  ASSERT_GE(result.fd, 0);
  EXPECT_EQ(result.outcome, LayoutOutcome::not_lustre);
  EXPECT_EQ(::fcntl(result.fd, F_GETFL) & O_ASYNC, 0);
  EXPECT_EQ(::write(result.fd, "x", 1), 1);
  ::close(result.fd);
}

INSTANTIATE_TEST_SUITE_P(LayoutFile, ElsewhereThanLustre, testing::Values("/tmp", "/dev/shm"));

TEST(LayoutFile, AbsentPathsAreNamed) {
  const auto kind = file_system_kind("/nonexistent/dir/file");
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().os_errno, ENOENT);
  EXPECT_THAT(kind.error().message, HasSubstr("/nonexistent/dir/file"));
  EXPECT_EQ(read_layout("/nonexistent/file").error().code, Errc::not_found);
  model::Layout layout;
  EXPECT_EQ(create_with_layout("/tmp/x", layout, 0644).error().code, Errc::invalid_argument) << "no component";
}

}  // namespace
}  // namespace iez::lustre
