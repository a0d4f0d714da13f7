// What a coordinator that pulls gets from an interaction database, and gives to it: the store's records as messages, and back.
//
// Offered is the newest prediction of each application that has no plan and is meant for the coordinator (runs/pull_note.hpp).
// What comes back is one transaction; the same again changes nothing.
//
// Thread safety: as the store's: none.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/pull_messages.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "store/store.hpp"

namespace iez::database {

struct Stored {
  store::Id allocation = 0;  // 0: the verdict that there is no plan
};

// A prediction that cannot be offered (larger than a coordinator takes) is left out, and the log tells.
[[nodiscard]] Result<api::PredictionPage> offered_predictions(store::Store& store, std::uint64_t after, std::int64_t now_ns,
                                                              Logger& log);

// An answer without a plan becomes the verdict of the prediction, which is not offered again then. Errc::exists: the prediction
// is gone, has another plan, or is not the newest one any more. Errc::invalid_argument: the plan is not for the files of the
// prediction.
[[nodiscard]] Result<Stored> take_allocation(store::Store& store, const api::PostedAllocation& posted);

// Of plans that were made elsewhere.
[[nodiscard]] Result<api::AllocationPage> newest_allocations(store::Store& store, std::uint64_t after);

// Errc::not_found: no such plan.
[[nodiscard]] Result<api::AllocationStates> states_of(store::Store& store, std::string_view plan);

}  // namespace iez::database
