#include "coordinator/may_plan.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace iez::coordinator {

namespace {

std::string parent_of(const std::string& name) {
  const std::size_t end = name.rfind('/');
  return end == 0 ? "/" : name.substr(0, end);
}

// Of a pattern, what is known of its directory.
std::string directory_of(const std::string& name) { return parent_of(name.substr(0, std::max<std::size_t>(1, name.find('{')))); }

}  // namespace

Result<void> may_plan(http::Permissions& permissions, const http::Identity& who, const api::PlanRequest& request) {
  std::string last;
  std::vector<std::string> directories = request.spread;
  for (const api::FileRequest& file : request.files) {
    std::string directory = directory_of(file.name);
    if (directory == last) continue;
    last = directory;
    directories.push_back(std::move(directory));
  }
  std::ranges::sort(directories);
  directories.erase(std::ranges::unique(directories).begin(), directories.end());
  for (const std::string& directory : directories) IEZ_CHECK(permissions.may_write(who, directory));
  return {};
}

}  // namespace iez::coordinator
