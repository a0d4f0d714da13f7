// The layout of an open file, by the Lustre seam.
#pragma once

#include "collective/file_layout.hpp"

namespace iez::preload {

// Not striped, and without ranges, where there is no layout to be had.
collective::FileLayout layout_of_file(int fd);

}  // namespace iez::preload
