// The script of programs/loop_program.py, compiled in.
#pragma once

#include <string_view>

namespace iez::bench {

std::string_view loop_program_script();

}  // namespace iez::bench
