#include "runs/old_contents.hpp"

namespace iez::runs {

void OldContents::add(std::span<const store::FileRow> files) {
  for (const store::FileRow& file : files) {
    if (file.created) continue;
    if (file.read.count > 0) {
      uses_.insert_or_assign(file.name, Use::read);
    } else if (file.written.count > 0) {
      uses_.emplace(file.name, Use::written_over);
    }
  }
}

std::string OldContents::why_needed(const std::string& name) const {
  const auto found = uses_.find(name);
  if (found == uses_.end()) return "no run is known that wrote over it";
  return found->second == Use::read ? "a run read it" : "";
}

}  // namespace iez::runs
