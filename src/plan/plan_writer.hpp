// Writes a plan file (plan_format.hpp): files and rules in any order, then finish().
//
// The file appears whole, under its name, by rename(): who has the plan of that name open keeps the old one. On any failure, or
// without finish(), nothing is left behind and an older plan stays. It is not forced to the disk: what a machine that fell left
// of it is noticed by its checks.
//
// Memory: about 70 MiB, the rules, and 4 bytes for each file; the rest of the records waits in a temporary file beside the plan,
// or in Options::temporary_directory. Time: two passes over the records, each sorted within a 256th of them.
//
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plan/plan_format.hpp"

namespace iez::plan {

struct PlannedFile {
  std::string_view name;               // absolute, 1 to abi::kMaxName bytes, no zero byte
  std::string_view created_as;         // not empty: the name under which it is created, and looked up by; it is renamed later
  std::span<const std::byte> request;  // as lustre::encode_request() gives it
  std::uint64_t origin = 0;            // a line number, for messages
};

enum class RuleType : std::uint8_t { pattern = abi::kRulePattern, spread = abi::kRuleSpread, leave = abi::kRuleLeave };

struct PlannedRule {
  RuleType type = RuleType::pattern;
  std::string text;                              // pattern_text.hpp; of spread and leave: a directory
  std::string created_as;                        // patterns: as with files
  std::string turn;                              // patterns: see pattern_text.hpp
  std::vector<std::vector<std::byte>> requests;  // at least one, none for leave; a file takes the one whose turn it is
  std::vector<std::size_t> order;                // of the turns, as indices of the requests; empty: each once
  std::uint64_t origin = 0;
};

struct PlanSummary {
  std::uint64_t id = 0;
  std::uint64_t files = 0;
  std::uint64_t rules = 0;
  std::uint64_t bytes = 0;
  std::uint64_t name_bytes = 0;  // of the names of files, in those bytes
  std::uint64_t buckets = 0;
};

class PlanWriter {
 public:
  struct Options {
    std::int64_t created_ns = 0;             // since 1970
    std::uint64_t id = 0;                    // 0: from the time of creation and the path
    mode_t mode = 0644;                      // of the file
    std::uint64_t bucket_count = 0;          // 0: as many as are good; else for tests
    std::string temporary_directory;         // empty: that of the plan
    std::string_view origin_word = "lines";  // what an origin counts
  };

  PlanWriter(std::string path, const Options& options);
  ~PlanWriter();
  PlanWriter(PlanWriter&&) noexcept;
  PlanWriter& operator=(PlanWriter&&) = delete;
  PlanWriter(const PlanWriter&) = delete;
  PlanWriter& operator=(const PlanWriter&) = delete;

  [[nodiscard]] Result<void> add(const PlannedFile& file);
  [[nodiscard]] Result<void> add(const PlannedRule& rule);

  // A name that was planned twice is found here. REQUIRES: called once, and nothing afterwards.
  [[nodiscard]] Result<PlanSummary> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The request as the plan keeps it: a list of OSTs takes 4 bytes, and 2 for each. Errc::limit if it is too large for a plan.
[[nodiscard]] Result<std::vector<std::byte>> pack_layout(std::span<const std::byte> request);

}  // namespace iez::plan
