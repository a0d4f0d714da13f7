#include "workload/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "workload/meeting.hpp"

namespace iez::workload {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What one process tells of a phase, in the order in which it is gathered.
struct Measured {
  double open_s = 0;
  double transfer_s = 0;
  double close_s = 0;
  double end_s = 0;
  double bytes = 0;  // below 2^53
  double wrong = 0;

  static constexpr std::size_t kValues = 6;
  [[nodiscard]] std::array<double, kValues> values() const { return {open_s, transfer_s, close_s, end_s, bytes, wrong}; }
};

class Process {
 public:
  Process(const Options& options, Ranks& ranks, FileOpener& opener, Talk talk)
      : options_(options),
        pattern_(options.pattern),
        ranks_(ranks),
        opener_(opener),
        talk_(talk),
        meeting_(options.meet, options.parties) {}

  Result<std::vector<Phase>> run() {
    std::vector<Phase> phases;
    const auto add = [this, &phases](std::uint32_t repetition, bool write) -> Result<void> {
      repetition_ = repetition;
      IEZ_TRY(const Measured measured, has_arrays(pattern_) ? phase_of_arrays(write) : phase(write));
      IEZ_TRY(const std::vector<double> all, ranks_.gather(measured.values()));
      if (ranks_.rank() == 0) phases.push_back(summed(all, repetition, write));
      return {};
    };
    for (std::uint32_t repetition = 0; repetition < options_.repetitions; ++repetition) {
      if (options_.write) {
        if (!options_.in_place) IEZ_CHECK(remove_files(repetition, false));
        IEZ_CHECK(add(repetition, true));
      }
      if (options_.read) IEZ_CHECK(add(repetition, false));
    }
    IEZ_CHECK(ranks_.barrier());
    if (options_.write && !options_.keep) {
      for (std::uint32_t i = 0; i < (options_.multiple ? options_.repetitions : 1); ++i) IEZ_CHECK(remove_files(i, true));
    }
    return phases;
  }

 private:
  // Every file of a repetition by the first of its processes.
  Result<void> remove_files(std::uint32_t repetition, bool must_exist) {
    const auto remove = [this, repetition, must_exist](std::uint32_t file) -> Result<void> {
      const std::string name = file_name(options_, file, repetition);
      if (::unlink(name.c_str()) != 0 && (must_exist || errno != ENOENT)) return fail_errno(errno, text::printable(name));
      return {};
    };
    if (pattern_.file_per_process) {
      IEZ_CHECK(remove(ranks_.rank()));
    } else if (ranks_.rank() == 0) {
      for (std::uint32_t file = 0; file < file_count(pattern_); ++file) IEZ_CHECK(remove(file));
    }
    return ranks_.barrier();
  }

  Result<std::unique_ptr<File>> open(std::uint32_t file, bool write) {
    Opening opening{.name = file_name(options_, file, repetition_),
                    .write = write,
                    .shared = !pattern_.file_per_process,
                    .create = true,
                    .size = file_size(pattern_, file).count,
                    .drop_cache = options_.drop_cache};
    if (has_arrays(pattern_)) opening.arrays = arrays_of(pattern_);
    if (write && pattern_.kind == Kind::hacc && pattern_.interface == Interface::posix) {
      if (pattern_.file_per_process || ranks_.rank() == 0) {
        IEZ_TRY(const auto created, opener_.open(opening));
        IEZ_CHECK(created->close());
      }
      if (!pattern_.file_per_process) IEZ_CHECK(ranks_.barrier());
      opening.create = false;
    }
    return opener_.open(opening);
  }

  Result<Measured> phase(bool write) {
    const std::uint32_t whose = write ? ranks_.rank() : read_of(pattern_, ranks_.rank());
    const std::uint32_t number = file_of(pattern_, whose);
    std::vector<Access> pieces = accesses(pattern_, whose);
    std::uint64_t longest = 0;
    Measured measured;
    for (const Access& piece : pieces) {
      longest = std::max(longest, piece.length);
      measured.bytes += static_cast<double>(piece.length);
    }
    if (options_.collective && !pattern_.file_per_process) IEZ_CHECK(pad(pieces));
    buffer_.resize(longest);
    IEZ_CHECK(meet());
    const auto start = Clock::now();
    IEZ_TRY(const auto file, open(number, write));
    measured.open_s = seconds_since(start);
    const auto transfers = Clock::now();
    for (const Access& piece : pieces) {
      const std::span data = std::span(buffer_).first(piece.length);
      if (write) {
        fill(data, pattern_.seed, number, piece.offset);
        IEZ_CHECK(file->write(piece.offset, data));
      } else {
        IEZ_CHECK(file->read(piece.offset, data));
        if (options_.verify) compare(data, number, piece.offset, measured);
      }
    }
    if (write && options_.sync) IEZ_CHECK(file->sync());
    measured.transfer_s = seconds_since(transfers);
    const auto closing = Clock::now();
    IEZ_CHECK(file->close());
    measured.close_s = seconds_since(closing);
    measured.end_s = seconds_since(start);
    return measured;
  }

  // All processes, and other workloads.
  Result<void> meet() {
    IEZ_CHECK(ranks_.barrier());
    if (options_.meet.empty()) return {};
    if (ranks_.rank() == 0) IEZ_CHECK(meeting_.meet());
    return ranks_.barrier();
  }

  // File after file.
  Result<Measured> phase_of_arrays(bool write) {
    const std::uint32_t whose = write ? ranks_.rank() : read_of(pattern_, ranks_.rank());
    const std::vector<ArrayPart> parts = array_parts(pattern_, whose);
    Measured measured;
    std::vector<std::vector<std::byte>> buffers;
    for (const ArrayPart& part : parts) {
      if (buffers.size() <= part.buffer) buffers.resize(part.buffer + 1);
      buffers[part.buffer].resize(part.memory.all() * part.element);
    }
    for (std::uint32_t number = 0; number < file_count(pattern_); ++number) {
      if (write) {
        for (const ArrayPart& part : parts) fill_part(part, number, buffers[part.buffer]);
      }
      IEZ_CHECK(number == 0 ? meet() : ranks_.barrier());
      const auto start = Clock::now();
      IEZ_TRY(const auto file, open(number, write));
      measured.open_s += seconds_since(start);
      const auto transfers = Clock::now();
      for (const ArrayPart& part : parts) {
        measured.bytes += static_cast<double>(part.bytes());
        IEZ_CHECK(write ? file->write_array(part, buffers[part.buffer]) : file->read_array(part, buffers[part.buffer]));
      }
      if (write && options_.sync) IEZ_CHECK(file->sync());
      measured.transfer_s += seconds_since(transfers);
      const auto closing = Clock::now();
      IEZ_CHECK(file->close());
      measured.close_s += seconds_since(closing);
      measured.end_s += seconds_since(start);
      if (write || !options_.verify) continue;
      for (const ArrayPart& part : parts) compare_part(part, number, buffers[part.buffer], measured);
    }
    return measured;
  }

  void fill_part(const ArrayPart& part, std::uint32_t file, std::span<std::byte> memory) const {
    each_run(part, [this, file, memory](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes) {
      fill(memory.subspan(at, bytes), pattern_.seed, file, offset);
    });
  }

  void compare_part(const ArrayPart& part, std::uint32_t file, std::span<const std::byte> memory, Measured& measured) const {
    each_run(part, [this, file, memory, &measured](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes) {
      compare(memory.subspan(at, bytes), file, offset, measured);
    });
  }

  // Collective calls need all processes each time: who has fewer pieces makes empty ones.
  Result<void> pad(std::vector<Access>& pieces) const {
    std::size_t most = 0;
    for (std::uint32_t rank = 0; rank < pattern_.ranks; ++rank) most = std::max(most, accesses(pattern_, rank).size());
    pieces.resize(most);
    return {};
  }

  void compare(std::span<const std::byte> data, std::uint32_t file, std::uint64_t offset, Measured& measured) const {
    const Differences found = differences(data, pattern_.seed, file, offset);
    if (found.count == 0) return;
    if (measured.wrong == 0) {
      talk_(fmt::format("{}: byte {} is 0x{:02x}, expected 0x{:02x}", text::printable(file_name(options_, file, repetition_)),
                        offset + found.first, std::to_integer<unsigned>(data[found.first]),
                        std::to_integer<unsigned>(found.expected)));
    }
    measured.wrong += static_cast<double>(found.count);
  }

  static Phase summed(std::span<const double> all, std::uint32_t repetition, bool write) {
    Phase phase{.write = write, .repetition = repetition};
    double bytes = 0;
    double wrong = 0;
    for (std::size_t at = 0; at + Measured::kValues <= all.size(); at += Measured::kValues) {
      phase.open_s = std::max(phase.open_s, all[at]);
      phase.transfer_s = std::max(phase.transfer_s, all[at + 1]);
      phase.close_s = std::max(phase.close_s, all[at + 2]);
      phase.total_s = std::max(phase.total_s, all[at + 3]);
      bytes += all[at + 4];
      wrong += all[at + 5];
    }
    phase.bytes = static_cast<std::uint64_t>(bytes);
    phase.wrong_bytes = static_cast<std::uint64_t>(wrong);
    return phase;
  }

  const Options& options_;
  const Pattern& pattern_;
  Ranks& ranks_;
  FileOpener& opener_;
  Talk talk_;
  Meeting meeting_;
  std::uint32_t repetition_ = 0;  // under way
  std::vector<std::byte> buffer_;
};

// Calls take(offset, data) for each run of bytes of the file, through a buffer.
template <typename Take>
Result<void> in_runs(const ArrayPart& part, const Take& take) {
  BoxRuns runs(part.file);
  std::uint64_t at = 0;
  std::uint64_t length = 0;
  std::vector<std::byte> buffer;
  while (runs.next(at, length)) {
    buffer.resize(length * part.element);
    IEZ_CHECK(take(part.offset + (at * part.element), std::span(buffer)));
  }
  return {};
}

}  // namespace

Result<void> File::write_array(const ArrayPart& part, std::span<const std::byte> memory) {
  std::vector<std::byte> packed;
  packed.reserve(part.bytes());
  each_run(part, [&packed, memory](std::uint64_t, std::uint64_t at, std::uint64_t bytes) {
    const auto piece = memory.subspan(at, bytes);
    packed.insert(packed.end(), piece.begin(), piece.end());
  });
  std::size_t done = 0;
  return in_runs(part, [this, &packed, &done](std::uint64_t offset, std::span<std::byte> data) -> Result<void> {
    done += data.size();
    return write(offset, std::span(packed).subspan(done - data.size(), data.size()));
  });
}

Result<void> File::read_array(const ArrayPart& part, std::span<std::byte> memory) {
  std::vector<std::byte> packed;
  packed.reserve(part.bytes());
  const auto take = [this, &packed](std::uint64_t offset, std::span<std::byte> data) -> Result<void> {
    IEZ_CHECK(read(offset, data));
    packed.insert(packed.end(), data.begin(), data.end());
    return {};
  };
  IEZ_CHECK(in_runs(part, take));
  std::size_t done = 0;
  each_run(part, [&packed, &done, memory](std::uint64_t, std::uint64_t at, std::uint64_t bytes) {
    std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(done), bytes, memory.begin() + static_cast<std::ptrdiff_t>(at));
    done += bytes;
  });
  return {};
}

Result<std::vector<Phase>> run_rank(const Options& options, Ranks& ranks, FileOpener& opener, Talk talk) {
  return Process(options, ranks, opener, talk).run();
}

}  // namespace iez::workload
