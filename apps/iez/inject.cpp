#include "inject.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/byte_stream.hpp"
#include "json.hpp"
#include "preload_library.hpp"
#include "program/elf.hpp"
#include "program/sight.hpp"

namespace iez::cli {

namespace {

constexpr unsigned kMaxScripts = 5;  // interpreters of interpreters, as the kernel follows them

// A program file in memory, as it was when it was opened.
class Mapped {
 public:
  static Result<Mapped> open(const std::string& path) {
    const input::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) return fail_errno(errno, path);
    Mapped mapped;
    if (::fstat(fd.get(), &mapped.status_) != 0) return fail_errno(errno, path);
    if (!S_ISREG(mapped.status_.st_mode)) return fail(Errc::parse, fmt::format("{}: no regular file", path));
    mapped.capabilities_ = ::fgetxattr(fd.get(), "security.capability", nullptr, 0) > 0;
    mapped.size_ = static_cast<std::size_t>(mapped.status_.st_size);
    if (mapped.size_ == 0) return mapped;
    void* const address = ::mmap(nullptr, mapped.size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (address == MAP_FAILED) return fail_errno(errno, path);
    mapped.address_ = address;
    return mapped;
  }

  ~Mapped() {
    if (address_ != nullptr) ::munmap(address_, size_);
  }
  Mapped(Mapped&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)),
        size_(other.size_),
        status_(other.status_),
        capabilities_(other.capabilities_) {}
  Mapped& operator=(Mapped&&) = delete;
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }
  [[nodiscard]] bool executable() const { return (status_.st_mode & 0111U) != 0; }
  [[nodiscard]] program::FileTraits traits() const {
    return {.set_user = (status_.st_mode & S_ISUID) != 0 && status_.st_uid != ::getuid(),
            .set_group = (status_.st_mode & S_ISGID) != 0 && status_.st_gid != ::getgid(),
            .capabilities = capabilities_ && ::getuid() != 0};
  }

 private:
  Mapped() = default;

  void* address_ = nullptr;
  std::size_t size_ = 0;
  struct stat status_{};
  bool capabilities_ = false;
};

Result<std::string> find_program(const std::string& name) {
  if (name.empty()) return fail(Errc::invalid_argument, "PROGRAM is empty: expected a path, or a name to look for in PATH");
  if (name.find('/') != std::string::npos) return name;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables here
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return fail(Errc::not_found, fmt::format("no program {} in PATH; give its path", name));
}

struct Judged {
  std::string program;  // that is loaded: an interpreter, for a script
  std::vector<std::string> scripts;
  program::Report report;
};

Result<Judged> judge_file(const std::string& given) {
  Judged judged;
  IEZ_TRY(judged.program, find_program(given));
  for (unsigned depth = 0;; ++depth) {
    IEZ_TRY(const Mapped file, Mapped::open(judged.program));
    if (!file.executable()) {
      return fail(Errc::parse, fmt::format("{}: not executable; expected a program or a script (chmod +x?)", judged.program));
    }
    if (program::is_elf(file.bytes())) {
      auto elf = program::parse_elf(file.bytes());
      if (!elf && elf.error().code == Errc::unsupported) {
        judged.report.sight = program::Sight::none;
        judged.report.findings.push_back({.sight = program::Sight::none,
                                          .what = "another kind of program",
                                          .why = fmt::format("It is {}, as libiez.so is.", elf.error().message),
                                          .remedy = {}});
        return judged;
      }
      if (!elf) return with_context(std::move(elf).error(), judged.program);
      judged.report = program::judge(*elf, file.traits());
      return judged;
    }
    const program::Interpreter interpreter = program::parse_script_line(file.bytes());
    if (interpreter.path.empty()) {
      return fail(Errc::parse, fmt::format("{}: neither an ELF program nor a script with #!", judged.program));
    }
    if (depth == kMaxScripts) return fail(Errc::parse, fmt::format("{}: more than {} scripts in a row", given, kMaxScripts));
    judged.scripts.push_back(judged.program);
    judged.program = interpreter.path;
    // env runs what it is given, behind its own options and settings of variables.
    if (interpreter.path.ends_with("/env")) {
      std::string_view rest = interpreter.argument;
      while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        if (word.empty() || word.starts_with('-') || word.find('=') != std::string_view::npos) continue;
        IEZ_TRY(judged.program, find_program(std::string(word)));
        break;
      }
    }
  }
}

std::string preload_of(const Judged& judged, std::string& missing) {
  std::string preload;
  const auto add = [&](Result<std::string> found) {
    if (!found) {
      missing = found.error().message;
      return;
    }
    preload += preload.empty() ? "" : ":";
    preload += *found;
  };
  add(find_preload_library());
  if (!judged.report.mpi.empty()) add(find_mpi_library(judged.report.mpi));
  return preload;
}

std::string_view verdict_of(program::Sight sight) {
  switch (sight) {
    case program::Sight::all:
      return "libiez.so sees all of its files";
    case program::Sight::part:
      return "libiez.so sees its files; some of their bytes may pass it by and are counted at close";
    case program::Sight::none:
      return "libiez.so sees nothing of it";
  }
  return "";
}

std::string to_text(const Judged& judged, const std::string& preload, const std::string& missing) {
  std::string out = fmt::format("{}: {}\n", text::printable(judged.program), verdict_of(judged.report.sight));
  for (const std::string& script : judged.scripts) out += fmt::format("  script {}\n", text::printable(script));
  if (!judged.report.mpi.empty()) out += fmt::format("  MPI: {}, its files are opened together\n", judged.report.mpi);
  if (judged.report.hdf5) out += "  HDF5: its files are seen as it opens them\n";
  for (const program::Finding& finding : judged.report.findings) {
    out += fmt::format("  {}: {}{}{}\n", finding.what, finding.why, finding.remedy.empty() ? "" : " ", finding.remedy);
  }
  if (!judged.report.mpi.empty() || judged.report.sight != program::Sight::none) {
    if (!preload.empty()) out += fmt::format("\n  LD_PRELOAD={}\n", preload);
    if (!missing.empty()) out += fmt::format("\n  {}\n", missing);
  }
  if (!judged.scripts.empty()) out += "\nWhat a script starts is judged by itself: give its name, too.\n";
  return out;
}

ordered_json to_json(const Judged& judged, const std::string& given, const std::string& preload) {
  ordered_json json;
  json["given"] = given;
  json["program"] = judged.program;
  json["scripts"] = judged.scripts;
  json["seen"] = program::to_string(judged.report.sight);
  json["mpi"] = judged.report.mpi.empty() ? ordered_json(nullptr) : ordered_json(judged.report.mpi);
  json["hdf5"] = judged.report.hdf5;
  json["ld_preload"] = preload.empty() ? ordered_json(nullptr) : ordered_json(preload);
  json["findings"] = ordered_json::array();
  for (const program::Finding& finding : judged.report.findings) {
    ordered_json row;
    row["seen"] = program::to_string(finding.sight);
    row["what"] = finding.what;
    row["why"] = finding.why;
    row["remedy"] = finding.remedy.empty() ? ordered_json(nullptr) : ordered_json(finding.remedy);
    json["findings"].push_back(std::move(row));
  }
  return json;
}

}  // namespace

std::string why_unseen(const std::string& program) {
  const auto judged = judge_file(program);
  if (!judged || judged->report.sight != program::Sight::none) return "";
  const auto first = std::ranges::find(judged->report.findings, program::Sight::none, &program::Finding::sight);
  return first == judged->report.findings.end() ? "" : first->what;
}

Result<void> run_inject(const InjectOptions& options, Context& /*context*/) {
  IEZ_TRY(const Judged judged, judge_file(options.program));
  std::string missing;
  const std::string preload = preload_of(judged, missing);
  if (options.json) return print(to_line(to_json(judged, options.program, preload)));
  return print(to_text(judged, preload, missing));
}

}  // namespace iez::cli
