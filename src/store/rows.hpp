// Records to rows and back, within a transaction that somebody else began. Used by the operations of Store and by its import.
//
// Thread safety: none beyond that of the session.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/session.hpp"

namespace iez::store {

// What cannot be stored is told by field, before anything is written.
[[nodiscard]] Result<void> validate(const Application& application);
[[nodiscard]] Result<void> validate(const Run& run, std::span<const FileRow> files, std::span<const Miss> misses);
[[nodiscard]] Result<void> validate(const Prediction& prediction);
[[nodiscard]] Result<void> validate(const Allocation& allocation);

[[nodiscard]] Outcome<Application> ensure_application(Session& session, const Application& application);
[[nodiscard]] Outcome<std::optional<Application>> select_application(Session& session, std::string_view owner,
                                                                     std::string_view name);

// The number of a record by its key; nothing: it is not there.
[[nodiscard]] Outcome<std::optional<Id>> run_by_key(Session& session, std::string_view key);
[[nodiscard]] Outcome<std::optional<Id>> prediction_by_key(Session& session, std::string_view key);
[[nodiscard]] Outcome<std::optional<Id>> allocation_by_key(Session& session, std::string_view key);

// REQUIRES: validated; the key is not empty and not there.
[[nodiscard]] Outcome<Id> insert_run(Session& session, const Run& run, std::span<const FileRow> files,
                                     std::span<const Miss> misses);
[[nodiscard]] Outcome<Id> insert_prediction(Session& session, const Prediction& prediction);
[[nodiscard]] Outcome<Id> insert_allocation(Session& session, const Allocation& allocation);

// Rows of old records go.
[[nodiscard]] Outcome<void> drop_old_files(Session& session, Id application, std::uint32_t keep);
[[nodiscard]] Outcome<void> drop_old_plans(Session& session, Id application, std::uint32_t keep_rows, std::uint32_t keep);

// `where` is a constant of this program: "WHERE ... ORDER BY ...".
[[nodiscard]] Outcome<std::vector<Run>> select_runs(Session& session, std::string_view where, std::span<const Value> bound);
[[nodiscard]] Outcome<std::vector<FileRow>> select_files(Session& session, Id run);
[[nodiscard]] Outcome<std::vector<Miss>> select_misses(Session& session, Id run);
[[nodiscard]] Outcome<std::vector<Prediction>> select_predictions(Session& session, std::string_view where,
                                                                  std::span<const Value> bound);
[[nodiscard]] Outcome<std::vector<PredictionRow>> select_predicted(Session& session, Id prediction);
[[nodiscard]] Outcome<std::vector<Allocation>> select_allocations(Session& session, std::string_view where,
                                                                  std::span<const Value> bound);
[[nodiscard]] Outcome<std::vector<AllocationRow>> select_allocated(Session& session, Id allocation);

// Counts of states in the head, from its rows.
[[nodiscard]] Outcome<void> count_states(Session& session, Id allocation);

// Phases of a run as text, and back.
std::string phase_list(std::span<const RunPhase> phases);
std::vector<RunPhase> parse_phase_list(std::string_view text);

// What a run saw of targets as text, and back.
std::string target_list(std::span<const RunTargets> seen);
std::vector<RunTargets> parse_target_list(std::string_view text);

// Seconds as text, "0.5,2,0", and back.
std::string seconds_list(std::span<const double> seconds);
std::vector<double> parse_seconds_list(std::string_view text);

// "0,3,5" and back.
std::string ost_list(std::span<const OstIndex> osts);
std::optional<std::vector<OstIndex>> parse_ost_list(std::string_view text);

}  // namespace iez::store
