#include "runs/directory_defaults.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

namespace iez::runs {

namespace {

// Ids of objects and generations are leftovers in a copy that mkdir made: what counts is what a new file would get.
bool same_wish(const model::Layout& a, const model::Layout& b) {
  const auto alike = [](const model::Component& x, const model::Component& y) {
    return x.extent == y.extent && x.pattern == y.pattern && x.overstriped == y.overstriped && x.stripe_size == y.stripe_size &&
           x.stripe_count == y.stripe_count && x.pool == y.pool && x.extension_size == y.extension_size;
  };
  return a.composite == b.composite && std::ranges::equal(a.components, b.components, alike);
}

bool over_osts(const model::Component& component) {
  return component.pattern == model::Pattern::raid0 && !component.overstriped && component.pool.empty();
}

std::uint32_t stripes_of(const model::Component& component) { return std::max<std::uint32_t>(1, component.stripe_count); }

// Several components over OSTs, one behind the other: no mirrors, no pools, none that extends itself.
std::vector<DirectoryDefault::Step> steps_of(const model::Layout& layout) {
  std::vector<DirectoryDefault::Step> steps;
  std::uint64_t end = 0;
  for (const model::Component& one : layout.components) {
    if (!over_osts(one) || one.extension_size.count > 0 || one.extent.start != end) return {};
    end = one.extent.end;
    steps.push_back({.end = end, .stripes = stripes_of(one), .stripe_size = one.stripe_size});
  }
  return steps;
}

DirectoryDefault described(const model::Layout& layout, DefaultOrigin origin) {
  DirectoryDefault out{.origin = origin};
  const model::Component& first = layout.components.front();
  out.plain = !layout.composite && over_osts(first);
  out.stripes = stripes_of(first);
  out.stripe_size = first.stripe_size;
  if (layout.composite) out.steps = steps_of(layout);
  return out;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

DirectoryDefault DirectoryDefault::at_size(Bytes size) const {
  DirectoryDefault out = *this;
  for (const Step& step : steps) {
    out.stripes = step.stripes;
    out.stripe_size = step.stripe_size;
    if (size.count <= step.end) break;
  }
  return out;
}

DirectoryDefault DirectoryDefaults::of_file(std::string_view name) {
  std::string known(name.substr(0, name.find_first_of("{}")));
  return of_directory(parent_of(known));
}

const DirectoryDefault& DirectoryDefaults::of_directory(const std::string& directory) {
  if (const auto found = known_.find(directory); found != known_.end()) return found->second;
  DirectoryDefault out;
  const LayoutMount* const mount = mount_of(mounts_, directory);
  if (mount != nullptr) {
    auto layout = ask_(directory);
    if (layout && !layout->components.empty()) {
      const auto root = directory == mount->path ? std::optional(*layout) : std::optional<model::Layout>();
      auto of_root = root ? Result<model::Layout>(*root) : ask_(mount->path);
      const bool inherited = of_root && same_wish(*layout, *of_root);
      out = described(*layout, inherited ? DefaultOrigin::site : DefaultOrigin::own);
      // Neither count nor size: somebody set an offset, or nothing.
      if (inherited && out.plain && layout->components.front().stripe_count == 0) out.origin = DefaultOrigin::built_in;
    } else if (!layout && layout.error().os_errno == ENOENT && directory != mount->path) {
      out = of_directory(parent_of(directory));
    }
  }
  return known_.emplace(directory, out).first->second;
}

}  // namespace iez::runs
