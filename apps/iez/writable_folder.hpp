// Whether a folder that is named in an option or a setting can be used, before anything depends on it.
//
// Thread safety: none beyond that of the file system. Nothing is made.
#pragma once

#include <string>

namespace iez::cli {

// Empty: the folder is there, and may be written to, or it could be made. Else one sentence with the folder that is in the way.
// /proc and /sys are never: in them root may write, and make nothing.
std::string why_not_writable(const std::string& folder);

}  // namespace iez::cli
