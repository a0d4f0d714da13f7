// `iez plan explain|diff|expire`, and `show` by application: the plans that the interaction database has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "command.hpp"
#include "plan_command.hpp"
#include "store/store.hpp"
#include "store_command.hpp"

namespace iez::cli {

struct PlanExplainOptions {
  std::string store;
  std::string application;  // empty: whichever has the file
  std::string file;
  bool json = false;
};

struct PlanDiffOptions {
  std::string store;
  std::string first;   // plan file or application
  std::string second;  // plan file; empty: the last two plans of the application
  std::optional<std::size_t> limit;
  bool json = false;
  bool no_header = false;
};

struct PlanExpireOptions {
  std::string store;
  std::string application;
  std::optional<Duration> older_than;
  bool json = false;
};

// The interaction database, which must be there.
[[nodiscard]] Result<std::unique_ptr<store::Store>> open_known_store(const std::string& flag, Context& context);

// What is no application may have been meant as a plan file: the message says so.
[[nodiscard]] Result<store::Application> application_of(store::Store& store, const std::string& name,
                                                        Naming naming = Naming::or_its_start);

// "2 stripes of 1.00 MiB on OST 3,7".
std::string ost_text(const store::StripeLayout& layout);

// Why the files of the newest plan of an application have their stripes: the most frequent reason first. Of a plan file, which
// does not tell, none.
struct PlanReason {
  std::string reason;
  std::uint64_t files = 0;
};
[[nodiscard]] Result<std::vector<PlanReason>> plan_reasons(const std::string& name, const std::string& store, Context& context);

// The plan file that is meant: a file of this name, or the one of the application, made from the database where it is missing or
// older. Fails if it is neither.
[[nodiscard]] Result<std::string> plan_file_of(const std::string& name, const std::string& store, Context& context);

[[nodiscard]] Result<void> run_plan_explain(const PlanExplainOptions& options, Context& context);
[[nodiscard]] Result<void> run_plan_diff(const PlanDiffOptions& options, Context& context);
[[nodiscard]] Result<void> run_plan_expire(const PlanExpireOptions& options, Context& context);

}  // namespace iez::cli
