#include "jobs/job_sampler.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/units.hpp"
#include "jobs/counter_difference.hpp"
#include "jobs/job_sampler_table.hpp"
#include "lustre/job_id.hpp"
#include "lustre/job_stats.hpp"
#include "lustre/job_stats_filter.hpp"
#include "model/job.hpp"

namespace iez::jobs {

namespace {

using lustre::Instance;
using lustre::Param;
using lustre::ParamSource;
using model::Operation;

constexpr std::array<std::string_view, 2> kOstRows{"read_bytes", "write_bytes"};
constexpr std::array<std::string_view, 10> kMdtRows{"read_bytes", "write_bytes", "open",   "close", "create",
                                                    "mkdir",      "mknod",       "rename", "rmdir", "unlink"};

struct Kind {
  Param param;
  std::span<const std::string_view> rows;
  std::size_t counters;
};
constexpr std::array kKinds{Kind{Param::ost_job_stats, kOstRows, kDataCounters},
                            Kind{Param::mdt_job_stats, kMdtRows, kIoCounters}};

IoCounts counts_of(const lustre::JobEntry& entry) {
  const model::JobCounters sum = lustre::counters(entry);
  return {sum.read_bytes.count,  sum.write_bytes.count,  sum[Operation::read_bytes], sum[Operation::write_bytes],
          sum[Operation::open],  sum[Operation::close],  sum[Operation::create],     sum[Operation::mkdir],
          sum[Operation::mknod], sum[Operation::rename], sum[Operation::rmdir],      sum[Operation::unlink]};
}

std::uint64_t start_of(const lustre::JobEntry& entry) {
  return entry.times.start ? static_cast<std::uint64_t>(entry.times.start->time_since_epoch().count()) : 0;
}

StartTime compare(std::uint64_t before, std::uint64_t after) {
  if (before == 0 || after == 0) return StartTime::unknown;
  return before == after ? StartTime::same : StartTime::moved;
}

struct Target {
  explicit Target(std::size_t counters) : table(counters) {}

  JobTable table;
  std::optional<Duration> read;  // when, by the monotonic clock
};

// What a job shows now; goes to the table once its row is safe.
struct Reading {
  std::uint64_t id = 0;
  std::uint64_t digest = 0;
  std::uint64_t start = 0;
  IoCounts counts{};
};

}  // namespace

struct JobSampler::Impl {
  // One target, read once.
  class Visit {
   public:
    Visit(Impl& impl, Target& target, const Kind& kind, Taken& taken) : impl_(impl), target_(target), kind_(kind), taken_(taken) {
      ++impl_.sample;
    }

    Result<void> read(input::ByteStream& stream, const std::string& origin, input::ParseReport& report) {
      lustre::JobStatsFilter filter(stream, kind_.rows, impl_.options.seed,
                                    [this](std::string_view id, std::uint64_t digest) { return changed(id, digest); });
      const std::uint64_t skipped = report.skipped;
      IEZ_TRY(const auto summary,
              lustre::parse_job_stats(filter, origin, report, [this](const lustre::JobEntry& entry) { add(entry); }));
      taken_.entries += filter.entries();
      taken_.changed += summary.jobs;
      whole_ = report.skipped == skipped;
      return {};
    }

    std::vector<SeriesRow>& rows() { return rows_; }

    void set(const std::string& name, std::int64_t time, std::uint32_t seconds) {
      for (SeriesRow& row : rows_) {
        row.cluster = impl_.options.cluster;
        row.target = name;
        row.time = time;
        row.seconds = seconds;
      }
    }

    void commit() {
      for (const Reading& reading : readings_) {
        JobTable::Entry entry = target_.table.find(reading.id);
        if (!entry) entry = target_.table.insert(reading.id);
        entry.digest() = reading.digest;
        entry.start() = reading.start;
        entry.seen() = impl_.sample;
        std::ranges::copy(std::span(reading.counts).first(kind_.counters), entry.counts().begin());
      }
      // In a text that was read in part nobody knows who is missing.
      if (whole_) target_.table.remove_unseen(impl_.sample);
      taken_.rows += rows_.size();
    }

   private:
    bool changed(std::string_view id, std::uint64_t digest) {
      const std::uint64_t hash = lustre::digest_of(id, impl_.options.seed);
      const JobTable::Entry entry = target_.table.find(hash);
      if (entry && std::exchange(entry.seen(), impl_.sample) == impl_.sample) {
        ++taken_.repeated;
        return false;
      }
      if (entry && entry.digest() == digest) return false;
      digests_[hash] = digest;
      return true;
    }

    void add(const lustre::JobEntry& entry) {
      Reading reading{
          .id = lustre::digest_of(entry.id, impl_.options.seed), .start = start_of(entry), .counts = counts_of(entry)};
      const auto digest = digests_.find(reading.id);
      if (digest == digests_.end()) return;
      reading.digest = digest->second;
      digests_.erase(digest);
      const JobTable::Entry before = target_.table.find(reading.id);
      if (!before) {
        if (impl_.entries + new_entries_ >= impl_.options.max_entries) {
          ++taken_.over_limit;
          return;
        }
        ++new_entries_;
      }
      if (target_.read) add_row(entry.id, before, reading);
      readings_.push_back(reading);
    }

    void add_row(const std::string& id, const JobTable::Entry& before, const Reading& reading) {
      IoCounts change{};
      if (before) {
        const std::span now = std::span(reading.counts).first(kind_.counters);
        const Course course =
            difference(before.counts(), now, compare(before.start(), reading.start), std::span(change).first(kind_.counters));
        if (course == Course::restarted) ++taken_.restarted;
      } else {
        std::ranges::copy(std::span(reading.counts).first(kind_.counters), change.begin());
      }
      const IoCounters io = from_counts(change);
      if (!any(io)) return;
      const model::JobIdentity who = impl_.ids.identify(id);
      const std::string& name = who.job ? *who.job : id;
      const auto [found, is_new] = row_of_.try_emplace(name, rows_.size());
      if (is_new) rows_.push_back({.id = name, .user = who.uid ? fmt::to_string(*who.uid) : std::string{}});
      SeriesRow& row = rows_[found->second];
      IoCounters sum{.data = row.data, .metadata = row.metadata};
      jobs::add(sum, io);
      row.data = sum.data;
      row.metadata = sum.metadata;
    }

    Impl& impl_;
    Target& target_;
    const Kind& kind_;
    Taken& taken_;
    std::vector<Reading> readings_;
    std::vector<SeriesRow> rows_;
    std::unordered_map<std::string, std::size_t> row_of_;  // by id
    std::unordered_map<std::uint64_t, std::uint64_t>
        digests_;  // of rows that were passed on, by job; the parser follows close behind
    std::size_t new_entries_ = 0;
    bool whole_ = true;
  };

  // The error of the sink, if it refuses.
  std::optional<Error> take_target(const ParamSource& source, const Instance& instance, const Kind& kind, const Clock& clock,
                                   RowSink& sink, input::ParseReport& report, Taken& taken) {
    const auto stream = source.open(instance);
    if (!stream) {
      report.skip(instance.origin, 0, stream.error().message);
      return std::nullopt;
    }
    Target& target = targets.try_emplace(instance.device, kind.counters).first->second;
    const std::size_t before = target.table.size();
    const Duration now = clock.monotonic();
    const auto time = std::chrono::floor<std::chrono::seconds>(clock.wall()).time_since_epoch().count();
    Visit visit(*this, target, kind, taken);
    if (const auto read = visit.read(**stream, instance.origin, report); !read) {
      report.skip(instance.origin, 0, read.error().message);
      return std::nullopt;
    }
    ++taken.targets;
    if (target.read) {
      const auto seconds = std::chrono::round<std::chrono::seconds>(now - *target.read).count();
      visit.set(instance.device, time, static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 1, 0xFFFFFFFF)));
      if (!visit.rows().empty()) {
        if (auto put = sink.put(std::span<const SeriesRow>(visit.rows())); !put) return std::move(put).error();
      }
    } else {
      ++taken.first_targets;
    }
    visit.commit();
    target.read = now;
    entries += target.table.size();
    entries -= before;
    return std::nullopt;
  }

  // Targets that are gone: what they counted starts anew when they are back.
  void forget(const std::map<std::string, bool>& here) {
    for (auto at = targets.begin(); at != targets.end();) {
      if (here.contains(at->first)) {
        ++at;
        continue;
      }
      entries -= at->second.table.size();
      at = targets.erase(at);
    }
  }

  std::vector<std::unique_ptr<ParamSource>> sources;
  Options options;
  lustre::JobIdFormat ids;  // a server does not know how its clients make them
  std::map<std::string, Target> targets;
  std::size_t entries = 0;   // of all targets
  std::uint64_t sample = 0;  // of one target
};

JobSampler::JobSampler(std::vector<std::unique_ptr<ParamSource>> sources, Options options) : impl_(std::make_unique<Impl>()) {
  impl_->sources = std::move(sources);
  impl_->options = std::move(options);
}

JobSampler::~JobSampler() = default;

Result<JobSampler::Taken> JobSampler::take(const Clock& clock, RowSink& sink, input::ParseReport& report) {
  Taken taken;
  std::map<std::string, bool> here;
  std::optional<Error> refused;
  bool all_found = true;
  for (const auto& source : impl_->sources) {
    for (const Kind& kind : kKinds) {
      const auto instances = source->find(kind.param);
      if (!instances) {
        report.skip(source->name(), 0, instances.error().message);
        all_found = false;
        continue;
      }
      for (const Instance& instance : *instances) {
        if (!here.emplace(instance.device, true).second) continue;
        auto failed = impl_->take_target(*source, instance, kind, clock, sink, report, taken);
        if (failed && !refused) refused = std::move(failed);
      }
    }
  }
  if (all_found) impl_->forget(here);
  if (refused) return std::unexpected(*std::move(refused));
  return taken;
}

std::size_t JobSampler::bytes() const {
  std::size_t sum = 0;
  for (const auto& [name, target] : impl_->targets) sum += target.table.bytes();
  return sum;
}

}  // namespace iez::jobs
