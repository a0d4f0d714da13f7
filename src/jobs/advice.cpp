#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "jobs/report.hpp"

namespace iez::jobs {

namespace {

constexpr std::string_view kSmallWrites = "small writes";
constexpr std::string_view kNeverClosed = "files never closed";
constexpr std::string_view kStorm = "metadata storm";
constexpr std::string_view kBusyHours = "busy hours";

constexpr double kFewOpens = 1000;     // nobody is told about fewer
constexpr double kFewCalls = 100000;   // of metadata
constexpr double kGoodCall = 1048576;  // what a write call should carry
constexpr double kMegabyte = 1e6;
constexpr double kMostlyBusy = 0.5;  // of a user's bytes in busy hours
constexpr double kLargeShare = 0.1;  // of a cluster's bytes by one user

// "05:00, 10:00 and 11:00"
std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " and " : ", ";
    out += words[i];
  }
  return out;
}

std::vector<std::string> hours_of(const ResultTable& hours, const std::string& cluster) {
  std::vector<std::string> names;
  for (std::size_t row = 0; row < hours.rows.size(); ++row) {
    if (hours.text(row, "cluster") == cluster) names.push_back(hour_of_day_text(hours.integer(row, "hour")));
  }
  return names;
}

std::string with_how(const Advice& advice) { return fmt::format("{} ({})", advice.action, advice.how); }

std::string rate_text(double rate) { return rate < 1000 ? fmt::format("{:.1f}", rate) : large_count_text(rate); }

std::string jobs_text(double jobs) { return jobs == 1 ? "1 job" : fmt::format("{} jobs", count_text(jobs)); }

}  // namespace

std::vector<Advice> user_advice(const ResultTable& users, std::size_t row, const ResultTable& hours,
                                const AnalysisOptions& options) {
  std::vector<Advice> made;
  const std::string cluster = users.text(row, "cluster");
  const auto value = [&](std::string_view column) { return users.number(row, column); };
  const auto add = [&](std::string topic, std::string action, std::string how, double amount, double of,
                       std::initializer_list<std::string_view> evidence) {
    Advice advice{.cluster = cluster,
                  .who = users.text(row, "uid"),
                  .topic = std::move(topic),
                  .action = std::move(action),
                  .how = std::move(how),
                  .jobs = value("jobs"),
                  .amount = amount,
                  .of = of};
    advice.reason = reason_of(advice.topic, amount, of);
    advice.text = fmt::format("Of your {}: {}. {}.", jobs_text(advice.jobs), advice.reason, with_how(advice));
    for (const std::string_view name : evidence) advice.evidence.emplace_back(name, value(name));
    made.push_back(std::move(advice));
  };
  const double moved = value("read_bytes") + value("write_bytes");
  if (value("write_bytes") >= options.least_bytes && value("write_calls") > 0 && value("bytes_a_call") < options.small_call) {
    add(std::string(kSmallWrites), "Gather writes to 1 MiB or more", "a larger buffer, or collective I/O", value("write_calls"),
        value("write_bytes"), {"jobs", "write_bytes", "write_calls", "bytes_a_call"});
  }
  if (value("opens") >= kFewOpens && value("unclosed_share") > options.unclosed_share) {
    add(std::string(kNeverClosed), "Close each file when it is done", "servers keep state and locks for it until the job ends",
        value("unclosed"), value("opens"), {"opens", "unclosed", "unclosed_share"});
  }
  if (value("metadata_calls") >= kFewCalls && value("metadata_calls_mb") > options.storm_calls_mb) {
    add(std::string(kStorm), "Make fewer metadata calls",
        "keep files open, put many small files into one by HDF5 or tar, do not ask for the state of files in a loop",
        value("metadata_calls"), moved, {"metadata_calls", "metadata_calls_mb", "metadata_calls_s"});
  }
  const std::string busy = listed(hours_of(hours, cluster));
  if (moved >= options.least_bytes && !busy.empty() && value("busy_hour_share") > kMostlyBusy) {
    add(std::string(kBusyHours), fmt::format("Start at other hours than those from {}", busy), "jobs meet less contention then",
        value("busy_hour_share") * moved, moved, {"busy_hour_share", "read_bytes", "write_bytes"});
  }
  return made;
}

std::string reason_of(std::string_view topic, double amount, double of) {
  if (topic == kSmallWrites) {
    const double instead = std::min(amount, std::max(1.0, std::ceil(of / kGoodCall)));
    return fmt::format("{} write calls of {} each would be {} of 1 MiB, {} fewer", large_count_text(amount),
                       bytes_text(of / std::max(1.0, amount)), large_count_text(instead),
                       percent_text((amount - instead) / std::max(1.0, amount)));
  }
  if (topic == kNeverClosed) {
    return fmt::format("{} of {} opened files ({}) were never closed", large_count_text(amount), large_count_text(of),
                       percent_text(amount / std::max(1.0, of)));
  }
  if (topic == kStorm) {
    return of > 0 ? fmt::format("{} metadata calls for {}, {} for each MB", large_count_text(amount), bytes_text(of),
                                rate_text(amount / (of / kMegabyte)))
                  : fmt::format("{} metadata calls that move nothing", large_count_text(amount));
  }
  return fmt::format("{} of {} ({}) are moved by jobs that start then", bytes_text(amount), bytes_text(of),
                     percent_text(of > 0 ? amount / of : 0));
}

namespace {

// REQUIRES: a reason that begins small, and an action without a full stop.
Advice to_administrators(std::string cluster, std::string topic, std::string action, std::string how, std::string reason,
                         std::vector<std::pair<std::string, double>> evidence) {
  Advice advice{.audience = Audience::administrator,
                .cluster = std::move(cluster),
                .who = {},
                .topic = std::move(topic),
                .action = std::move(action),
                .how = std::move(how),
                .reason = std::move(reason),
                .evidence = std::move(evidence)};
  const std::string where = advice.cluster.empty() ? std::string{} : fmt::format("On {}: ", advice.cluster);
  advice.text = fmt::format("{}{}: {}.", where, with_how(advice), advice.reason);
  return advice;
}

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
    const double share = mdts.number(busiest, "share_of_opens");
    const double times = share * count;
    if (count < 2 || times <= options.unbalanced) continue;
    const std::string name = mdts.text(busiest, "mdt");
    made.push_back(to_administrators(cluster, "unbalanced metadata targets",
                                     fmt::format("Place new directories on other metadata targets than {}", name),
                                     "lfs mkdir -i; or spread large ones over several, lfs mkdir -c",
                                     fmt::format("it takes {:.1f} times as many opens as the mean of all {:g}", times, count),
                                     {{"share_of_opens", share}, {"times_mean", times}, {"targets", count}}));
  }
}

void advise_load(const ResultTable& load, std::vector<Advice>& made) {
  for (std::size_t row = 0; row < load.rows.size(); ++row) {
    const double jobs = load.number(row, "io_jobs");
    const double few = load.number(row, "jobs_of_half");
    constexpr double kFewShare = 0.05;
    if (jobs <= 0 || few / jobs > kFewShare) continue;
    made.push_back(to_administrators(
        load.text(row, "cluster"), "few jobs make the load",
        fmt::format("Help the owners of the {} largest jobs first", count_text(few)), "that helps the whole machine",
        fmt::format("of {} jobs with I/O, {} ({}) move half of all {}", count_text(jobs), count_text(few),
                    percent_text(few / jobs), bytes_text(load.number(row, "bytes"))),
        {{"jobs_of_half", few}, {"io_jobs", jobs}, {"bytes", load.number(row, "bytes")}}));
  }
}

void advise_hours(const ResultTable& hours, std::vector<Advice>& made) {
  std::set<std::string> clusters;
  for (std::size_t row = 0; row < hours.rows.size(); ++row) clusters.insert(hours.text(row, "cluster"));
  for (const std::string& cluster : clusters) {
    std::vector<std::string> times;
    std::vector<std::pair<std::string, double>> evidence;
    for (std::size_t row = 0; row < hours.rows.size(); ++row) {
      if (hours.text(row, "cluster") != cluster) continue;
      times.push_back(fmt::format("{:.1f}", hours.number(row, "times_average")));
      evidence.emplace_back(fmt::format("hour_{:02}", hours.integer(row, "hour")), hours.number(row, "times_average"));
    }
    made.push_back(
        to_administrators(cluster, "hours to avoid", "Tell users of the busy hours", "or let the scheduler spread jobs",
                          fmt::format("jobs that start in the hours from {} move {} times the bytes of an average hour",
                                      listed(hours_of(hours, cluster)), listed(times)),
                          std::move(evidence)));
  }
}

void advise_heaviest(const ResultTable& users, const AnalysisOptions& options, std::vector<Advice>& made) {
  for (std::size_t row = 0; row < users.rows.size(); ++row) {
    const double share = users.number(row, "share_of_bytes");
    const double bytes = users.number(row, "read_bytes") + users.number(row, "write_bytes");
    if (share < kLargeShare || bytes < options.least_bytes) continue;
    const std::string who = users.text(row, "uid");
    Advice advice =
        to_administrators(users.text(row, "cluster"), "one user makes the load",
                          fmt::format("Keep other heavy jobs apart from those of user {}", who), "in time, or on other targets",
                          fmt::format("they move {} of all bytes", percent_text(share)),
                          {{"share_of_bytes", share}, {"jobs", users.number(row, "jobs")}});
    advice.who = who;
    made.push_back(std::move(advice));
  }
}

}  // namespace

std::vector<Advice> advice_of(const Answer& evidence, const Answer& servers, const AnalysisOptions& options) {
  std::vector<Advice> made;
  advise_balance(servers, options, made);
  advise_load(evidence["load"], made);
  advise_hours(evidence["hours"], made);
  advise_heaviest(evidence["users"], options, made);
  for (std::size_t row = 0; row < evidence["users"].rows.size(); ++row) {
    std::ranges::move(user_advice(evidence["users"], row, evidence["hours"], options), std::back_inserter(made));
  }
  return made;
}

AdviceGroups grouped(const Report& report) {
  AdviceGroups groups;
  const ResultTable& users = report.sections[9].answer["users"];
  std::map<std::tuple<std::string, std::string>, std::vector<Advice>> by_user;
  for (const Advice& advice : report.advice) {
    if (advice.audience == Audience::administrator) {
      groups.administrators.push_back(advice);
    } else {
      by_user[{advice.cluster, advice.who}].push_back(advice);
    }
  }
  std::ranges::stable_sort(groups.administrators, {}, &Advice::cluster);
  // The table begins with those who move the most.
  std::map<std::tuple<std::string, std::string>, TopicAdvice> by_topic;
  std::map<std::tuple<std::string, std::string>, std::pair<double, double>> sums;
  for (std::size_t row = 0; row < users.rows.size(); ++row) {
    const auto found = by_user.find({users.text(row, "cluster"), users.text(row, "uid")});
    if (found == by_user.end()) continue;
    UserAdvice user{.cluster = users.text(row, "cluster"),
                    .who = users.text(row, "uid"),
                    .jobs = users.number(row, "jobs"),
                    .bytes = users.number(row, "read_bytes") + users.number(row, "write_bytes"),
                    .share = users.number(row, "share_of_bytes"),
                    .advice = found->second};
    for (const Advice& advice : user.advice) {
      const std::tuple key(advice.cluster, advice.topic);
      TopicAdvice& topic = by_topic[key];
      auto& [amount, of] = sums[key];
      topic.cluster = advice.cluster;
      topic.action = advice.action;
      topic.how = advice.how;
      topic.users += 1;
      topic.jobs += advice.jobs;
      topic.bytes += user.bytes;
      amount += advice.amount;
      of += advice.of;
      topic.reason = reason_of(advice.topic, amount, of);
    }
    groups.users.push_back(std::move(user));
  }
  for (auto& [key, topic] : by_topic) groups.topics.push_back(std::move(topic));
  std::ranges::stable_sort(groups.topics, [](const TopicAdvice& one, const TopicAdvice& other) {
    return one.cluster != other.cluster ? one.cluster < other.cluster : one.bytes > other.bytes;
  });
  return groups;
}

}  // namespace iez::jobs
