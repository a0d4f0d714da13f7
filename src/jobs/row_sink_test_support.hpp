// A sink that keeps rows in memory, one for each key.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "jobs/row_sink.hpp"

namespace iez::jobs {

class MemorySink final : public RowSink {
 public:
  Result<void> put(std::span<const JobRow> rows) override {
    if (refuse) return fail(Errc::io, "the sink is full");
    for (const JobRow& row : rows) jobs_[{row.cluster, row.id, row.started}] = row;
    return {};
  }
  Result<void> put(std::span<const SeriesRow> rows) override {
    if (refuse) return fail(Errc::io, "the sink is full");
    for (const SeriesRow& row : rows) series_[{row.cluster, row.target, row.id, row.time}] = row;
    return {};
  }

  std::vector<JobRow> jobs() const {
    std::vector<JobRow> rows;
    for (const auto& [key, row] : jobs_) rows.push_back(row);
    return rows;
  }
  std::vector<SeriesRow> series() const {
    std::vector<SeriesRow> rows;
    for (const auto& [key, row] : series_) rows.push_back(row);
    return rows;
  }

  bool refuse = false;

 private:
  std::map<std::tuple<std::string, std::string, std::int64_t>, JobRow> jobs_;
  std::map<std::tuple<std::string, std::string, std::string, std::int64_t>, SeriesRow> series_;
};

}  // namespace iez::jobs
