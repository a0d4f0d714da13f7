#include "telemetry/sampler.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "input/line_reader.hpp"
#include "lustre/cluster_reader.hpp"
#include "lustre/stats.hpp"

namespace iez::telemetry {

namespace {

using lustre::Instance;
using lustre::Param;
using lustre::ParamSource;

constexpr Duration kLookup = std::chrono::seconds{30};
constexpr double kMostCredit = 0.25;  // seconds of CPU that may be saved up for counting jobs

double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Remembers where parameters are: finding them walks folders, and takes longer than reading them.
class RememberingSource final : public ParamSource {
 public:
  explicit RememberingSource(std::unique_ptr<ParamSource> source) : source_(std::move(source)) {}

  Result<std::vector<Instance>> find(Param param) const override {
    const auto known = found_.find(param);
    if (known != found_.end()) return known->second;
    auto found = source_->find(param);
    if (found) found_.emplace(param, *found);
    return found;
  }

  Result<std::unique_ptr<input::ByteStream>> open(const Instance& instance) const override {
    auto stream = source_->open(instance);
    if (!stream) failed_ = true;
    return stream;
  }

  Result<void> write(const Instance& instance, std::string_view value) override { return source_->write(instance, value); }
  std::string name() const override { return source_->name(); }
  bool live() const override { return source_->live(); }
  bool still() const override { return source_->still(); }

  // Starts a reading.
  void begin(Duration at) {
    if (!failed_ && looked_ && at - *looked_ < kLookup) return;
    found_.clear();
    failed_ = false;
    looked_ = at;
  }

 private:
  std::unique_ptr<ParamSource> source_;
  mutable std::map<Param, std::vector<Instance>> found_;
  mutable bool failed_ = false;  // something that was found cannot be opened: it may have moved
  std::optional<Duration> looked_;
};

HostLoad load_of(const lustre::HostState& host, const lustre::HostState* earlier) {
  HostLoad load;
  if (host.cpu) {
    load.cores = host.cpu->cores;
    if (earlier != nullptr && earlier->cpu && earlier->cpu->times != host.cpu->times) {
      load.cpu = lustre::busy_share(earlier->cpu->times, host.cpu->times);
    }
  }
  if (host.memory) load.memory = lustre::used_share(*host.memory);
  if (host.load) load.load_1min = host.load->one;
  return load;
}

std::uint32_t count_jobs(input::ByteStream& stream) {
  input::LineReader lines(stream);
  std::uint32_t jobs = 0;
  while (true) {
    const auto next = lines.next();
    if (!next) return jobs;
    const std::optional<input::LineReader::Line>& line = *next;
    if (!line) return jobs;
    if (line->text.starts_with("- job_id:")) ++jobs;
  }
}

}  // namespace

struct Sampler::Impl {
  // The counters of a target's server, by the name of the target.
  struct Traffic {
    std::optional<std::uint64_t> read_bytes;
    std::optional<std::uint64_t> write_bytes;
  };

  FileSystemSample& file_system(Sample& sample, const std::string& fs_name) {
    for (FileSystemSample& one : sample.file_systems) {
      if (one.name == fs_name) return one;
    }
    return sample.file_systems.emplace_back(FileSystemSample{.name = fs_name});
  }

  void add_clusters(Sample& sample, const lustre::ClusterReading& reading) {
    for (const lustre::ClusterView& view : reading.file_systems) {
      FileSystemSample out{.name = view.cluster.name, .version = view.version.value_or("")};
      out.servers.reserve(view.cluster.servers.size());
      for (const model::Oss& server : view.cluster.servers) {
        out.servers.push_back(
            {.name = server.name,
             .load = {.cpu = server.cpu, .memory = server.memory, .load_1min = server.load_1min, .cores = server.cores}});
      }
      out.osts.reserve(view.cluster.osts.size());
      for (std::size_t i = 0; i < view.cluster.osts.size(); ++i) {
        const model::Ost& ost = view.cluster.osts[i];
        OstSample one{.index = ost.index,
                      .server = static_cast<std::uint32_t>(ost.oss),
                      .total = ost.total,
                      .free = ost.free,
                      .available = ost.available,
                      .state = ost.state,
                      .seen_by = view.seen_by[i]};
        if (one.seen_by == lustre::SpaceSource::obdfilter) {
          if (const auto found = traffic.find(ost.name); found != traffic.end()) {
            one.read_bytes = found->second.read_bytes;
            one.write_bytes = found->second.write_bytes;
          }
          if (const auto found = jobs.find(ost.name); found != jobs.end()) one.jobs = found->second;
        }
        out.osts.push_back(one);
      }
      sample.file_systems.push_back(std::move(out));
    }
  }

  // Which of its devices a node has tells what it is.
  void add_roles(Sample& sample) {
    for (const auto& source : sources) {
      const auto any = [&source](Param param) {
        const auto found = source->find(param);
        return found && !found->empty();
      };
      sample.roles.oss |= any(Param::ost_kbytes_total);
      sample.roles.client |= any(Param::osc_kbytes_total);
      sample.roles.mds |= any(Param::osp_kbytes_total);
      const auto mdts = source->find(Param::mdt_stats);
      if (!mdts) continue;
      for (const Instance& instance : *mdts) {
        const lustre::DeviceName device = lustre::device_of(instance);
        sample.roles.mds = true;
        file_system(sample, device.file_system).mdts.push_back(device.index);
      }
    }
    for (FileSystemSample& one : sample.file_systems) {
      std::ranges::sort(one.mdts);
      one.mdts.erase(std::unique(one.mdts.begin(), one.mdts.end()), one.mdts.end());
    }
    std::ranges::sort(sample.file_systems, {}, &FileSystemSample::name);
  }

  void read_traffic(input::ParseReport& report) {
    traffic.clear();
    for (const auto& source : sources) {
      const auto instances = source->find(Param::ost_stats);
      if (!instances) continue;
      for (const Instance& instance : *instances) {
        const auto stream = source->open(instance);
        if (!stream) {
          report.skip(instance.origin, 0, stream.error().message);
          continue;
        }
        // A target that was never read or written has no such row.
        Traffic one{.read_bytes = 0, .write_bytes = 0};
        const auto parsed = lustre::parse_stats(**stream, instance.origin, report, [&one](const lustre::CounterRow& row) {
          if (row.name == "read_bytes") one.read_bytes = row.sum;
          if (row.name == "write_bytes") one.write_bytes = row.sum;
        });
        if (parsed) traffic[instance.device] = one;
      }
    }
  }

  // A few targets, as many as the share allows; the next time goes on behind them.
  void count_some_jobs(Duration at) {
    if (options.job_share <= 0) return;
    if (jobs_looked) credit += std::chrono::duration<double>(at - *jobs_looked).count() * options.job_share;
    credit = std::min(credit, kMostCredit);
    jobs_looked = at;
    std::vector<std::pair<const ParamSource*, Instance>> all;
    for (const auto& source : sources) {
      const auto instances = source->find(Param::ost_job_stats);
      if (!instances) continue;
      for (const Instance& instance : *instances) all.emplace_back(source.get(), instance);
    }
    std::erase_if(jobs, [&all](const auto& item) {
      return std::ranges::none_of(all, [&item](const auto& one) { return one.second.device == item.first; });
    });
    for (std::size_t i = 0; i < all.size() && credit > 0; ++i) {
      const auto& [source, instance] = all[next_job_target++ % all.size()];
      const double before = thread_seconds();
      if (const auto stream = source->open(instance)) jobs[instance.device] = count_jobs(**stream);
      credit -= thread_seconds() - before;
    }
  }

  std::vector<std::unique_ptr<ParamSource>> sources;
  std::vector<RememberingSource*> remembering;  // the same
  SamplerOptions options;
  std::uint64_t start_number = 0;
  std::uint64_t sequence = 0;
  std::uint64_t dropped = 0;
  std::string name;
  std::vector<lustre::HostState> earlier;
  std::map<std::string, Traffic> traffic;
  std::map<std::string, std::uint32_t> jobs;
  double credit = 0.001;
  std::size_t next_job_target = 0;
  std::optional<Duration> jobs_looked;
};

Sampler::Sampler(std::vector<std::unique_ptr<lustre::ParamSource>> sources, const SamplerOptions& options, std::uint64_t instance)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  impl_->start_number = instance;
  for (auto& source : sources) {
    auto remembering = std::make_unique<RememberingSource>(std::move(source));
    impl_->remembering.push_back(remembering.get());
    impl_->sources.push_back(std::move(remembering));
  }
  impl_->name = options.name;
  if (impl_->name.empty() && !impl_->sources.empty()) {
    const ParamSource& first = *impl_->sources.front();
    impl_->name = lustre::read_optional(first, Param::host_name).value_or(first.name());
  }
}

Sampler::~Sampler() = default;

Sample Sampler::take(const Clock& clock, Duration interval, input::ParseReport& report) {
  const std::uint64_t skipped = report.skipped;
  for (RememberingSource* const source : impl_->remembering) source->begin(clock.monotonic());
  Sample sample{.agent = impl_->name, .instance = impl_->start_number, .sequence = ++impl_->sequence};
  impl_->read_traffic(report);
  impl_->count_some_jobs(clock.monotonic());
  std::vector<lustre::HostState> hosts;
  auto reading = lustre::read_clusters(impl_->sources, impl_->earlier, report);
  if (reading) {
    impl_->add_clusters(sample, *reading);
    hosts = std::move(reading->hosts);
  } else {
    for (const auto& source : impl_->sources) hosts.push_back(lustre::read_host(*source, report));
    if (reading.error().code != Errc::not_found) report.skip(impl_->name, 0, reading.error().message);
  }
  impl_->add_roles(sample);
  if (!hosts.empty()) sample.host = load_of(hosts.front(), impl_->earlier.empty() ? nullptr : &impl_->earlier.front());
  impl_->earlier = std::move(hosts);
  sample.interval = interval;
  sample.dropped = impl_->dropped;
  sample.skipped = report.skipped - skipped;
  sample.sent = clock.wall();
  return sample;
}

const std::string& Sampler::name() const { return impl_->name; }

void Sampler::count_dropped() { ++impl_->dropped; }

}  // namespace iez::telemetry
