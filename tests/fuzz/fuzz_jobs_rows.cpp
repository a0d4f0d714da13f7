// Rows of jobs in CSV from anywhere: what is accepted can be kept, and survives being written and read again; ids of any bytes
// have one form in the store.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "jobs/row_text.hpp"
#include "jobs/rows_csv.hpp"
#include "jobs/store_schema.hpp"

namespace {

using iez::Result;
using iez::jobs::JobRow;
using iez::jobs::SeriesRow;

struct Rows {
  std::vector<JobRow> jobs;
  std::vector<SeriesRow> series;
  bool whole = false;
};

Rows read(std::string_view text) {
  Rows rows;
  const iez::jobs::RowVisitor sink{.job = [&](JobRow&& row) -> Result<void> {
                                     rows.jobs.push_back(std::move(row));
                                     return {};
                                   },
                                   .series = [&](SeriesRow&& row) -> Result<void> {
                                     rows.series.push_back(std::move(row));
                                     return {};
                                   }};
  const auto stream = iez::input::memory_stream(text);
  const auto report = iez::jobs::read_rows(*stream, "fuzz", sink);
  rows.whole = report.has_value();
  if (!report) IEZ_ASSERT(report.error().message.starts_with("fuzz"));
  return rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string kept = iez::jobs::storable(text);
  IEZ_ASSERT(iez::jobs::from_storable(kept) == text);
  IEZ_ASSERT(kept.find('\0') == std::string::npos);
  const Rows rows = read(text);
  std::string written = iez::jobs::csv_heading(iez::jobs::Table::jobs);
  for (const JobRow& row : rows.jobs) {
    IEZ_ASSERT(iez::jobs::why_not(row).empty());
    iez::jobs::append_csv(written, row);
  }
  written += iez::jobs::csv_heading(iez::jobs::Table::series);
  for (const SeriesRow& row : rows.series) {
    IEZ_ASSERT(iez::jobs::why_not(row).empty());
    iez::jobs::append_csv(written, row);
  }
  const Rows again = read(written);
  // A row that looks like a heading is taken for one.
  if (again.whole && again.jobs.size() == rows.jobs.size() && again.series.size() == rows.series.size()) {
    IEZ_ASSERT(again.jobs == rows.jobs && again.series == rows.series);
  }
  return 0;
}
