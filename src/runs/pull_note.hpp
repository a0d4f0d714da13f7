// What a coordinator that pulls must know of a prediction, and only the node of the run can tell: kept in the model of the
// prediction, under "pull". A prediction without it is not for the coordinator.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/plan_messages.hpp"
#include "base/result.hpp"
#include "store/records.hpp"

namespace iez::runs {

struct PullNote {
  std::string host;
  std::string file_system;
  std::vector<std::uint32_t> rows;  // of the prediction, ascending: those to be planned
  std::vector<api::FreedBytes> freed;
  std::vector<api::SlowOst> slow;
  bool always = false;  // as in WantedRows
  double gap_s = 0;
  double ran_s = 0;

  friend bool operator==(const PullNote&, const PullNote&) = default;
};

// The model with the note in it. Errc::limit: it is too large for the store.
[[nodiscard]] Result<std::string> with_pull_note(std::string_view model, const PullNote& note);

// None: there is none, or it makes no sense.
std::optional<PullNote> pull_note_of(std::string_view model);

// As it is asked for at that time: the run that the prediction was made after had ended then, and the application was idle since.
// Errc::parse for rows that the prediction does not have, Errc::limit for a request that is larger than a coordinator takes.
[[nodiscard]] Result<api::PlanRequest> pulled_request(const std::string& application, const store::Prediction& prediction,
                                                      const PullNote& note, std::int64_t now_ns);

}  // namespace iez::runs
