#include "jobs.hpp"

#include "jobs_sampler.hpp"

namespace iez::bench {

Result<std::vector<Figure>> run_jobs(const Settings& settings) { return measure_job_sampler(settings); }

}  // namespace iez::bench
