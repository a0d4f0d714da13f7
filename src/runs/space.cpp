#include "runs/space.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "input/parse_report.hpp"
#include "lustre/cluster_reader.hpp"
#include "lustre/layout_file.hpp"
#include "lustre/param_source.hpp"
#include "placement/stripe_size.hpp"

namespace iez::runs {

Result<model::Cluster> read_cluster(const std::vector<std::string>& roots, const std::string& file_system) {
  std::vector<std::unique_ptr<lustre::ParamSource>> sources;
  for (const std::string& root : roots.empty() ? std::vector<std::string>{"/"} : roots) {
    IEZ_TRY(auto source, lustre::open_source(root));
    sources.push_back(std::move(source));
  }
  input::ParseReport report;
  IEZ_TRY(auto reading, lustre::read_clusters(sources, {}, report));
  std::string names;
  for (auto& view : reading.file_systems) {
    if (file_system.empty() ? reading.file_systems.size() == 1 : view.cluster.name == file_system) return std::move(view.cluster);
    names += names.empty() ? "" : ", ";
    names += view.cluster.name;
  }
  return fail(Errc::not_found,
              fmt::format("no statistics of file system '{}' here; found: {}", file_system, names.empty() ? "none" : names));
}

const std::vector<placement::Reservation>& FileSpace::of(const std::string& name) {
  const auto found = known_.find(name);
  if (found != known_.end()) return found->second;
  if (lookups_ >= kMaxLookups) return none_;
  ++lookups_;
  std::vector<placement::Reservation>& space = known_[name];
  struct stat status{};
  if (::lstat(name.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return space;
  const auto layout = lustre::read_layout(name);
  if (!layout) return space;
  for (const model::Component& component : layout->components) {
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (component.objects.empty() || component.extent.start >= size) continue;
    std::vector<OstIndex> osts;
    for (const model::StripeObject& object : component.objects) osts.push_back(object.ost);
    add_objects(Bytes{std::min(size, component.extent.end) - component.extent.start}, component.stripe_size, osts, space);
  }
  return space;
}

void add_objects(Bytes bytes, Bytes stripe_size, std::span<const OstIndex> osts, std::vector<placement::Reservation>& to) {
  if (osts.empty() || bytes.count == 0) return;
  const Bytes size = stripe_size.count == 0 ? model::kStripeAlignment : stripe_size;
  const Bytes object = placement::largest_object(bytes, size, static_cast<std::uint32_t>(osts.size()));
  for (const OstIndex ost : osts) to.push_back({.ost = ost, .bytes = object});
}

model::Cluster at_least(model::Cluster now, const model::Cluster& before, std::span<const placement::Reservation> added) {
  std::map<OstIndex, std::uint64_t> least;
  for (const model::Ost& ost : before.osts) least[ost.index] = model::used(ost).count;
  for (const placement::Reservation& one : added) {
    if (const auto found = least.find(one.ost); found != least.end()) found->second += one.bytes.count;
  }
  for (model::Ost& ost : now.osts) {
    const auto found = least.find(ost.index);
    if (found == least.end()) continue;
    const std::uint64_t used = model::used(ost).count;
    if (used >= found->second) continue;
    const std::uint64_t more = found->second - used;
    ost.free.count -= std::min(ost.free.count, more);
    ost.available.count -= std::min(ost.available.count, more);
  }
  return now;
}

}  // namespace iez::runs
