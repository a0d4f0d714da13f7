// What `iez bench collective` starts under each MPI: interleaved blocks of all processes, and what they cost.
//
// usage: iez-measure-collective-FLAVOUR MODE FILE BYTES BLOCKS [MOUNT...]
//        iez-measure-collective-FLAVOUR cells FILE BYTES MODE:BLOCK,... [MOUNT...]
//
// MODE   views  one MPI_File_write_all and one MPI_File_read_all of an interleaved view
//        writes one MPI_File_write_all, read by pread()
//        posix  the same blocks, each by pwrite() and pread()
//        calls  BYTES / BLOCKS collective calls, each of one block a process: what a call costs
//        strided   collective calls of one block a process, one behind the other, until all bytes are there
//        segments  the same, but each process has 4 MiB (a block, if that is more) that lie together, and works through them
//        cells  every block has a mode of its own before it; what was written is read kPasses times (once takes milliseconds)
//        copy   each process copies its share once and writes it by pwrite() of 1 MiB: what the machine can do
// BYTES  of all processes together. BLOCKS: sizes of blocks, with commas between.
// MOUNT  folders through which processes reach the same files, in equal groups: the name of the file is then below each. Writes
//        then count until all bytes have left the caches of these clients.
//
// With cells, as launchers do on a cluster, every process is bound to a processor, in turns: where eight processes that poll
// wander over two processors, it is the scheduler that is measured. Of 16 and more on two processors, binding would measure just
// that.
//
// Prints a line of JSON for each block: seconds of the slowest process, CPU seconds of all together, and how many bytes were read
// that nobody had written there. Every block size has a file of its own, which is removed; opening and closing is not counted.
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

constexpr std::int64_t kPiece = 1 << 20;
constexpr int kWarmCalls = 5;
constexpr std::int64_t kSegment = 4 << 20;
constexpr int kPasses = 8;

[[noreturn]] void stop(const std::string& what) {
  fmt::print(stderr, "iez-measure-collective: {}\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  stop(fmt::format("{}: {}", what, std::string_view(text.data(), static_cast<std::size_t>(length))));
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + (static_cast<double>(time.tv_usec) / 1e6);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Processes are dealt over the processors that they may use. Where they may not be bound they wander, as they would have.
void bind_to_processor() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cpu_set_t allowed{};
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int turn = rank % std::max(1, CPU_COUNT(&allowed));
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || turn-- > 0) continue;
    cpu_set_t own{};
    CPU_SET(cpu, &own);
    static_cast<void>(::sched_setaffinity(0, sizeof own, &own));
    return;
  }
}

struct Cost {
  double seconds = 0;
  double cpu_seconds = 0;
};

class Process {
 public:
  Process(std::string file, std::int64_t bytes, bool settles, int passes)
      : file_(std::move(file)), settles_(settles), passes_(passes) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    own_ = bytes / ranks_;
  }

  void go_to(const std::vector<std::string>& mounts) const {
    if (mounts.empty()) return;
    const std::string& mount = mounts[static_cast<std::size_t>(rank_) * mounts.size() / static_cast<std::size_t>(ranks_)];
    if (::chdir(mount.c_str()) != 0) stop(fmt::format("{}: {}", mount, std::strerror(errno)));
  }

  void run(std::string_view mode, std::int64_t block) {
    if (rank_ == 0) ::unlink(file_.c_str());
    own_ -= own_ % (mode == "segments" ? std::max(kSegment, block) : block);
    data_.resize(static_cast<std::size_t>(mode == "calls" ? block : own_));
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = value_at(static_cast<std::int64_t>(i));
    MPI_Barrier(MPI_COMM_WORLD);
    Cost write;
    Cost read;
    if (mode == "views" || mode == "writes") {
      views(block, mode == "views", write, read);
    } else if (mode == "posix") {
      posix(block, write, read);
    } else if (mode == "calls") {
      calls(block, write, read);
    } else if (mode == "strided") {
      pieces(block, block, write, read);
    } else if (mode == "segments") {
      pieces(block, std::max(kSegment, block), write, read);
    } else if (mode == "copy") {
      copy(write);
    } else {
      stop("no such mode");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    std::int64_t wrong = 0;
    MPI_Reduce(&wrong_, &wrong, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank_ != 0) return;
    ::unlink(file_.c_str());
    fmt::print(
        "{{\"mode\": \"{}\", \"ranks\": {}, \"block\": {}, \"bytes\": {}, \"write_s\": {:.6f}, \"read_s\": {:.6f}, "
        "\"write_cpu_s\": {:.6f}, "
        "\"read_cpu_s\": {:.6f}, \"wrong\": {}}}\n",
        mode, ranks_, block, own_ * ranks_, write.seconds, read.seconds, write.cpu_seconds, read.cpu_seconds, wrong);
  }

  // Connections, buffers and the like are made once, and not measured: those of small calls, and those of large ones.
  void warm_up() const {
    warm_up(4096);
    warm_up(static_cast<int>(kSegment));
  }

 private:
  void warm_up(int bytes) const {
    const std::string name = file_ + ".warm";
    MPI_File file = MPI_FILE_NULL;
    check(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file),
          "open");
    std::vector<char> data(static_cast<std::size_t>(bytes));
    const MPI_Offset own = static_cast<MPI_Offset>(rank_) * bytes;
    check(MPI_File_write_at_all(file, own, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE), "write_at_all");
    check(MPI_File_read_at_all(file, own, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE), "read_at_all");
    check(MPI_File_close(&file), "close");
  }

  [[nodiscard]] unsigned char value_at(std::int64_t at) const {
    const auto mixed = (static_cast<std::uint64_t>(at) + (static_cast<std::uint64_t>(rank_) << 40U)) * 0x9e3779b97f4a7c15U;
    return static_cast<unsigned char>(mixed >> 56U);
  }

  // Of one pass over the file, the mean of all.
  template <typename Work>
  Cost measured_reading(const Work& work) {
    Cost sum;
    for (int pass = 0; pass < passes_; ++pass) {
      forget();
      const Cost one = measured(work);
      sum.seconds += one.seconds / passes_;
      sum.cpu_seconds += one.cpu_seconds / passes_;
    }
    return sum;
  }

  template <typename Work>
  Cost measured(const Work& work) const {
    MPI_Barrier(MPI_COMM_WORLD);
    const double cpu = cpu_seconds();
    const double start = MPI_Wtime();
    work();
    const std::array<double, 2> own{MPI_Wtime() - start, cpu_seconds() - cpu};
    Cost cost;
    MPI_Allreduce(&own[0], &cost.seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&own[1], &cost.cpu_seconds, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return cost;
  }

  // Clears the data, so that it can be seen whether it is read.
  void forget() { std::ranges::fill(data_, static_cast<unsigned char>(0)); }
  void compare() {
    for (std::size_t i = 0; i < data_.size(); ++i) wrong_ += data_[i] != value_at(static_cast<std::int64_t>(i)) ? 1 : 0;
  }

  void views(std::int64_t block, bool reads, Cost& write, Cost& read) {
    MPI_File file = MPI_FILE_NULL;
    check(MPI_File_open(MPI_COMM_WORLD, file_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    MPI_Datatype one = MPI_DATATYPE_NULL;
    MPI_Datatype view = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, static_cast<MPI_Aint>(block * ranks_), &view);
    MPI_Type_commit(&view);
    check(MPI_File_set_view(file, rank_ * block, MPI_BYTE, view, "native", MPI_INFO_NULL), "set_view");
    const auto count = static_cast<int>(own_);
    write = measured([&] {
      check(MPI_File_write_all(file, data_.data(), count, MPI_BYTE, MPI_STATUS_IGNORE), "write_all");
      if (settles_) check(MPI_File_sync(file), "sync");
    });
    if (!settles_) check(MPI_File_sync(file), "sync");
    if (reads) {
      read = measured_reading([&] {
        check(MPI_File_seek(file, 0, MPI_SEEK_SET), "seek");
        check(MPI_File_read_all(file, data_.data(), count, MPI_BYTE, MPI_STATUS_IGNORE), "read_all");
      });
    }
    check(MPI_File_close(&file), "close");
    if (!reads) {
      const int fd = open_existing();
      read = measured_reading([&] { each_block(fd, block, ::pread, data_.data()); });
      ::close(fd);
    }
    compare();
    MPI_Type_free(&view);
    MPI_Type_free(&one);
  }

  [[nodiscard]] int open_existing() const {
    const int fd = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) stop(fmt::format("{}: {}", file_, std::strerror(errno)));
    return fd;
  }

  template <typename Access, typename Byte>
  void each_block(int fd, std::int64_t block, Access access, Byte* data) const {
    for (std::int64_t at = 0; at < own_; at += block) {
      const std::int64_t offset = ((at / block * ranks_) + rank_) * block;
      if (access(fd, data + at, static_cast<std::size_t>(block), offset) != block)
        stop(fmt::format("{}: {}", file_, std::strerror(errno)));
    }
  }

  void posix(std::int64_t block, Cost& write, Cost& read) {
    if (rank_ == 0) ::close(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    MPI_Barrier(MPI_COMM_WORLD);
    const int fd = open_existing();
    write = measured([&] {
      each_block(fd, block, ::pwrite, data_.data());
      if (settles_ && ::fsync(fd) != 0) stop(fmt::format("{}: {}", file_, std::strerror(errno)));
    });
    read = measured_reading([&] { each_block(fd, block, ::pread, data_.data()); });
    compare();
    ::close(fd);
  }

  void calls(std::int64_t block, Cost& write, Cost& read) {
    const std::int64_t calls = std::max<std::int64_t>(1, own_ / block);
    MPI_File file = MPI_FILE_NULL;
    check(MPI_File_open(MPI_COMM_WORLD, file_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    const auto count = static_cast<int>(block);
    const auto write_one = [&](std::int64_t call) {
      check(MPI_File_write_at_all(file, ((call * ranks_) + rank_) * block, data_.data(), count, MPI_BYTE, MPI_STATUS_IGNORE),
            "write_at_all");
    };
    for (int i = 0; i < kWarmCalls; ++i) write_one(i);
    write = measured([&] {
      for (std::int64_t call = 0; call < calls; ++call) write_one(call);
    });
    check(MPI_File_sync(file), "sync");
    forget();
    read = measured([&] {
      for (std::int64_t call = 0; call < calls; ++call) {
        check(MPI_File_read_at_all(file, ((call * ranks_) + rank_) * block, data_.data(), count, MPI_BYTE, MPI_STATUS_IGNORE),
              "read_at_all");
      }
    });
    compare();
    check(MPI_File_close(&file), "close");
  }

  // As IOR does it: a call for each block, at its own place in the file.
  void pieces(std::int64_t block, std::int64_t segment, Cost& write, Cost& read) {
    MPI_File file = MPI_FILE_NULL;
    check(MPI_File_open(MPI_COMM_WORLD, file_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    const auto count = static_cast<int>(block);
    const auto place = [&](std::int64_t at) { return (((at / segment * ranks_) + rank_) * segment) + (at % segment); };
    write = measured([&] {
      for (std::int64_t at = 0; at < own_; at += block) {
        check(MPI_File_write_at_all(file, place(at), data_.data() + at, count, MPI_BYTE, MPI_STATUS_IGNORE), "write_at_all");
      }
      if (settles_) check(MPI_File_sync(file), "sync");
    });
    if (!settles_) check(MPI_File_sync(file), "sync");
    read = measured_reading([&] {
      for (std::int64_t at = 0; at < own_; at += block) {
        check(MPI_File_read_at_all(file, place(at), data_.data() + at, count, MPI_BYTE, MPI_STATUS_IGNORE), "read_at_all");
      }
    });
    compare();
    check(MPI_File_close(&file), "close");
  }

  void copy(Cost& write) {
    const int fd = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) stop(fmt::format("{}: {}", file_, std::strerror(errno)));
    std::vector<unsigned char> piece(kPiece);
    write = measured([&] {
      for (std::int64_t at = 0; at < own_; at += kPiece) {
        const auto length = static_cast<std::size_t>(std::min(kPiece, own_ - at));
        std::memcpy(piece.data(), data_.data() + at, length);
        if (::pwrite(fd, piece.data(), length, (rank_ * own_) + at) != static_cast<ssize_t>(length)) {
          stop(fmt::format("{}: {}", file_, std::strerror(errno)));
        }
      }
    });
    ::close(fd);
  }

  std::string file_;
  bool settles_;
  int passes_;
  int rank_ = 0;
  int ranks_ = 1;
  std::int64_t own_ = 0;
  std::vector<unsigned char> data_;
  std::int64_t wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: iez-measure-collective MODE FILE BYTES BLOCKS [MOUNT...]\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  const std::string_view mode = argv[1];
  if (mode == "cells") bind_to_processor();
  const std::int64_t bytes = std::atoll(argv[3]);
  const bool settles = argc > 5;
  const int passes = mode == "cells" ? kPasses : 1;
  Process(argv[2], bytes, settles, passes).go_to({argv + 5, argv + argc});
  if (mode != "copy") Process(argv[2], bytes, settles, passes).warm_up();
  const std::string blocks = argv[4];
  for (std::size_t at = 0; at < blocks.size(); at = std::min(blocks.find(',', at), blocks.size() - 1) + 1) {
    const std::size_t colon = mode == "cells" ? std::min(blocks.find(':', at), blocks.size() - 1) : at;
    const std::string own = mode == "cells" ? blocks.substr(at, colon - at) : std::string(mode);
    Process(argv[2], bytes, settles, passes)
        .run(own, std::max(1LL, std::atoll(blocks.c_str() + colon + (mode == "cells" ? 1 : 0))));
  }
  MPI_Finalize();
  return 0;
}
