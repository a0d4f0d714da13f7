// What runs on each node, before and after a job.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"
#include "jobs/node_report_state.hpp"
#include "jobs/spool.hpp"
#include "jobs_collect.hpp"

namespace iez::cli {

namespace {

// The first of them that says something.
std::optional<std::string> variable(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
    if (value != nullptr && *value != '\0') return value;
  }
  return std::nullopt;
}

std::uint32_t nodes_of_the_job() {
  if (const auto number = variable({"SLURM_JOB_NUM_NODES", "SLURM_NNODES", "FLUX_JOB_NNODES"})) {
    const auto nodes = text::parse_u64(*number);
    if (nodes && *nodes > 0 && *nodes <= 0xFFFFFFFFU) return static_cast<std::uint32_t>(*nodes);
  }
  if (const auto list = variable({"SLURM_JOB_NODELIST", "SLURM_NODELIST"})) return count_hosts(*list).value_or(0);
  if (const auto file = variable({"PBS_NODEFILE"})) {
    std::ifstream lines(*file);
    std::set<std::string> hosts;
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) hosts.insert(line);
    }
    return static_cast<std::uint32_t>(hosts.size());
  }
  return 0;
}

// "1-3,7" between brackets.
std::optional<std::uint64_t> count_ranges(std::string_view ranges) {
  std::uint64_t count = 0;
  while (true) {
    const std::size_t comma = ranges.find(',');
    const std::string_view range = ranges.substr(0, comma);
    const std::size_t dash = range.find('-');
    const auto first = text::parse_u64(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : text::parse_u64(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first > 10'000'000) return std::nullopt;
    count += *last - *first + 1;
    if (comma == std::string_view::npos) return count;
    ranges.remove_prefix(comma + 1);
  }
}

// What an earlier epilog could not get rid of.
void send_unsent(jobs::NodeState& state, jobs::SpoolWriter& spool, Context& context) {
  for (const std::string& path : state.unsent()) {
    const auto frames = state.read(path);
    if (!frames) continue;
    const auto stream = input::memory_stream(*frames);
    jobs::SpoolVisitor visitor;
    visitor.reports = [&spool](std::span<const jobs::NodeReport> reports) { return spool.put(reports); };
    const auto sent = jobs::read_spool(*stream, visitor);
    if (!sent) {
      context.log.warning("reports wait for the spool", {{.key = "reason", .value = sent.error().message}});
      return;
    }
    state.remove(path);
  }
}

Result<jobs::NodeReading> read_this_node(const JobsNodeOptions& options, Context& context) {
  IEZ_TRY(const auto sources, open_sources(options.roots));
  input::ParseReport report;
  IEZ_TRY(jobs::NodeReading reading, jobs::read_node(sources, context.clock, report));
  report_problems(report, context);
  if (reading.mounts.empty()) context.log.warning("no mount of Lustre on this node");
  return reading;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

std::optional<std::uint32_t> count_hosts(std::string_view list) {
  std::uint64_t count = 0;
  std::uint64_t here = 1;  // names that the host at hand stands for
  bool named = false;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] == ',') {
      if (!named) return std::nullopt;
      count += here;
      here = 1;
      named = false;
    } else if (list[at] == '[') {
      const std::size_t end = list.find(']', at);
      if (end == std::string_view::npos) return std::nullopt;
      const auto ranges = count_ranges(list.substr(at + 1, end - at - 1));
      if (!ranges || *ranges > 10'000'000 / here) return std::nullopt;
      here *= *ranges;
      named = true;
      at = end;
    } else {
      named = true;
    }
  }
  if (!named) return std::nullopt;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count + here, 0xFFFFFFFFU));
}

Result<jobs::JobOnNode> job_on_node(const JobsNodeOptions& options) {
  jobs::JobOnNode job;
  const auto id = options.job ? options.job : variable({"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "FLUX_JOB_ID", "LSB_JOBID"});
  if (!id || id->empty()) {
    return fail(Errc::invalid_argument,
                "which job? expected --job ID, or SLURM_JOB_ID, PBS_JOBID or FLUX_JOB_ID in the environment");
  }
  job.id = *id;
  job.cluster = options.cluster.value_or(variable({"SLURM_CLUSTER_NAME"}).value_or(""));
  job.user = options.user.value_or(variable({"SLURM_JOB_UID", "SLURM_UID", "FLUX_JOB_USERID"}).value_or(""));
  job.node = options.node.value_or(variable({"SLURMD_NODENAME"}).value_or(host_name()));
  job.nodes = options.nodes.value_or(nodes_of_the_job());
  return job;
}

Result<void> run_jobs_prolog(const JobsNodeOptions& options, Context& context) {
  IEZ_TRY(jobs::JobOnNode job, job_on_node(options));
  IEZ_TRY(jobs::NodeState state, jobs::NodeState::open(options.state));
  IEZ_TRY(jobs::NodeReading reading, read_this_node(options, context));
  const std::uint32_t forgotten = state.remove_forgotten(reading.time);
  if (forgotten > 0) context.log.warning("jobs whose epilog never came", {{.key = "jobs", .value = fmt::to_string(forgotten)}});
  const std::uint32_t others = state.others(job.cluster, job.id);
  return state.keep({.job = std::move(job), .others = others, .reading = std::move(reading)});
}

Result<void> run_jobs_epilog(const JobsNodeOptions& options, Context& context) {
  IEZ_TRY(const jobs::JobOnNode job, job_on_node(options));
  IEZ_TRY(jobs::NodeState state, jobs::NodeState::open(options.state));
  jobs::SpoolWriter spool({.folder = options.spool, .host = job.node}, context.clock);
  send_unsent(state, spool, context);
  const auto before = state.find(job.cluster, job.id);
  if (!before) {
    if (before.error().code != Errc::not_found) {
      state.forget(job.cluster, job.id);
      return std::unexpected(before.error());
    }
    return fail(
        Errc::not_found,
        fmt::format("job {}: no prolog ran on this node, or its epilog has run already; nothing to compare with", job.id));
  }
  IEZ_TRY(const jobs::NodeReading after, read_this_node(options, context));
  jobs::JobOnNode who = before->job;
  if (job.nodes > 0) who.nodes = job.nodes;
  if (!job.user.empty()) who.user = job.user;
  jobs::NodeReport report = jobs::difference(who, before->reading, after);
  report.others = std::max(before->others, state.others(job.cluster, job.id));
  const std::span<const jobs::NodeReport> reports(&report, 1);
  if (const auto put = spool.put(reports); !put) {
    context.log.warning("the spool takes nothing; the report waits on this node",
                        {{.key = "reason", .value = put.error().message}});
    IEZ_CHECK(state.keep_unsent(job.cluster, job.id, jobs::to_frames(reports)));
  }
  state.forget(job.cluster, job.id);
  return {};
}

}  // namespace iez::cli
