// Files and their layouts. See mds.hpp.
#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "lab/layout_request.hpp"
#include "lab/mds.hpp"
#include "lustre/layout_abi.hpp"
#include "lustre/layout_codec.hpp"

namespace iez::lab {

namespace {

constexpr std::string_view kTrustedName = "trusted.lov";  // the same bytes; the kernel keeps it for root

bool is_layout(std::string_view name) { return name == lustre::abi::kXattrName || name == kTrustedName; }

// The sequence of an OST's objects, as a Lustre that was formatted just now has them: 0x280000400 and every 0x40000000 on.
std::uint64_t sequence_of(OstIndex ost) { return 0x2'8000'0400 + std::uint64_t{ost.value} * 0x4000'0000; }

}  // namespace

Answer<Entry> Mds::make(const Call& call, const MakeRequest& request) {
  if (is_full_) return std::unexpected(ENOSPC);
  const auto made = store_->make(request, call.now);
  if (!made) return std::unexpected(made.error());
  if (request.open == 0 || !S_ISREG(made->mode)) return Entry{.attributes = *made, .layout = {}};
  return open(call, made->inode);
}

Answer<Entry> Mds::open(const Call& call, std::uint64_t inode) {
  const auto opened = store_->open(call.client, inode);
  if (!opened) return std::unexpected(opened.error());
  auto entry = store_->entry(inode);
  if (!entry || !S_ISREG(opened->mode) || !entry->layout.empty()) return entry;
  auto layout = give_layout(inode, default_layout(store_->parent_of(inode)));
  if (!layout) return std::unexpected(layout.error());
  entry->layout = *std::move(layout);
  return entry;
}

Answer<std::vector<std::byte>> Mds::give_layout(std::uint64_t inode, model::Layout wanted) {
  auto layout = allocator_.place(std::move(wanted), loop_->now());
  if (!layout) return std::unexpected(layout.error());
  for (model::Component& component : layout->components) {
    for (model::StripeObject& object : component.objects) {
      object.id = {.high = sequence_of(object.ost), .low = store_->take_object(object.ost.value)};
    }
  }
  auto bytes = lustre::encode_layout(*layout);
  IEZ_ASSERT(bytes.has_value());  // a request that was judged, and objects of our own
  if (const auto set = store_->set_layout(inode, *bytes); !set) return std::unexpected(set.error());
  return *std::move(bytes);
}

model::Layout Mds::default_layout(std::uint64_t directory) {
  for (const std::uint64_t holder : {directory, kRootInode}) {
    const auto bytes = store_->layout(holder);
    if (!bytes || bytes->empty()) continue;
    if (auto wanted = parse_layout_request(*bytes, config_.ost_count())) return *std::move(wanted);
  }
  return ObjectAllocator::default_request();
}

Answer<BytesAnswer> Mds::get_xattr(const XattrRequest& request) {
  auto value = is_layout(request.name) ? store_->layout(request.inode) : store_->xattr(request.inode, request.name);
  if (!value) return std::unexpected(value.error());
  if (value->empty() && is_layout(request.name)) {
    // As Lustre: a directory without a default of its own answers with that of the root.
    const auto attributes = store_->attributes(request.inode);
    if (attributes && S_ISDIR(attributes->mode)) value = store_->layout(kRootInode);
    if (!value) return std::unexpected(value.error());
    if (value->empty()) return std::unexpected(ENODATA);
  }
  return BytesAnswer{.bytes = *std::move(value)};
}

Answer<BytesAnswer> Mds::list_xattrs(std::uint64_t inode) {
  auto names = store_->xattr_names(inode);
  if (!names) return std::unexpected(names.error());
  if (const auto layout = store_->layout(inode); layout && !layout->empty()) names->emplace_back(lustre::abi::kXattrName);
  BytesAnswer answer;
  for (const std::string& name : *names) {
    for (const char c : name) answer.bytes.push_back(static_cast<std::byte>(c));
    answer.bytes.push_back(std::byte{0});
  }
  return answer;
}

Answer<Empty> Mds::set_xattr(const Call& call, const XattrRequest& request) {
  if (is_layout(request.name)) return set_layout(request.inode, request.value);
  // Access control lists would have to be heeded, not only kept.
  if (request.name.starts_with("system.") || request.name.starts_with("lustre.")) return std::unexpected(EOPNOTSUPP);
  if (is_full_) return std::unexpected(ENOSPC);
  if (const auto set = store_->set_xattr(request, call.now); !set) return std::unexpected(set.error());
  return Empty{};
}

Answer<Empty> Mds::set_layout(std::uint64_t inode, std::span<const std::byte> value) {
  const auto attributes = store_->attributes(inode);
  if (!attributes) return std::unexpected(attributes.error());
  const bool is_directory = S_ISDIR(attributes->mode);
  if (!is_directory && !S_ISREG(attributes->mode)) return std::unexpected(EOPNOTSUPP);
  const auto present = store_->layout(inode);
  if (!is_directory && present && !present->empty()) return Empty{};  // as Lustre: no error, and no change
  auto wanted = parse_layout_request(value, config_.ost_count());
  if (!wanted) return std::unexpected(wanted.error());
  if (!is_directory) {
    const auto given = give_layout(inode, *std::move(wanted));
    if (!given) return std::unexpected(given.error());
    return Empty{};
  }
  std::vector<std::byte> bytes;
  if (!asks_for_nothing(*wanted)) {
    auto encoded = lustre::encode_request(*wanted);
    if (!encoded) return std::unexpected(EINVAL);
    bytes = *std::move(encoded);
  }
  if (const auto set = store_->set_layout(inode, bytes); !set) return std::unexpected(set.error());
  return Empty{};
}

Answer<Empty> Mds::remove_xattr(const Call& call, const XattrRequest& request) {
  if (!is_layout(request.name)) {
    if (const auto removed = store_->remove_xattr(request.inode, request.name, call.now); !removed) {
      return std::unexpected(removed.error());
    }
    return Empty{};
  }
  const auto attributes = store_->attributes(request.inode);
  if (!attributes) return std::unexpected(attributes.error());
  const auto present = store_->layout(request.inode);
  if (!present || present->empty()) return std::unexpected(ENODATA);
  // As setting one that is there already: 0, and nothing changes. Programs that copy attributes remove what the source has not.
  if (!S_ISDIR(attributes->mode)) return {};
  if (const auto set = store_->set_layout(request.inode, {}); !set) return std::unexpected(set.error());
  return Empty{};
}

}  // namespace iez::lab
