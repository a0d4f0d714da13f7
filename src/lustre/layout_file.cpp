#include "lustre/layout_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "input/byte_stream.hpp"
#include "lustre/layout_abi.hpp"
#include "lustre/layout_codec.hpp"

namespace iez::lustre {

namespace {

constexpr std::size_t kFirstBuffer = 4096;
constexpr std::size_t kLargestLayout = std::size_t{1} << 20U;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::unexpected<Error> not_lustre(const std::string& path) {
  return fail(Errc::unsupported, fmt::format("{}: not on a Lustre file system", path));
}

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::unexpected<Error> read_failed(const std::string& path, int os_errno) {
  switch (os_errno) {
    case ENODATA:
      return fail_errno(os_errno, is_directory(path)
                                      ? fmt::format("{}: the directory has no default layout of its own", path)
                                      : fmt::format("{}: has no layout yet; it gets one when first opened for writing", path));
    case ENOTSUP:
      return not_lustre(path);
    default:
      return fail_errno(os_errno, fmt::format("{}: cannot read the layout", path));
  }
}

Result<std::vector<std::byte>> read_layout_bytes(const std::string& path) {
  for (std::size_t room = kFirstBuffer; room <= kLargestLayout; room *= 2) {
    std::vector<std::byte> bytes(room);
    const ssize_t size = ::getxattr(path.c_str(), abi::kXattrName, bytes.data(), bytes.size());
    if (size >= 0) {
      bytes.resize(static_cast<std::size_t>(size));
      return bytes;
    }
    if (errno != ERANGE) return read_failed(path, errno);
  }
  return fail(Errc::limit, fmt::format("{}: its layout is larger than {} bytes", path, kLargestLayout));
}

Result<model::Layout> decode_of(const std::string& path, const std::vector<std::byte>& bytes) {
  auto layout = decode_layout(bytes);
  if (!layout) return with_context(std::move(layout).error(), fmt::format("{}: layout", path));
  return layout;
}

std::string_view why_refused(int os_errno) {
  switch (os_errno) {
    case EINVAL:
      return "an OST that does not exist, one listed twice, or a stripe size Lustre does not take; see `lfs osts`";
    case EREMOTEIO:
      return "an OST of the layout is inactive at the metadata server; see `lfs osts`, and choose others";
    case ENOBUFS:
      return "an OST of the layout takes no new objects (osp.*.max_create_count is 0); choose others";
    case ENOTTY:
    case ENOTSUP:
      return "the file system takes no layouts";
    case ERANGE:
      return "the file system found the layout too short, perhaps of another Lustre version";
    case ENOSPC:
      return "an OST of the layout has no room or no free objects; choose others";
    case EDQUOT:
      return "over quota; remove files or ask for more";
    case EPERM:
    case EACCES:
      return "not allowed to set a layout here";
    default:
      return "the file system refused it";
  }
}

std::unexpected<Error> open_failed(const std::string& path, int os_errno) {
  if (os_errno == EEXIST) {
    return fail_errno(os_errno, fmt::format("{}: only a new file can be given a layout; choose another name or remove it", path));
  }
  return fail_errno(os_errno, fmt::format("{}: cannot create the file", path));
}

// Removes what this process created, unless the name leads elsewhere by now or somebody has written to it. Closed first: some
// file systems only rename a file that is open. Returns what the user should know if it stays.
std::string_view remove_own(const std::string& path, input::UniqueFd fd) {
  struct stat own{};
  struct stat named{};
  const bool known = ::fstat(fd.get(), &own) == 0;
  fd.reset();
  if (::lstat(path.c_str(), &named) != 0 && errno == ENOENT) return "";
  const bool same = known && own.st_dev == named.st_dev && own.st_ino == named.st_ino && named.st_size == 0;
  if (same && ::unlink(path.c_str()) == 0) return "";
  return " (the new file could not be removed)";
}

std::unexpected<Error> overtaken(const std::string& path) {
  return fail_errno(EEXIST, fmt::format("{}: another process opened the new file before it got its layout; it was left in place "
                                        "with the default one",
                                        path));
}

// What the new file got; an error if that cannot be what was asked for.
Result<model::Layout> confirm(const std::string& path, const LayoutRequest& request) {
  IEZ_TRY(const std::vector<std::byte> found, read_layout_bytes(path));
  if (!layout_answers_request(request, found.data(), found.size())) return overtaken(path);
  return decode_of(path, found);
}

}  // namespace

Result<FileSystemKind> file_system_kind(const std::string& path) {
  struct statfs answer{};
  std::string asked = path;
  int status = ::statfs(asked.c_str(), &answer);
  if (status != 0 && errno == ENOENT) {
    asked = parent_of(path);
    status = ::statfs(asked.c_str(), &answer);
  }
  if (status != 0) return fail_errno(errno, fmt::format("{}: cannot tell the file system", path));
  if (static_cast<std::uint32_t>(answer.f_type) == abi::kStatfsMagic) return FileSystemKind::lustre;
  const ssize_t size = ::getxattr(asked.c_str(), abi::kXattrName, nullptr, 0);
  return size >= 0 || errno == ENODATA ? FileSystemKind::lab : FileSystemKind::other;
}

Result<model::Layout> read_layout(const std::string& path) {
  IEZ_TRY(const std::vector<std::byte> bytes, read_layout_bytes(path));
  return decode_of(path, bytes);
}

Result<model::Layout> create_with_layout(const std::string& path, const model::Layout& layout, mode_t mode) {
  IEZ_CHECK(model::validate_request(layout));
  IEZ_TRY(const std::vector<std::byte> bytes, encode_request(layout));
  IEZ_TRY(const FileSystemKind kind, file_system_kind(parent_of(path)));
  if (kind == FileSystemKind::other) return not_lustre(path);

  const LayoutRequest request{.bytes = bytes.data(), .size = bytes.size()};
  const LayoutResult result = open_with_layout(
      system_layout_calls(), kind,
      {.dirfd = AT_FDCWD, .path = path.c_str(), .flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, .mode = mode}, request);
  input::UniqueFd fd(result.fd);
  switch (result.outcome) {
    case LayoutOutcome::open_failed:
      return open_failed(path, result.open_errno);
    case LayoutOutcome::already_has_layout:
      return overtaken(path);
    case LayoutOutcome::refused: {
      const std::string_view stays = remove_own(path, std::move(fd));
      return fail_errno(result.layout_errno,
                        fmt::format("{}: cannot set the layout: {}{}", path, why_refused(result.layout_errno), stays));
    }
    case LayoutOutcome::applied:
    case LayoutOutcome::exists:
    case LayoutOutcome::not_lustre:
    case LayoutOutcome::left_alone:
      break;
  }
  IEZ_ASSERT(result.outcome == LayoutOutcome::applied);  // the others cannot follow from an exclusive create on Lustre or lab
  auto got = confirm(path, request);
  if (!got && got.error().code != Errc::exists) got.error().message += remove_own(path, std::move(fd));
  return got;
}

}  // namespace iez::lustre
