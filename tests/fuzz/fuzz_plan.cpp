// Any bytes as a plan file: the lookup gives an answer of a possible size, at most so many reads, and the reader agrees with it
// on files that it lists. Checks are made right where their place can be found, or few inputs would get beyond them.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "plan/plan_format.hpp"
#include "plan/plan_lookup.hpp"
#include "plan/plan_reader.hpp"

namespace {

namespace abi = iez::plan::abi;
using iez::plan::Found;
using iez::plan::FoundLayout;

std::vector<std::byte>& plan_bytes() {
  static std::vector<std::byte> bytes;
  return bytes;
}
std::size_t& reads() {
  static std::size_t count = 0;
  return count;
}

ssize_t read_memory(int /*fd*/, void* to, std::size_t size, off_t at) {
  ++reads();
  const std::vector<std::byte>& bytes = plan_bytes();
  if (at < 0 || static_cast<std::size_t>(at) >= bytes.size()) return 0;
  const std::size_t count = std::min(size, bytes.size() - static_cast<std::size_t>(at));
  std::memcpy(to, bytes.data() + at, count);
  return static_cast<ssize_t>(count);
}

bool inside(std::uint64_t at, std::uint64_t size) { return at <= plan_bytes().size() && size <= plan_bytes().size() - at; }

template <typename T>
void put(std::uint64_t at, const T& value) {
  if (inside(at, sizeof(value))) std::memcpy(plan_bytes().data() + at, &value, sizeof(value));
}

void seal_buckets(const abi::Header& header) {
  const std::byte* const bytes = plan_bytes().data();
  for (std::uint64_t bucket = 0; bucket < std::min<std::uint64_t>(header.bucket_count, 64); ++bucket) {
    if (!inside(header.directory_at, 8 * (bucket + 2))) return;
    const std::uint64_t from = abi::load_u64(bytes + header.directory_at + 8 * bucket);
    const std::uint64_t to = abi::load_u64(bytes + header.directory_at + 8 * bucket + 8);
    if (to < from || to - from < 8 || !inside(from, to - from)) continue;
    put(from, abi::bucket_check(header.id, bucket, bytes + from + 8, to - from - 8));
  }
}

void seal_nodes(const abi::Header& header) {
  std::uint64_t at = 0;
  while (at < header.trie_size && inside(header.trie_at + at, sizeof(abi::TrieNode))) {
    const std::byte* const node = plan_bytes().data() + header.trie_at + at;
    const std::uint64_t size = abi::load_u32(node + offsetof(abi::TrieNode, size));
    if (size < sizeof(abi::TrieNode) || !inside(header.trie_at + at, size)) return;
    put(header.trie_at + at, abi::node_check(header.id, at, node + 4, size - 4));
    at += size;
  }
}

void seal_rules(const abi::Header& header) {
  std::uint64_t at = 0;
  while (at < header.rules_size && inside(header.rules_at + at, sizeof(abi::RuleHead))) {
    abi::RuleHead head;
    std::memcpy(&head, plan_bytes().data() + header.rules_at + at, sizeof(head));
    const std::uint64_t checked = sizeof(head) + head.field_count * sizeof(abi::RuleField) + head.text_size + head.final_size;
    if (head.size < checked || !inside(header.rules_at + at, checked)) return;
    put(header.rules_at + at,
        abi::rule_check(header.id, at, plan_bytes().data() + header.rules_at + at + 4, static_cast<std::size_t>(checked) - 4));
    at += head.size;
  }
}

void seal() {
  abi::Header header;
  if (plan_bytes().size() < sizeof(header)) return;
  std::memcpy(&header, plan_bytes().data(), sizeof(header));
  seal_buckets(header);
  seal_nodes(header);
  seal_rules(header);
  header.checksum = abi::header_checksum(header);
  put(0, header);
  if (header.file_size >= 8) put(header.file_size - 8, abi::end_mark(header.id));
}

Found look_up(const iez::plan::OpenPlan& plan, std::string_view name, FoundLayout& layout) {
  // Two for a file, one for each step, and a few for the rule and its layout.
  constexpr std::size_t kMostReads = 2 * abi::kMaxSteps + 16;
  reads() = 0;
  const Found found = iez::plan::find_layout({.pread = read_memory}, plan, name.data(), name.size(), layout);
  IEZ_ASSERT(reads() <= kMostReads);
  IEZ_ASSERT(layout.size <= iez::plan::kMaxRequest);
  const bool has_layout = found == Found::file || found == Found::pattern || found == Found::spread;
  if (has_layout) IEZ_ASSERT(layout.size >= 32);
  return found;
}

// A descriptor of the bytes, by name.
std::string as_file(const iez::input::UniqueFd& fd) {
  const std::vector<std::byte>& bytes = plan_bytes();
  IEZ_ASSERT(::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return "/proc/self/fd/" + std::to_string(fd.get());
}

void check_reader(const iez::plan::OpenPlan& plan, FoundLayout& layout) {
  const iez::input::UniqueFd fd(::memfd_create("plan", MFD_CLOEXEC));
  const auto reader = iez::plan::PlanReader::open(as_file(fd));
  IEZ_ASSERT(reader.has_value());
  const auto checked = reader->check();
  (void)reader->visit_files([&](const iez::plan::ReadFile& file) -> iez::Result<void> {
    IEZ_ASSERT(!file.name.empty() && file.name.size() <= abi::kMaxName);
    const Found found = look_up(plan, file.name, layout);
    // The first of equal names is found.
    IEZ_ASSERT(found == Found::file || !checked);
    return {};
  });
  (void)reader->visit_rules(4, [](const iez::plan::ReadRule& rule) -> iez::Result<void> {
    IEZ_ASSERT(rule.requests.size() <= 4);
    return {};
  });
  (void)reader->explain("/scratch/ckpt.3.14");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto layout = std::make_unique<FoundLayout>();
  plan_bytes().assign(reinterpret_cast<const std::byte*>(data), reinterpret_cast<const std::byte*>(data) + size);
  seal();
  iez::plan::OpenPlan plan;
  if (iez::plan::open_plan({.pread = read_memory}, 3, plan) != iez::plan::PlanState::ready) return 0;
  for (const std::string_view name : {"/", "/scratch/mesh.h5", "/scratch/ckpt.3.14", "/scratch/ckpt.00300.14.part",
                                      "/scratch/logs/x", "/scratch/run-7/20240131/a.b.c", "/other"}) {
    look_up(plan, name, *layout);
  }
  look_up(plan, {reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 5000)}, *layout);
  check_reader(plan, *layout);
  // Cut while it is open.
  plan_bytes().resize(size - size / 3);
  look_up(plan, "/scratch/mesh.h5", *layout);
  look_up(plan, "/scratch/ckpt.3.14", *layout);
  return 0;
}
