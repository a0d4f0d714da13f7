// What people write about stripes on a command line, and how `lfs` wants to hear it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace iez::cli {

// "160,64,64": one number a job, in this order, each 1 or more. `option` is for messages: "--stripes".
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_requests(std::string_view option, std::string_view text);

// "1,2,4..160": ascending, each once. "a..b" doubles from a, and ends with b.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_counts(std::string_view option, std::string_view text);
[[nodiscard]] Result<std::vector<Bytes>> parse_sizes(std::string_view option, std::string_view text);

// "10%", "10 %" or "0.1", from 0 to below 1.
[[nodiscard]] Result<double> parse_share(std::string_view option, std::string_view text);

// As `lfs` takes it: "64M", "64K", or bytes where neither is whole.
std::string size_word(Bytes size);

// "lfs setstripe -c 160 -S 128M DIR".
std::string setstripe_line(std::uint32_t count, Bytes size, std::string_view directory);

// "'it'\''s'" where a shell would take the word apart; the word itself elsewhere.
std::string shell_word(std::string_view word);

}  // namespace iez::cli
