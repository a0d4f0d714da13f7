// The text that `lctl get_param` prints, as a source of parameters:
//
//     obdfilter.lustre-OST0000.kbytesavail=3701868
//     obdfilter.lustre-OST0000.stats=
//     snapshot_time             1794728864.962408475 secs.nsecs
//     ...
//
// One pass notes where each parameter of our table begins and ends; values are then read from the file, so that memory does not
// depend on their size, only on how many there are. The first of two sections of one name counts. Standard input is copied to an
// unnamed temporary file first.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "lustre/param_source.hpp"

namespace iez::lustre {

[[nodiscard]] Result<std::unique_ptr<ParamSource>> open_get_param(const std::string& path);

// The same over an open descriptor that can be read at any offset. `name` appears in messages.
[[nodiscard]] Result<std::unique_ptr<ParamSource>> index_get_param(input::UniqueFd fd, const std::string& name);

}  // namespace iez::lustre
