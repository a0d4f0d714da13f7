#include "lustre/get_param_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/line_reader.hpp"

namespace iez::lustre {

namespace {

// "name=" at the start of a line: a word of parameter characters without a space. Rows of values never look like that.
std::optional<std::string_view> section_name(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  const std::string_view name = line.substr(0, equals);
  if (name.front() < 'a' || name.front() > 'z') return std::nullopt;
  if (std::any_of(name.begin(), name.end(), text::is_space)) return std::nullopt;
  return name;
}

class GetParamSource final : public ParamSource {
 public:
  GetParamSource(input::UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Result<void> index() {
    const auto stream = input::section_stream(fd_.get(), 0, kWholeFile, name_);
    input::LineReader lines(*stream);
    std::vector<std::size_t> open;  // the instances of the section being read
    bool any_section = false;
    while (true) {
      const std::uint64_t line_start = lines.bytes();
      IEZ_TRY(const auto line, lines.next());
      if (!line || section_name(line->text)) {
        for (const std::size_t i : open) instances_[i].length = line_start - instances_[i].offset;
        open.clear();
      }
      if (!line) break;
      const auto name = section_name(line->text);
      if (!name) continue;
      any_section = true;
      open = add(*name, line->number, value_offset(line_start, *name, line->text));
    }
    if (!any_section) {
      return fail(Errc::parse,
                  fmt::format("{}: no 'name=value' line; expected the text of 'lctl get_param', or a directory", name_));
    }
    ranks_.clear();
    std::sort(instances_.begin(), instances_.end(), [](const Instance& a, const Instance& b) { return key(a) < key(b); });
    return {};
  }

  Result<std::vector<Instance>> find(Param param) const override {
    std::vector<Instance> found;
    for (const Instance& instance : instances_) {
      if (instance.param == param) found.push_back(instance);
    }
    return found;
  }

  Result<std::unique_ptr<input::ByteStream>> open(const Instance& instance) const override {
    return input::section_stream(fd_.get(), instance.offset, instance.length, instance.origin);
  }

  Result<void> write(const Instance& instance, std::string_view /*value*/) override {
    return fail(Errc::unsupported, fmt::format("{}: a get_param dump cannot be written to", instance.origin));
  }

  std::string name() const override { return name_ == "-" ? "stdin" : std::filesystem::path(name_).filename().string(); }
  bool still() const override { return true; }

 private:
  static constexpr std::uint64_t kWholeFile = std::uint64_t{1} << 62U;

  using Key = std::tuple<Param, const std::string&, const std::string&>;
  static Key key(const Instance& instance) { return {instance.param, instance.device, instance.client}; }

  // A value on the line of its name starts there; a longer one starts on the next line, so that its lines count from 1.
  static std::uint64_t value_offset(std::uint64_t line_start, std::string_view name, std::string_view line) {
    const bool on_the_next_line = line.size() == name.size() + 1;
    return line_start + name.size() + 1 + (on_the_next_line ? 1 : 0);
  }

  // Adds the section under every parameter whose row names it; osc on an MDS serves two rows.
  std::vector<std::size_t> add(std::string_view name, std::uint64_t line, std::uint64_t offset) {
    std::vector<std::size_t> added;
    for (const ParamRow& candidate : param_table()) {
      for (std::size_t rank = 0; rank < candidate.names.size(); ++rank) {
        auto match = match_name(candidate.names[rank], name);
        if (!match || !wanted(candidate.kind, match->device)) continue;
        Instance instance{.param = candidate.param,
                          .device = std::move(match->device),
                          .client = std::move(match->client),
                          .origin = fmt::format("{}:{} {}", name_, line, name),
                          .offset = offset};
        if (const auto place = claim(instance, rank)) added.push_back(*place);
      }
    }
    return added;
  }

  // The earlier name of a row beats a later one, and the first section of a name the others.
  std::optional<std::size_t> claim(const Instance& instance, std::size_t rank) {
    const auto [known, fresh] = ranks_.try_emplace({instance.param, instance.device, instance.client}, rank, instances_.size());
    if (fresh) {
      instances_.push_back(instance);
      return instances_.size() - 1;
    }
    auto& [known_rank, place] = known->second;
    if (rank >= known_rank) return std::nullopt;
    known_rank = rank;
    instances_[place] = instance;
    return place;
  }

  input::UniqueFd fd_;
  std::string name_;
  std::vector<Instance> instances_;
  std::map<std::tuple<Param, std::string, std::string>, std::pair<std::size_t, std::size_t>> ranks_;
};

Result<input::UniqueFd> temporary_file() {
  const char* const configured = std::getenv("TMPDIR");
  const std::string directory = configured != nullptr && *configured != '\0' ? configured : "/tmp";
  input::UniqueFd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd) return fd;
  std::string path = directory + "/iez-XXXXXX";
  fd = input::UniqueFd(::mkostemp(path.data(), O_CLOEXEC));
  if (!fd) return fail_errno(errno, fmt::format("temporary file in {}", directory));
  ::unlink(path.c_str());
  return fd;
}

// A pipe cannot be read at an offset.
Result<input::UniqueFd> spooled(input::UniqueFd from, const std::string& name) {
  IEZ_TRY(input::UniqueFd to, temporary_file());
  const auto stream = input::file_stream(std::move(from), name);
  std::array<char, 64 * 1024> buffer{};
  while (true) {
    IEZ_TRY(const std::size_t got, stream->read(buffer));
    if (got == 0) return to;
    for (std::size_t done = 0; done < got;) {
      const ssize_t written = ::write(to.get(), buffer.data() + done, got - done);
      if (written < 0 && errno != EINTR) return fail_errno(errno, "copying " + name + " to a temporary file");
      if (written > 0) done += static_cast<std::size_t>(written);
    }
  }
}

}  // namespace

Result<std::unique_ptr<ParamSource>> index_get_param(input::UniqueFd fd, const std::string& name) {
  auto source = std::make_unique<GetParamSource>(std::move(fd), name);
  IEZ_CHECK(source->index());
  return source;
}

Result<std::unique_ptr<ParamSource>> open_get_param(const std::string& path) {
  input::UniqueFd fd(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, path);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) {
    return fail(Errc::unsupported, path + ": neither a directory nor a file nor a pipe");
  }
  if (!S_ISREG(status.st_mode)) {
    IEZ_TRY(fd, spooled(std::move(fd), path));
  }
  return index_get_param(std::move(fd), path);
}

}  // namespace iez::lustre
