// What --help shows beside the options: an example of every command, and the groups of commands.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

namespace iez::cli {

// The path of the command is its words but "iez": "layout set". Empty: it only has commands of its own.
std::string_view example_of(std::string_view path);

// "Run", "Observe", ...: of a command of iez itself.
std::string_view group_of(std::string_view command);

}  // namespace iez::cli
