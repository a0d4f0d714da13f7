// The command line: which commands there are, their options, their help, and the completion made from them.
#pragma once

namespace iez::cli {

// Exit status: 0 done, 1 failed, 2 wrong usage.
int run(int argc, const char* const* argv);

}  // namespace iez::cli
