// Sizes that Lustre itself counts in powers of two - stripes, requests to servers, ends of components - for people: "1.00 MiB",
// which is 1.05 MB by to_string() of base/units.hpp, as all other sizes and rates are shown.
#pragma once

#include <string>

#include "base/units.hpp"

namespace iez {

std::string to_binary_string(Bytes size);  // "0 B", "1023 B", "64.0 KiB", "1.50 GiB"

}  // namespace iez
