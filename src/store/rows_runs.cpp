#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"
#include "store/core.hpp"
#include "store/rows.hpp"

namespace iez::store {

// "w 1.5 4096 2 2;r 0.25 100 1": what it was, seconds, bytes, files, and OSTs where these are known.
std::string phase_list(std::span<const RunPhase> phases) {
  std::string out;
  for (const RunPhase& phase : phases.first(std::min(phases.size(), kMaxPhases))) {
    if (!out.empty()) out += ';';
    out += fmt::format("{} {} {} {}", phase.reads ? 'r' : 'w', phase.seconds, phase.bytes.count, phase.files);
    if (phase.osts > 0) out += fmt::format(" {}", phase.osts);
  }
  return out;
}

// What cannot be read is left out: it is a statistic.
std::vector<RunPhase> parse_phase_list(std::string_view text) {
  std::vector<RunPhase> phases;
  while (!text.empty() && phases.size() < kMaxPhases) {
    const std::size_t end = static_cast<std::size_t>(std::ranges::find(text, ';') - text.begin());
    std::array<std::string_view, 5> words;
    std::string_view rest = text.substr(0, end);
    for (std::string_view& word : words) {
      const std::size_t blank = static_cast<std::size_t>(std::ranges::find(rest, ' ') - rest.begin());
      word = rest.substr(0, blank);
      rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
    double seconds = 0;
    const auto [last, error] = std::from_chars(words[1].data(), words[1].data() + words[1].size(), seconds);
    const auto bytes = text::parse_u64(words[2]);
    const auto files = text::parse_u64(words[3]);
    const bool number = error == std::errc{} && last == words[1].data() + words[1].size() && std::isfinite(seconds);
    if ((words[0] == "r" || words[0] == "w") && number && seconds >= 0 && bytes && files) {
      const std::uint64_t osts = text::parse_u64(words[4]).value_or(0);
      phases.push_back({.reads = words[0] == "r",
                        .seconds = seconds,
                        .bytes = {*bytes},
                        .files = *files,
                        .osts = osts > std::numeric_limits<std::uint32_t>::max() ? 0 : static_cast<std::uint32_t>(osts)});
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return phases;
}

// "scratch 4:0.11:2 5:1:0;home": file systems, each with OST, speed and place. Names with a blank or a semicolon are none that
// Lustre has, and are left out.
std::string target_list(std::span<const RunTargets> seen) {
  std::string out;
  for (const RunTargets& one : seen) {
    if (one.file_system.empty() || one.file_system.find_first_of(" ;") != std::string::npos) continue;
    if (!out.empty()) out += ';';
    out += one.file_system;
    const std::size_t most = std::min(one.targets.size(), kMaxTargets);
    for (const RunTarget& target : std::span(one.targets).first(most)) {
      out += fmt::format(" {}:{:.3g}:{}", target.ost.value, target.speed, target.place);
    }
  }
  return out;
}

// Likewise a statistic.
std::vector<RunTargets> parse_target_list(std::string_view text) {
  const auto cut = [](std::string_view& rest, char at) {
    const std::size_t end = std::min(rest.find(at), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return word;
  };
  std::vector<RunTargets> seen;
  while (!text.empty()) {
    std::string_view list = cut(text, ';');
    RunTargets one{.file_system = std::string(cut(list, ' ')), .targets = {}};
    while (!list.empty() && one.targets.size() < kMaxTargets) {
      std::string_view item = cut(list, ' ');
      const auto ost = text::parse_u64(cut(item, ':'));
      const std::string_view word = cut(item, ':');
      const auto place = text::parse_u64(item);
      double speed = 0;
      const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), speed);
      const bool number = error == std::errc{} && last == word.data() + word.size() && speed >= 0 && speed <= 1;
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
      if (!number || !ost || !place || *ost > kMost || *place > kMost) continue;
      one.targets.push_back(
          {.ost = OstIndex{static_cast<std::uint32_t>(*ost)}, .speed = speed, .place = static_cast<std::uint32_t>(*place)});
    }
    if (!one.file_system.empty()) seen.push_back(std::move(one));
  }
  return seen;
}

Outcome<std::optional<Application>> select_application(Session& session, std::string_view owner, std::string_view name) {
  std::optional<Application> found;
  IEZ_CHECK(session.query("SELECT id, owner, name, fingerprint, created_ns FROM applications WHERE owner = ? AND name = ?",
                          values(owner, name), [&](const Row& row) {
                            found = Application{.id = row.integer(0),
                                                .owner = row.text(1),
                                                .name = row.text(2),
                                                .fingerprint = row.text(3),
                                                .created_ns = row.integer(4)};
                          }));
  return found;
}

Outcome<Application> ensure_application(Session& session, const Application& application) {
  IEZ_TRY(auto found, select_application(session, application.owner, application.name));
  if (!found) {
    // Of two at once, one waits for the other here, and finds its row then.
    const std::string sql =
        expand("{ignore} INTO applications (owner, name, fingerprint, created_ns) VALUES (?, ?, ?, ?)", session.dialect());
    IEZ_CHECK(session.run(sql, values(application.owner, application.name, application.fingerprint, application.created_ns)));
    IEZ_TRY(found, select_application(session, application.owner, application.name));
    if (!found) return refused(fail(Errc::io, "the application was not stored"));
  }
  if (!application.fingerprint.empty() && found->fingerprint != application.fingerprint) {
    IEZ_CHECK(session.run("UPDATE applications SET fingerprint = ? WHERE id = ?", values(application.fingerprint, found->id)));
    found->fingerprint = application.fingerprint;
  }
  return *std::move(found);
}

Outcome<std::optional<Id>> run_by_key(Session& session, std::string_view key) {
  return session.number("SELECT id FROM runs WHERE run_key = ?", values(key));
}

Outcome<Id> insert_run(Session& session, const Run& run, std::span<const FileRow> files, std::span<const Miss> misses) {
  Bytes written;
  Bytes read;
  for (const FileRow& file : files) {
    written += file.written;
    read += file.read;
  }
  const std::string phases = phase_list(run.phases);
  const std::string targets = target_list(run.targets);
  IEZ_CHECK(session.run(
      "INSERT INTO runs (run_key, application, started_ns, ended_ns, command, host, uid, job, ranks, processes, "
      "mode, exit_status, "
      "plan, files, written, bytes_read, misses, planned, unplanned, accuracy, by_weight, foretold, met, phases, targets, "
      "kept) VALUES (?, ?, ?, ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
      values(run.key, run.application, run.started_ns, run.ended_ns, run.command, run.host, run.uid, run.job, run.ranks,
             run.processes, std::int64_t{run.mode == RunMode::place}, run.exit_status, run.plan, std::uint64_t{files.size()},
             written, read, std::uint64_t{misses.size()}, run.planned, run.unplanned, run.accuracy, run.by_weight, run.foretold,
             run.met, phases, targets)));
  const Id id = session.last_id();
  Batch rows(
      session,
      "INSERT INTO files (run, number, name, renamed, written, bytes_read, stripe_count, stripe_size, writer_rank, writers, "
      "created, phase, read_phase, removed, own_layout) VALUES ",
      15);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileRow& file = files[i];
    IEZ_CHECK(rows.add(values(id, std::uint64_t{i}, file.name, file.renamed, file.written, file.read, file.stripe_count,
                              file.stripe_size, file.rank, file.ranks, file.created, file.phase, file.read_phase, file.removed,
                              file.own_layout)));
  }
  IEZ_CHECK(rows.flush());
  Batch missed(session, "INSERT INTO misses (run, number, name, why) VALUES ", 4);
  for (std::size_t i = 0; i < misses.size(); ++i) {
    IEZ_CHECK(missed.add(values(id, std::uint64_t{i}, misses[i].name, misses[i].why)));
  }
  IEZ_CHECK(missed.flush());
  return id;
}

Outcome<void> drop_old_files(Session& session, Id application, std::uint32_t keep) {
  std::vector<Id> old;
  std::uint32_t seen = 0;
  IEZ_CHECK(session.query("SELECT id FROM runs WHERE application = ? AND kept = 1 ORDER BY started_ns DESC, id DESC",
                          values(application), [&](const Row& row) {
                            if (++seen > keep) old.push_back(row.integer(0));
                          }));
  for (const Id run : old) {
    IEZ_CHECK(session.run("DELETE FROM files WHERE run = ?", values(run)));
    IEZ_CHECK(session.run("DELETE FROM misses WHERE run = ?", values(run)));
    IEZ_CHECK(session.run("UPDATE runs SET kept = 0 WHERE id = ?", values(run)));
  }
  return {};
}

Outcome<std::vector<Run>> select_runs(Session& session, std::string_view where, std::span<const Value> bound) {
  std::string sql =
      "SELECT id, run_key, application, started_ns, ended_ns, command, host, uid, job, ranks, processes, mode, exit_status, "
      "plan, "
      "files, written, bytes_read, misses, planned, unplanned, accuracy, by_weight, foretold, met, kept, phases, targets FROM "
      "runs ";
  sql += where;
  std::vector<Run> runs;
  IEZ_CHECK(session.query(sql, bound, [&](const Row& row) {
    runs.push_back({.id = row.integer(0),
                    .key = row.text(1),
                    .application = row.integer(2),
                    .started_ns = row.integer(3),
                    .ended_ns = row.integer(4),
                    .command = row.text(5),
                    .host = row.text(6),
                    .uid = row.small(7),
                    .job = row.text(8),
                    .ranks = row.small(9),
                    .processes = row.small(10),
                    .mode = row.flag(11) ? RunMode::place : RunMode::learn,
                    .exit_status = static_cast<std::int32_t>(row.integer(12)),
                    .plan = row.text(13),
                    .files = row.number(14),
                    .written = row.size(15),
                    .read = row.size(16),
                    .misses = row.number(17),
                    .planned = row.number(18),
                    .unplanned = row.number(19),
                    .accuracy = row.maybe_real(20),
                    .by_weight = row.maybe_real(21),
                    .foretold = row.number(22),
                    .met = row.number(23),
                    .files_kept = row.flag(24) ? row.number(14) : 0,
                    .phases = parse_phase_list(row.text(25)),
                    .targets = parse_target_list(row.text(26))});
  }));
  return runs;
}

Outcome<std::vector<FileRow>> select_files(Session& session, Id run) {
  std::vector<FileRow> files;
  IEZ_CHECK(
      session.query("SELECT name, renamed, written, bytes_read, stripe_count, stripe_size, writer_rank, writers, created, phase, "
                    "read_phase, removed, own_layout FROM files WHERE run = ? "
                    "ORDER BY number",
                    values(run), [&](const Row& row) {
                      files.push_back({.name = row.text(0),
                                       .renamed = row.text(1),
                                       .written = row.size(2),
                                       .read = row.size(3),
                                       .stripe_count = row.small(4),
                                       .stripe_size = row.size(5),
                                       .rank = static_cast<std::int32_t>(row.integer(6)),
                                       .ranks = row.small(7),
                                       .created = row.flag(8),
                                       .phase = static_cast<std::int32_t>(row.integer(9)),
                                       .read_phase = static_cast<std::int32_t>(row.integer(10)),
                                       .removed = row.flag(11),
                                       .own_layout = row.flag(12)});
                    }));
  return files;
}

Outcome<std::vector<Miss>> select_misses(Session& session, Id run) {
  std::vector<Miss> misses;
  IEZ_CHECK(session.query("SELECT name, why FROM misses WHERE run = ? ORDER BY number", values(run),
                          [&](const Row& row) { misses.push_back({.name = row.text(0), .why = row.text(1)}); }));
  return misses;
}

}  // namespace iez::store
