#include "stripe_words.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/words.hpp"

namespace iez::cli {

namespace {

constexpr std::size_t kMaxValues = 10'000;

std::unexpected<Error> too_many(std::string_view option) {
  return fail(Errc::invalid_argument, fmt::format("{}: more than {} values; give fewer", option, kMaxValues));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(text::trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

Result<std::uint64_t> count_of(std::string_view option, std::string_view word) {
  const auto count = text::parse_u64(word);
  if (!count || *count == 0 || *count > std::numeric_limits<std::uint32_t>::max()) {
    return fail(Errc::invalid_argument,
                fmt::format("{}: found {}; expected a number of stripes, 1 or more", option, config::shown(word)));
  }
  return *count;
}

Result<std::uint64_t> size_of(std::string_view option, std::string_view word) {
  const auto size = parse_bytes(word);
  if (!size || size->count == 0) {
    return fail(Errc::invalid_argument, fmt::format("{}: found {}; expected a size such as 4M", option, config::shown(word)));
  }
  return size->count;
}

using ParseOne = std::function<Result<std::uint64_t>(std::string_view option, std::string_view word)>;

Result<std::vector<std::uint64_t>> parse_series(std::string_view option, std::string_view text, const ParseOne& parse) {
  std::vector<std::uint64_t> values;
  for (const std::string_view part : split(text)) {
    const std::size_t dots = part.find("..");
    IEZ_TRY(const std::uint64_t first, parse(option, text::trim(part.substr(0, dots))));
    std::uint64_t last = first;
    if (dots != std::string_view::npos) {
      IEZ_TRY(last, parse(option, text::trim(part.substr(dots + 2))));
    }
    if (last < first) {
      return fail(Errc::invalid_argument,
                  fmt::format("{}: found {}, which ends before it starts; expected FIRST..LAST", option, config::shown(part)));
    }
    for (std::uint64_t value = first; value < last; value *= 2) {
      values.push_back(value);
      if (value > last / 2) break;
    }
    values.push_back(last);
    if (values.size() > kMaxValues) return too_many(option);
  }
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
  return values;
}

}  // namespace

Result<std::vector<std::uint32_t>> parse_requests(std::string_view option, std::string_view text) {
  std::vector<std::uint32_t> requests;
  for (const std::string_view part : split(text)) {
    IEZ_TRY(const std::uint64_t count, count_of(option, part));
    requests.push_back(static_cast<std::uint32_t>(count));
    if (requests.size() > kMaxValues) return too_many(option);
  }
  return requests;
}

Result<std::vector<std::uint32_t>> parse_counts(std::string_view option, std::string_view text) {
  IEZ_TRY(const auto values, parse_series(option, text, count_of));
  std::vector<std::uint32_t> counts;
  counts.reserve(values.size());
  for (const std::uint64_t value : values) counts.push_back(static_cast<std::uint32_t>(value));
  return counts;
}

Result<std::vector<Bytes>> parse_sizes(std::string_view option, std::string_view text) {
  IEZ_TRY(const auto values, parse_series(option, text, size_of));
  std::vector<Bytes> sizes;
  sizes.reserve(values.size());
  for (const std::uint64_t value : values) sizes.push_back({value});
  return sizes;
}

Result<double> parse_share(std::string_view option, std::string_view text) {
  auto share = config::parse_percent(text);
  if (!share) share = text::parse_double(text::trim(text));
  if (!share || *share < 0 || *share >= 1) {
    return fail(Errc::invalid_argument,
                fmt::format("{}: found {}; expected a share from 0 to below 1, such as 10% or 0.1", option, config::shown(text)));
  }
  return *share;
}

std::string size_word(Bytes size) {
  constexpr std::uint64_t kMib = Bytes::mib(1).count;
  constexpr std::uint64_t kKib = Bytes::kib(1).count;
  if (size.count > 0 && size.count % kMib == 0) return fmt::format("{}M", size.count / kMib);
  if (size.count > 0 && size.count % kKib == 0) return fmt::format("{}K", size.count / kKib);
  return fmt::to_string(size.count);
}

std::string setstripe_line(std::uint32_t count, Bytes size, std::string_view directory) {
  return fmt::format("lfs setstripe -c {} -S {} {}", count, size_word(size), shell_word(directory));
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + '\'';
}

}  // namespace iez::cli
