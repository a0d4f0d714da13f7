// The script of the peer, compiled in.
#pragma once

#include <string_view>

namespace iez::bench {

std::string_view pandas_jobs_script();

}  // namespace iez::bench
