#include "runs/identity.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"

namespace iez::runs {

namespace {

constexpr std::size_t kMaxName = 128;

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// An option of a launcher that takes so many words behind it.
struct ValueOption {
  std::string_view name;
  unsigned values;
};

// Those of Open MPI, PRRTE, Hydra, Slurm, ALPS, jsrun and the wrappers below. An option with '=' has its value with it.
constexpr std::array kValueOptions{
    ValueOption{"-n", 1},
    ValueOption{"-np", 1},
    ValueOption{"--np", 1},
    ValueOption{"-c", 1},
    ValueOption{"-N", 1},
    ValueOption{"-H", 1},
    ValueOption{"-host", 1},
    ValueOption{"--host", 1},
    ValueOption{"-hosts", 1},
    ValueOption{"-hostfile", 1},
    ValueOption{"--hostfile", 1},
    ValueOption{"-f", 1},
    ValueOption{"-machinefile", 1},
    ValueOption{"--machinefile", 1},
    ValueOption{"-x", 1},
    ValueOption{"-wdir", 1},
    ValueOption{"--wdir", 1},
    ValueOption{"-wd", 1},
    ValueOption{"-mca", 2},
    ValueOption{"--mca", 2},
    ValueOption{"-gmca", 2},
    ValueOption{"--gmca", 2},
    ValueOption{"-genv", 2},
    ValueOption{"-env", 2},
    ValueOption{"-genvlist", 1},
    ValueOption{"-envlist", 1},
    ValueOption{"-ppn", 1},
    ValueOption{"--ppn", 1},
    ValueOption{"-npernode", 1},
    ValueOption{"--npernode", 1},
    ValueOption{"--map-by", 1},
    ValueOption{"-map-by", 1},
    ValueOption{"--bind-to", 1},
    ValueOption{"-bind-to", 1},
    ValueOption{"--rank-by", 1},
    ValueOption{"-rank-by", 1},
    ValueOption{"--output-filename", 1},
    ValueOption{"--prefix", 1},
    ValueOption{"--ntasks", 1},
    ValueOption{"--nodes", 1},
    ValueOption{"--partition", 1},
    ValueOption{"-p", 1},
    ValueOption{"--account", 1},
    ValueOption{"-A", 1},
    ValueOption{"-t", 1},
    ValueOption{"--time", 1},
    ValueOption{"-J", 1},
    ValueOption{"--job-name", 1},
    ValueOption{"--cpus-per-task", 1},
    ValueOption{"--ntasks-per-node", 1},
    ValueOption{"--mem", 1},
    ValueOption{"-o", 1},
    ValueOption{"--output", 1},
    ValueOption{"-e", 1},
    ValueOption{"--error", 1},
    ValueOption{"-w", 1},
    ValueOption{"--nodelist", 1},
    ValueOption{"--export", 1},
    ValueOption{"--mpi", 1},
    ValueOption{"-d", 1},
    ValueOption{"-a", 1},
    ValueOption{"-r", 1},
    ValueOption{"-g", 1},
    ValueOption{"-u", 1},
    ValueOption{"-s", 1},
    ValueOption{"-k", 1},
    ValueOption{"-i", 1},
    ValueOption{"-m", 1},
    ValueOption{"-launcher", 1},
    ValueOption{"--nrs", 1},
    ValueOption{"--tasks_per_rs", 1},
    ValueOption{"--cpu_per_rs", 1},
    ValueOption{"--gpu_per_rs", 1},
    ValueOption{"--rs_per_host", 1},
    ValueOption{"-iface", 1},
};

constexpr std::array<std::string_view, 17> kLaunchers{
    "mpirun",         "mpiexec",         "orterun",      "prterun",       "prun",      "srun",
    "aprun",          "jsrun",           "ibrun",        "lrun",          "flux",      "mpiexec.hydra",
    "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", "mpirun_rsh"};

// Programs that run another one. `values`: bare words that come before it.
struct Wrapper {
  std::string_view name;
  unsigned words;
};
constexpr std::array kWrappers{Wrapper{"env", 0},     Wrapper{"time", 0},    Wrapper{"nice", 0},   Wrapper{"ionice", 0},
                               Wrapper{"nohup", 0},   Wrapper{"stdbuf", 0},  Wrapper{"setsid", 0}, Wrapper{"numactl", 0},
                               Wrapper{"timeout", 1}, Wrapper{"taskset", 1}, Wrapper{"chrt", 1},   Wrapper{"hwloc-bind", 1},
                               Wrapper{"exec", 0}};

// Of those wrappers: options with a value that mean something else to a launcher are few enough to share the table.

bool launcher(std::string_view word) {
  const std::string_view name = base_name(word);
  return std::ranges::find(kLaunchers, name) != kLaunchers.end();
}

std::optional<unsigned> wrapper_words(std::string_view word) {
  const std::string_view name = base_name(word);
  for (const Wrapper& one : kWrappers) {
    if (one.name == name) return one.words;
  }
  return std::nullopt;
}

bool shell(std::string_view word) {
  static constexpr std::array<std::string_view, 7> kNames{"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh"};
  return std::ranges::find(kNames, base_name(word)) != kNames.end();
}

// "python3.11", "perl", "Rscript", ...
bool interpreter(std::string_view word) {
  std::string_view name = base_name(word);
  while (!name.empty() && (text::is_digit(name.back()) || name.back() == '.')) name.remove_suffix(1);
  static constexpr std::array<std::string_view, 8> kNames{"python", "pypy", "perl", "ruby", "lua", "julia", "Rscript", "tclsh"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// "12", "-3", "1e-5", "0x1f", "64k", "10GiB", "8x8x8", "4,4", "1:30:00", "50%": begins with a digit, a sign or a point before
// one, and has no more than four letters in a row.
bool number(std::string_view word) {
  std::size_t at = 0;
  if (at < word.size() && (word[at] == '-' || word[at] == '+')) ++at;
  if (at < word.size() && word[at] == '.') ++at;
  if (at >= word.size() || !text::is_digit(word[at])) return false;
  unsigned letters = 0;
  for (const char c : word) {
    const char lower = text::to_lower(c);
    letters = lower >= 'a' && lower <= 'z' ? letters + 1 : 0;
    if (letters > 4) return false;
  }
  return true;
}

bool path(std::string_view word) { return word.find_first_of("/.") != std::string_view::npos; }

bool changes(std::string_view value) { return value.empty() || number(value) || path(value); }

// What of an argument tells what the program does; empty: nothing.
std::string kept(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos && equals > 0 && !path(word.substr(0, equals))) {
    const std::string_view value = word.substr(equals + 1);
    return std::string(changes(value) ? word.substr(0, equals + 1) : word);
  }
  if (changes(word)) return "";
  return std::string(word);
}

// Every number the same.
std::string masked(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (!text::is_digit(c)) {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

// FNV-1a over 64 bits, its bits mixed: a name, no secret.
class Digest {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0);
  }
  std::uint64_t value() const {
    std::uint64_t mixed = value_;
    mixed ^= mixed >> 33U;
    mixed *= 0xff51afd7ed558ccdULL;
    mixed ^= mixed >> 33U;
    return mixed;
  }

 private:
  void step(unsigned char byte) {
    value_ ^= byte;
    value_ *= 0x100000001b3ULL;
  }
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

unsigned values_of(std::string_view option) {
  for (const ValueOption& one : kValueOptions) {
    if (one.name == option) return one.values;
  }
  return 0;
}

// The word behind `at` that a launcher or wrapper runs; none if there is none such.
std::optional<std::size_t> behind(std::span<const std::string> words, std::size_t at, unsigned bare, const ProgramProbe& probe) {
  std::optional<std::size_t> first;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") return i + 1 < words.size() ? std::optional(i + 1) : first;
    if (is_option(word)) {
      // The value of an option is no program unless nothing else is.
      i += values_of(word);
      continue;
    }
    if (word.empty() || word == "run" || (word.find('=') != std::string_view::npos && word.find('/') > word.find('='))) continue;
    if (bare > 0) {
      --bare;
      continue;
    }
    if (!first && !number(word)) first = i;
    if (probe.is_program(word) || launcher(word) || wrapper_words(word)) return i;
  }
  return first;
}

// From wrapper to launcher to program.
struct Found {
  std::size_t program = 0;
  std::optional<Launch> launch;  // the last one: what it starts are the ranks
};

Found find_program(std::span<const std::string> words, const ProgramProbe& probe) {
  Found found;
  for (;;) {
    const std::size_t at = found.program;
    const bool launches = launcher(words[at]);
    const auto bare = launches ? std::optional(0U) : wrapper_words(words[at]);
    if (!bare) return found;
    const auto next = behind(words, at, *bare, probe);
    if (launches)
      found.launch = Launch{.name = std::string(base_name(words[at])), .at = at, .starts = next.value_or(words.size())};
    if (!next) return found;
    found.program = *next;
  }
}

// Behind an interpreter: the first word that is no option; with -c or -m none.
std::optional<std::size_t> script_of(std::span<const std::string> words, std::size_t at) {
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "-c" || word == "-m" || word == "-e" || (shell(words[at]) && is_option(word) && word.ends_with('c')))
      return std::nullopt;
    if (!is_option(word)) return i;
  }
  return std::nullopt;
}

}  // namespace

CommandIdentity identify(std::span<const std::string> words, const ProgramProbe& probe) {
  CommandIdentity identity;
  const Found found = find_program(words, probe);
  if (found.launch) {
    identity.launcher_at = found.launch->at;
    identity.launcher = found.launch->name;
  }
  std::size_t at = found.program;
  Digest digest;
  const bool interprets = shell(words[at]) || interpreter(words[at]);
  if (interprets) {
    if (const auto script = script_of(words, at)) at = *script;
  }
  identity.program = at;
  identity.program_name = made_valid(base_name(words[at]));
  digest.add(probe.canonical(words[at]));
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    // The text of a shell, or the module of an interpreter.
    const std::string_view option = words[i - 1];
    const bool text_of =
        interprets && i > at + 1 && is_option(option) && (option.ends_with('c') || option == "-m" || option == "-e");
    digest.add(text_of ? masked(words[i]) : kept(words[i]));
  }
  identity.fingerprint = fmt::format("{:016x}", digest.value());
  identity.application = fmt::format("{}-{}", identity.program_name.substr(0, kMaxName - 9), identity.fingerprint.substr(0, 8));
  return identity;
}

std::optional<Launch> launch_of(std::span<const std::string> words, std::size_t program) {
  const ProgramProbe only_that = {
      .is_program = [&](std::string_view word) { return program < words.size() && word == words[program]; },
      .canonical = {},
  };
  return find_program(words, only_that).launch;
}

namespace {

bool allowed(char c) {
  const char lower = text::to_lower(c);
  return (lower >= 'a' && lower <= 'z') || text::is_digit(c) || std::string_view("._-+@:").find(c) != std::string_view::npos;
}

}  // namespace

bool valid_application(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name.front() != '.' && name.front() != '-' &&
         std::ranges::all_of(name, allowed);
}

std::string made_valid(std::string_view name) {
  std::string out(name.substr(0, kMaxName));
  std::ranges::replace_if(out, [](char c) { return !allowed(c); }, '_');
  if (out.empty() || out.front() == '.' || out.front() == '-') out.insert(out.begin(), '_');
  out.resize(std::min(out.size(), kMaxName));
  return out;
}

}  // namespace iez::runs
