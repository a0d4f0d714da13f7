// Plans for tests: a folder that goes away, requests, a plan in memory, and a lookup that counts its reads.
#pragma once

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp() is not in std
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "lustre/layout_codec.hpp"
#include "plan/plan_lookup.hpp"
#include "plan/plan_writer.hpp"

namespace iez::plan {

using Request = std::vector<std::byte>;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "iez-plan-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(root_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& root() const { return root_; }
  std::string path(std::string_view below) const { return root_ + '/' + std::string(below); }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(root_), std::filesystem::directory_iterator{}));
  }

 private:
  std::string root_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline Request request_of(model::Component component) {
  auto bytes = lustre::encode_request({.components = {std::move(component)}});
  EXPECT_TRUE(bytes.has_value());
  return bytes.value_or(Request{});
}

// Stripes of 1 MiB on these OSTs.
inline Request on_osts(const std::vector<std::uint32_t>& osts, bool overstriped = false) {
  model::Component component{.overstriped = overstriped, .stripe_size = Bytes::mib(1)};
  component.stripe_count = static_cast<std::uint16_t>(osts.size());
  for (const std::uint32_t ost : osts) component.osts.push_back(OstIndex{ost});
  return request_of(std::move(component));
}

// A plan file as bytes; pread() reads from them, like a file of that length.
struct MemoryPlan {
  std::string bytes;
  std::size_t reads = 0;

  static ssize_t pread(int fd, void* to, std::size_t size, off_t at);
};

// The descriptor of a MemoryPlan is its number here. Tests run one at a time.
inline std::vector<MemoryPlan*>& memory_plans() {
  static std::vector<MemoryPlan*> plans;
  return plans;
}

inline ssize_t MemoryPlan::pread(int fd, void* to, std::size_t size, off_t at) {
  MemoryPlan& plan = *memory_plans()[static_cast<std::size_t>(fd)];
  ++plan.reads;
  if (at < 0) {
    errno = EINVAL;
    return -1;
  }
  const auto from = static_cast<std::size_t>(at);
  if (from >= plan.bytes.size()) return 0;
  const std::size_t count = std::min(size, plan.bytes.size() - from);
  std::memcpy(to, plan.bytes.data() + from, count);
  return static_cast<ssize_t>(count);
}

inline constexpr LookupCalls kMemoryCalls{.pread = MemoryPlan::pread};

struct Answer {
  Found found = Found::nothing;
  Request request;  // empty unless found
  FoundBy by;

  friend bool operator==(const Answer& a, const Answer& b) { return a.found == b.found && a.request == b.request; }
};

// A plan in memory, opened.
class LookedUp {
 public:
  explicit LookedUp(std::string bytes) : layout_(std::make_unique<FoundLayout>()) {
    file_.bytes = std::move(bytes);
    memory_plans() = {&file_};
    state = open_plan(kMemoryCalls, 0, plan);
  }
  ~LookedUp() { memory_plans().clear(); }
  LookedUp(const LookedUp&) = delete;
  LookedUp& operator=(const LookedUp&) = delete;

  Answer find(std::string_view name) {
    Answer answer;
    answer.found = find_layout(kMemoryCalls, plan, name.data(), name.size(), *layout_, answer.by);
    if (answer.found != Found::nothing && answer.found != Found::damaged) {
      answer.request.assign(layout_->bytes, layout_->bytes + layout_->size);
    }
    return answer;
  }

  MemoryPlan& file() { return file_; }

  PlanState state = PlanState::unreadable;
  OpenPlan plan;

 private:
  MemoryPlan file_;
  std::unique_ptr<FoundLayout> layout_;
};

inline PlanWriter::Options test_options() {
  PlanWriter::Options options;
  options.created_ns = 1'700'000'000'000'000'000;
  options.id = 0x1234'5678'9ABC'DEF1;
  return options;
}

}  // namespace iez::plan
