// A report over a store: ten analyses with a sentence of finding each, and advice with its numbers. Values only; apps/iez draws
// them.
//
// Thread safety: none.
#pragma once

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
  std::string who;    // the user; empty: of the whole cluster
  std::string topic;  // "small writes"
  std::string text;   // one or two sentences, with the numbers in them
  std::vector<std::pair<std::string, double>> evidence;
};

struct Section {
  std::string name;   // "write-efficiency"
  std::string title;  // "Efficient and inefficient writers"
  std::string finding;
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

// The sentence of an analysis. REQUIRES: the answer of that file of SQL.
std::string finding_of(const Answer& answer, const AnalysisOptions& options);

// From the answers of 10_advice.sql and 05_metadata_servers.sql.
std::vector<Advice> advice_of(const Answer& evidence, const Answer& servers, const AnalysisOptions& options);
// Of one row of its table `users`.
std::vector<Advice> user_advice(const ResultTable& users, std::size_t row, const ResultTable& hours,
                                const AnalysisOptions& options);

// For people: "1.23 TB", decimal; "12,345"; "61.3 %"; "3 min".
std::string bytes_text(double bytes);
std::string count_text(double count);
std::string percent_text(double share);
std::string hours_text(double hours);

}  // namespace iez::jobs
