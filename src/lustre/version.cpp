#include "lustre/version.hpp"

#include <charconv>

#include "base/text.hpp"

namespace iez::lustre {

namespace {

constexpr unsigned kMajor = 2;
constexpr unsigned kOldestMinor = 10;
constexpr unsigned kNewestMinor = 18;

std::optional<unsigned> take_number(std::string_view& text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take_dot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  text = text::trim(text);
  if (text.starts_with("lustre:")) text = text::trim(text.substr(7));
  const std::string_view word = text::take_word(text);
  std::string_view rest = word;
  const auto major = take_number(rest);
  if (!major || !take_dot(rest)) return std::nullopt;
  const auto minor = take_number(rest);
  if (!minor) return std::nullopt;
  const auto patch = take_dot(rest) ? take_number(rest) : std::optional<unsigned>{0};
  if (!patch) return std::nullopt;
  return Version{.major = *major, .minor = *minor, .patch = *patch, .text = std::string(word)};
}

bool known(const Version& version) {
  return version.major == kMajor && version.minor >= kOldestMinor && version.minor <= kNewestMinor;
}

}  // namespace iez::lustre
