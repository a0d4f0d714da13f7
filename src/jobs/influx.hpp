// What Telegraf's input `lustre2` collected of job_stats: as line protocol (also `influx_inspect export`), or as CSV.
//
//     lustre2,host=oss1,jobid=4711,name=scratch-OST0001 jobstats_write_bytes=26214400u,jobstats_write_calls=25u
//     1794830400000000000
//
// Any measurement will do: a point counts if it has the tags jobid and name (or target), a time, and fields jobstats_NAME of
// counters that iez keeps. Others are passed over and counted.
//
// CSV is known by its columns: a time (time, _time, timestamp), a target (name_1, name, target), a job (jobid, job_id, job), and
// either a column for each counter, with or without jobstats_ before its name, or _field and _value, as Flux writes them. Lines
// of annotations ("#datatype") and a header that is repeated are understood.
//
// Thread safety: none. Memory: one line; CSV is read whole.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"
#include "jobs/import_series.hpp"
#include "jobs/import_time.hpp"

namespace iez::jobs {

struct PointSummary {
  std::uint64_t used = 0;    // lines or records that had counters of a job
  std::uint64_t others = 0;  // those that had none
};

[[nodiscard]] Result<PointSummary> parse_influx_lines(input::ByteStream& stream, std::string_view origin,
                                                      input::ParseReport& report, ImportSeries& series);

// Fails for a header without the columns that are needed. A quote that is out of place ends the reading, and is told of.
[[nodiscard]] Result<PointSummary> parse_points_csv(std::string_view text, std::string_view origin, const TimeZone& zone,
                                                    input::ParseReport& report, ImportSeries& series);

}  // namespace iez::jobs
