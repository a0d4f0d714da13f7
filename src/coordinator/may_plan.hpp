// Whether a user may have the files of a request planned: http::Permissions for each of their directories.
//
// Thread safety: as http::Permissions.
#pragma once

#include "api/plan_messages.hpp"
#include "base/result.hpp"
#include "http/access.hpp"

namespace iez::coordinator {

[[nodiscard]] Result<void> may_plan(http::Permissions& permissions, const http::Identity& who, const api::PlanRequest& request);

}  // namespace iez::coordinator
