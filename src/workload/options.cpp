#include "workload/options.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::workload {

namespace {

constexpr std::uint32_t kMostRepetitions = 1000;
constexpr std::uint32_t kMostParties = 1000;

// One list of keys for both ways: take(key, reference to the member).
template <typename O, typename Take>
void each_member(O& options, const Take& take) {
  auto& pattern = options.pattern;
  take("kind", pattern.kind);
  take("interface", pattern.interface);
  take("file", pattern.file);
  take("ranks", pattern.ranks);
  take("file-per-process", pattern.file_per_process);
  take("random-offsets", pattern.random_offsets);
  take("reorder", pattern.reorder);
  take("block", pattern.block.count);
  take("transfer", pattern.transfer.count);
  take("segments", pattern.segments);
  take("view", pattern.view);
  take("arrays", pattern.arrays);
  take("blocks", pattern.blocks);
  take("cells", pattern.cells);
  take("guard", pattern.guard);
  take("files", pattern.files);
  take("grid-x", pattern.grid[0]);
  take("grid-y", pattern.grid[1]);
  take("grid-z", pattern.grid[2]);
  take("particles", pattern.particles);
  take("header", pattern.header.count);
  take("law", pattern.law);
  take("spread", pattern.spread);
  take("seed", pattern.seed);
  take("write", options.write);
  take("read", options.read);
  take("keep", options.keep);
  take("sync", options.sync);
  take("verify", options.verify);
  take("drop-cache", options.drop_cache);
  take("collective", options.collective);
  take("repetitions", options.repetitions);
  take("multiple", options.multiple);
  take("in-place", options.in_place);
  take("meet", options.meet);
  take("parties", options.parties);
  take("json", options.json);
}

template <typename T>
std::string value_text(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else {
    return fmt::format("{}", value);
  }
}

// How many enumerators each has.
constexpr std::uint64_t last_of(Kind) { return static_cast<std::uint64_t>(Kind::chimera); }
constexpr std::uint64_t last_of(Interface) { return static_cast<std::uint64_t>(Interface::hdf5); }
constexpr std::uint64_t last_of(SizeLaw) { return static_cast<std::uint64_t>(SizeLaw::lognormal); }

template <typename T>
bool take_value(std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    value = text;
    return true;
  } else if constexpr (std::is_same_v<T, double>) {
    const auto number = text::parse_double(text);
    if (number) value = *number;
    return number.has_value();
  } else {
    const auto number = text::parse_u64(text);
    std::uint64_t last = 0;
    if constexpr (std::is_enum_v<T>) {
      last = last_of(T{});
    } else {
      last = std::numeric_limits<T>::max();
    }
    if (!number || *number > last) return false;
    value = static_cast<T>(*number);
    return true;
  }
}

}  // namespace

Result<void> check(const Options& options) {
  IEZ_CHECK(check(options.pattern));
  if (options.repetitions == 0 || options.repetitions > kMostRepetitions) {
    return fail(Errc::invalid_argument, fmt::format("-i {}: expected 1 to {}", options.repetitions, kMostRepetitions));
  }
  if (options.parties < 2 || options.parties > kMostParties) {
    return fail(Errc::invalid_argument, fmt::format("--parties {}: expected 2 to {}", options.parties, kMostParties));
  }
  if (!options.write && !options.read) return fail(Errc::invalid_argument, "neither -w nor -r: nothing to do");
  if (options.collective && options.pattern.interface == Interface::posix) {
    return fail(Errc::invalid_argument, "-c: needs -a MPIIO or HDF5; POSIX has no collective calls");
  }
  if (options.pattern.view && options.pattern.kind != Kind::ior) return fail(Errc::invalid_argument, "--view: only with ior");
  return {};
}

std::string file_name(const Options& options, std::uint32_t file, std::uint32_t repetition) {
  std::string name = file_name(options.pattern, file);
  if (options.multiple) name += fmt::format(".{}", repetition);
  return name;
}

std::vector<std::string> to_words(const Options& options) {
  std::vector<std::string> words;
  each_member(options, [&words](std::string_view key, const auto& value) {
    words.push_back(fmt::format("{}={}", key, value_text(value)));
  });
  return words;
}

Result<Options> options_of(std::span<const std::string> words) {
  std::map<std::string, std::string, std::less<>> given;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      return fail(Errc::invalid_argument, fmt::format("'{}': expected KEY=VALUE", text::printable(word)));
    }
    given[word.substr(0, equals)] = word.substr(equals + 1);
  }
  Options options;
  std::string wrong;
  each_member(options, [&given, &wrong](std::string_view key, auto& value) {
    const auto found = given.find(key);
    if (found == given.end()) return;
    if (!take_value(found->second, value)) wrong = fmt::format("{}={}: no value of it", key, text::printable(found->second));
    given.erase(found);
  });
  if (!wrong.empty()) return fail(Errc::invalid_argument, wrong);
  if (!given.empty()) return fail(Errc::invalid_argument, fmt::format("{}: no such key", text::printable(given.begin()->first)));
  IEZ_CHECK(check(options));
  return options;
}

}  // namespace iez::workload
