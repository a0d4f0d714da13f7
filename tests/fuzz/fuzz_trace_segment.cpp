// Any bytes as a trace segment: foreign or read, with rows and times in their bounds, which a table of files gives back as they
// were. The checksum of the header is made right, or few inputs would get beyond it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/file_table.hpp"
#include "trace/segment_format.hpp"
#include "trace/segment_reader.hpp"

namespace {

namespace abi = iez::trace::abi;
using iez::input::ParseReport;
using iez::trace::SegmentReader;
using iez::trace::TracedCall;
using iez::trace::TracedFile;

void check_text(const std::string& text) {
  IEZ_ASSERT(text.size() <= abi::kMaxNameSize);
  IEZ_ASSERT(text.find('\0') == std::string::npos);
}

void check(const TracedFile& file) {
  IEZ_ASSERT(!file.name.empty());
  check_text(file.name);
  check_text(file.renamed);
  IEZ_ASSERT(file.rank >= iez::trace::kNoRank);
  IEZ_ASSERT(file.name != file.renamed);
  if (file.first_ns && file.last_ns) IEZ_ASSERT(*file.first_ns <= *file.last_ns);
  if (file.first_write_ns && file.last_write_ns) IEZ_ASSERT(*file.first_write_ns <= *file.last_write_ns);
  if (file.first_read_ns && file.last_read_ns) IEZ_ASSERT(*file.first_read_ns <= *file.last_read_ns);
}

void check(const TracedCall& call) {
  IEZ_ASSERT(call.operation >= iez::trace::CallOperation::read && call.operation <= iez::trace::CallOperation::truncate);
  IEZ_ASSERT(call.duration.count() >= 0);
}

// All rows in one table, then sorted: names rise, and each row came out as it went in.
void check_table(const std::vector<TracedFile>& files) {
  iez::trace::FileTable table;
  for (const TracedFile& file : files) table.add(counters_of(file), file.name, file.renamed, 1);
  std::string before;
  TracedFile row;
  for (const iez::trace::PackedRow* packed : table.sorted()) {
    unpack(*packed, row);
    IEZ_ASSERT(before < row.name);
    before = row.name;
    if (table.size() != files.size()) continue;
    bool found = false;
    for (const TracedFile& file : files) found = found || file == row;
    IEZ_ASSERT(found);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostRows = 64;  // kept for the table
  std::vector<std::uint8_t> bytes(data, data + size);
  if (size >= sizeof(abi::Header)) {
    abi::Header header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    header.checksum = abi::header_checksum(header);
    std::memcpy(bytes.data(), &header, sizeof(header));
  }
  auto reader = SegmentReader::from_memory(std::as_bytes(std::span(bytes)), "fuzz");
  if (!reader) {
    IEZ_ASSERT(reader.error().message.starts_with("fuzz: "));
    return 0;
  }
  std::vector<TracedFile> files;
  std::uint64_t rows = 0;
  std::uint64_t calls = 0;
  ParseReport report;
  const auto stats = reader->read({.file =
                                       [&](std::uint32_t slot, const TracedFile& file) {
                                         IEZ_ASSERT(sizeof(abi::Header) + (slot + std::uint64_t{1}) * sizeof(abi::Slot) <= size);
                                         check(file);
                                         ++rows;
                                         if (files.size() < kMostRows) files.push_back(file);
                                       },
                                   .call =
                                       [&](const TracedCall& call) {
                                         check(call);
                                         ++calls;
                                       }},
                                  report);
  IEZ_ASSERT(stats.has_value());
  IEZ_ASSERT(stats->files == rows && stats->calls == calls && report.rows == rows);
  IEZ_ASSERT(report.problems.size() <= ParseReport::kKept && report.skipped >= stats->bad);
  check_table(files);
  return 0;
}
