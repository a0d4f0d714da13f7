// Layouts of files by path, for commands and services: which file system, what layout, a new file with one.
//
// Errors name the path and, where there is one, the remedy.
//
// Thread safety: safe from any thread; nothing is kept between calls.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.hpp"
#include "lustre/set_layout.hpp"
#include "model/layout.hpp"

namespace iez::lustre {

// Of the file or directory, or, if there is none yet, of the directory it would be in.
[[nodiscard]] Result<FileSystemKind> file_system_kind(const std::string& path);

// What a file has, or a directory's default. Errc::not_found with ENODATA: it has none (a file nobody has opened for writing, a
// directory without a default of its own). Errc::unsupported: not on Lustre.
[[nodiscard]] Result<model::Layout> read_layout(const std::string& path);

// Creates an empty file with the layout, and returns the layout that the file got: Lustre gives fewer stripes where there are not
// enough OSTs. An existing file is left alone (Errc::exists), and on failure nothing new is left behind, with one exception: a
// file that another process opened for writing before it got its layout stays, since data may be in it (Errc::exists, the message
// says so).
[[nodiscard]] Result<model::Layout> create_with_layout(const std::string& path, const model::Layout& layout, mode_t mode);

}  // namespace iez::lustre
