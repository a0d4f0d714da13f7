// A report over a store: ten analyses with what was found in a sentence for each cluster, and advice with its numbers. Values
// only; apps/iez draws them.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "jobs/analysis.hpp"
#include "jobs/job_store.hpp"

namespace iez::jobs {

enum class Audience : std::uint8_t { user, administrator };

struct Advice {
  Audience audience = Audience::user;
  std::string cluster;
  std::string who;     // the user; empty: of the whole cluster
  std::string topic;   // "small writes"
  std::string action;  // what to do: "Gather writes to 1 MiB or more"
  std::string how;     // "a larger buffer, or collective I/O"
  std::string reason;  // what was counted, and what it would save; the cluster is not named
  std::string text;    // all of it in one or two sentences, said to whom it is for
  std::vector<std::pair<std::string, double>> evidence;
  // Of users: what it is about, to be summed over them. reason_of() says what they count.
  double jobs = 0;
  double amount = 0;
  double of = 0;
};

// What was found on one cluster, in a sentence that names no cluster, and begins small and ends without a full stop.
struct Finding {
  std::string cluster;  // empty: nothing was found, and the sentence says why
  std::string text;
};

struct Section {
  std::string name;   // "write-efficiency"
  std::string title;  // "Efficient and inefficient writers"
  std::vector<Finding> findings;
  Answer answer;
};

struct Report {
  TimeRange range;  // as asked
  std::string time_zone;
  AnalysisOptions options;
  Answer summary;
  std::vector<Section> sections;  // ten
  std::vector<Advice> advice;
  bool synthetic = false;  // some of its clusters are
};

// `progress` is told what is asked next.
[[nodiscard]] Result<Report> make_report(JobReader& reader, const JobReader::Options& asked, const AnalysisOptions& options,
                                         const std::function<void(std::string_view)>& progress);

// REQUIRES: the answer of a file of SQL with a number.
std::vector<Finding> findings_of(const Answer& answer, const AnalysisOptions& options);

// "Jobs run ...": a first letter that is large, and a full stop.
std::string sentence(std::string_view text);

// "On quartz, 92 % of 100 jobs run less than 2 h. On cab, ...": for those who see the sentence alone.
std::string finding_text(const std::vector<Finding>& findings);

// From the answers of 10_advice.sql and 05_metadata_servers.sql.
std::vector<Advice> advice_of(const Answer& evidence, const Answer& servers, const AnalysisOptions& options);
// Of one row of its table `users`.
std::vector<Advice> user_advice(const ResultTable& users, std::size_t row, const ResultTable& hours,
                                const AnalysisOptions& options);

// What a piece of advice to a user is about, or the sum of several on one topic:
// - small writes: `amount` calls write `of` bytes;
// - files never closed: `amount` of `of` files;
// - metadata storm: `amount` calls for `of` bytes;
// - busy hours: `amount` of `of` bytes are moved then.
std::string reason_of(std::string_view topic, double amount, double of);

// What one user is to do.
struct UserAdvice {
  std::string cluster;
  std::string who;
  double jobs = 0;
  double bytes = 0;  // read and written
  double share = 0;  // of all bytes of the cluster
  std::vector<Advice> advice;
};

// What several users are to do, with the sums over them.
struct TopicAdvice {
  std::string cluster;
  std::string action;
  std::string how;
  std::string reason;
  double users = 0;
  double jobs = 0;
  double bytes = 0;  // that those users move
};

struct AdviceGroups {
  std::vector<Advice> administrators;  // by cluster
  std::vector<TopicAdvice> topics;     // by cluster, those whose users move the most first
  std::vector<UserAdvice> users;       // those who move the most first
};

// The advice of a report as people can act on it.
AdviceGroups grouped(const Report& report);

// For people: "1.23 TB", decimal; "12,345"; "12.3 million"; "61.3 %"; "3 min"; "05:00".
std::string bytes_text(double bytes);
std::string count_text(double count);
std::string large_count_text(double count);
std::string percent_text(double share);
std::string hours_text(double hours);
std::string hour_of_day_text(std::int64_t hour);

}  // namespace iez::jobs
