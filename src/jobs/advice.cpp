#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "jobs/report.hpp"

namespace iez::jobs {

namespace {

constexpr double kFewOpens = 1000;     // nobody is told about fewer
constexpr double kFewCalls = 100000;   // of metadata
constexpr double kGoodCall = 1048576;  // what a write call should carry
constexpr double kMostlyBusy = 0.5;    // of a user's bytes in busy hours
constexpr double kLargeShare = 0.1;    // of a cluster's bytes by one user

std::string hours_of(const ResultTable& hours, const std::string& cluster) {
  std::string out;
  for (std::size_t row = 0; row < hours.rows.size(); ++row) {
    if (hours.text(row, "cluster") == cluster)
      out += fmt::format("{}{:02} h", out.empty() ? "" : ", ", hours.integer(row, "hour"));
  }
  return out;
}

}  // namespace

std::vector<Advice> user_advice(const ResultTable& users, std::size_t row, const ResultTable& hours,
                                const AnalysisOptions& options) {
  std::vector<Advice> made;
  const std::string cluster = users.text(row, "cluster");
  const auto value = [&](std::string_view column) { return users.number(row, column); };
  const auto add = [&](std::string topic, std::string text, std::initializer_list<std::string_view> evidence) {
    Advice advice{.cluster = cluster, .who = users.text(row, "uid"), .topic = std::move(topic), .text = std::move(text)};
    for (const std::string_view name : evidence) advice.evidence.emplace_back(name, value(name));
    made.push_back(std::move(advice));
  };
  const double a_call = value("bytes_a_call");
  if (value("write_bytes") >= options.least_bytes && value("write_calls") > 0 && a_call < options.small_call) {
    add("small writes",
        fmt::format(
            "Your {} jobs wrote {} in {} calls, {} a call. Gather writes to 1 MiB or more (a larger buffer, or collective I/O): "
            "that is {} calls instead.",
            count_text(value("jobs")), bytes_text(value("write_bytes")), count_text(value("write_calls")), bytes_text(a_call),
            count_text(value("write_bytes") / kGoodCall)),
        {"jobs", "write_bytes", "write_calls", "bytes_a_call"});
  }
  if (value("opens") >= kFewOpens && value("unclosed_share") > options.unclosed_share) {
    add("files never closed",
        fmt::format(
            "{} of the {} files that your jobs opened ({}) were never closed: close each file when it is done; servers keep "
            "state and locks for it until the job ends.",
            count_text(value("unclosed")), count_text(value("opens")), percent_text(value("unclosed_share"))),
        {"opens", "unclosed", "unclosed_share"});
  }
  if (value("metadata_calls") >= kFewCalls && value("metadata_calls_mb") > options.storm_calls_mb) {
    add("metadata storm",
        fmt::format(
            "Your jobs made {} metadata calls, {:.1f} for each MB that they moved: keep files open, put many small files into "
            "one (HDF5, tar), and do not ask for the state of files in a loop.",
            count_text(value("metadata_calls")), value("metadata_calls_mb")),
        {"metadata_calls", "metadata_calls_mb", "metadata_calls_s"});
  }
  const std::string busy = hours_of(hours, cluster);
  const bool moves_much = value("read_bytes") + value("write_bytes") >= options.least_bytes;
  if (moves_much && !busy.empty() && value("busy_hour_share") > kMostlyBusy) {
    add("busy hours",
        fmt::format(
            "{} of your bytes are moved by jobs that start at the busiest hours ({}): at other hours they meet less contention.",
            percent_text(value("busy_hour_share")), busy),
        {"busy_hour_share", "read_bytes", "write_bytes"});
  }
  return made;
}

namespace {

void advise_balance(const Answer& servers, const AnalysisOptions& options, std::vector<Advice>& made) {
  const ResultTable& mdts = servers["mdts"];
  std::set<std::string> clusters;
  for (std::size_t row = 0; row < mdts.rows.size(); ++row) clusters.insert(mdts.text(row, "cluster"));
  for (const std::string& cluster : clusters) {
    double count = 0;
    std::size_t busiest = mdts.rows.size();
    for (std::size_t row = 0; row < mdts.rows.size(); ++row) {
      if (mdts.text(row, "cluster") != cluster) continue;
      ++count;
      if (busiest == mdts.rows.size() || mdts.number(row, "opens") > mdts.number(busiest, "opens")) busiest = row;
    }
    const double times = mdts.number(busiest, "share_of_opens") * count;
    if (count < 2 || times <= options.unbalanced) continue;
    made.push_back(
        {.audience = Audience::administrator,
         .cluster = cluster,
         .who = {},
         .topic = "unbalanced metadata targets",
         .text =
             fmt::format("On {}, {} takes {} of all opens, {:.1f} times the mean of {:g} targets: place new directories on "
                         "the others (lfs mkdir -i), or spread large ones over several (lfs mkdir -c).",
                         cluster, mdts.text(busiest, "mdt"), percent_text(mdts.number(busiest, "share_of_opens")), times, count),
         .evidence = {{"share_of_opens", mdts.number(busiest, "share_of_opens")}, {"times_mean", times}, {"targets", count}}});
  }
}

void advise_load(const ResultTable& load, std::vector<Advice>& made) {
  for (std::size_t row = 0; row < load.rows.size(); ++row) {
    const double jobs = load.number(row, "io_jobs");
    const double few = load.number(row, "jobs_of_half");
    constexpr double kFewShare = 0.05;
    if (jobs <= 0 || few / jobs > kFewShare) continue;
    made.push_back(
        {.audience = Audience::administrator,
         .cluster = load.text(row, "cluster"),
         .who = {},
         .topic = "few jobs make the load",
         .text = fmt::format("On {}, {} of {} jobs with I/O ({}) move half of all {}: helping their owners helps the whole "
                             "machine.",
                             load.text(row, "cluster"), count_text(few), count_text(jobs), percent_text(few / jobs),
                             bytes_text(load.number(row, "bytes"))),
         .evidence = {{"jobs_of_half", few}, {"io_jobs", jobs}, {"bytes", load.number(row, "bytes")}}});
  }
}

void advise_hours(const ResultTable& hours, std::vector<Advice>& made) {
  std::set<std::string> clusters;
  for (std::size_t row = 0; row < hours.rows.size(); ++row) clusters.insert(hours.text(row, "cluster"));
  for (const std::string& cluster : clusters) {
    std::string text;
    std::vector<std::pair<std::string, double>> evidence;
    for (std::size_t row = 0; row < hours.rows.size(); ++row) {
      if (hours.text(row, "cluster") != cluster) continue;
      text += fmt::format("{}{:02} h ({:.1f} times an average hour)", text.empty() ? "" : ", ", hours.integer(row, "hour"),
                          hours.number(row, "times_average"));
      evidence.emplace_back(fmt::format("hour_{:02}", hours.integer(row, "hour")), hours.number(row, "times_average"));
    }
    made.push_back(
        {.audience = Audience::administrator,
         .cluster = cluster,
         .who = {},
         .topic = "hours to avoid",
         .text = fmt::format("On {}, jobs that start at {} move the most: tell users, or let the scheduler spread them.", cluster,
                             text),
         .evidence = std::move(evidence)});
  }
}

void advise_heaviest(const ResultTable& users, std::vector<Advice>& made) {
  for (std::size_t row = 0; row < users.rows.size(); ++row) {
    const double share = users.number(row, "share_of_bytes");
    if (share < kLargeShare) continue;
    made.push_back(
        {.audience = Audience::administrator,
         .cluster = users.text(row, "cluster"),
         .who = users.text(row, "uid"),
         .topic = "one user makes the load",
         .text = fmt::format("On {}, user {} moves {} of all bytes ({} in {} jobs): keep other heavy jobs apart from theirs.",
                             users.text(row, "cluster"), users.text(row, "uid"), percent_text(share),
                             bytes_text(users.number(row, "read_bytes") + users.number(row, "write_bytes")),
                             count_text(users.number(row, "jobs"))),
         .evidence = {{"share_of_bytes", share}, {"jobs", users.number(row, "jobs")}}});
  }
}

}  // namespace

std::vector<Advice> advice_of(const Answer& evidence, const Answer& servers, const AnalysisOptions& options) {
  std::vector<Advice> made;
  advise_balance(servers, options, made);
  advise_load(evidence["load"], made);
  advise_hours(evidence["hours"], made);
  advise_heaviest(evidence["users"], made);
  for (std::size_t row = 0; row < evidence["users"].rows.size(); ++row) {
    std::ranges::move(user_advice(evidence["users"], row, evidence["hours"], options), std::back_inserter(made));
  }
  return made;
}

}  // namespace iez::jobs
