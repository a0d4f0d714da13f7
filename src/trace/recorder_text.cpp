#include "trace/recorder_text.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "input/excerpt.hpp"
#include "input/line_reader.hpp"
#include "trace/recorder_calls.hpp"
#include "trace/text_values.hpp"

namespace iez::trace {

namespace {

using Call = RecorderCall;

constexpr std::int64_t kCreate = 0100;   // O_CREAT of Linux
constexpr std::int64_t kAppend = 02000;  // O_APPEND

// What a call came to.
enum class Outcome : std::uint8_t { used, unknown_file, malformed };

// Where one open of a file stands; descriptors that dup() made share it. Offsets count from an unknown place once `known` is
// false.
struct Position {
  std::size_t file = 0;  // index in the files of the rank
  std::uint64_t at = 0;
  bool known = true;
  bool append = false;
  std::optional<std::uint64_t> write_end;  // of the write before
  std::optional<std::uint64_t> read_end;
};

class RankReader {
 public:
  RankReader(std::int32_t rank, const std::optional<std::int64_t>& start) : rank_(rank), start_(start) {}

  Outcome call(const RecorderLine& line) {
    line_ = &line;
    std::string_view arguments = line.arguments;
    switch (line.call) {
      case Call::open:
        return open(arguments);
      case Call::creat: {
        const auto mode = take_number(arguments);
        return mode ? opened(arguments, kCreate) : Outcome::malformed;
      }
      case Call::stream_open: {
        const auto mode = take_last_word(arguments);
        return mode ? opened(arguments, flags_of(*mode)) : Outcome::malformed;
      }
      case Call::stream_reuse:
        return reuse(arguments);
      case Call::close:
        return close(arguments);
      case Call::read:
      case Call::write: {
        const auto count = take_count(arguments);
        if (!count || !take_last_word(arguments)) return Outcome::malformed;
        return transfer(arguments, *count, std::nullopt, line.call == Call::write);
      }
      case Call::read_at:
      case Call::write_at: {
        const auto offset = take_count(arguments);
        const auto count = take_count(arguments);
        if (!offset || !count || !take_last_word(arguments)) return Outcome::malformed;
        return transfer(arguments, *count, offset, line.call == Call::write_at);
      }
      case Call::read_vector:
      case Call::write_vector: {
        const auto parts = take_count(arguments);
        const auto count = take_count(arguments);
        if (!parts || !count) return Outcome::malformed;
        return transfer(arguments, *count, std::nullopt, line.call == Call::write_vector);
      }
      case Call::stream_read:
      case Call::stream_write:
        return stream_transfer(arguments, line.call == Call::stream_write);
      case Call::print: {
        const auto count = take_count(arguments);
        if (!count || *count == 0) return Outcome::malformed;
        return transfer(arguments, *count - 1, std::nullopt, true);
      }
      case Call::seek:
        return seek(arguments);
      case Call::duplicate:
        return duplicate(arguments);
      case Call::rename:
        return rename(arguments);
      case Call::other:
        break;
    }
    return Outcome::used;
  }

  std::vector<TracedFile>& files() { return files_; }

 private:
  static std::optional<std::int64_t> take_number(std::string_view& arguments) {
    const auto word = take_last_word(arguments);
    return word ? parse_i64(*word) : std::nullopt;
  }

  // A number of bytes or an offset: Recorder prints them signed, and no file is larger.
  static std::optional<std::uint64_t> take_count(std::string_view& arguments) {
    const auto number = take_number(arguments);
    return number && *number >= 0 ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
  }

  static std::int64_t flags_of(std::string_view mode) {
    if (mode.starts_with('w')) return kCreate;
    return mode.starts_with('a') ? kCreate | kAppend : 0;
  }

  Outcome open(std::string_view arguments) {
    const auto last = take_number(arguments);
    if (!last) return Outcome::malformed;
    // With a mode, the flags are the word before it; without, that is the name or its end.
    std::string_view shorter = arguments;
    if (const auto flags = take_number(shorter); flags && !shorter.empty() && (*flags & kCreate) != 0) {
      return opened(shorter, *flags);
    }
    return opened(arguments, *last);
  }

  Outcome opened(std::string_view name, std::int64_t flags) {
    if (name.empty()) return Outcome::malformed;
    if (line_->result && *line_->result < 0) return Outcome::used;  // it failed
    if (!usable_path(name)) return Outcome::unknown_file;
    const std::size_t index = file_of(name);
    TracedFile& file = files_[index];
    ++file.opens;
    if ((flags & kCreate) != 0) ++file.creates;
    touch(file);
    const bool append = (flags & kAppend) != 0;
    auto position = std::make_shared<Position>(Position{.file = index, .known = !append, .append = append});
    if (line_->result) {
      descriptors_[*line_->result] = std::move(position);
    } else {
      names_[std::string(name)] = std::move(position);
    }
    return Outcome::used;
  }

  Outcome reuse(std::string_view arguments) {
    if (!take_last_word(arguments)) return Outcome::malformed;
    if (!line_->result) return find(arguments) ? Outcome::used : Outcome::unknown_file;
    const auto position = find(arguments);
    if (!position) return Outcome::unknown_file;
    if (*line_->result >= 0) descriptors_[*line_->result] = position;
    return Outcome::used;
  }

  // The position of a descriptor, a number or a name as the version has it; null if its open was not seen.
  std::shared_ptr<Position> find(std::string_view word) {
    if (!line_->result) {
      const auto found = names_.find(word);
      return found == names_.end() ? nullptr : found->second;
    }
    const auto number = parse_i64(word);
    const auto found = number ? descriptors_.find(*number) : descriptors_.end();
    return found == descriptors_.end() ? nullptr : found->second;
  }

  // A name whose open is not in the text: where it stands is not known. Null if it is no path.
  std::shared_ptr<Position> meet(std::string_view name) {
    if (!usable_path(name)) return nullptr;
    auto position = std::make_shared<Position>(Position{.file = file_of(name), .known = false});
    names_.emplace(name, position);
    return position;
  }

  Outcome close(std::string_view arguments) {
    const auto position = find(arguments);
    if (!position) return Outcome::unknown_file;
    touch(files_[position->file]);
    // A name may be open more than once: it stays, and only a new open starts it anew.
    if (const auto number = parse_i64(arguments); line_->result && number) descriptors_.erase(*number);
    return Outcome::used;
  }

  Outcome transfer(std::string_view descriptor, std::uint64_t count, std::optional<std::uint64_t> offset, bool write) {
    if (descriptor.empty()) return Outcome::malformed;
    auto position = find(descriptor);
    if (!position && !line_->result) position = meet(descriptor);
    if (!position) return Outcome::unknown_file;
    TracedFile& file = files_[position->file];
    const bool known = offset.has_value() || position->known;
    const std::uint64_t start = offset.value_or(position->at);
    const std::uint64_t end = saturating_add(start, count);
    auto& before = write ? position->write_end : position->read_end;
    // An offset from the start of the file cannot be compared with one from an unknown place.
    const bool comparable = !offset || position->known;
    const bool sequential = comparable && before == start;
    before = comparable ? std::optional(end) : std::nullopt;
    if (!offset) position->at = end;
    if (write) {
      file.written += {count};
      file.write_calls += 1;
      file.sequential_writes += sequential ? 1 : 0;
      file.largest_write = std::max(file.largest_write, {count});
      if (known && count > 0) file.end = std::max(file.end, {end});
    } else {
      file.read += {count};
      file.read_calls += 1;
      file.sequential_reads += sequential ? 1 : 0;
      file.largest_read = std::max(file.largest_read, {count});
    }
    touch(file);
    return Outcome::used;
  }

  Outcome stream_transfer(std::string_view arguments, bool write) {
    text::take_word(arguments);  // the buffer
    const auto size = parse_i64(text::take_word(arguments));
    const auto items = parse_i64(text::take_word(arguments));
    std::int64_t bytes = 0;
    if (!size || !items || *size < 0 || *items < 0 || __builtin_mul_overflow(*size, *items, &bytes)) return Outcome::malformed;
    return transfer(text::trim(arguments), static_cast<std::uint64_t>(bytes), std::nullopt, write);
  }

  Outcome seek(std::string_view arguments) {
    const auto whence = take_number(arguments);
    const auto offset = take_number(arguments);
    if (!whence || !offset || *whence < 0 || *whence > 2) return Outcome::malformed;
    const auto position = find(arguments);
    if (!position) return Outcome::unknown_file;
    std::int64_t target = 0;
    if (*whence == 0) {
      target = *offset;
    } else if (*whence == 1) {
      const auto at = static_cast<std::int64_t>(std::min<std::uint64_t>(position->at, std::numeric_limits<std::int64_t>::max()));
      target = add_times(at, *offset).value_or(-1);
    }
    if (*whence != 2 && target < 0 && position->known) return Outcome::used;  // it failed
    position->known = !position->append && (*whence == 0 || (*whence == 1 && position->known));
    position->at = target < 0 ? 0 : static_cast<std::uint64_t>(target);
    if (!position->known) {
      position->write_end.reset();
      position->read_end.reset();
    }
    return Outcome::used;
  }

  Outcome duplicate(std::string_view arguments) {
    if (!line_->result) return Outcome::used;  // names tell the file
    const auto position = find(text::take_word(arguments));
    if (!position) return Outcome::unknown_file;
    if (*line_->result >= 0) descriptors_[*line_->result] = position;
    return Outcome::used;
  }

  Outcome rename(std::string_view arguments) {
    // Both are absolute: the second one starts at the last word with a slash, if only one could be meant.
    const std::size_t split = arguments.find(" /");
    if (split == std::string_view::npos || arguments.find(" /", split + 1) != std::string_view::npos) return Outcome::malformed;
    const std::string_view from = arguments.substr(0, split);
    const std::string_view to = arguments.substr(split + 1);
    if (!usable_path(to)) return Outcome::malformed;
    const auto found = current_.find(from);
    if (found == current_.end()) return Outcome::unknown_file;
    if (from == to) return Outcome::used;
    const std::size_t index = found->second;
    files_[index].renamed = files_[index].name == to ? "" : std::string(to);
    touch(files_[index]);
    current_.erase(found);
    current_.insert_or_assign(std::string(to), index);
    // What is still open goes on under the new name.
    if (const auto open = names_.find(from); open != names_.end()) {
      names_.insert_or_assign(std::string(to), open->second);
      names_.erase(open);
    }
    return Outcome::used;
  }

  std::size_t file_of(std::string_view name) {
    const auto found = current_.find(name);
    if (found != current_.end()) return found->second;
    files_.push_back({.name = std::string(name)});
    current_.emplace(name, files_.size() - 1);
    return files_.size() - 1;
  }

  void touch(TracedFile& file) {
    if (file.write_calls + file.read_calls > 0) {
      file.rank = rank_;
      file.ranks = 1;
    }
    if (!start_) return;
    const auto first = add_times(*start_, line_->start);
    const auto last = add_times(*start_, line_->end);
    if (!first || !last) return;
    file.first_ns = std::min(file.first_ns.value_or(*first), *first);
    file.last_ns = std::max(file.last_ns.value_or(*last), *last);
  }

  std::int32_t rank_;
  const std::optional<std::int64_t>& start_;
  const RecorderLine* line_ = nullptr;  // that is being looked at
  std::vector<TracedFile> files_;
  std::map<std::string, std::size_t, std::less<>> current_;              // files by the name they have now
  std::map<std::int64_t, std::shared_ptr<Position>> descriptors_;        // where lines have numbers
  std::map<std::string, std::shared_ptr<Position>, std::less<>> names_;  // where they have names
};

}  // namespace

Result<void> RecorderCollector::add(input::ByteStream& stream, std::int32_t rank, std::string_view origin,
                                    input::ParseReport& report) {
  IEZ_ASSERT(rank >= 0);
  RankReader reader(rank, options_.start_ns);
  input::LineReader lines(stream);
  std::uint64_t seen = 0;
  std::uint64_t understood = 0;
  while (true) {
    IEZ_TRY(const auto line, lines.next());
    if (!line) break;
    if (line->text.empty()) continue;
    ++seen;
    const auto parsed = line->cut ? std::nullopt : parse_recorder_line(line->text);
    const auto skip = [&](std::string_view why) {
      report.skip(origin, line->number, fmt::format("{}: '{}'", why, text::printable(input::excerpt(line->text))));
    };
    if (!parsed) {
      skip("expected 'START END FUNCTION LEVEL LAYER ( ARGUMENTS )'");
      continue;
    }
    ++understood;
    if (parsed->call == Call::other) {
      ++trace_.other_calls;
      continue;
    }
    switch (reader.call(*parsed)) {
      case Outcome::used:
        ++trace_.calls;
        ++report.rows;
        break;
      case Outcome::unknown_file:
        ++trace_.unknown_files;
        break;
      case Outcome::malformed:
        skip("the arguments are not those of the function");
        break;
    }
  }
  if (seen > 0 && understood == 0) {
    return fail(Errc::parse,
                fmt::format("{}: found no call of Recorder, expected what 'recorder2text FOLDER' puts into FOLDER/_text",
                            text::printable(origin)));
  }
  ++trace_.run.processes;
  highest_rank_ = std::max(highest_rank_, rank);
  merge(reader.files());
  return {};
}

void RecorderCollector::merge(std::span<const TracedFile> files) {
  // A rank may make several files of one name, one after another; it is one process all the same.
  std::map<std::string_view, std::map<std::string_view, TracedFile>> own;
  for (const TracedFile& file : files) {
    const auto [slot, fresh] = own[file.name].try_emplace(file.renamed, file);
    if (fresh) continue;
    absorb(slot->second, file);
    slot->second.ranks = std::min(slot->second.ranks, 1U);
  }
  for (const auto& [name, by_last] : own) {
    SameName& same = files_[std::string(name)];
    same.reused = same.reused || by_last.size() > 1;
    for (const auto& [renamed, file] : by_last) {
      const auto [slot, fresh] = same.by_last.try_emplace(std::string(renamed), file);
      if (!fresh) absorb(slot->second, file);
    }
  }
}

void RecorderCollector::SameName::spread_rename() {
  const auto plain = by_last.find("");
  if (reused || plain == by_last.end() || by_last.size() != 2) return;
  absorb(by_last.rbegin()->second, plain->second);
  by_last.erase(plain);
}

RecorderTrace RecorderCollector::finish() {
  trace_.run.communicator = static_cast<std::uint32_t>(highest_rank_) + 1;
  std::optional<std::int64_t> last;
  for (auto& [name, same] : files_) {
    same.spread_rename();
    for (auto& [renamed, file] : same.by_last) {
      file.communicator = trace_.run.communicator;
      if (file.last_ns) last = std::max(last.value_or(*file.last_ns), *file.last_ns);
      trace_.files.push_back(std::move(file));
    }
  }
  if (options_.start_ns) {
    trace_.run.start_ns = *options_.start_ns;
    trace_.run.end_ns = last.value_or(*options_.start_ns);
  }
  files_.clear();
  highest_rank_ = kNoRank;
  return std::exchange(trace_, {});
}

std::optional<std::int32_t> recorder_rank(std::string_view file_name) {
  constexpr std::string_view kSuffix = ".txt";
  if (!file_name.ends_with(kSuffix)) return std::nullopt;
  const auto rank = text::parse_u64(file_name.substr(0, file_name.size() - kSuffix.size()));
  if (!rank || *rank > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max() - 1)) return std::nullopt;
  return static_cast<std::int32_t>(*rank);
}

}  // namespace iez::trace
