#include "session.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace iez::collective_test {

namespace {

constexpr std::int64_t kSpan = 4 << 20;
constexpr std::int64_t kGib = std::int64_t{1} << 30;
constexpr std::uint64_t kOldKey = 1;

enum Purpose : std::uint64_t { type_purpose = 1, seek_purpose };

// A factorisation of `ranks` into so many factors, drawn.
std::vector<std::int64_t> drawn_grid(Rng& rng, std::int64_t ranks, std::size_t dimensions) {
  std::vector<std::int64_t> grid(dimensions, 1);
  std::int64_t rest = ranks;
  for (std::int64_t factor = 2; rest > 1;) {
    if (rest % factor != 0) {
      ++factor;
      continue;
    }
    grid[rng.below(dimensions)] *= factor;
    rest /= factor;
  }
  return grid;
}

}  // namespace

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b + 0x9e3779b97f4a7c15U + (a << 6U) + (a >> 2U));
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

Session::Session(const Setup& setup) : setup_(setup), common_(setup.seed), model_(setup.kinds.has(Kind::zeros)) {
  MPI_Comm_rank(setup_.comm, &rank_);
  MPI_Comm_size(setup_.comm, &ranks_);
  positions_.assign(static_cast<std::size_t>(ranks_), 0);
  big_ = has(Kind::big) && common_.chance(0.15);
  span_ = kSpan;
  openings_left_ = static_cast<int>(common_.between(1, 3));
  if (has(Kind::old) && common_.chance(0.5)) {
    model_.write(kOldKey, 0, static_cast<std::int64_t>(common_.between(1, kSpan / 4)));
  }
  if (rank_ == 0) {
    ::unlink(setup_.path.c_str());
    if (model_.size() > 0) {
      std::vector<std::uint8_t> old(static_cast<std::size_t>(model_.size()));
      model_.read(0, old);
      const int fd = ::open(setup_.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      const bool well = fd >= 0 && ::write(fd, old.data(), old.size()) == static_cast<ssize_t>(old.size());
      expect(well ? "" : std::strerror(errno), "making the file");
      ::close(fd);
    }
  }
  MPI_Barrier(setup_.comm);
}

Rng Session::rank_rng(int rank, std::uint64_t purpose) const {
  return Rng(mixed(mixed(setup_.seed, steps_), mixed(static_cast<std::uint64_t>(rank), purpose)));
}

void Session::say(std::string line) {
  if (setup_.verbose) fmt::print(stderr, "{} rank {}: {}\n", setup_.path, rank_, line);
  log_.push_back(std::move(line));
}

void Session::expect(const std::string& problem, const std::string& what) {
  if (problem.empty()) return;
  std::string text =
      fmt::format("oracle: {}\n  rank {} of {} at {}: {}: {}\n", setup_.title, rank_, ranks_, setup_.path, what, problem);
  for (const std::string& line : log_) text += fmt::format("    {}\n", line);
  text += fmt::format("    own view: from {}, {}\n", views_.empty() ? 0 : views_[static_cast<std::size_t>(rank_)].displacement,
                      views_.empty() ? "none" : to_string(*views_[static_cast<std::size_t>(rank_)].file_type));
  fmt::print(stderr, "{}", text);
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void Session::check(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  expect(std::string(text.data(), static_cast<std::size_t>(length)), what);
}

bool Session::step() {
  ++steps_;
  if (file_ == MPI_FILE_NULL) {
    if (openings_left_ == 0) return false;
    open();
  } else if (calls_left_ > 0) {
    --calls_left_;
    if (has(Kind::seek) && common_.chance(0.15)) seek();
    transfer();
  } else {
    end_epoch();
    if (epochs_left_ > 0) {
      --epochs_left_;
      start_epoch();
    } else {
      close();
    }
  }
  return true;
}

MPI_Info Session::drawn_info() {
  if (!has(Kind::hints) || common_.chance(0.5)) return MPI_INFO_NULL;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  const auto set = [this, info](const char* key, std::initializer_list<const char*> values) {
    if (common_.chance(0.5)) return;
    MPI_Info_set(info, key, values.begin()[common_.below(values.size())]);
  };
  set("cb_nodes", {"1", "2", "3", "5", "64"});
  set("cb_buffer_size", {"4096", "65536", "100000", "1048576", "16777216"});
  set("romio_cb_write", {"enable", "disable", "automatic"});
  set("romio_cb_read", {"enable", "disable", "automatic"});
  set("romio_ds_write", {"enable", "automatic"});
  set("striping_unit", {"4096", "65536", "12288", "1048576"});
  set("striping_factor", {"1", "2", "3", "7"});
  set("CO", {"1", "2", "4"});
  set("big_req_size", {"1000", "65536"});
  set("ds_in_coll", {"enable", "disable"});
  set("romio_lustre_co_ratio", {"1", "2"});
  return info;
}

void Session::open() {
  --openings_left_;
  mode_ = MPI_MODE_RDWR;
  const bool exists = model_.size() > 0;
  if (has(Kind::wronly) && common_.chance(0.2)) mode_ = MPI_MODE_WRONLY;
  if (has(Kind::rdonly) && exists && common_.chance(0.2)) mode_ = MPI_MODE_RDONLY;
  if (mode_ != MPI_MODE_RDONLY) mode_ |= MPI_MODE_CREATE;
  if (has(Kind::append) && mode_ != MPI_MODE_RDONLY && common_.chance(0.2)) mode_ |= MPI_MODE_APPEND;
  if (has(Kind::remove) && openings_left_ == 0 && common_.chance(0.3)) mode_ |= MPI_MODE_DELETE_ON_CLOSE;
  MPI_Info info = drawn_info();
  say(fmt::format("open, mode {}{}", mode_, info == MPI_INFO_NULL ? "" : ", with hints"));
  check(MPI_File_open(setup_.comm, setup_.path.c_str(), mode_, info, &file_), "open");
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  if (has(Kind::atomic) && mode_ != MPI_MODE_RDONLY && common_.chance(0.15)) {
    say("atomic");
    check(MPI_File_set_atomicity(file_, 1), "set_atomicity");
  }
  basic_ = Basic::byte;
  span_ = kSpan;
  const View plain{.displacement = 0, .etype = basic_type(Basic::byte), .file_type = basic_type(Basic::byte)};
  views_.assign(static_cast<std::size_t>(ranks_), plain);
  same_view_ = true;
  disjoint_ = false;
  const std::int64_t at = (mode_ & MPI_MODE_APPEND) != 0 ? model_.size() : 0;
  std::ranges::fill(positions_, at);
  shared_position_ = at;
  check_positions();
  epochs_left_ = static_cast<int>(common_.between(1, 5));
  start_epoch();
}

void Session::compare() {
  if (rank_ == 0) expect(model_.difference(setup_.path), "compared with what was written");
  ++totals_.compared;
  MPI_Barrier(setup_.comm);
}

void Session::close() {
  const bool remove = (mode_ & MPI_MODE_DELETE_ON_CLOSE) != 0;
  say("close");
  if (remove) {
    if ((mode_ & MPI_MODE_RDONLY) == 0) check(MPI_File_sync(file_), "sync");
    MPI_Barrier(setup_.comm);
    if (has(Kind::visible)) compare();
  }
  check(MPI_File_close(&file_), "close");
  MPI_Barrier(setup_.comm);
  if (remove) {
    expect(rank_ == 0 && ::access(setup_.path.c_str(), F_OK) == 0 ? "is still there" : "", "deleted on close");
    model_ = FileModel(has(Kind::zeros));
    MPI_Barrier(setup_.comm);
  } else {
    compare();
  }
  if (openings_left_ == 0 && rank_ == 0 && !remove) ::unlink(setup_.path.c_str());
}

void Session::start_epoch() {
  ++epoch_;
  const bool may_write = (mode_ & MPI_MODE_RDONLY) == 0;
  const bool may_read = (mode_ & MPI_MODE_WRONLY) == 0;
  writing_ = may_write && (!may_read || common_.chance(0.55));
  own_calls_ = has(Kind::independent) && common_.chance(0.2);
  calls_left_ = static_cast<int>(common_.between(1, 4));
  if (may_write && has(Kind::size) && common_.chance(0.12)) maybe_set_size();
  // An opening for appending starts with bytes at its end.
  if (common_.chance((mode_ & MPI_MODE_APPEND) != 0 ? 0.4 : 0.75)) draw_view();
  say(fmt::format("epoch {}: {}", epoch_, writing_ ? "write" : "read"));
}

void Session::maybe_set_size() {
  const auto size = static_cast<std::int64_t>(common_.below(static_cast<std::uint64_t>(kSpan / 2)));
  const bool preallocate = common_.chance(0.3);
  say(fmt::format("{} {}", preallocate ? "preallocate" : "set_size", size));
  check(preallocate ? MPI_File_preallocate(file_, size) : MPI_File_set_size(file_, size), "size");
  if (!preallocate || size > model_.size()) model_.set_size(size);
  MPI_Barrier(setup_.comm);
}

void Session::end_epoch() {
  finish_pending();
  const bool may_sync = (mode_ & MPI_MODE_RDONLY) == 0;
  const bool sync = may_sync && !(has(Kind::unsynced) && common_.chance(0.5));
  if (sync) check(MPI_File_sync(file_), "sync");
  MPI_Barrier(setup_.comm);
  if (sync) {
    check(MPI_File_sync(file_), "sync");
    if (writing_ && common_.chance(0.5) && has(Kind::visible)) compare();
  }
  MPI_Offset size = 0;
  check(MPI_File_get_size(file_, &size), "get_size");
  expect(size == model_.size() ? "" : fmt::format("{} bytes, expected {}", size, model_.size()), "get_size");
  check_positions();
  MPI_Offset shared = 0;
  if (has(Kind::ordered)) {
    check(MPI_File_get_position_shared(file_, &shared), "get_position_shared");
    const std::int64_t expected = shared_position_ / views_.front().etype->size;
    expect(shared == expected ? "" : fmt::format("{}, expected {}", shared, expected), "shared pointer");
  }
  MPI_Barrier(setup_.comm);
}

void Session::check_positions() {
  const View& view = views_[static_cast<std::size_t>(rank_)];
  const std::int64_t bytes = positions_[static_cast<std::size_t>(rank_)];
  MPI_Offset position = 0;
  check(MPI_File_get_position(file_, &position), "get_position");
  const std::int64_t expected = bytes / view.etype->size;
  expect(position == expected ? "" : fmt::format("{}, expected {}", position, expected), "file pointer");
  if (view.file_type->size == 0) return;
  MPI_Offset offset = 0;
  check(MPI_File_get_byte_offset(file_, position, &offset), "get_byte_offset");
  expect(offset == view.offset_of(bytes) ? "" : fmt::format("{}, expected {}", offset, view.offset_of(bytes)), "get_byte_offset");
}

TypePtr Session::drawn_etype() {
  constexpr std::array kPlain{Basic::byte,    Basic::byte, Basic::character,   Basic::short_integer, Basic::integer,
                              Basic::integer, Basic::real, Basic::double_real, Basic::double_real,   Basic::double_complex};
  constexpr std::array kPairs{Basic::two_integers, Basic::short_pair, Basic::double_pair};
  basic_ = has(Kind::pairs) && common_.chance(0.15) ? kPairs[common_.below(kPairs.size())] : kPlain[common_.below(kPlain.size())];
  const TypePtr basic = basic_type(basic_);
  if (!has(Kind::etype) || common_.chance(0.7)) return basic;
  Kinds without_bounds = setup_.kinds;
  without_bounds.put(Kind::lower, false);
  TypePtr type = random_file_type(common_, basic, without_bounds, {.size = 256, .extent = 1024, .runs = 16, .depth = 2});
  return type->lower == 0 ? type : resized(type, 0, type->upper);
}

void Session::draw_interleaved(std::vector<View>& views) {
  const TypePtr& etype = views.front().etype;
  const auto block = static_cast<std::int64_t>(common_.between(1, common_.chance(0.5) ? 4 : 300));
  const std::int64_t slots = ranks_ + static_cast<std::int64_t>(common_.chance(0.3) ? common_.between(1, 3) : 0);
  const auto turn = static_cast<std::int64_t>(common_.below(static_cast<std::uint64_t>(slots)));
  const bool shifted = common_.chance(0.5);
  const TypePtr one = contiguous(etype, block);
  for (std::int64_t rank = 0; rank < ranks_; ++rank) {
    View& view = views[static_cast<std::size_t>(rank)];
    const std::int64_t at = ((rank + turn) % slots) * one->extent();
    if (shifted || !has(Kind::hindexed)) {
      view.file_type = resized(one, 0, slots * one->extent());
      view.displacement += at;
    } else {
      view.file_type = resized(hindexed(one, {1}, {at}), 0, slots * one->extent());
    }
  }
}

void Session::draw_grid(std::vector<View>& views, bool distributed) {
  const TypePtr& etype = views.front().etype;
  const std::size_t dimensions = common_.between(1, 3);
  Grid grid;
  grid.processes = drawn_grid(common_, ranks_, dimensions);
  const bool fortran_order = common_.chance(0.5);
  const std::uint64_t most = dimensions == 1 ? 200 : (dimensions == 2 ? 8 : 3);
  std::vector<std::int64_t> own;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::int64_t across = grid.processes[i];
    auto how = static_cast<Distribution>(common_.below(3));
    if (how == Distribution::none && across > 1) how = Distribution::block;
    own.push_back(static_cast<std::int64_t>(common_.between(1, most)));
    grid.sizes.push_back((own.back() * across) + static_cast<std::int64_t>(common_.below(static_cast<std::uint64_t>(across))));
    grid.distributions.push_back(how);
    grid.arguments.push_back(how == Distribution::cyclic ? static_cast<std::int64_t>(common_.below(4)) : 0);
  }
  for (std::int64_t rank = 0; rank < ranks_; ++rank) {
    View& view = views[static_cast<std::size_t>(rank)];
    if (distributed) {
      view.file_type = darray(etype, grid, rank, fortran_order);
      if (view.file_type->size == 0 && !has(Kind::nothing)) return draw_interleaved(views);
      continue;
    }
    std::vector<std::int64_t> starts(dimensions);
    std::int64_t rest = rank;
    for (std::size_t i = dimensions; i-- > 0;) {
      starts[i] = (rest % grid.processes[i]) * own[i];
      rest /= grid.processes[i];
    }
    view.file_type = subarray(etype, grid.sizes, own, starts, fortran_order);
  }
}

std::vector<View> Session::drawn_views() {
  View start{.displacement = common_.chance(0.5) ? 0 : static_cast<std::int64_t>(common_.below(5000)), .etype = drawn_etype()};
  if (big_) {
    constexpr std::array<std::int64_t, 4> kStarts{(2 * kGib) - 100, (4 * kGib) - 100, (5 * kGib) + 3, 7};
    start.displacement += kStarts[common_.below(kStarts.size())];
  }
  span_ = start.displacement + kSpan;
  start.file_type = start.etype;
  std::vector<View> views(static_cast<std::size_t>(ranks_), start);
  same_view_ = false;
  disjoint_ = true;
  const bool arrays = has(Kind::subarray) && common_.chance(0.2);
  const bool distributed = has(Kind::darray) && common_.chance(0.2);
  const Bounds bounds{.size = setup_.most_bytes / 8, .extent = kSpan / 16};
  if (arrays || distributed) {
    draw_grid(views, distributed);
  } else if (has(Kind::resized) && common_.chance(0.3)) {
    draw_interleaved(views);
  } else if (common_.chance(0.4)) {
    const TypePtr type = random_file_type(common_, start.etype, setup_.kinds, bounds);
    for (View& view : views) view.file_type = type;
    same_view_ = true;
    disjoint_ = false;
  } else {
    disjoint_ = !has(Kind::overlap) || common_.chance(0.3);
    const std::int64_t share = kSpan / 4 / ranks_ / start.etype->extent() * start.etype->extent();
    for (int rank = 0; rank < ranks_; ++rank) {
      Rng rng = rank_rng(rank, type_purpose);
      View& view = views[static_cast<std::size_t>(rank)];
      const Bounds own{.size = std::min(bounds.size, share), .extent = std::min(bounds.extent, share)};
      view.file_type = random_file_type(rng, start.etype, setup_.kinds, disjoint_ ? own : bounds);
      // Disjoint: the blocks of the ranks take turns.
      if (disjoint_) {
        view.displacement += rank * share;
        view.file_type = resized(view.file_type, 0, ranks_ * share);
      } else {
        view.displacement += static_cast<std::int64_t>(rng.below(3000));
      }
    }
  }
  if (big_ && has(Kind::far) && common_.chance(0.6)) {
    constexpr std::array<std::int64_t, 3> kExtents{(2 * kGib) + 4096, (4 * kGib) + 64, 3 * kGib};
    const std::int64_t extent = kExtents[common_.below(kExtents.size())] / start.etype->extent() * start.etype->extent();
    for (View& view : views) view.file_type = resized(view.file_type, 0, extent);
    span_ = 14 * kGib;
  }
  return views;
}

void Session::draw_view() {
  views_ = drawn_views();
  std::ranges::fill(positions_, 0);
  shared_position_ = 0;
  set_view();
}

void Session::set_view() {
  const View& view = views_[static_cast<std::size_t>(rank_)];
  say(fmt::format("set_view {}, {}{}", view.displacement, to_string(*view.file_type), same_view_ ? ", all the same" : ""));
  const MpiType etype(*view.etype);
  const MpiType file_type(*view.file_type);
  expect(packs_as_described(*view.file_type, file_type.get()) ? "" : "MPI understands another type", "file type");
  check(MPI_File_set_view(file_, view.displacement, etype.get(), file_type.get(), "native", MPI_INFO_NULL), "set_view");
  MPI_Offset displacement = 0;
  MPI_Datatype told_etype = MPI_DATATYPE_NULL;
  MPI_Datatype told_type = MPI_DATATYPE_NULL;
  std::array<char, MPI_MAX_DATAREP_STRING> representation{};
  check(MPI_File_get_view(file_, &displacement, &told_etype, &told_type, representation.data()), "get_view");
  MPI_Count size = 0;
  MPI_Type_size_x(told_type, &size);
  expect(displacement == view.displacement && size == view.file_type->size && std::string_view(representation.data()) == "native"
             ? ""
             : fmt::format("displacement {}, {} bytes, {}", displacement, size, representation.data()),
         "get_view");
  for (MPI_Datatype* const told : {&told_etype, &told_type}) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
    MPI_Type_get_envelope(*told, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(told);
  }
  check_positions();
}

void Session::seek() {
  if (same_view_ && has(Kind::ordered) && common_.chance(0.3)) {
    finish_pending();
    MPI_Barrier(setup_.comm);
    const auto elements = static_cast<std::int64_t>(common_.below(200));
    say(fmt::format("seek_shared {}", elements));
    check(MPI_File_seek_shared(file_, elements, MPI_SEEK_SET), "seek_shared");
    shared_position_ = elements * views_.front().etype->size;
    return;
  }
  if (!has(Kind::mixed)) finish_pending();
  for (int rank = 0; rank < ranks_; ++rank) {
    Rng rng = rank_rng(rank, seek_purpose);
    const std::int64_t element = views_[static_cast<std::size_t>(rank)].etype->size;
    std::int64_t& position = positions_[static_cast<std::size_t>(rank)];
    if (rng.chance(0.3)) continue;
    const auto to = static_cast<std::int64_t>(rng.below(300));
    const bool relative = rng.chance(0.5);
    if (rank == rank_) {
      check(relative ? MPI_File_seek(file_, to - (position / element), MPI_SEEK_CUR) : MPI_File_seek(file_, to, MPI_SEEK_SET),
            "seek");
    }
    position = to * element;
  }
  say(fmt::format("seek {}", positions_[static_cast<std::size_t>(rank_)]));
  check_positions();
}

}  // namespace iez::collective_test
