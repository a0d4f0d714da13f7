#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "store/core.hpp"
#include "store/rows.hpp"

namespace iez::store {

std::string ost_list(std::span<const OstIndex> osts) {
  std::string out;
  for (const OstIndex ost : osts) {
    if (!out.empty()) out += ',';
    out += fmt::format("{}", ost.value);
  }
  return out;
}

std::optional<std::vector<OstIndex>> parse_ost_list(std::string_view text) {
  std::vector<OstIndex> osts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const auto value = text::parse_u64(text.substr(0, end));
    if (!value || *value > std::numeric_limits<std::uint32_t>::max() || end + 1 == text.size()) return std::nullopt;
    osts.push_back({static_cast<std::uint32_t>(*value)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return osts;
}

std::string seconds_list(std::span<const double> seconds) {
  std::string out;
  for (std::size_t i = 0; i < seconds.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ",", seconds[i]);
  return out;
}

std::vector<double> parse_seconds_list(std::string_view text) {
  std::vector<double> seconds;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    double value = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + end, value);
    const bool number = error == std::errc{} && last == text.data() + end && std::isfinite(value) && value >= 0;
    seconds.push_back(number ? value : 0);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return seconds;
}

// ---- Predictions ----

Outcome<std::optional<Id>> prediction_by_key(Session& session, std::string_view key) {
  return session.number("SELECT id FROM predictions WHERE prediction_key = ?", values(key));
}

namespace {

// The number of the model: that of the last one, where it is the same.
Outcome<Id> put_model(Session& session, const Prediction& prediction) {
  if (prediction.model.empty()) return 0;
  std::optional<Id> last;
  std::string content;
  IEZ_CHECK(session.query("SELECT id, content FROM models WHERE application = ? ORDER BY made_ns DESC, id DESC LIMIT 1",
                          values(prediction.application), [&](const Row& row) {
                            last = row.integer(0);
                            content = row.text(1);
                          }));
  if (last && content == prediction.model) return *last;
  IEZ_CHECK(session.run("INSERT INTO models (application, made_ns, content) VALUES (?, ?, ?)",
                        values(prediction.application, prediction.made_ns, prediction.model)));
  return session.last_id();
}

}  // namespace

Outcome<Id> insert_prediction(Session& session, const Prediction& prediction) {
  Bytes bytes;
  for (const PredictionRow& row : prediction.rows) {
    const std::uint64_t files = std::max<std::uint64_t>(row.files, 1);
    bytes += Bytes{row.bytes.count > ~std::uint64_t{0} / files ? ~std::uint64_t{0} : row.bytes.count * files};
  }
  IEZ_TRY(const Id model, put_model(session, prediction));
  const std::string seconds = seconds_list(prediction.phase_seconds);
  IEZ_CHECK(
      session.run("INSERT INTO predictions (prediction_key, application, run, made_ns, ranks, model, accuracy, row_count, bytes, "
                  "phase_seconds, verdict, kept) VALUES (?, "
                  "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
                  values(prediction.key, prediction.application, prediction.run, prediction.made_ns, prediction.ranks, model,
                         prediction.accuracy, std::uint64_t{prediction.rows.size()}, bytes, seconds, prediction.verdict)));
  const Id id = session.last_id();
  Batch rows(session,
             "INSERT INTO predicted (prediction, number, name, created_as, bytes, high, stripe_count, stripe_size, writer_rank, "
             "shared, pattern, files, phase, read_phase, left_alone, default_stripes, default_stripe_size) VALUES ",
             17);
  for (std::size_t i = 0; i < prediction.rows.size(); ++i) {
    const PredictionRow& row = prediction.rows[i];
    IEZ_CHECK(rows.add(values(id, std::uint64_t{i}, row.name, row.created_as, row.bytes, row.high, row.stripe_count,
                              row.stripe_size, row.rank, row.shared, row.open, row.files, row.phase, row.read_phase,
                              row.left_alone, row.default_stripes, row.default_stripe_size)));
  }
  IEZ_CHECK(rows.flush());
  return id;
}

Outcome<std::vector<Prediction>> select_predictions(Session& session, std::string_view where, std::span<const Value> bound) {
  std::string sql =
      "SELECT p.id, p.prediction_key, p.application, p.run, p.made_ns, p.ranks, (SELECT content FROM models m WHERE m.id = "
      "p.model), "
      "p.accuracy, p.row_count, p.bytes, (SELECT a.id FROM allocations a WHERE a.prediction = p.id ORDER BY a.made_ns DESC, a.id "
      "DESC "
      "LIMIT 1), p.phase_seconds, p.verdict FROM predictions p ";
  sql += where;
  std::vector<Prediction> found;
  IEZ_CHECK(session.query(sql, bound, [&](const Row& row) {
    found.push_back({.id = row.integer(0),
                     .key = row.text(1),
                     .application = row.integer(2),
                     .run = row.integer(3),
                     .made_ns = row.integer(4),
                     .ranks = row.small(5),
                     .model = row.text(6),
                     .accuracy = row.maybe_real(7),
                     .rows = {},
                     .phase_seconds = parse_seconds_list(row.text(11)),
                     .verdict = row.text(12),
                     .row_count = row.number(8),
                     .bytes = row.size(9),
                     .allocation = row.is_null(10) ? 0 : row.integer(10)});
  }));
  return found;
}

Outcome<std::vector<PredictionRow>> select_predicted(Session& session, Id prediction) {
  std::vector<PredictionRow> rows;
  IEZ_CHECK(session.query(
      "SELECT name, created_as, bytes, high, stripe_count, stripe_size, writer_rank, shared, pattern, files, phase, read_phase, "
      "left_alone, default_stripes, default_stripe_size FROM predicted WHERE prediction = ? ORDER BY number",
      values(prediction), [&](const Row& row) {
        rows.push_back({.name = row.text(0),
                        .created_as = row.text(1),
                        .bytes = row.size(2),
                        .high = row.size(3),
                        .stripe_count = row.small(4),
                        .stripe_size = row.size(5),
                        .rank = static_cast<std::int32_t>(row.integer(6)),
                        .shared = row.flag(7),
                        .open = row.flag(8),
                        .files = row.number(9),
                        .phase = row.small(10),
                        .read_phase = static_cast<std::int32_t>(row.integer(11)),
                        .left_alone = row.flag(12),
                        .default_stripes = row.small(13),
                        .default_stripe_size = row.size(14)});
      }));
  return rows;
}

// ---- Allocations ----

Outcome<std::optional<Id>> allocation_by_key(Session& session, std::string_view key) {
  return session.number("SELECT id FROM allocations WHERE allocation_key = ?", values(key));
}

Outcome<Id> insert_allocation(Session& session, const Allocation& allocation) {
  std::array<std::uint64_t, 3> states{};
  for (const AllocationRow& row : allocation.rows) ++states.at(static_cast<std::size_t>(row.state));
  IEZ_CHECK(session.run(
      "INSERT INTO allocations (allocation_key, prediction, application, plan, made_ns, planner, policy, file_system, details, "
      "row_count, planned, created, expired, kept) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
      values(allocation.key, allocation.prediction, allocation.application, allocation.plan, allocation.made_ns,
             allocation.planner, allocation.policy, allocation.file_system, allocation.details,
             std::uint64_t{allocation.rows.size()}, states[0], states[1], states[2])));
  const Id id = session.last_id();
  Batch rows(session, "INSERT INTO allocated (allocation, number, turn, stripe_size, stripe_count, osts, reason, state) VALUES ",
             8);
  for (const AllocationRow& row : allocation.rows) {
    for (std::size_t turn = 0; turn < row.layouts.size(); ++turn) {
      const StripeLayout& layout = row.layouts[turn];
      const std::string_view osts = rows.hold(ost_list(layout.osts));
      IEZ_CHECK(
          rows.add(values(id, row.row, std::uint64_t{turn}, layout.stripe_size, std::uint64_t{layout.osts.size()}, osts,
                          turn == 0 ? std::string_view(row.reason) : std::string_view(), static_cast<std::int32_t>(row.state))));
    }
  }
  IEZ_CHECK(rows.flush());
  return id;
}

Outcome<std::vector<Allocation>> select_allocations(Session& session, std::string_view where, std::span<const Value> bound) {
  std::string sql =
      "SELECT id, allocation_key, prediction, application, plan, made_ns, planner, policy, file_system, details, row_count, "
      "planned, "
      "created, expired FROM allocations ";
  sql += where;
  std::vector<Allocation> found;
  IEZ_CHECK(session.query(sql, bound, [&](const Row& row) {
    found.push_back({.id = row.integer(0),
                     .key = row.text(1),
                     .prediction = row.integer(2),
                     .application = row.integer(3),
                     .plan = row.text(4),
                     .made_ns = row.integer(5),
                     .planner = row.text(6),
                     .policy = row.text(7),
                     .file_system = row.text(8),
                     .details = row.text(9),
                     .rows = {},
                     .row_count = row.number(10),
                     .planned = row.number(11),
                     .created = row.number(12),
                     .expired = row.number(13)});
  }));
  return found;
}

Outcome<std::vector<AllocationRow>> select_allocated(Session& session, Id allocation) {
  std::vector<AllocationRow> rows;
  bool damaged = false;
  IEZ_CHECK(session.query(
      "SELECT t.number, t.turn, t.stripe_size, t.osts, t.reason, t.state, r.name, r.created_as, r.bytes, r.files FROM allocated "
      "t "
      "JOIN allocations a ON a.id = t.allocation JOIN predicted r ON r.prediction = a.prediction AND r.number = t.number WHERE "
      "t.allocation = ? ORDER BY t.number, t.turn",
      values(allocation), [&](const Row& row) {
        const std::uint32_t number = row.small(0);
        if (rows.empty() || rows.back().row != number) {
          rows.push_back({.row = number,
                          .layouts = {},
                          .reason = row.text(4),
                          .state = static_cast<PlanState>(std::min<std::uint32_t>(row.small(5), 2)),
                          .name = row.text(6),
                          .created_as = row.text(7),
                          .bytes = row.size(8),
                          .files = row.number(9)});
        }
        auto osts = parse_ost_list(row.text(3));
        if (!osts) {
          damaged = true;
        } else {
          rows.back().layouts.push_back({.stripe_size = row.size(2), .osts = *std::move(osts)});
        }
      }));
  if (damaged) {
    return refused(
        fail(Errc::parse, fmt::format("allocation {} has a list of OSTs that is none; `iez db check` tells more", allocation)));
  }
  return rows;
}

Outcome<void> count_states(Session& session, Id allocation) {
  std::array<std::uint64_t, 3> states{};
  IEZ_CHECK(session.query("SELECT state, count(*) FROM allocated WHERE allocation = ? AND turn = 0 GROUP BY state",
                          values(allocation), [&](const Row& row) {
                            if (row.number(0) < states.size()) states.at(row.number(0)) = row.number(1);
                          }));
  IEZ_CHECK(session.run("UPDATE allocations SET planned = ?, created = ?, expired = ? WHERE id = ?",
                        values(states[0], states[1], states[2], allocation)));
  return {};
}

Outcome<void> drop_old_plans(Session& session, Id application, std::uint32_t keep_rows, std::uint32_t keep) {
  std::vector<Id> without_rows;
  std::vector<Id> gone;
  std::vector<Id> bare;
  std::uint32_t seen = 0;
  IEZ_CHECK(session.query("SELECT id, kept FROM predictions WHERE application = ? ORDER BY made_ns DESC, id DESC",
                          values(application), [&](const Row& row) {
                            if (++seen > std::max(keep, keep_rows)) {
                              gone.push_back(row.integer(0));
                            } else if (seen > keep_rows && row.flag(1)) {
                              without_rows.push_back(row.integer(0));
                            }
                          }));
  for (const Id prediction : gone) IEZ_CHECK(session.run("DELETE FROM predictions WHERE id = ?", values(prediction)));
  for (const Id prediction : without_rows) {
    IEZ_CHECK(session.run("DELETE FROM allocated WHERE allocation IN (SELECT id FROM allocations WHERE prediction = ?)",
                          values(prediction)));
    IEZ_CHECK(session.run("UPDATE allocations SET expired = expired + planned, planned = 0, kept = 0 WHERE prediction = ?",
                          values(prediction)));
    IEZ_CHECK(session.run("DELETE FROM predicted WHERE prediction = ?", values(prediction)));
    IEZ_CHECK(session.run("UPDATE predictions SET kept = 0 WHERE id = ?", values(prediction)));
  }
  seen = 0;
  gone.clear();
  IEZ_CHECK(session.query("SELECT id, kept FROM allocations WHERE application = ? ORDER BY made_ns DESC, id DESC",
                          values(application), [&](const Row& row) {
                            if (++seen > std::max(keep, keep_rows)) {
                              gone.push_back(row.integer(0));
                            } else if (seen > keep_rows && row.flag(1)) {
                              bare.push_back(row.integer(0));
                            }
                          }));
  for (const Id allocation : gone) IEZ_CHECK(session.run("DELETE FROM allocations WHERE id = ?", values(allocation)));
  for (const Id allocation : bare) {
    IEZ_CHECK(session.run("DELETE FROM allocated WHERE allocation = ?", values(allocation)));
    IEZ_CHECK(session.run("UPDATE allocations SET expired = expired + planned, planned = 0, kept = 0 WHERE id = ?",
                          values(allocation)));
  }
  IEZ_CHECK(session.run(
      "DELETE FROM models WHERE application = ? AND NOT EXISTS (SELECT 1 FROM predictions p WHERE p.model = models.id)",
      values(application)));
  return {};
}

}  // namespace iez::store
