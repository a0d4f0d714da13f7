// A file as iez speaks of it: what is known of one that exists, or of one that is about to.
//
// Thread safety: plain values.
#pragma once

#include <optional>
#include <string>

#include "base/units.hpp"
#include "model/layout.hpp"

namespace iez::model {

struct File {
  std::string path;
  Bytes size;
  std::optional<Layout> layout;  // none: not striped yet, or not on Lustre
};

}  // namespace iez::model
