// Reads a plan file back: all that is in it, whether it is whole, and what one name would get and why.
//
// Lookups on the path of a program go by plan_lookup.hpp alone; this is for people and for tests.
//
// Memory: a few MiB and the names at hand, whatever the size of the plan. Never trusts the file: what is damaged is an error that
// names the place.
//
// Thread safety: const member functions, from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "plan/plan_lookup.hpp"
#include "plan/plan_writer.hpp"

namespace iez::plan {

struct PlanInfo {
  std::uint64_t id = 0;
  std::int64_t created_ns = 0;
  std::uint16_t version = 0;
  std::uint16_t minor_version = 0;
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  std::uint64_t buckets = 0;
  std::uint64_t rules = 0;
  std::uint64_t name_bytes = 0;
};

// Valid during the call.
struct ReadFile {
  std::string_view name;        // that it is looked up by
  std::string_view final_name;  // empty: the same
  std::span<const std::byte> request;
};

struct ReadRule {
  RuleType type = RuleType::pattern;
  std::string text;
  std::string final_text;
  std::string turn;                              // as parse_turn() takes it
  std::uint64_t turns = 0;                       // layouts that files take in turn
  std::vector<std::vector<std::byte>> requests;  // the first of them
};

// What a name would get.
struct Explanation {
  Found found = Found::nothing;
  bool left_alone = false;  // nothing, because a rule says so
  std::string rule;         // its text; empty: found by its own name, or nothing
  std::string final_name;   // where the file is created under another one
  std::uint64_t turn = 0;   // from 0, of
  std::uint64_t turns = 0;  // so many layouts of the rule
  std::vector<std::byte> request;
};

class PlanReader {
 public:
  // Fails with Errc::parse where the file is no plan, or a damaged one; Errc::unsupported for another version.
  [[nodiscard]] static Result<PlanReader> open(const std::string& path);

  const PlanInfo& info() const { return info_; }

  // In the order of their hashes. `visit` ends it by an error.
  [[nodiscard]] Result<void> visit_files(const std::function<Result<void>(const ReadFile&)>& visit) const;

  // In the order in which they were added. At most `max_requests` layouts of each.
  [[nodiscard]] Result<void> visit_rules(std::size_t max_requests,
                                         const std::function<Result<void>(const ReadRule&)>& visit) const;

  // Every byte that a lookup can meet: checks, hashes, order, references, and that each layout can be decoded.
  [[nodiscard]] Result<void> check() const;

  // The very lookup of programs.
  [[nodiscard]] Result<Explanation> explain(std::string_view name) const;

 private:
  PlanReader() = default;

  struct RawRule;
  [[nodiscard]] Result<void> read(std::uint64_t at, std::span<std::byte> to) const;
  [[nodiscard]] Result<void> visit_bucket(std::uint64_t bucket, std::span<const std::byte> bytes,
                                          const std::function<Result<void>(const ReadFile&)>& visit) const;
  [[nodiscard]] Result<void> read_shared(std::uint64_t ref, std::uint64_t rule, std::uint64_t turn, FoundLayout& layout) const;
  [[nodiscard]] Result<RawRule> read_rule(std::uint64_t offset) const;
  [[nodiscard]] Result<void> decodes(std::span<const std::byte> request, std::string_view of) const;
  [[nodiscard]] Result<void> check_layouts(const RawRule& rule, std::set<std::uint64_t>& known) const;
  [[nodiscard]] Result<std::uint64_t> check_trie() const;
  std::unexpected<Error> damaged(std::string_view what, std::uint64_t at) const;

  std::string path_;
  input::UniqueFd fd_;
  OpenPlan plan_;
  PlanInfo info_;
};

// The final name that a rule gives: the fields of `pattern` in `name`, put into those of `final_pattern`. Nothing, if the name
// does not match.
std::optional<std::string> final_name_of(std::string_view pattern, std::string_view final_pattern, std::string_view name);

}  // namespace iez::plan
