#include "preload/mpi/open_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "preload/mpi/flattening.hpp"
#include "preload/mpi/transfer.hpp"

namespace iez::preload {

namespace {

// Never destroyed: programs close files while they end, too.
struct Registry {
  std::mutex mutex;
  std::unordered_map<MPI_File, std::shared_ptr<OpenFile>> files;  // under the mutex
};

Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

// IEZ_COLLECTIVE="key=value;key=value": for programs whose hints cannot be changed. Those of the program come first.
void take_environment(collective::Hints& hints) {
  const char* const text = std::getenv("IEZ_COLLECTIVE");
  if (text == nullptr) return;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
      hints.take(word.substr(0, equals), word.substr(equals + 1));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void take_hints(const MpiFunctions& mpi, MPI_Info info, collective::Hints& hints) {
  if (info == MPI_INFO_NULL) return;
  int keys = 0;
  if (mpi.Info_get_nkeys(info, &keys) != MPI_SUCCESS) return;
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = {};
    char value[256] = {};
    int found = 0;
    if (mpi.Info_get_nthkey(info, i, key) == MPI_SUCCESS &&
        mpi.Info_get(info, key, static_cast<int>(sizeof value) - 1, value, &found) == MPI_SUCCESS && found != 0) {
      hints.take(key, value);
    }
  }
}

}  // namespace

// A name of one letter is no file system.
const char* without_file_system(const char* name) {
  const char* const colon = std::strchr(name, ':');
  const char* const slash = std::strchr(name, '/');
  return colon != nullptr && colon - name > 1 && (slash == nullptr || colon < slash) ? colon + 1 : name;
}

std::shared_ptr<OpenFile> find_file(MPI_File file) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.files.find(file);
  return found == all.files.end() ? nullptr : found->second;
}

void add_file(MPI_File file, std::shared_ptr<OpenFile> open) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.files[file] = std::move(open);
}

std::shared_ptr<OpenFile> remove_file(MPI_File file) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.files.find(file);
  if (found == all.files.end()) return nullptr;
  auto open = std::move(found->second);
  all.files.erase(found);
  return open;
}

bool take_info(const MpiFunctions& mpi, MPI_Info info, OpenFile& open) {
  const collective::Hints before = open.hints;
  take_hints(mpi, info, open.hints);
  return open.team->rank() == 0 && open.hints != before;
}

namespace {

// What the first rank says of a file that was opened.
constexpr std::int32_t kHasLog = 1;
constexpr std::int32_t kWantsLog = 2;
constexpr std::int32_t kChooses = 4;
constexpr std::int32_t kLater = 8;

std::int32_t look_at(const OpenFile& open) {
  std::int32_t told = has_log(open.path) ? kHasLog : 0;
  if ((open.mode & (MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL)) != 0) return told;
  if (open.hints.mode == collective::Mode::log) told |= kWantsLog;
  if (open.hints.mode == collective::Mode::choose) told |= kChooses;
  if (told > kHasLog && open.hints.flatten_later) told |= kLater;
  return told;
}

// The log of a file that this process has open already.
std::shared_ptr<LoggedFile> find_log(const std::string& path) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& [file, open] : all.files) {
    if (open->log && !open->guest && open->log->is_of(path)) return open->log;
  }
  return nullptr;
}

// What becomes of a log beside a file that is opened. `own`: this program is writing it, by any of the ranks here.
struct Beside {
  bool own = false;
  std::shared_ptr<LoggedFile> log;  // if all ranks here are
};

Beside look_beside(const OpenFile& open) {
  Beside beside{.log = find_log(open.path)};
  const bool all = open.team->largest(beside.log ? 0 : 1) == 0;
  beside.own = all || open.team->largest(beside.log ? 1 : 0) != 0;
  if (!all) beside.log.reset();
  return beside;
}

bool wants_log(OpenFile& open, std::int32_t told) {
  if ((told & kChooses) == 0) return (told & kWantsLog) != 0;
  if (!open.team->learn_nodes()) return false;
  std::int32_t pays = open.team->rank() == 0 && logs_pay(*open.team, open.path, open.hints) ? 1 : 0;
  open.team->broadcast(&pays, sizeof pays);
  return pays != 0;
}

}  // namespace

int remember(MPI_File file, MPI_Comm comm, const char* path, int mode, MPI_Info info) {
  const MpiFunctions* const mpi = mpi_functions();
  int size = 0;
  int rank = 0;
  if (mpi == nullptr || mpi->Comm_size(comm, &size) != MPI_SUCCESS || mpi->Comm_rank(comm, &rank) != MPI_SUCCESS) return 0;
  auto open = std::make_shared<OpenFile>();
  open->path = path;
  open->mode = mode;
  take_environment(open->hints);
  if (open->hints.mode == collective::Mode::off) return 0;
  take_hints(*mpi, info, open->hints);
  std::int32_t told = rank == 0 ? look_at(*open) : 0;
  // One rank has nobody to collect from.
  if (size < 2 && open->hints.mode != collective::Mode::collective && told == 0) return 0;
  open->team = TeamComm::of(*mpi, comm, static_cast<int>(open->hints.ranks_per_node));
  if (!open->team) return 0;
  open->team->broadcast(&told, sizeof told);
  const Beside beside = (told & kHasLog) != 0 ? look_beside(*open) : Beside{};
  if (beside.own) {
    // Not a log that was left: what is in it goes into the file when that is closed. Ranks that have no part in it cannot write
    // into it; then calls are the MPI's.
    if (!beside.log || (mode & MPI_MODE_SEQUENTIAL) != 0) return 0;
    open->log = beside.log;
    open->log->look_again();
    open->logged = open->guest = true;
    open->hints.mode = collective::Mode::log;
    add_file(file, std::move(open));
    return 0;
  }
  if ((told & kHasLog) != 0) {
    if (const int error = flatten_log(*open->team, open->path, open->hints)) return error;
    if ((mode & MPI_MODE_APPEND) != 0) {
      mpi->File_seek(file, 0, MPI_SEEK_END);
      mpi->File_seek_shared(file, 0, MPI_SEEK_END);
    }
  }
  if (wants_log(*open, told)) {
    open->log = LoggedFile::begin(*open->team, open->path);
    open->logged = open->log != nullptr;
  }
  if (!open->logged && (open->hints.mode == collective::Mode::log || open->hints.mode == collective::Mode::choose)) {
    open->hints.mode = collective::Mode::automatic;
  }
  if (open->logged) {
    open->hints.mode = collective::Mode::log;
    open->hints.flatten_later = (told & kLater) != 0;
  }
  // Who always wants it gets it from the first call on, be it a nonblocking one, in which no session can begin.
  if (open->hints.mode == collective::Mode::collective) is_served(*open);
  add_file(file, std::move(open));
  return 0;
}

}  // namespace iez::preload
