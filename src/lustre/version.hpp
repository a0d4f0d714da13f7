// The version of Lustre that a node runs. iez decides by what exists, not by version; it is shown, and a version that iez has
// never been tried with is said so.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace iez::lustre {

struct Version {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  std::string text;  // all of it: "2.14.0_ddn133"
};

// "2.17.0", "2.14.0_ddn133", "lustre: 2.10.1", "2.15.5.0".
std::optional<Version> parse_version(std::string_view text);

// 2.10 to 2.18: what the tables were made from.
bool known(const Version& version);

}  // namespace iez::lustre
