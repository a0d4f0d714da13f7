// The files that are to be placed, as CSV: one line a file, or one line for many.
//
//     name,bytes,stripe_count,pool,components
//     out/ckpt.{0..63},1GiB,8,flash,
//     out/log,20MiB,,,
//     out/mesh,64GiB,,,4M:count=1 1G:count=8 eof:count=-1
//
// RFC 4180 quoting; the first line names the columns, in any order: name and bytes, and as needed stripe_count, stripe_size,
// pool, overstripe, components, phase, read_phase. docs/formats/requests.md tells all of it. A bad line is an error that names
// the file, the line and the column, what was found and what is expected: a plan for half of the files would be worse than none.
//
// Thread safety: pure functions. One pass over the text, then a sort that finds names that occur twice: O(n log n) for n files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "placement/request.hpp"

namespace iez::config {

inline constexpr std::size_t kMaxFileName = 4096;      // bytes
inline constexpr std::size_t kMaxFileComponents = 64;  // of one progressive file

// A short line may stand for many files: these bound the memory they take.
struct RequestLimits {
  std::uint64_t files = 10'000'000;
  Bytes text = Bytes::gib(1);  // names and components of all files
};

// file_name is for messages only. A file of no lines but the header is no error, and gives no requests.
[[nodiscard]] Result<std::vector<placement::Request>> parse_requests(std::string_view text, std::string_view file_name,
                                                                     const RequestLimits& limits = {});

// The inverse: parse_requests() of it gives equal requests, one line each; columns that no request needs are left out.
// REQUIRES: requests as parse_requests() can give; in particular one with components has no stripe count of its own.
std::string to_csv(std::span<const placement::Request> requests);

}  // namespace iez::config
