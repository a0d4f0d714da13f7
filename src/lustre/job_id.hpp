// Who a job id speaks of. A site chooses its form by `jobid_var` and `jobid_name`: "dd.1000" (procname_uid), "4711"
// (SLURM_JOB_ID), "u1000.g100", "ior:1000:node7" (%e:%u:%h). Where the setting is known, the id is taken apart by it; where it is
// not (a server does not know its clients' setting, a capture may lack it), by the common forms.
//
// Thread safety: pure functions and an immutable value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job.hpp"

namespace iez::lustre {

class JobIdFormat {
 public:
  JobIdFormat() = default;  // unknown: guess

  // From the two parameters, either of which may be missing.
  static JobIdFormat from_settings(const std::optional<std::string>& jobid_var, const std::optional<std::string>& jobid_name);

  model::JobIdentity identify(std::string_view id) const;

 private:
  struct Piece {
    char code = 0;  // e g h H j p u, '?' for "%j?%H", or 0 for a literal
    std::string literal;
  };

  static std::vector<Piece> parse_template(std::string_view name);
  static bool match(const std::vector<Piece>& pieces, std::string_view id, model::JobIdentity& identity);

  std::vector<Piece> pieces_;    // empty: unknown
  std::vector<Piece> fallback_;  // jobid_name, which Lustre takes where the variable is not set
  bool by_variable_ = false;     // pieces_ is just %j
};

}  // namespace iez::lustre
