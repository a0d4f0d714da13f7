#include "preload/mpi/file_layout.hpp"

#include <sys/xattr.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "lustre/layout_abi.hpp"
#include "lustre/layout_codec.hpp"

namespace iez::preload {

collective::FileLayout layout_of_file(int fd) {
  std::vector<std::byte> bytes(64 << 10);  // as large as an extended attribute can be
  const ssize_t size = ::fgetxattr(fd, lustre::abi::kXattrName, bytes.data(), bytes.size());
  if (size <= 0) return {};
  bytes.resize(static_cast<std::size_t>(size));
  const auto layout = lustre::decode_layout(bytes);
  if (!layout) return {};
  auto striped = collective::striped_layout(*layout);
  return striped ? *std::move(striped) : collective::FileLayout{};
}

}  // namespace iez::preload
