// Files that the placement benchmark carries along, so that an installed program needs none of them (place_data.cpp.in).
#pragma once

#include <string_view>

namespace iez::bench {

extern const std::string_view kAllocCases;       // tests/golden/placement/alloc_cases.json
extern const std::string_view kNetworkxLiteral;  // bench/compare/networkx_literal.py

}  // namespace iez::bench
