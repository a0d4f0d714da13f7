#include "jobs_collect_facts.hpp"

#include <fcntl.h>

#include <cerrno>

#include "input/byte_stream.hpp"
#include "jobs/sacct.hpp"

namespace iez::cli {

Result<std::vector<jobs::JobRow>> read_sacct_facts(const std::string& path, const std::string& zone,
                                                   input::ParseReport& problems) {
  jobs::SacctOptions options;
  IEZ_TRY(options.zone, jobs::parse_zone(zone));
  input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path);
  const auto stream = input::file_stream(std::move(fd), path);
  std::vector<jobs::JobRow> rows;
  IEZ_TRY(const auto summary, jobs::parse_sacct(*stream, path, options, problems, [&rows](const jobs::JobRow& row) {
            rows.push_back(row);
            return Result<void>{};
          }));
  static_cast<void>(summary);
  return rows;
}

}  // namespace iez::cli
