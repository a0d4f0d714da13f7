#include "collective/hints.hpp"

#include <charconv>
#include <limits>
#include <optional>

namespace iez::collective {
namespace {

enum class Meaning : std::uint8_t {
  mode,
  collect_writes,
  collect_reads,
  collect_both,
  fill_holes,
  direct_writes,
  direct_reads,
  direct_both,
  same_io_size,
  contiguous_data,
  clients_per_ost,
  aggregators,
  big_request,
  buffer_bytes,
  stripe_size,
  stripes,
  first_ost,
  ranks_per_node,
  flatten,
  osts,
  switch_every,
};

// How a yes and a no of this key are written.
enum class Words : std::uint8_t { none, enable_disable, true_false, yes_no };

struct Key {
  const char* name;
  Meaning meaning;
  Words words = Words::none;
};

constexpr std::array kKeys{
    Key{"iez_mode", Meaning::mode},
    Key{"directIO", Meaning::direct_both, Words::enable_disable},
    Key{"CO", Meaning::clients_per_ost},
    Key{"ds_in_coll", Meaning::fill_holes, Words::enable_disable},
    Key{"big_req_size", Meaning::big_request},
    Key{"same_io_size", Meaning::same_io_size, Words::yes_no},
    Key{"contiguous_data", Meaning::contiguous_data, Words::yes_no},
    Key{"direct_read", Meaning::direct_reads, Words::true_false},
    Key{"direct_write", Meaning::direct_writes, Words::true_false},
    Key{"romio_lustre_co_ratio", Meaning::clients_per_ost},
    Key{"romio_lustre_coll_threshold", Meaning::big_request},
    Key{"romio_lustre_ds_in_coll", Meaning::fill_holes, Words::enable_disable},
    Key{"romio_cb_read", Meaning::collect_reads, Words::enable_disable},
    Key{"romio_cb_write", Meaning::collect_writes, Words::enable_disable},
    Key{"collective_buffering", Meaning::collect_both, Words::true_false},
    Key{"cb_nodes", Meaning::aggregators},
    Key{"cb_buffer_size", Meaning::buffer_bytes},
    Key{"striping_unit", Meaning::stripe_size},
    Key{"striping_factor", Meaning::stripes},
    Key{"start_iodevice", Meaning::first_ost},
    Key{"iez_ranks_per_node", Meaning::ranks_per_node},
    Key{"iez_flatten", Meaning::flatten},
    Key{"iez_osts", Meaning::osts},
    Key{"iez_switch_every", Meaning::switch_every},
};

struct ModeName {
  const char* name;
  Mode mode;
};

constexpr std::array kModes{ModeName{"auto", Mode::automatic},
                            ModeName{"automatic", Mode::automatic},
                            ModeName{"collective", Mode::collective},
                            ModeName{"independent", Mode::independent},
                            ModeName{"log", Mode::log},
                            ModeName{"choose", Mode::choose},
                            ModeName{"off", Mode::off}};

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

// `word` is in small letters.
bool same_word(std::string_view given, std::string_view word) {
  if (given.size() != word.size()) return false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (lower(given[i]) != word[i]) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<bool> truth(std::string_view text) {
  for (const std::string_view yes : {"enable", "true", "yes", "on", "1"}) {
    if (same_word(text, yes)) return true;
  }
  for (const std::string_view no : {"disable", "false", "no", "off", "0"}) {
    if (same_word(text, no)) return false;
  }
  return std::nullopt;
}

std::optional<Switch> position(std::string_view text) {
  if (same_word(text, "automatic") || same_word(text, "auto")) return Switch::automatic;
  const std::optional<bool> yes = truth(text);
  if (!yes) return std::nullopt;
  return *yes ? Switch::enable : Switch::disable;
}

std::optional<Mode> mode(std::string_view text) {
  for (const ModeName& known : kModes) {
    if (same_word(text, known.name)) return known.mode;
  }
  return std::nullopt;
}

std::optional<bool> is_later(std::string_view text) {
  if (same_word(text, "later")) return true;
  if (same_word(text, "close")) return false;
  return std::nullopt;
}

// "4194304", "4096k", "4M", "4MiB".
std::optional<std::int64_t> size(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  const std::string_view unit = trimmed(text);
  std::int64_t factor = 1;
  if (same_word(unit, "k") || same_word(unit, "kib")) {
    factor = 1 << 10;
  } else if (same_word(unit, "m") || same_word(unit, "mib")) {
    factor = 1 << 20;
  } else if (same_word(unit, "g") || same_word(unit, "gib")) {
    factor = 1 << 30;
  } else if (!unit.empty()) {
    return std::nullopt;
  }
  if (number > std::numeric_limits<std::int64_t>::max() / factor) return std::nullopt;
  return number * factor;
}

template <typename Number>
std::optional<Number> number(std::string_view text, Number least) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < least) return std::nullopt;
  return value;
}

template <typename T>
bool store(const std::optional<T>& value, T& field) {
  if (value) field = *value;
  return value.has_value();
}

bool set(Hints& hints, Meaning meaning, std::string_view text) {
  switch (meaning) {
    case Meaning::mode:
      return store(mode(text), hints.mode);
    case Meaning::collect_writes:
      return store(position(text), hints.collect_writes);
    case Meaning::collect_reads:
      return store(position(text), hints.collect_reads);
    case Meaning::collect_both:
      return store(position(text), hints.collect_writes) && store(position(text), hints.collect_reads);
    case Meaning::fill_holes:
      return store(position(text), hints.fill_holes);
    case Meaning::direct_writes:
      return store(truth(text), hints.direct_writes);
    case Meaning::direct_reads:
      return store(truth(text), hints.direct_reads);
    case Meaning::direct_both:
      return store(truth(text), hints.direct_writes) && store(truth(text), hints.direct_reads);
    case Meaning::same_io_size:
      return store(truth(text), hints.same_io_size);
    case Meaning::contiguous_data:
      return store(truth(text), hints.contiguous_data);
    case Meaning::clients_per_ost:
      return store(number<std::uint32_t>(text, 1), hints.clients_per_ost);
    case Meaning::aggregators:
      return store(number<std::uint32_t>(text, 0), hints.aggregators);
    case Meaning::big_request:
      return store(size(text), hints.big_request);
    case Meaning::buffer_bytes: {
      const std::optional<std::int64_t> bytes = size(text);
      return bytes.value_or(0) > 0 && store(bytes, hints.buffer_bytes);
    }
    case Meaning::stripe_size:
      return store(size(text), hints.stripe_size);
    case Meaning::stripes:
      return store(number<std::uint32_t>(text, 0), hints.stripes);
    case Meaning::first_ost:
      return store(number<std::int32_t>(text, -1), hints.first_ost);
    case Meaning::ranks_per_node:
      return store(number<std::uint32_t>(text, 0), hints.ranks_per_node);
    case Meaning::flatten:
      return store(is_later(text), hints.flatten_later);
    case Meaning::osts:
      return store(number<std::uint32_t>(text, 0), hints.osts);
    case Meaning::switch_every:
      return store(number<std::uint32_t>(text, 0), hints.switch_every);
  }
  return false;
}

const char* word(bool yes, Words words) {
  if (words == Words::true_false) return yes ? "true" : "false";
  if (words == Words::yes_no) return yes ? "yes" : "no";
  return yes ? "enable" : "disable";
}

const char* word(Switch position, Words words) {
  return position == Switch::automatic ? "automatic" : word(position == Switch::enable, words);
}

const char* word(Mode mode) {
  for (const ModeName& known : kModes) {
    if (known.mode == mode) return known.name;
  }
  return nullptr;
}

template <typename Number>
const char* digits(Number value, std::span<char> room) {
  const auto [end, problem] = std::to_chars(room.data(), room.data() + room.size() - 1, value);
  *end = '\0';
  return room.data();
}

template <typename Number>
const char* digits_if(bool known, Number value, std::span<char> room) {
  return known ? digits(value, room) : nullptr;
}

}  // namespace

bool Hints::take(std::string_view key, std::string_view value) {
  key = trimmed(key);
  for (const Key& known : kKeys) {
    if (key != known.name) continue;
    if (!set(*this, known.meaning, trimmed(value))) ++bad_values;
    return true;
  }
  return false;
}

std::size_t Hints::keys() { return kKeys.size(); }

const char* Hints::key(std::size_t index) { return kKeys[index].name; }

const char* Hints::value(std::size_t index, std::span<char, kLongestValue> room) const {
  const Words words = kKeys[index].words;
  switch (kKeys[index].meaning) {
    case Meaning::mode:
      return word(mode);
    case Meaning::collect_writes:
      return word(collect_writes, words);
    case Meaning::collect_reads:
      return word(collect_reads, words);
    case Meaning::collect_both:
      // MPI defines this key, and it has no third value.
      if (collect_writes != collect_reads || collect_writes == Switch::automatic) return nullptr;
      return word(collect_writes, words);
    case Meaning::fill_holes:
      return word(fill_holes, words);
    case Meaning::direct_writes:
      return word(direct_writes, words);
    case Meaning::direct_reads:
      return word(direct_reads, words);
    case Meaning::direct_both:
      return direct_writes == direct_reads ? word(direct_writes, words) : nullptr;
    case Meaning::same_io_size:
      return word(same_io_size, words);
    case Meaning::contiguous_data:
      return word(contiguous_data, words);
    case Meaning::clients_per_ost:
      return digits(clients_per_ost, room);
    case Meaning::aggregators:
      return digits_if(aggregators > 0, aggregators, room);
    case Meaning::big_request:
      return digits(big_request, room);
    case Meaning::buffer_bytes:
      return digits(buffer_bytes, room);
    case Meaning::stripe_size:
      return digits_if(stripe_size > 0, stripe_size, room);
    case Meaning::stripes:
      return digits_if(stripes > 0, stripes, room);
    case Meaning::first_ost:
      return digits_if(first_ost >= 0, first_ost, room);
    case Meaning::ranks_per_node:
      return digits_if(ranks_per_node > 0, ranks_per_node, room);
    case Meaning::flatten:
      return flatten_later ? "later" : "close";
    case Meaning::osts:
      return digits_if(osts > 0, osts, room);
    case Meaning::switch_every:
      return digits_if(switch_every > 0, switch_every, room);
  }
  return nullptr;
}

}  // namespace iez::collective
