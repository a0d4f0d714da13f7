#include "jobs/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/units.hpp"
#include "jobs/synth.hpp"

namespace iez::jobs {

namespace {

struct Analysis {
  std::string_view name;
  std::string_view title;
  std::string_view sql;
};

constexpr std::array kAnalyses{
    Analysis{"duration-and-nodes", "How long jobs run, and on how many nodes", "01_duration_and_nodes"},
    Analysis{"read-and-write-shares", "Who reads and who writes", "02_read_and_write_shares"},
    Analysis{"write-efficiency", "Efficient and inefficient writers", "03_write_efficiency"},
    Analysis{"metadata-and-writes", "Metadata operations against bytes written", "04_metadata_and_writes"},
    Analysis{"metadata-servers", "Metadata servers, and files that stay open", "05_metadata_servers"},
    Analysis{"days", "Days, weekdays, and who fills them", "06_days"},
    Analysis{"io-share", "The part of a job's minutes that moves data", "07_io_share"},
    Analysis{"bursts", "Bursts of writing against memory", "08_bursts"},
    Analysis{"contention", "Hours at which jobs wait for each other", "09_contention"},
    Analysis{"advice", "What to do about it", "10_advice"}};

}  // namespace

Result<Report> make_report(JobReader& reader, const JobReader::Options& asked, const AnalysisOptions& options,
                           const std::function<void(std::string_view)>& progress) {
  Report report{.range = asked.range, .time_zone = asked.time_zone.empty() ? "UTC" : asked.time_zone, .options = options};
  progress("preparing");
  IEZ_CHECK(prepare(reader.duck(), options));
  IEZ_TRY(report.summary, ask(reader.duck(), "summary"));
  for (const std::string_view table : {"summary", "series"}) {
    const ResultTable& clusters = report.summary[table];
    for (std::size_t row = 0; row < clusters.rows.size(); ++row) {
      report.synthetic = report.synthetic || clusters.text(row, "cluster").starts_with(kSyntheticPrefix);
    }
  }
  report.sections.reserve(kAnalyses.size());
  for (const Analysis& analysis : kAnalyses) {
    progress(analysis.title);
    IEZ_TRY(Answer answer, ask(reader.duck(), analysis.sql));
    Section section{.name = std::string(analysis.name), .title = std::string(analysis.title)};
    section.findings = findings_of(answer, options);
    section.answer = std::move(answer);
    report.sections.push_back(std::move(section));
  }
  report.advice = advice_of(report.sections[9].answer, report.sections[4].answer, options);
  if (!report.advice.empty()) {
    const auto users = std::ranges::count(report.advice, Audience::user, &Advice::audience);
    report.sections[9].findings = {{.cluster = {},
                                    .text = fmt::format("{} for users and {} for administrators", users,
                                                        static_cast<std::ptrdiff_t>(report.advice.size()) - users)}};
  }
  return report;
}

std::string bytes_text(double bytes) {
  constexpr double kMost = 1.8e19;  // what a sum of bytes can be
  return to_string(Bytes{static_cast<std::uint64_t>(std::clamp(bytes, 0.0, kMost) + 0.5)});
}

std::string count_text(double count) {
  const std::string digits = fmt::format("{:.0f}", std::abs(count));
  std::string text;
  if (count < 0) text += '-';
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string large_count_text(double count) {
  constexpr std::array<std::pair<double, std::string_view>, 2> kWords{{{1e9, "billion"}, {1e6, "million"}}};
  for (const auto& [from, word] : kWords) {
    if (count < from) continue;
    const double value = count / from;
    return value < 999.95 ? fmt::format("{:.{}f} {}", value,
                                        value >= 99.95   ? 0
                                        : value >= 9.995 ? 1
                                                         : 2,
                                        word)
                          : fmt::format("{} {}", count_text(value), word);
  }
  return count_text(count);
}

std::string percent_text(double share) {
  const double percent = share * 100;
  if (percent > 0 && percent < 0.005) return "below 0.01 %";
  return fmt::format("{:.{}f} %", percent, percent > 0 && percent < 0.1 ? 2 : 1);
}

std::string hours_text(double hours) {
  const double seconds = hours * 3600;
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5970) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", hours);
}

std::string hour_of_day_text(std::int64_t hour) { return fmt::format("{:02}:00", hour); }

}  // namespace iez::jobs
