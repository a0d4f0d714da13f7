// Export and import: docs/formats/store.md.
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "store/core.hpp"
#include "store/record_json.hpp"
#include "store/rows.hpp"

namespace iez::store {

namespace {

class Exporter {
 public:
  Exporter(Session& session, const std::function<Result<void>(std::string_view)>& line) : session_(session), line_(line) {}

  Outcome<void> all(std::int64_t now_ns) {
    IEZ_CHECK(put(ExportHead{.version = kSchemaVersion, .made_ns = now_ns}));
    std::vector<Application> applications;
    IEZ_CHECK(session_.query("SELECT id, owner, name, fingerprint, created_ns FROM applications ORDER BY owner, name", {},
                             [&](const Row& row) {
                               applications.push_back({.id = row.integer(0),
                                                       .owner = row.text(1),
                                                       .name = row.text(2),
                                                       .fingerprint = row.text(3),
                                                       .created_ns = row.integer(4)});
                             }));
    for (const Application& application : applications) IEZ_CHECK(put(application));
    for (const Application& application : applications) IEZ_CHECK(one(application));
    return put(ExportEnd{.lines = lines_});
  }

 private:
  Outcome<void> one(const Application& application) {
    std::map<Id, std::string> keys;
    IEZ_TRY(auto runs, select_runs(session_, "WHERE application = ? ORDER BY started_ns, id", values(application.id)));
    for (Run& run : runs) {
      keys[run.id] = run.key;
      const Id id = run.id;
      IEZ_CHECK(put(ExportRun{.owner = application.owner, .application = application.name, .run = std::move(run)}));
      IEZ_TRY(auto files, select_files(session_, id));
      for (FileRow& file : files) IEZ_CHECK(put(std::move(file)));
      IEZ_TRY(auto misses, select_misses(session_, id));
      for (Miss& miss : misses) IEZ_CHECK(put(std::move(miss)));
    }
    IEZ_TRY(auto predictions, select_predictions(session_, "WHERE application = ? ORDER BY made_ns, id", values(application.id)));
    std::map<Id, std::string> prediction_keys;
    for (Prediction& prediction : predictions) {
      const Id id = prediction.id;
      prediction_keys[id] = prediction.key;
      const auto run = keys.find(prediction.run);
      IEZ_CHECK(put(ExportPrediction{.owner = application.owner,
                                     .application = application.name,
                                     .run = run == keys.end() ? std::string() : run->second,
                                     .prediction = std::move(prediction)}));
      IEZ_TRY(auto rows, select_predicted(session_, id));
      for (PredictionRow& row : rows) IEZ_CHECK(put(std::move(row)));
    }
    IEZ_TRY(auto allocations, select_allocations(session_, "WHERE application = ? ORDER BY made_ns, id", values(application.id)));
    for (Allocation& allocation : allocations) {
      const Id id = allocation.id;
      std::string prediction = prediction_keys[allocation.prediction];
      IEZ_CHECK(put(ExportAllocation{.prediction = std::move(prediction), .allocation = std::move(allocation)}));
      IEZ_TRY(auto rows, select_allocated(session_, id));
      for (AllocationRow& row : rows) IEZ_CHECK(put(std::move(row)));
    }
    return {};
  }

  Outcome<void> put(ExportLine line) {
    std::string text = encode_line(line);
    text += '\n';
    if (auto done = line_(text); !done) return refused(std::move(done).error());
    ++lines_;
    return {};
  }

  Session& session_;
  const std::function<Result<void>(std::string_view)>& line_;
  std::uint64_t lines_ = 0;
};

// Lines of any length that we write; the reader of parameters cuts them much earlier.
class LongLines {
 public:
  explicit LongLines(input::ByteStream& stream) : stream_(stream) {}

  // Valid until the next call; nothing at the end.
  Result<std::optional<std::string_view>> next() {
    buffer_.erase(0, used_);
    used_ = 0;
    std::size_t searched = 0;
    for (;;) {
      if (const std::size_t end = buffer_.find('\n', searched); end != std::string::npos) {
        used_ = end + 1;
        return std::string_view(buffer_).substr(0, end);
      }
      searched = buffer_.size();
      if (at_end_) {
        if (buffer_.empty()) return std::nullopt;
        used_ = buffer_.size();
        return std::string_view(buffer_);
      }
      if (buffer_.size() > kMaxLine) return fail(Errc::limit, fmt::format("a line has more than {} bytes", kMaxLine));
      buffer_.resize(searched + kChunk);
      IEZ_TRY(const std::size_t got, stream_.read(std::span(buffer_).subspan(searched)));
      buffer_.resize(searched + got);
      at_end_ = got == 0;
    }
  }

 private:
  static constexpr std::size_t kChunk = 64 * 1024;

  input::ByteStream& stream_;
  std::string buffer_;
  std::size_t used_ = 0;
  bool at_end_ = false;
};

class Importer {
 public:
  Importer(Session& session, const OpenOptions& options) : session_(session), options_(options) {}

  Outcome<void> line(std::string_view text) {
    if (ended_) return bad("there is more behind the last line");
    auto decoded = decode_line(text);
    if (!decoded) return refused(std::move(decoded).error());
    IEZ_CHECK(std::visit([&](auto& record) { return take(record); }, *decoded));
    ++done_.lines;
    return {};
  }

  Outcome<Imported> finish() {
    if (!ended_) return std::unexpected(bad("the export is cut off: it has no last line of kind 'end'").error());
    for (const Id application : touched_) {
      IEZ_CHECK(drop_old_files(session_, application, options_.keep_runs));
      IEZ_CHECK(drop_old_plans(session_, application, options_.keep_plans, options_.keep_runs));
    }
    return done_;
  }

 private:
  static std::unexpected<Failure> bad(std::string message) { return refused(fail(Errc::parse, std::move(message))); }

  Outcome<Id> application_of(const std::string& owner, const std::string& name) {
    if (const auto known = applications_.find({owner, name}); known != applications_.end()) return known->second;
    return std::unexpected(
        bad(fmt::format("there is no line before it for application '{}' of '{}'", text::printable(name), text::printable(owner)))
            .error());
  }

  Outcome<void> take(ExportHead& head) {
    if (done_.lines != 0) return bad("a second first line");
    if (head.version == 0 || head.version > kSchemaVersion) return refused(unknown_version(head.version));
    started_ = true;
    return {};
  }

  Outcome<void> take(Application& application) {
    IEZ_CHECK(head());
    if (auto right = validate(application); !right) return refused(std::move(right).error());
    IEZ_TRY(const auto known, select_application(session_, application.owner, application.name));
    if (known) application.fingerprint.clear();  // what is here stays
    IEZ_TRY(const Application stored, ensure_application(session_, application));
    // Nobody else changes it until the import is done.
    IEZ_CHECK(session_.run("UPDATE applications SET created_ns = created_ns WHERE id = ?", values(stored.id)));
    applications_[{application.owner, application.name}] = stored.id;
    ++(known ? done_.present : done_.applications);
    return {};
  }

  Outcome<void> take(ExportRun& record) {
    IEZ_CHECK(head());
    IEZ_TRY(record.run.application, application_of(record.owner, record.application));
    if (record.run.key.empty()) return bad("run: field key: expected a text");
    run_ = std::move(record.run);
    return {};
  }

  Outcome<void> take(FileRow& row) {
    if (!run_) return bad("a file without a run before it");
    files_.push_back(std::move(row));
    return {};
  }

  Outcome<void> take(Miss& row) {
    if (!run_) return bad("a miss without a run before it");
    misses_.push_back(std::move(row));
    return {};
  }

  Outcome<void> take(ExportPrediction& record) {
    IEZ_CHECK(head());
    IEZ_TRY(record.prediction.application, application_of(record.owner, record.application));
    if (record.prediction.key.empty()) return bad("prediction: field key: expected a text");
    if (!record.run.empty()) {
      IEZ_TRY(const auto run, run_by_key(session_, record.run));
      record.prediction.run = run.value_or(0);
    }
    prediction_ = std::move(record.prediction);
    return {};
  }

  Outcome<void> take(PredictionRow& row) {
    if (!prediction_) return bad("a predicted file without a prediction before it");
    prediction_->rows.push_back(std::move(row));
    return {};
  }

  Outcome<void> take(ExportAllocation& record) {
    IEZ_CHECK(head());
    if (record.allocation.key.empty()) return bad("allocation: field key: expected a text");
    IEZ_TRY(const auto prediction, prediction_by_key(session_, record.prediction));
    if (!prediction) return bad("an allocation without its prediction before it");
    record.allocation.prediction = *prediction;
    allocation_ = std::move(record.allocation);
    return {};
  }

  Outcome<void> take(AllocationRow& row) {
    if (!allocation_) return bad("an allocated file without an allocation before it");
    allocation_->rows.push_back(std::move(row));
    return {};
  }

  Outcome<void> take(ExportEnd& end) {
    IEZ_CHECK(head());
    if (end.lines != done_.lines)
      return bad(fmt::format("the last line tells of {} lines, and there are {}", end.lines, done_.lines));
    ended_ = true;
    return {};
  }

  // Before each head: what was gathered is whole now.
  Outcome<void> head() {
    if (!started_) return bad("expected a first line of kind 'iez_store'; is it an export of `iez db export`?");
    IEZ_CHECK(store_run());
    IEZ_CHECK(store_prediction());
    return store_allocation();
  }

  Outcome<void> store_run() {
    if (!run_) return {};
    const Run run = *std::exchange(run_, std::nullopt);
    const std::vector<FileRow> files = std::exchange(files_, {});
    const std::vector<Miss> misses = std::exchange(misses_, {});
    if (auto right = validate(run, files, misses); !right) return refused(std::move(right).error());
    const bool kept = run.files_kept == run.files;
    if (files.size() != run.files_kept || (kept && misses.size() != run.misses) || (run.files_kept != 0 && !kept)) {
      return bad(fmt::format("run {}: its files or misses are not as many as it says", run.key));
    }
    IEZ_TRY(const auto known, run_by_key(session_, run.key));
    if (known) {
      ++done_.present;
      return {};
    }
    IEZ_TRY(const Id id, insert_run(session_, run, files, misses));
    // A run without its files keeps its sums.
    if (!kept) {
      IEZ_CHECK(session_.run("UPDATE runs SET files = ?, written = ?, bytes_read = ?, misses = ?, kept = 0 WHERE id = ?",
                             values(run.files, run.written, run.read, run.misses, id)));
    }
    touched_.insert(run.application);
    ++done_.runs;
    return {};
  }

  Outcome<void> store_prediction() {
    if (!prediction_) return {};
    const Prediction prediction = *std::exchange(prediction_, std::nullopt);
    if (auto right = validate(prediction); !right) return refused(std::move(right).error());
    const bool kept = prediction.rows.size() == prediction.row_count;
    if (!kept && !prediction.rows.empty())
      return bad(fmt::format("prediction {}: not all of its rows are there", prediction.key));
    IEZ_TRY(const auto known, prediction_by_key(session_, prediction.key));
    if (known) {
      ++done_.present;
      return {};
    }
    IEZ_TRY(const Id id, insert_prediction(session_, prediction));
    if (!kept) {
      IEZ_CHECK(session_.run("UPDATE predictions SET row_count = ?, bytes = ?, kept = 0 WHERE id = ?",
                             values(prediction.row_count, prediction.bytes, id)));
    }
    touched_.insert(prediction.application);
    ++done_.predictions;
    return {};
  }

  Outcome<void> store_allocation() {
    if (!allocation_) return {};
    Allocation allocation = *std::exchange(allocation_, std::nullopt);
    if (auto right = validate(allocation); !right) return refused(std::move(right).error());
    const bool kept = allocation.rows.size() == allocation.row_count;
    if (!kept && !allocation.rows.empty())
      return bad(fmt::format("allocation {}: not all of its rows are there", allocation.key));
    IEZ_TRY(const auto of, select_predictions(session_, "WHERE p.id = ?", values(allocation.prediction)));
    if (of.empty() || (!allocation.rows.empty() && allocation.rows.back().row >= of.front().row_count)) {
      return bad(fmt::format("allocation {}: its prediction has no such rows", allocation.key));
    }
    allocation.application = of.front().application;
    IEZ_TRY(const auto known, allocation_by_key(session_, allocation.key));
    if (known) {
      ++done_.present;
      return {};
    }
    IEZ_TRY(const Id id, insert_allocation(session_, allocation));
    if (!kept) {
      IEZ_CHECK(session_.run("UPDATE allocations SET row_count = ?, planned = ?, created = ?, expired = ?, kept = 0 WHERE id = ?",
                             values(allocation.row_count, allocation.planned, allocation.created, allocation.expired, id)));
    }
    touched_.insert(allocation.application);
    ++done_.allocations;
    return {};
  }

  Session& session_;
  const OpenOptions& options_;
  Imported done_;
  bool started_ = false;
  bool ended_ = false;
  std::map<std::pair<std::string, std::string>, Id> applications_;
  std::set<Id> touched_;
  std::optional<Run> run_;
  std::vector<FileRow> files_;
  std::vector<Miss> misses_;
  std::optional<Prediction> prediction_;
  std::optional<Allocation> allocation_;
};

}  // namespace

Result<void> Store::export_lines(const std::function<Result<void>(std::string_view line)>& line) {
  bool began = false;
  const auto sink = [&](std::string_view text) -> Result<void> {
    began = true;
    return line(text);
  };
  auto done = core_->read([&](Session& session) -> Outcome<bool> {
    // Lines that are out cannot be taken back: only a try that gave none is repeated.
    if (began) return refused(fail(Errc::io, "the database went away in the middle of the export; run it again"));
    IEZ_CHECK(Exporter(session, sink).all(core_->now_ns()));
    return true;
  });
  if (!done) return std::unexpected(std::move(done).error());
  return {};
}

Result<Imported> Store::import_lines(input::ByteStream& stream, std::string_view origin) {
  Imported imported;
  LongLines lines(stream);
  IEZ_CHECK(core_->write_once([&](Session& session) -> Outcome<void> {
    Importer importer(session, core_->options());
    for (std::uint64_t number = 1;; ++number) {
      auto line = lines.next();
      if (line && !*line) break;
      Outcome<void> taken;
      if (line) {
        taken = importer.line(**line);
      } else {
        taken = refused(std::move(line).error());
      }
      if (!taken) {
        Failure failure = std::move(taken).error();
        failure.error.message = fmt::format("{}:{}: {}; nothing was imported", origin, number, failure.error.message);
        return std::unexpected(std::move(failure));
      }
    }
    auto done = importer.finish();
    if (!done) {
      Failure failure = std::move(done).error();
      failure.error.message = fmt::format("{}: {}; nothing was imported", origin, failure.error.message);
      return std::unexpected(std::move(failure));
    }
    imported = *done;
    return {};
  }));
  return imported;
}

}  // namespace iez::store
