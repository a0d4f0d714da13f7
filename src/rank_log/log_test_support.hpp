// Logs for tests: a folder that goes away, short calls of the writer, and a file in memory that is what FILE must become.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "rank_log/log_files.hpp"
#include "rank_log/log_flatten.hpp"
#include "rank_log/log_view.hpp"
#include "rank_log/log_writer.hpp"

namespace iez::rank_log {

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

class LogFolder {
 public:
  LogFolder() {
    // Thousands of syncs: in memory where that is possible.
    const bool memory = ::access("/dev/shm", W_OK) == 0;
    std::string pattern = (memory ? "/dev/shm/" : testing::TempDir()) + "iez-log-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~LogFolder() { std::filesystem::remove_all(root_); }
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  std::string file() const { return root_ + "/out"; }
  std::string log() const { return file() + kFolderSuffix; }
  std::string index(std::uint32_t rank) const { return log() + '/' + index_name(rank).text; }
  std::string data(std::uint32_t rank) const { return log() + '/' + data_name(rank).text; }

  LogSurvey survey() const {
    Descriptor folder;
    EXPECT_EQ(open_folder(log().c_str(), folder), 0);
    LogSurvey survey;
    EXPECT_FALSE(survey_log(folder.get(), {}, survey));
    return survey;
  }

  // All steps, as one process does them. The problem of the first that fails.
  Problem flatten(FlattenOptions options = {}, std::uint32_t parts = 1, FlattenedPart* sum = nullptr, bool finish = true) const {
    Descriptor folder;
    EXPECT_EQ(open_folder(log().c_str(), folder), 0);
    const Descriptor fd(::open(file().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    LogSurvey survey;
    if (const Problem problem = survey_log(folder.get(), {}, survey)) return problem;
    if (const Problem problem = prepare_file(survey, fd.get(), options)) return problem;
    // Backwards: no part relies on another.
    for (std::uint32_t part = parts; part > 0; --part) {
      FlattenedPart done;
      if (const Problem problem = flatten_part(folder.get(), survey, fd.get(), part - 1, parts, options, done)) return problem;
      if (sum != nullptr) {
        sum->read += done.read;
        sum->written += done.written;
        sum->writes += done.writes;
        sum->filled += done.filled;
      }
    }
    return finish ? finish_flatten(log().c_str(), survey, fd.get()) : Problem{};
  }

  // Through the view, in pieces of any size.
  std::string read_back(std::size_t piece = 1000) const {
    Descriptor folder;
    EXPECT_EQ(open_folder(log().c_str(), folder), 0);
    const Descriptor fd(::open(file().c_str(), O_RDONLY | O_CLOEXEC));
    LogView view(folder.get(), fd.get());
    EXPECT_FALSE(view.open());
    std::string all;
    std::string buffer(piece, 'x');
    for (std::size_t done = 1; done > 0; all.append(buffer, 0, done))
      EXPECT_FALSE(view.read(all.size(), buffer.data(), piece, done));
    EXPECT_EQ(all.size(), view.size());
    return all;
  }

 private:
  std::string root_;
};

inline Appended append(LogWriter& writer, std::uint64_t sequence, const std::vector<Pattern>& patterns, std::string_view bytes) {
  const iovec segment{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};  // NOLINT: iovec has no const
  return writer.append(sequence, patterns, {&segment, 1});
}

inline void write_ok(LogWriter& writer, std::uint64_t sequence, const std::vector<Pattern>& patterns, std::string_view bytes) {
  const Appended done = append(writer, sequence, patterns, bytes);
  EXPECT_EQ(done.error, 0);
  EXPECT_EQ(done.bytes, bytes.size());
}

inline void flip(std::string& bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(static_cast<unsigned char>(bytes[bit / 8]) ^ (1U << (bit % 8)));
}

// No zeros: those are holes.
inline std::string random_bytes(Rng& rng, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t word = rng.bits() | 0x0101'0101'0101'0101;
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, size - at));
  }
  return bytes;
}

// What every rank asked for, byte by byte.
class Oracle {
 public:
  void write(std::uint64_t sequence, std::uint32_t rank, const std::vector<Pattern>& patterns, std::string_view bytes) {
    operations_.push_back({sequence, rank, operations_.size(), patterns, std::string(bytes), 0});
  }
  void resize(std::uint64_t sequence, std::uint32_t rank, std::uint64_t size) {
    operations_.push_back({sequence, rank, operations_.size(), {}, {}, size});
  }

  // REQUIRES: offsets that fit into memory.
  std::string over(std::string file) const {
    auto sorted = operations_;
    std::ranges::sort(sorted, {}, [](const Operation& o) { return std::tuple(o.sequence, o.rank, o.number); });
    for (const Operation& operation : sorted) {
      if (operation.patterns.empty()) file.resize(operation.size, '\0');
      std::size_t from = 0;
      for (const Pattern& pattern : operation.patterns) {
        for (std::uint64_t i = 0; i < pattern.count && from < operation.bytes.size(); ++i) {
          const std::size_t at = pattern.offset + i * pattern.stride;
          const std::size_t size = std::min<std::size_t>(pattern.block, operation.bytes.size() - from);
          if (size == 0) continue;
          if (file.size() < at + size) file.resize(at + size, '\0');
          file.replace(at, size, operation.bytes, from, size);
          from += size;
        }
      }
    }
    return file;
  }

 private:
  struct Operation {
    std::uint64_t sequence;
    std::uint32_t rank;
    std::size_t number;
    std::vector<Pattern> patterns;  // none: a new size
    std::string bytes;
    std::uint64_t size;
  };
  std::vector<Operation> operations_;
};

}  // namespace iez::rank_log
