#include "lustre/job_id.hpp"

#include <algorithm>
#include <limits>

#include "base/result.hpp"
#include "base/text.hpp"

namespace iez::lustre {

namespace {

// Matching is O(pieces x length^2); ids of Lustre have 32 bytes at most.
constexpr std::size_t kMaxMatched = 256;
constexpr std::size_t kMaxPieces = 16;

std::optional<std::uint32_t> parse_user(std::string_view digits) {
  const auto value = text::parse_u64(digits);
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), text::is_digit); }

// What a code can stand for. An unset job variable leaves %j empty.
bool fits(char code, std::string_view value) {
  if (code == 'u' || code == 'g') return parse_user(value).has_value();
  if (code == 'p') return all_digits(value);
  return code == 'j' || !value.empty();
}

void assign(char code, std::string_view value, model::JobIdentity& identity) {
  if (code == '?') code = all_digits(value) ? 'j' : 'h';
  switch (code) {
    case 'e':
      identity.program = value;
      break;
    case 'g':
      identity.gid = parse_user(value);
      break;
    case 'h':
    case 'H':
      identity.host = value;
      break;
    case 'j':
      if (!value.empty()) identity.job = value;
      break;
    case 'u':
      identity.uid = parse_user(value);
      break;
    default:
      break;  // %p: a process number says nothing about the job
  }
}

// "u1000.g100"
bool guess_user_group(std::string_view id, model::JobIdentity& identity) {
  const std::size_t dot = id.find(".g");
  if (!id.starts_with('u') || dot == std::string_view::npos) return false;
  const auto uid = parse_user(id.substr(1, dot - 1));
  const auto gid = parse_user(id.substr(dot + 2));
  if (!uid || !gid) return false;
  identity.uid = uid;
  identity.gid = gid;
  return true;
}

// "ior:1000:node7" (program or job number, user, host) and "4711:ior:1000" (job number, program, user).
bool guess_colons(std::string_view id, model::JobIdentity& identity) {
  const std::size_t first = id.find(':');
  const std::size_t second = first == std::string_view::npos ? first : id.find(':', first + 1);
  if (second == std::string_view::npos) return false;
  const std::string_view front = id.substr(0, first);
  const std::string_view middle = id.substr(first + 1, second - first - 1);
  const std::string_view back = id.substr(second + 1);
  if (const auto uid = parse_user(middle)) {
    identity.uid = uid;
    if (!front.empty()) (all_digits(front) ? identity.job : identity.program) = front;
    if (!back.empty()) identity.host = back;
    return true;
  }
  const auto uid = parse_user(back);
  if (!uid || middle.empty()) return false;
  identity.uid = uid;
  identity.program = middle;
  if (!front.empty()) identity.job = front;
  return true;
}

// "dd.1000"
bool guess_program_user(std::string_view id, model::JobIdentity& identity) {
  const std::size_t dot = id.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || all_digits(id.substr(0, dot))) return false;
  const auto uid = parse_user(id.substr(dot + 1));
  if (!uid) return false;
  identity.program = id.substr(0, dot);
  identity.uid = uid;
  return true;
}

void guess(std::string_view id, model::JobIdentity& identity) {
  if (all_digits(id)) {
    identity.job = id;
    return;
  }
  if (guess_user_group(id, identity) || guess_colons(id, identity)) return;
  static_cast<void>(guess_program_user(id, identity));
}

}  // namespace

JobIdFormat JobIdFormat::from_settings(const std::optional<std::string>& jobid_var,
                                       const std::optional<std::string>& jobid_name) {
  JobIdFormat format;
  if (!jobid_var || *jobid_var == "disable") return format;
  if (*jobid_var == "procname_uid") {
    format.pieces_ = parse_template("%e.%u");
  } else if (*jobid_var == "nodelocal") {
    format.pieces_ = parse_template(jobid_name.value_or(""));
  } else {
    // An environment variable, alone or as %j of the name; a process without it gets the name.
    format.by_variable_ = !jobid_name || jobid_name->find("%j") == std::string::npos;
    format.pieces_ = parse_template(format.by_variable_ ? "%j" : *jobid_name);
    if (format.by_variable_) format.fallback_ = parse_template(jobid_name.value_or(""));
  }
  return format;
}

std::vector<JobIdFormat::Piece> JobIdFormat::parse_template(std::string_view name) {
  std::vector<Piece> pieces;
  const auto literal = [&](char c) {
    if (pieces.empty() || pieces.back().code != 0) pieces.push_back({});
    pieces.back().literal += c;
  };
  constexpr std::string_view kCodes = "eghHjpu";
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      literal(name[i]);
      continue;
    }
    std::size_t code = i + 1;
    if (code < name.size() && name[code] == '.') {  // "%.8e": cut to 8 characters
      ++code;
      while (code < name.size() && text::is_digit(name[code])) ++code;
    }
    if (code >= name.size() || kCodes.find(name[code]) == std::string_view::npos) return {};  // a code of the future: guess
    if (name.substr(code + 1).starts_with("?%") && code + 3 < name.size()) {  // "%j?%H": the second where there is no first
      pieces.push_back({.code = '?'});
      i = code + 3;
      continue;
    }
    pieces.push_back({.code = name[code]});
    i = code;
  }
  if (pieces.size() > kMaxPieces) return {};
  return pieces;
}

bool JobIdFormat::match(const std::vector<Piece>& pieces, std::string_view id, model::JobIdentity& identity) {
  if (id.size() > kMaxMatched) return false;
  // reach[k][i]: pieces k.. can match id[i..]. Filled from the back; then each piece takes the longest front that leaves the rest
  // matchable, so that "%e.%u" reads "my.prog.1000" as my.prog and 1000.
  const std::size_t n = id.size();
  std::vector<std::vector<bool>> reach(pieces.size() + 1, std::vector<bool>(n + 1, false));
  reach[pieces.size()][n] = true;
  const auto longest = [&](std::size_t k, std::size_t i) -> std::optional<std::size_t> {
    const Piece& piece = pieces[k];
    if (piece.code == 0) {
      const std::size_t length = piece.literal.size();
      const bool fit = id.substr(i).starts_with(piece.literal) && reach[k + 1][i + length];
      return fit ? std::optional(length) : std::nullopt;
    }
    for (std::size_t length = n - i + 1; length-- > 0;) {
      if (reach[k + 1][i + length] && fits(piece.code, id.substr(i, length))) return length;
    }
    return std::nullopt;
  };
  for (std::size_t k = pieces.size(); k-- > 0;) {
    for (std::size_t i = 0; i <= n; ++i) reach[k][i] = longest(k, i).has_value();
  }
  if (!reach[0][0]) return false;
  std::size_t at = 0;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const auto length = longest(k, at);
    IEZ_ASSERT(length.has_value());
    assign(pieces[k].code, id.substr(at, *length), identity);
    at += *length;
  }
  return true;
}

model::JobIdentity JobIdFormat::identify(std::string_view id) const {
  model::JobIdentity identity{.id = std::string(id)};
  if (!by_variable_) {
    if (pieces_.empty() || !match(pieces_, id, identity)) guess(id, identity);
    return identity;
  }
  // Any text fits %j, so what looks like something else is taken for that first.
  if (all_digits(id) || fallback_.empty() || !match(fallback_, id, identity)) guess(id, identity);
  const bool told = identity.job || identity.uid || identity.program || identity.host;
  if (!told && !id.empty()) identity.job = id;
  return identity;
}

}  // namespace iez::lustre
