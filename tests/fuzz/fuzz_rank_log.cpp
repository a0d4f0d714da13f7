// Any bytes as the index of a log: refused or read, counted without a rest, and what is sound of it gives the same file whichever
// way it is read: record by record, through a view, flattened at once, and in parts with little memory.
//
// The first byte says which checksums are made right, or few inputs would get beyond them.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "rank_log/index_cursor.hpp"
#include "rank_log/log_files.hpp"
#include "rank_log/log_flatten.hpp"
#include "rank_log/log_report.hpp"
#include "rank_log/log_view.hpp"
#include "rank_log/pattern.hpp"

namespace {

using namespace iez::rank_log;  // NOLINT(google-build-using-namespace): a program of one file

constexpr std::uint64_t kDataSize = std::uint64_t{64} << 10U;
constexpr std::uint64_t kLargest = std::uint64_t{128} << 10U;  // files, and sums of writes, that are compared byte by byte

unsigned char data_byte(std::uint64_t at) { return static_cast<unsigned char>(1 + at % 251); }

// One folder for all inputs, gone with the program.
class Stage {
 public:
  Stage() {
    std::string pattern = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/iez-fuzz-XXXXXX" : "/tmp/iez-fuzz-XXXXXX";
    IEZ_ASSERT(::mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
    IEZ_ASSERT(open_folder(root_.c_str(), folder_) == 0);
    std::vector<unsigned char> data(kDataSize);
    for (std::uint64_t i = 0; i < kDataSize; ++i) data[i] = data_byte(i);
    write("0.data", data);
  }
  ~Stage() { std::filesystem::remove_all(root_); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  int folder() const { return folder_.get(); }

  void write(const char* name, const std::vector<unsigned char>& bytes) const {
    const Descriptor fd(::openat(folder_.get(), name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    std::size_t done = 0;
    IEZ_ASSERT(fd && write_at(fd.get(), bytes.data(), bytes.size(), 0, done) == 0);
  }

  // An empty file of its own.
  int file() const {
    const int fd = ::openat(folder_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    IEZ_ASSERT(fd >= 0);
    return fd;
  }

 private:
  std::string root_;
  Descriptor folder_;
};

std::vector<unsigned char> index_of(const std::uint8_t* data, std::size_t size) {
  std::vector<unsigned char> bytes(data + 1, data + size);
  if ((data[0] & 1U) != 0 && bytes.size() >= sizeof(Header)) {
    Header header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    header.rank = 0;
    header.checksum = header_checksum(header);
    std::memcpy(bytes.data(), &header, sizeof(header));
  }
  if ((data[0] & 2U) != 0) {
    for (std::size_t at = sizeof(Header), number = 0; at + sizeof(Record) <= bytes.size(); at += sizeof(Record), ++number) {
      Record record{};
      std::memcpy(&record, bytes.data() + at, sizeof(record));
      record.checksum = record_checksum(record, 0, number);
      std::memcpy(bytes.data() + at, &record, sizeof(record));
    }
  }
  return bytes;
}

std::vector<unsigned char> flattened(const Stage& stage, const LogSurvey& survey, std::uint32_t parts,
                                     const FlattenOptions& options) {
  const Descriptor file(stage.file());
  IEZ_ASSERT(!prepare_file(survey, file.get(), options));
  for (std::uint32_t part = 0; part < parts; ++part) {
    FlattenedPart done;
    const Problem problem = flatten_part(stage.folder(), survey, file.get(), part, parts, options, done);
    IEZ_ASSERT(!problem || problem.error == ENOMEM);
    if (problem) return {};
  }
  std::vector<unsigned char> bytes(survey.final_size + 1);
  std::size_t got = 0;
  IEZ_ASSERT(read_at(file.get(), bytes.data(), bytes.size(), 0, got) == 0);
  IEZ_ASSERT(got == survey.final_size);
  bytes.resize(got);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Stage stage;
  if (size == 0) return 0;
  const auto bytes = index_of(data, size);
  stage.write("0.index", bytes);

  IndexCursor cursor;
  IEZ_ASSERT(!cursor.open(stage.folder(), 0));
  std::vector<unsigned char> expected;
  std::uint64_t sequence = 0;
  std::uint64_t written = 0;
  bool small = true;
  for (;;) {
    Record record{};
    std::uint64_t number = 0;
    bool more = false;
    IEZ_ASSERT(!cursor.next(record, number, more));
    if (!more) break;
    IEZ_ASSERT(sizeof(Header) + (number + 1) * sizeof(Record) <= bytes.size());
    IEZ_ASSERT(record.sequence >= sequence);
    sequence = record.sequence;
    const Pattern pattern = pattern_of(record);
    const bool is_size = record.kind == kKindSize;
    IEZ_ASSERT(is_size || (is_sound(pattern) && record.log_offset + bytes_of(pattern) <= kDataSize));
    written += is_size ? 0 : bytes_of(pattern);
    small = small && (is_size ? record.offset : end_of(pattern)) <= kLargest && written <= kLargest;
    if (!small) continue;
    if (is_size) {
      expected.resize(record.offset);
      continue;
    }
    expected.resize(std::max<std::size_t>(expected.size(), end_of(pattern)));
    for (std::uint64_t i = 0, at = record.log_offset; i < pattern.count; ++i) {
      for (std::uint64_t j = 0; j < pattern.block; ++j) expected[pattern.offset + i * pattern.stride + j] = data_byte(at++);
    }
  }
  const RankCounts& counts = cursor.counts();
  IEZ_ASSERT(counts.writes + counts.sizes + counts.torn + counts.damaged == counts.slots);
  IEZ_ASSERT(damage_of(counts).empty() == counts.sound());
  IEZ_ASSERT(damage_of(counts).size() < 500);

  LogView view(stage.folder(), -1);
  const Problem opened = view.open();
  IEZ_ASSERT(!opened);
  const LogSurvey& survey = view.survey();
  IEZ_ASSERT(survey.writes == counts.writes && survey.bytes == counts.bytes);
  if (!small) return 0;
  IEZ_ASSERT(survey.final_size == expected.size() && view.size() == expected.size());
  std::vector<unsigned char> seen(expected.size() + 7);
  std::size_t done = 0;
  IEZ_ASSERT(!view.read(0, seen.data(), seen.size(), done));
  seen.resize(done);
  IEZ_ASSERT(seen == expected);
  IEZ_ASSERT(flattened(stage, survey, 1, {.window = std::size_t{64} << 10U, .skip_damaged = true}) == expected);
  const auto in_parts = flattened(stage, survey, 3, {.window = 4096, .memory = 2000, .alignment = 777, .skip_damaged = true});
  IEZ_ASSERT(in_parts.empty() || in_parts == expected);
  return 0;
}
