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

DirectoryDefault described(const model::Layout& layout, DefaultOrigin origin) {
  DirectoryDefault out{.origin = origin};
  const model::Component& first = layout.components.front();
  out.plain = !layout.composite && first.pattern == model::Pattern::raid0 && !first.overstriped && first.pool.empty();
  out.stripes = std::max<std::uint32_t>(1, first.stripe_count);
  out.stripe_size = first.stripe_size;
  return out;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

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
