// Collective I/O when something goes wrong: what each process is told.
//
// usage: faults CASE FILE BYTES BLOCK
//
// All processes have the interleaved view: blocks of BLOCK bytes in turn, BYTES of each process. Cases:
//   write        one MPI_File_write_all
//   read         one MPI_File_read_all of a file that was made by POSIX calls
//   look         the same of a file that is there
//   killed       the second process dies in the middle of one of many writes
//   bad_count    the second process passes a count below zero, then all write well
//   bad_type     the second process passes a type that is not committed, then all write well
//   null_type    the second process passes MPI_DATATYPE_NULL, then all write well
//   read_only    all write to a file that is open for reading
//   shared       all write by the shared file pointer
//   second       the first half of the data by MPI_File_write_all, the rest by each process through a second open of the file,
//                which finds the first half
//   signals      many writes and reads while a signal without SA_RESTART comes every millisecond
//
// Each process prints a line of JSON for each call: rank, step, class, bytes of its status, bytes asked for. The first one says
// in the end how many bytes of the file are right. A case that a signal or an error of MPI should end has no end of its own:
// whoever starts this must bound its time.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
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

std::string class_name(int code) {
  constexpr std::array<std::pair<int, const char*>, 16> kNames{{{MPI_SUCCESS, "success"},
                                                                {MPI_ERR_NO_SPACE, "no_space"},
                                                                {MPI_ERR_QUOTA, "quota"},
                                                                {MPI_ERR_IO, "io"},
                                                                {MPI_ERR_COUNT, "count"},
                                                                {MPI_ERR_TYPE, "type"},
                                                                {MPI_ERR_ARG, "arg"},
                                                                {MPI_ERR_ACCESS, "access"},
                                                                {MPI_ERR_READ_ONLY, "read_only"},
                                                                {MPI_ERR_AMODE, "amode"},
                                                                {MPI_ERR_FILE, "file"},
                                                                {MPI_ERR_OTHER, "other"},
                                                                {MPI_ERR_INTERN, "intern"},
                                                                {MPI_ERR_UNKNOWN, "unknown"},
                                                                {MPI_ERR_BAD_FILE, "bad_file"},
                                                                {MPI_ERR_UNSUPPORTED_OPERATION, "unsupported"}}};
  int error_class = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  for (const auto& [number, name] : kNames) {
    if (number == error_class) return name;
  }
  return fmt::format("class {}", error_class);
}

unsigned char value_at(std::int64_t offset) {
  const auto word = static_cast<std::uint64_t>(offset) * 0x9e3779b97f4a7c15U;
  return static_cast<unsigned char>(word >> 56U);
}

// Where byte `at` of a process's data lies in the file.
struct Interleaved {
  int rank = 0;
  int ranks = 1;
  std::int64_t block = 0;

  [[nodiscard]] std::int64_t offset_of(std::int64_t at) const { return (((at / block * ranks) + rank) * block) + (at % block); }
};

class Program {
 public:
  Program(std::string path, std::int64_t bytes, std::int64_t block)
      : path_(std::move(path)), bytes_(bytes), data_(static_cast<std::size_t>(bytes)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &view_.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &view_.ranks);
    view_.block = block;
  }

  int run(std::string_view what) {
    if (what == "read" || what == "read_only") make_file();
    const int mode = what == "read" || what == "read_only" || what == "look" ? MPI_MODE_RDONLY : MPI_MODE_RDWR | MPI_MODE_CREATE;
    const int code = MPI_File_open(MPI_COMM_WORLD, path_.c_str(), mode, MPI_INFO_NULL, &file_);
    if (code != MPI_SUCCESS) {
      say("open", code, 0, 0);
      return 1;
    }
    set_view();
    if (what == "write" || what == "read_only") {
      write("write_all", bytes_);
    } else if (what == "read" || what == "look") {
      read("read_all");
    } else if (what == "killed") {
      die_in_the_middle();
    } else if (what == "shared") {
      write_shared();
    } else if (what == "second") {
      write_twice();
    } else if (what == "signals") {
      be_interrupted();
    } else if (!pass_bad_argument(what)) {
      return 2;
    }
    say("close", MPI_File_close(&file_), 0, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (view_.rank == 0) fmt::print("{{\"right\": {}}}\n", right_bytes());
    return 0;
  }

 private:
  void make_file() {
    if (view_.rank == 0) {
      const std::int64_t size = bytes_ * view_.ranks;
      std::vector<unsigned char> all(static_cast<std::size_t>(size));
      for (std::int64_t i = 0; i < size; ++i) all[static_cast<std::size_t>(i)] = value_at(i);
      const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      if (fd < 0 || ::write(fd, all.data(), all.size()) != static_cast<ssize_t>(all.size())) {
        fmt::print(stderr, "{}: {}\n", path_, std::strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      ::close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void set_view() {
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Datatype view = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(view_.block), MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, static_cast<MPI_Aint>(view_.block * view_.ranks), &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(file_, view_.rank * view_.block, MPI_BYTE, view, "native", MPI_INFO_NULL);
    MPI_Type_free(&view);
    MPI_Type_free(&block);
  }

  // One line each, whole: all processes share the terminal.
  void say(const char* step, int code, std::int64_t bytes, std::int64_t asked) const {
    const std::string line = fmt::format("{{\"rank\": {}, \"step\": \"{}\", \"class\": \"{}\", \"bytes\": {}, \"asked\": {}}}\n",
                                         view_.rank, step, class_name(code), bytes, asked);
    if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) MPI_Abort(MPI_COMM_WORLD, 1);
  }

  static std::int64_t bytes_of(const MPI_Status& status) {
    MPI_Count bytes = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    return bytes == MPI_UNDEFINED ? -1 : bytes;
  }

  void fill() {
    for (std::int64_t i = 0; i < bytes_; ++i) data_[static_cast<std::size_t>(i)] = value_at(view_.offset_of(i));
  }

  int write(const char* step, std::int64_t bytes) {
    fill();
    MPI_Status status{};
    MPI_File_seek(file_, 0, MPI_SEEK_SET);
    const int code = MPI_File_write_all(file_, data_.data(), static_cast<int>(bytes), MPI_BYTE, &status);
    if (step != nullptr) say(step, code, bytes_of(status), bytes);
    return code;
  }

  // A read tells how many bytes are right instead of how many were asked for, if they are less.
  int read(const char* step) {
    std::ranges::fill(data_, static_cast<unsigned char>(0));
    MPI_Status status{};
    MPI_File_seek(file_, 0, MPI_SEEK_SET);
    const int code = MPI_File_read_all(file_, data_.data(), static_cast<int>(bytes_), MPI_BYTE, &status);
    const std::int64_t told = bytes_of(status);
    std::int64_t right = 0;
    while (right < bytes_ && data_[static_cast<std::size_t>(right)] == value_at(view_.offset_of(right))) ++right;
    if (step != nullptr) say(step, code, told, bytes_);
    if (code == MPI_SUCCESS && right != bytes_) say("wrong_data", MPI_ERR_IO, right, bytes_);
    return code;
  }

  // By a timer, so that it comes while a call is under way.
  void die_in_the_middle() {
    constexpr int kCalls = 100'000;
    for (int i = 0; i < kCalls; ++i) {
      if (i == 3 && view_.rank == view_.ranks - 1) {
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGKILL;
        timer_t timer{};
        itimerspec when{};
        when.it_value.tv_nsec = 5'000'000;
        if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || ::timer_settime(timer, 0, &when, nullptr) != 0) {
          MPI_Abort(MPI_COMM_WORLD, 1);
        }
      }
      write(nullptr, bytes_);
    }
    say("survived", MPI_SUCCESS, 0, 0);
  }

  bool pass_bad_argument(std::string_view what) {
    const bool bad = view_.rank == (view_.ranks > 1 ? 1 : 0);
    int count = 1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(bytes_), MPI_BYTE, &type);
    if (!bad || what != "bad_type") MPI_Type_commit(&type);
    MPI_Datatype passed = type;
    if (bad && what == "bad_count") {
      count = -1;
    } else if (bad && what == "null_type") {
      passed = MPI_DATATYPE_NULL;
    } else if (what != "bad_count" && what != "bad_type" && what != "null_type") {
      return false;
    }
    fill();
    MPI_Status status{};
    const int code = MPI_File_write_all(file_, data_.data(), count, passed, &status);
    say("bad", code, code == MPI_SUCCESS ? bytes_of(status) : 0, bytes_);
    MPI_Type_free(&type);
    write("write_all", bytes_);
    return true;
  }

  void write_shared() {
    fill();
    MPI_Status status{};
    const int code = MPI_File_write_shared(file_, data_.data(), static_cast<int>(bytes_), MPI_BYTE, &status);
    say("write_shared", code, code == MPI_SUCCESS ? bytes_of(status) : 0, bytes_);
  }

  void write_twice() {
    const std::int64_t half = bytes_ / 2 / view_.block * view_.block;
    write("write_all", half);
    MPI_File second = MPI_FILE_NULL;
    int code = MPI_File_open(MPI_COMM_SELF, path_.c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &second);
    say("second_open", code, 0, 0);
    if (code != MPI_SUCCESS) return;
    const auto block = static_cast<int>(view_.block);
    std::vector<unsigned char> found(static_cast<std::size_t>(block));
    for (std::int64_t at = 0; at < half && code == MPI_SUCCESS; at += block) {
      code = MPI_File_read_at(second, view_.offset_of(at), found.data(), block, MPI_BYTE, MPI_STATUS_IGNORE);
      if (!std::equal(found.begin(), found.end(), data_.begin() + at)) code = MPI_ERR_OTHER;
    }
    say("second_read", code, 0, 0);
    for (std::int64_t at = half; at < bytes_; at += block) {
      code = MPI_File_write_at(second, view_.offset_of(at), data_.data() + at, block, MPI_BYTE, MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) break;
    }
    say("second_write", code, 0, 0);
    say("second_close", MPI_File_close(&second), 0, 0);
    MPI_File_sync(file_);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void be_interrupted() {
    constexpr int kCalls = 50;
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval every{.it_interval = {.tv_sec = 0, .tv_usec = 1000}, .it_value = {.tv_sec = 0, .tv_usec = 1000}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
    int code = MPI_SUCCESS;
    for (int i = 0; i < kCalls && code == MPI_SUCCESS; ++i) {
      code = write(nullptr, bytes_);
      if (code == MPI_SUCCESS) code = read(nullptr);
    }
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    say("signals", code, 0, 0);
  }

  [[nodiscard]] std::int64_t right_bytes() const {
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    std::vector<unsigned char> piece(1 << 20);
    std::int64_t at = 0;
    std::int64_t right = 0;
    for (ssize_t got = 0; (got = ::pread(fd, piece.data(), piece.size(), at)) > 0; at += got) {
      for (ssize_t i = 0; i < got; ++i) right += piece[static_cast<std::size_t>(i)] == value_at(at + i) ? 1 : 0;
    }
    ::close(fd);
    return right;
  }

  std::string path_;
  std::int64_t bytes_;
  Interleaved view_;
  std::vector<unsigned char> data_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: faults CASE FILE BYTES BLOCK\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  const int status = Program(argv[2], std::atoll(argv[3]), std::atoll(argv[4])).run(argv[1]);
  MPI_Finalize();
  return status;
}
