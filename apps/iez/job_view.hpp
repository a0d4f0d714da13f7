// From samples to the rows that `iez top` shows: summed per job, OST or server, filtered and sorted. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lustre/job_id.hpp"
#include "lustre/job_rates.hpp"
#include "model/job.hpp"
#include "top.hpp"

namespace iez::cli {

// What the rates of a picture mean.
enum class RateBasis {
  none,      // Lustre 2.10 to 2.13 do not say when a job began, and there is no second sample
  lifetime,  // from each job's first operation to its last, where that is a second or more
  interval,  // between two samples
};
std::string_view to_string(RateBasis basis);

struct Rates {
  BytesPerSecond read;
  BytesPerSecond write;
  double operations = 0;  // a second
};

struct JobPart {
  std::string name;  // of the OST or server
  lustre::JobTraffic traffic;
  std::optional<Rates> rates;
};

struct JobRow {
  model::JobIdentity identity;
  model::JobCounters totals;
  lustre::JobTraffic traffic;
  std::optional<Rates> rates;
  std::vector<JobPart> parts;  // by target or server, ascending by name
  std::size_t targets = 0;
  bool restarted = false;  // its counters began anew between the samples
};

struct JobFilter {
  std::optional<std::uint32_t> uid;
  std::string pattern;  // empty: any

  bool matches(const model::JobIdentity& identity) const;
};

struct JobPicture {
  RateBasis basis = RateBasis::none;
  std::optional<Duration> interval;  // the longest of any target
  std::vector<JobRow> rows;
  std::size_t jobs = 0;             // before filtering
  std::uint64_t unknown_users = 0;  // jobs a user filter could not judge: their ids tell no user
  lustre::JobChanges changes;
};

// before: nothing for a single sample.
JobPicture make_picture(const lustre::JobSample* before, const lustre::JobSample& after, const lustre::JobIdFormat& format,
                        const JobFilter& filter, TopPer per);

void sort_rows(std::vector<JobRow>& rows, TopSort key, bool reverse);

double bytes_per_call(const lustre::JobTraffic& traffic);

}  // namespace iez::cli
