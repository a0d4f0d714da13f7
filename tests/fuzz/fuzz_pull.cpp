// What a coordinator and a database send each other, and the note in a prediction's model: no crash; bounds; round trips.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/pull_json.hpp"
#include "base/result.hpp"
#include "runs/pull_note.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace iez;  // NOLINT(google-build-using-namespace): one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto revision = api::parse_revision(text)) {
    IEZ_ASSERT(api::parse_revision(api::revision_json(*revision)) == *revision);
  }
  if (const auto page = api::parse_prediction_page(text)) {
    IEZ_ASSERT(page->predictions.size() <= api::kMaxPageItems);
    for (const auto& one : page->predictions) IEZ_ASSERT(one.key.size() == 32 && !one.owner.empty());
    IEZ_ASSERT(api::parse_prediction_page(api::to_json(*page)).has_value());
  }
  if (const auto posted = api::parse_posted_allocation(text)) {
    IEZ_ASSERT(!posted->answer.plan.empty() || (!posted->prediction.empty() && !posted->answer.verdict.empty()));
    IEZ_ASSERT(api::parse_posted_allocation(api::to_json(*posted)).has_value());
  }
  if (const auto page = api::parse_allocation_page(text)) {
    IEZ_ASSERT(page->allocations.size() <= api::kMaxPageItems);
    IEZ_ASSERT(api::parse_allocation_page(api::to_json(*page)) == *page);
  }
  if (const auto states = api::parse_allocation_states(text)) {
    std::uint64_t sum = 0;
    for (const auto& [first, count] : states->created) sum += count;
    IEZ_ASSERT(sum <= api::kMaxPlannedFiles);
    IEZ_ASSERT(api::parse_allocation_states(api::to_json(*states)) == *states);
  }
  if (const auto note = runs::pull_note_of(text)) {
    IEZ_ASSERT(note->rows.size() <= api::kMaxPlannedFiles);
    if (const auto model = runs::with_pull_note("{}", *note)) IEZ_ASSERT(runs::pull_note_of(*model) == note);
  }
  return 0;
}
