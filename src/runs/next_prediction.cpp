#include "runs/next_prediction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "forecast/step_places.hpp"
#include "forecast/template_discovery.hpp"
#include "plan/pattern_text.hpp"
#include "plan/plan_reader.hpp"
#include "runs/helper_files.hpp"
#include "runs/mode.hpp"
#include "runs/model_text.hpp"

namespace iez::runs {

namespace {

using forecast::FieldKind;
using forecast::FieldValue;
using forecast::NameTemplate;
using forecast::RenameRule;

const std::string& final_name(const store::FileRow& file) { return file.renamed.empty() ? file.name : file.renamed; }
// Files that do not survive their run, and helper files of MPI libraries, are nobody's concern: neither predicted nor scored.
bool wrote(const store::FileRow& file) {
  return !file.removed && (file.created || file.written.count > 0) && !is_helper_file(final_name(file));
}

forecast::RunSeen seen(const PastRun& run) {
  forecast::RunSeen out{.files = {}, .ranks = run.run.ranks};
  out.files.reserve(run.files.size());
  for (const store::FileRow& file : run.files) {
    if (!wrote(file)) continue;
    out.files.push_back({.name = final_name(file),
                         .bytes = file.written,
                         .stripe_count = file.stripe_count,
                         .rank = file.rank,
                         .ranks = std::max(1U, file.ranks),
                         .phase = file.phase});
  }
  return out;
}

// A name in which no field stands, for a pattern.
std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    out += c;
    if (c == '{' || c == '}') out += c;
  }
  return out;
}

// The temporary name of a file with this final name. None: the name does not follow the rule. Empty: it has a part that cannot
// be known.
std::optional<std::string> temporary_of(const RenameRule& rule, const std::string& name) {
  std::vector<FieldValue> final_values;
  if (!forecast::match(rule.final, name, final_values)) return std::nullopt;
  std::vector<FieldValue> values(rule.temporary.fields.size());
  std::vector<bool> known(values.size(), false);
  for (std::size_t f = 0; f < rule.source.size(); ++f) {
    values[rule.source[f]] = final_values[f];
    known[rule.source[f]] = true;
  }
  for (std::size_t t = 0; t < values.size(); ++t) {
    const std::size_t same = rule.temporary.fields[t].same_as;
    if (!known[t] && same < t && known[same]) {
      values[t] = values[same];
      known[t] = true;
    }
  }
  if (std::ranges::find(known, false) != known.end()) return std::string();
  std::string temporary = forecast::render(rule.temporary, values);
  if (rule.apply(temporary) != name) return std::nullopt;
  return temporary;
}

// A file whose phase nobody knows is taken to be of the first.
std::uint32_t phase_number(const forecast::PredictedFile& file) {
  return file.phase < 0 ? 0 : static_cast<std::uint32_t>(file.phase);
}

// Rows with a pattern: many files, one row.
struct OpenRow {
  store::PredictionRow row;
  std::uint64_t total = 0;
};

void add_open(OpenRow& open, const forecast::PredictedFile& file) {
  store::PredictionRow& row = open.row;
  if (open.total == 0 && row.files == 0) {
    row.stripe_count = file.stripe_count;
    row.shared = file.shared;
    row.open = true;
    row.phase = phase_number(file);
  }
  row.files += file.files;
  open.total += file.bytes.count * file.files;
  row.high = std::max(row.high, file.high);
  row.bytes = Bytes{(open.total + row.files - 1) / row.files};
  row.high = std::max(row.high, row.bytes);
}

class Rows {
 public:
  Rows(const forecast::NextRun& next, std::span<const RenameRule> rules) : next_(next), rules_(rules) {}

  std::vector<store::PredictionRow> make() {
    std::vector<store::PredictionRow> rows;
    rows.reserve(next_.files.size());
    for (const forecast::PredictedFile& file : next_.files) {
      if (file.open) {
        if (OpenRow* const open = of_template(file.of)) add_open(*open, file);
        continue;
      }
      if (file.name.find_first_of("{}") != std::string::npos) continue;  // would be taken for a pattern
      std::string created_as;
      bool grouped = false;
      for (std::size_t r = 0; r < rules_.size() && !grouped && created_as.empty(); ++r) {
        const auto temporary = temporary_of(rules_[r], file.name);
        if (!temporary) continue;
        if (!temporary->empty()) {
          if (*temporary != file.name) created_as = *temporary;
        } else if (OpenRow* const open = of_rename(r)) {
          add_open(*open, file);
          grouped = true;
        }
      }
      if (grouped || !looked_up_.insert(created_as.empty() ? file.name : created_as).second) continue;
      rows.push_back({.name = file.name,
                      .created_as = std::move(created_as),
                      .bytes = file.bytes,
                      .high = std::max(file.high, file.bytes),
                      .stripe_count = file.stripe_count,
                      .stripe_size = {},
                      .rank = file.rank,
                      .shared = file.shared,
                      .open = false,
                      .files = 1,
                      .phase = phase_number(file)});
    }
    for (auto& [of, open] : templates_) append(rows, open);
    for (auto& [rule, open] : renames_) append(rows, open);
    return rows;
  }

 private:
  void append(std::vector<store::PredictionRow>& rows, OpenRow& open) {
    const std::string& key = open.row.created_as.empty() ? open.row.name : open.row.created_as;
    if (open.row.files > 0 && looked_up_.insert("pattern " + key).second) rows.push_back(std::move(open.row));
  }

  OpenRow* of_template(std::uint32_t of) {
    const auto found = templates_.find(of);
    if (found != templates_.end()) return &found->second;
    const NameTemplate& name = next_.templates[of].name;
    std::string text = pattern_text(name, field_names(name));
    if (text.empty()) return nullptr;
    OpenRow& open = templates_[of];
    open.row.files = 0;
    open.row.name = std::move(text);
    return &open;
  }

  OpenRow* of_rename(std::size_t rule) {
    const auto found = renames_.find(rule);
    if (found != renames_.end()) return &found->second;
    const RenameRule& one = rules_[rule];
    const std::vector<std::string> names = field_names(one.temporary);
    std::vector<std::string> final_names;
    final_names.reserve(one.source.size());
    for (const std::uint32_t source : one.source) final_names.push_back(names[source]);
    std::string temporary = pattern_text(one.temporary, names);
    std::string final = pattern_text(one.final, final_names);
    if (temporary.empty() || final.empty()) return nullptr;
    OpenRow& open = renames_[rule];
    open.row.files = 0;
    open.row.name = std::move(final);
    open.row.created_as = std::move(temporary);
    return &open;
  }

  const forecast::NextRun& next_;
  std::span<const RenameRule> rules_;
  std::map<std::uint32_t, OpenRow> templates_;
  std::map<std::size_t, OpenRow> renames_;
  std::unordered_set<std::string> looked_up_;  // each name once: a plan takes no name twice
};

}  // namespace

std::vector<std::string> field_names(const NameTemplate& name_template) {
  std::vector<std::string> names;
  std::unordered_map<std::string, unsigned> used;
  names.reserve(name_template.fields.size());
  for (const forecast::Field& field : name_template.fields) {
    const std::string role(forecast::to_string(field.role));
    const unsigned before = used[role]++;
    names.push_back(before == 0 ? role : fmt::format("{}{}", role, before + 1));
  }
  return names;
}

std::string pattern_text(const NameTemplate& name_template, std::span<const std::string> names) {
  std::string out;
  for (std::size_t f = 0; f < name_template.fields.size(); ++f) {
    const forecast::Field& field = name_template.fields[f];
    out += escaped(name_template.literals[f]);
    if (field.open || field.kind == FieldKind::word) {
      out += fmt::format("{{{}*}}", names[f]);
    } else if (field.kind == FieldKind::fraction) {
      out += fmt::format("{{{}:fraction}}", names[f]);
    } else if (field.kind == FieldKind::date_time) {
      out += fmt::format("{{{}:date}}", names[f]);
    } else if (field.width > 0) {
      out += fmt::format("{{{}:{}}}", names[f], field.width);
    } else {
      out += fmt::format("{{{}:number}}", names[f]);
    }
  }
  out += escaped(name_template.literals.back());
  if (out.size() > store::kMaxName || !plan::parse_pattern(out)) return "";
  return out;
}

bool teaches(const store::Run& run) { return run.exit_status == 0 && run.written.count > 0 && run.files_kept > 0; }

namespace {

// What a name is but for its numbers: its template, its words, and which of the numbers there are in its run each of its numbers
// is, by size.
using NameShape = std::vector<std::int64_t>;

std::vector<NameShape> shapes_of(const forecast::Discovery& discovery, std::size_t begin, std::size_t end) {
  std::map<std::pair<std::uint32_t, std::size_t>, std::vector<std::int64_t>> numbers;  // by template and field
  const auto fields_of = [&](std::size_t name) -> const std::vector<forecast::Field>& {
    return discovery.templates[discovery.template_of[name]].fields;
  };
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t f = 0; f < fields_of(i).size(); ++f) numbers[{discovery.template_of[i], f}].push_back(discovery.value(i, f));
  }
  for (auto& [field, values] : numbers) {
    std::ranges::sort(values);
    values.erase(std::ranges::unique(values).begin(), values.end());
  }
  std::vector<NameShape> out;
  for (std::size_t i = begin; i < end; ++i) {
    NameShape shape{discovery.template_of[i]};
    for (std::size_t f = 0; f < fields_of(i).size(); ++f) {
      const std::int64_t value = discovery.value(i, f);
      const std::vector<std::int64_t>& values = numbers[{discovery.template_of[i], f}];
      const bool word = fields_of(i)[f].kind == FieldKind::word;
      shape.push_back(word ? value : std::ranges::lower_bound(values, value) - values.begin());
    }
    out.push_back(std::move(shape));
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

bool only_numbers_differ(std::span<const store::FileRow> before, std::span<const store::FileRow> now, Bytes least_file,
                         const FitLimits& limits) {
  std::vector<forecast::ObservedName> names;
  std::array<double, 2> bytes{};
  std::size_t first = 0;  // of the newer run
  for (const std::uint32_t run : {0U, 1U}) {
    first = names.size();
    for (const store::FileRow& file : run == 0 ? before : now) {
      if (!wrote(file) || file.written < least_file) continue;
      names.push_back({.name = final_name(file), .rank = file.rank, .run = run});
      bytes[run] += static_cast<double>(file.written.count);
    }
  }
  if (first == 0 || names.size() != 2 * first || std::abs(bytes[1] - bytes[0]) > limits.size * bytes[1]) return false;
  const forecast::Discovery discovery = forecast::discover(names);
  return shapes_of(discovery, 0, first) == shapes_of(discovery, first, names.size());
}

std::vector<std::size_t> runs_to_learn_from(std::span<const store::Run> newest_first, std::size_t history,
                                            const FitLimits& limits, const GoesOn& goes_on) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < newest_first.size() && chosen.size() < history; ++i) {
    const store::Run& run = newest_first[i];
    if (!teaches(run)) continue;
    chosen.push_back(i);
    if (run.mode != store::RunMode::place) continue;
    FitFacts facts{.files = run.planned + run.unplanned, .unpredicted = run.unplanned, .size_error = std::nullopt};
    if (run.accuracy) facts.size_error = 1 - *run.accuracy / 100;
    if (misfit(facts, limits).empty()) continue;
    const auto older = std::ranges::find_if(newest_first.subspan(i + 1), teaches);
    if (older == newest_first.end() || !goes_on || !goes_on(i, static_cast<std::size_t>(older - newest_first.begin()))) break;
  }
  if (chosen.empty()) {
    for (std::size_t i = 0; i < newest_first.size() && chosen.empty(); ++i) {
      if (newest_first[i].written.count > 0 && newest_first[i].files_kept > 0) chosen.push_back(i);
    }
  }
  std::ranges::reverse(chosen);
  return chosen;
}

namespace {

// How a file will be read again.
struct ReadAgain {
  std::int32_t phase = 0;
  bool by_many = false;
};

// The newest run that read files together, and how.
struct Reader {
  const PastRun* run = nullptr;
  std::unordered_map<std::string_view, ReadAgain> files;
};

Reader newest_reader(std::span<const PastRun> runs) {
  Reader reader;
  for (auto run = runs.rbegin(); run != runs.rend() && reader.run == nullptr; ++run) {
    for (const store::FileRow& file : run->files) {
      if (file.read_phase < 0) continue;
      // Where it wrote the file, too, `ranks` are its writers.
      const bool by_many = file.written.count == 0 && file.ranks > 1;
      reader.files.emplace(final_name(file), ReadAgain{.phase = file.read_phase, .by_many = by_many});
      reader.run = &*run;
    }
  }
  return reader;
}

// How files that stand at a certain place of their series will be read: the last step that was there before the reader ran, say.
std::map<forecast::StepPlace, ReadAgain> reads_by_place(std::span<const PastRun> runs, const Reader& reader,
                                                        std::span<const NameTemplate> templates) {
  std::vector<std::string_view> there;
  for (const PastRun& run : runs) {
    if (&run == reader.run) break;
    for (const store::FileRow& file : run.files) {
      if (wrote(file)) there.push_back(final_name(file));
    }
  }
  for (const auto& [name, read] : reader.files) there.push_back(name);
  const forecast::StepPlaces places(templates, there);
  std::map<forecast::StepPlace, ReadAgain> out;
  for (const auto& [name, read] : reader.files) {
    if (auto place = places.of(name)) out.emplace(*std::move(place), read);
  }
  return out;
}

// What the newest reader read will be read again: files of the same names, or, where names go on with their steps, those at the
// same place. Phases of reading come behind the `writes` of writing.
void mark_reads(std::span<const PastRun> runs, Reader& reader, std::span<const NameTemplate> templates, std::uint32_t writes,
                std::span<store::PredictionRow> rows) {
  const auto mark = [&](store::PredictionRow& row, const ReadAgain& read) {
    row.read_phase = static_cast<std::int32_t>(writes) + read.phase;
    if (!read.by_many) return;
    row.shared = true;
    row.rank = -1;
  };
  for (store::PredictionRow& row : rows) {
    const auto found = reader.files.find(row.name);
    if (found == reader.files.end()) continue;
    mark(row, found->second);
    reader.files.erase(found);
  }
  if (reader.files.empty()) return;
  const auto reads = reads_by_place(runs, reader, templates);
  if (reads.empty()) return;
  std::vector<std::string_view> names;
  for (const store::PredictionRow& row : rows) {
    if (!row.open) names.push_back(row.name);
  }
  const forecast::StepPlaces places(templates, names);
  for (store::PredictionRow& row : rows) {
    if (row.open || row.read_phase >= 0) continue;
    const auto place = places.of(row.name);
    if (!place) continue;
    if (const auto found = reads.find(*place); found != reads.end()) mark(row, found->second);
  }
}

// When the next run's files will be read, and how long each phase lasted when it was last seen.
void add_phases(std::span<const PastRun> runs, const forecast::NextRun& next, store::Prediction& prediction) {
  std::uint32_t writes = 0;
  for (const store::PredictionRow& row : prediction.rows) writes = std::max(writes, row.phase + 1);
  prediction.phase_seconds.assign(writes, 0);
  std::size_t number = 0;
  for (const store::RunPhase& phase : runs.back().run.phases) {
    if (!phase.reads && number < writes) prediction.phase_seconds[number++] = phase.seconds;
  }
  Reader reader = newest_reader(runs);
  if (reader.run == nullptr) return;
  std::vector<NameTemplate> templates;
  templates.reserve(next.templates.size());
  for (const forecast::PredictedTemplate& one : next.templates) templates.push_back(one.name);
  mark_reads(runs, reader, templates, writes, prediction.rows);
  for (const store::RunPhase& phase : reader.run->run.phases) {
    if (phase.reads) prediction.phase_seconds.push_back(phase.seconds);
  }
}

}  // namespace

Result<store::Prediction> predict(std::span<const PastRun> runs, const PredictOptions& options) {
  if (runs.empty()) return fail(Errc::not_found, "no run that wrote files is known");
  std::vector<forecast::RunSeen> history;
  history.reserve(runs.size());
  std::vector<forecast::RenamedFile> renamed;
  for (const PastRun& run : runs) {
    history.push_back(seen(run));
    for (const store::FileRow& file : run.files) {
      if (wrote(file) && !file.renamed.empty()) renamed.push_back({.temporary = file.name, .final = file.renamed});
    }
  }
  IEZ_TRY(const forecast::NextRun next,
          forecast::predict_next_run(history, {.ranks = options.ranks, .reserve = options.reserve}));
  const std::vector<RenameRule> rules = forecast::learn_renames(renamed);
  store::Prediction prediction;
  prediction.application = runs.back().run.application;
  prediction.run = runs.back().run.id;
  prediction.made_ns = options.now_ns;
  prediction.ranks = next.ranks;
  prediction.model = model_text(next, rules);
  if (next.last_run) prediction.accuracy = next.last_run->accuracy;
  prediction.rows = Rows(next, rules).make();
  if (prediction.rows.empty()) return fail(Errc::not_found, "no file of the next run can be predicted");
  add_phases(runs, next, prediction);
  return prediction;
}

namespace {

// Which row of a prediction foretells a file, by the names it had, or by a pattern.
class RowOfFile {
 public:
  explicit RowOfFile(const store::Prediction& prediction) {
    for (const store::PredictionRow& row : prediction.rows) {
      names_.emplace(row.name, &row);
      if (!row.created_as.empty()) names_.emplace(row.created_as, &row);
      if (row.open) patterns_.push_back(&row);
    }
  }

  const store::PredictionRow* operator()(const store::FileRow& file) const {
    for (const std::string_view name : {std::string_view(file.name), std::string_view(final_name(file))}) {
      if (const auto found = names_.find(name); found != names_.end()) return found->second;
    }
    const auto found = std::ranges::find_if(patterns_, [&](const store::PredictionRow* row) {
      const std::string& pattern = row->created_as.empty() ? row->name : row->created_as;
      return plan::final_name_of(pattern, pattern, file.name).has_value();
    });
    return found == patterns_.end() ? nullptr : *found;
  }

 private:
  std::unordered_map<std::string_view, const store::PredictionRow*> names_;
  std::vector<const store::PredictionRow*> patterns_;
};

// Small files count only where they are planned, together with larger ones.
bool counts(const store::FileRow& file, const store::PredictionRow* row, Bytes least_file) {
  return wrote(file) && (file.written >= least_file || (row != nullptr && !row->left_alone));
}

}  // namespace

PredictionUse use_of(const store::Prediction& prediction, std::span<const store::FileRow> files, Bytes least_file) {
  const RowOfFile row_of(prediction);
  PredictionUse use;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const store::FileRow& file = files[i];
    const store::PredictionRow* const row = row_of(file);
    if (!counts(file, row, least_file)) continue;
    if (!file.created) {
      ++use.existing;
      continue;
    }
    ++use.created;
    use.rows.push_back(static_cast<std::uint32_t>(i));
    if (row != nullptr) {
      ++use.predicted;
    } else if (use.misses.size() < kMaxMisses) {
      use.misses.push_back({.name = file.name, .why = "unplanned"});
    }
  }
  return use;
}

forecast::Score score(const store::Prediction& prediction, std::span<const store::FileRow> files, Bytes least_file) {
  const RowOfFile row_of(prediction);
  forecast::RunSeen actual;
  actual.files.reserve(files.size());
  std::unordered_set<std::string_view> came;
  for (const store::FileRow& file : files) {
    if (!counts(file, row_of(file), least_file)) continue;
    came.insert(final_name(file));
    actual.files.push_back({.name = final_name(file),
                            .bytes = file.written,
                            .stripe_count = file.stripe_count,
                            .rank = file.rank,
                            .ranks = std::max(1U, file.ranks)});
  }
  forecast::NextRun next;
  next.files.reserve(prediction.rows.size());
  for (const store::PredictionRow& row : prediction.rows) {
    const bool small = row.left_alone && row.bytes < least_file;
    if (row.open || (small && !came.contains(row.name))) continue;
    next.files.push_back({.name = row.name,
                          .open = false,
                          .files = 1,
                          .bytes = row.bytes,
                          .high = row.high,
                          .stripe_count = row.stripe_count,
                          .rank = row.rank,
                          .shared = row.shared,
                          .step = 0,
                          .of = 0});
  }
  return forecast::score(next, actual);
}

}  // namespace iez::runs
