// A file system for tests: passes everything through to a directory, and keeps `lustre.lov` beside, as Lustre does it.
//
// Six OSTs, of which 5 is inactive. A file gets the default layout when it is first opened for writing; setting one afterwards
// says 0 and changes nothing. It knows no ioctl. libfuse3, single-threaded, in the foreground.
#pragma once

#include <string>

namespace iez::testing {

// Serves until unmounted; the exit status of a process that does only this.
int serve_xattr_fs(const std::string& root, const std::string& mount_point);

}  // namespace iez::testing
