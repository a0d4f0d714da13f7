#include "preload/mpi/open_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

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

void remember(MPI_File file, MPI_Comm comm, const char* path, int mode, MPI_Info info) {
  const MpiFunctions* const mpi = mpi_functions();
  int size = 0;
  if (mpi == nullptr || mpi->Comm_size(comm, &size) != MPI_SUCCESS) return;
  auto open = std::make_shared<OpenFile>();
  open->path = path;
  open->mode = mode;
  take_environment(open->hints);
  if (open->hints.mode == collective::Mode::off) return;
  take_hints(*mpi, info, open->hints);
  if (size < 2 && open->hints.mode != collective::Mode::collective) return;  // one rank has nobody to collect from
  open->team = TeamComm::of(*mpi, comm, static_cast<int>(open->hints.ranks_per_node));
  if (!open->team) return;
  // Who always wants it gets it from the first call on, be it a nonblocking one, in which no session can begin.
  if (open->hints.mode == collective::Mode::collective) is_served(*open);
  add_file(file, std::move(open));
}

}  // namespace iez::preload
