#include "preload/mpi/transfer.hpp"

#include <fcntl.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "preload/mpi/counters.hpp"
#include "preload/mpi/datatype.hpp"
#include "preload/mpi/flattening.hpp"
#include "preload/mpi/pending.hpp"

namespace iez::preload {

namespace {

using collective::DataMap;
using collective::Outcome;
using collective::Part;
using collective::Verdict;

// Why a rank cannot take part, the weightiest last: the call is the MPI's; its arguments are bad, and then which class of error.
constexpr std::int32_t kLeave = 1;
constexpr std::int32_t kNewHints = 2;  // with or without kLeave
constexpr std::int32_t kBadArgument = 1000;

bool is_named(const MpiFunctions& mpi, MPI_Datatype type) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  return mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS && combiner == MPI_COMBINER_NAMED;
}

// Without holes, and MPI's own: what most calls come with.
bool is_plain(const MpiFunctions& mpi, MPI_Datatype type, MPI_Count bytes) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  return is_named(mpi, type) && mpi.Type_get_extent_x(type, &lower, &extent) == MPI_SUCCESS && lower == 0 && extent == bytes;
}

// Only committed types may be used; the MPI tells by refusing to send one of it to nobody.
bool is_committed(const MpiFunctions& mpi, MPI_Datatype type, const TeamComm& team) {
  const char nothing = 0;
  return mpi.Send(&nothing, 1, type, MPI_PROC_NULL, 0, team.comm()) == MPI_SUCCESS;
}

// A call in the engine's words. Lives until the call is over.
struct Prepared {
  Part part;
  std::optional<DataMap> buffer;
  std::vector<std::byte> packed;  // of a type whose bytes are not known to us
  MPI_Count type_bytes = 0;
  MPI_Offset position = 0;  // in etypes
  std::int64_t etypes = 0;
};

// What needs no look at the file: how many bytes there are.
std::int32_t measure(const MpiFunctions& mpi, const OpenFile& open, const Call& call, Prepared& prepared) {
  if (!open.view) return kBadArgument + MPI_ERR_UNSUPPORTED_OPERATION;  // only a guest of a log gets here with such a view
  if (call.count < 0) return kBadArgument + MPI_ERR_COUNT;
  if (call.type == MPI_DATATYPE_NULL) return kBadArgument + MPI_ERR_TYPE;
  if ((!is_named(mpi, call.type) && !is_committed(mpi, call.type, *open.team)) ||
      mpi.Type_size_x(call.type, &prepared.type_bytes) != MPI_SUCCESS) {
    return kBadArgument + MPI_ERR_TYPE;
  }
  MPI_Count bytes = 0;
  if (__builtin_mul_overflow(prepared.type_bytes, call.count, &bytes)) return kBadArgument + MPI_ERR_COUNT;
  if (bytes > 0 && open.empty_view) return kBadArgument + MPI_ERR_IO;
  if (bytes % open.etype_bytes != 0) return kBadArgument + MPI_ERR_IO;  // no whole etypes
  prepared.part.end = bytes;
  prepared.etypes = bytes / open.etype_bytes;
  return 0;
}

std::int32_t take_position(const MpiFunctions& mpi, const OpenFile& open, const Call& call, Prepared& prepared) {
  prepared.position = call.offset;
  if (call.where == Where::pointer && mpi.File_get_position(call.file, &prepared.position) != MPI_SUCCESS) {
    return kBadArgument + MPI_ERR_FILE;
  }
  Part& part = prepared.part;
  if (prepared.position < 0 || __builtin_mul_overflow(prepared.position, open.etype_bytes, &part.begin) ||
      __builtin_add_overflow(part.begin, part.end, &part.end) || !open.view->reaches(part.end)) {
    return kBadArgument + MPI_ERR_ARG;
  }
  return 0;
}

std::int32_t take_memory(const MpiFunctions& mpi, const OpenFile& open, const Call& call, Prepared& prepared) {
  Part& part = prepared.part;
  const std::int64_t bytes = part.end - part.begin;
  part.view = &*open.view;
  part.memory = static_cast<std::byte*>(call.memory);
  if (bytes == 0) return 0;
  prepared.buffer = is_plain(mpi, call.type, prepared.type_bytes) ? DataMap::contiguous(0) : map_of(mpi, call.type, 0);
  if (!prepared.buffer) {
    if (bytes > INT_MAX || call.count > INT_MAX) return kBadArgument + MPI_ERR_TYPE;
    prepared.packed.resize(static_cast<std::size_t>(bytes));
    int at = 0;
    if (call.write && mpi.Pack(call.memory, static_cast<int>(call.count), call.type, prepared.packed.data(),
                               static_cast<int>(bytes), &at, open.team->comm()) != MPI_SUCCESS) {
      return kBadArgument + MPI_ERR_TYPE;
    }
    prepared.buffer = DataMap::contiguous(0);
    part.memory = prepared.packed.data();
  }
  part.buffer = &*prepared.buffer;
  return 0;
}

void prepare(const MpiFunctions& mpi, const OpenFile& open, const Call& call, Prepared& prepared) {
  Part& part = prepared.part;
  part.refusal = measure(mpi, open, call, prepared);
  if (part.refusal == 0) part.refusal = take_position(mpi, open, call, prepared);
  if (part.refusal == 0) part.refusal = take_memory(mpi, open, call, prepared);
  if (part.refusal != 0) part = {.refusal = part.refusal};
}

// What was read into a buffer of our own, to where it belongs.
void unpack(const MpiFunctions& mpi, const OpenFile& open, const Call& call, const Prepared& prepared, std::int64_t bytes) {
  if (call.write || prepared.packed.empty()) return;
  int at = 0;
  mpi.Unpack(prepared.packed.data(), static_cast<int>(prepared.packed.size()), &at, call.memory,
             static_cast<int>(bytes / prepared.type_bytes), call.type, open.team->comm());
}

void settle(const Outcome& outcome, Done& done) {
  if (outcome.verdict == Verdict::refused) {
    done.result = outcome.refusal - kBadArgument;
    return;
  }
  done.bytes = outcome.bytes;
  done.result = outcome.error == 0 ? MPI_SUCCESS : class_of(outcome.error);
}

// Each rank by itself, through the MPI, and all agree on what came of it.
void by_itself(const MpiFunctions& mpi, OpenFile& open, const Call& call, const Prepared& prepared, Done& done) {
  MPI_Status status;
  const auto count = static_cast<int>(call.count);
  const int result = call.write ? mpi.File_write_at(call.file, prepared.position, call.memory, count, call.type, &status)
                                : mpi.File_read_at(call.file, prepared.position, call.memory, count, call.type, &status);
  int error_class = MPI_SUCCESS;
  MPI_Count bytes = 0;
  if (result != MPI_SUCCESS) {
    mpi.Error_class(result, &error_class);
  } else {
    mpi.Get_elements_x(&status, MPI_BYTE, &bytes);
  }
  done.bytes = bytes > 0 ? bytes : 0;
  done.result = open.session->engine().agree(error_class);
}

// All ranks have opened it in the same mode.
bool allows(const OpenFile& open, const Call& call) {
  return ((call.write ? MPI_MODE_RDONLY : MPI_MODE_WRONLY) & open.mode) == 0;
}

bool fits(const OpenFile& open, const Call& call) {
  return !open.left && (open.mode & MPI_MODE_SEQUENTIAL) == 0 && allows(open, call);
}

// Where each rank's part of an ordered call begins, and where all end, in etypes.
struct Order {
  MPI_Offset begin = 0;
  MPI_Offset end = 0;
};

// What a file in log mode is asked for: all ranks at once or not, and whether they are to know of each other's errors.
enum class Together : std::uint8_t { alone, started, ended };

Order put_in_order(const MpiFunctions& mpi, const OpenFile& open, const Call& call) {
  Prepared prepared;
  std::int64_t mine = measure(mpi, open, call, prepared) == 0 ? prepared.etypes : 0;
  const std::int64_t count = mine;
  if (open.team->rank() == 0) {
    MPI_Offset shared = 0;
    mpi.File_get_position_shared(call.file, &shared);
    mine += shared;
  }
  std::int64_t reached = mine;
  mpi.Scan(&mine, &reached, 1, MPI_INT64_T, MPI_SUM, open.team->comm());
  std::int64_t end = reached;
  mpi.Bcast(&end, 1, MPI_INT64_T, static_cast<int>(open.team->size()) - 1, open.team->comm());
  return {.begin = reached - count, .end = end};
}

Done transfer_in_log(const MpiFunctions& mpi, OpenFile& open, const Call& given, Together together) {
  Call call = given;
  Order order;
  if (call.where == Where::ordered) {
    order = put_in_order(mpi, open, call);
    call.offset = order.begin;
  }
  Prepared prepared;
  prepare(mpi, open, call, prepared);
  if (together != Together::alone && !open.guest) open.log->next_sequence();
  Done done{.served = true};
  if (prepared.part.refusal != 0) {
    done.result = prepared.part.refusal - kBadArgument;
  } else {
    const Moved moved = call.write ? open.log->write(prepared.part) : open.log->read(prepared.part);
    done.bytes = moved.bytes;
    done.result = moved.error == 0 ? MPI_SUCCESS : class_of(moved.error);
    unpack(mpi, open, call, prepared, done.bytes);
    if (call.where == Where::pointer) mpi.File_seek(call.file, prepared.position + prepared.etypes, MPI_SEEK_SET);
  }
  if (call.where == Where::ordered) mpi.File_seek_shared(call.file, order.end, MPI_SEEK_SET);
  if (together == Together::ended) done.result = open.team->largest(done.result);
  return done;
}

// All ranks have closed their logs, before anybody goes on.
void close_log(OpenFile& open) {
  open.log_error = open.team->largest(open.log->close());
  open.log.reset();
}

// The file that a guest shares the log with has been closed: its bytes are in the file, and so are those to come.
void leave_closed_log(OpenFile& open) {
  if (!open.guest || !open.log || !open.log->is_over()) return;
  open.log.reset();
  open.left = true;
}

// A view that is not served, or atomic mode, of any rank: the log goes into the file, and the MPI does all calls until that
// changes.
void agree_on_log(OpenFile& open) {
  const bool leave = open.team->largest(open.view && !open.atomic ? 0 : 1) != 0;
  if (open.guest) {
    // The log is another's, who goes on with it: there is no way to leave this view to the MPI.
    open.log_error = leave ? ENOTSUP : 0;
    return;
  }
  if (leave && open.log) {
    close_log(open);
    if (open.log_error == 0) open.log_error = flatten_log(*open.team, open.path, open.hints);
  } else if (!leave && !open.log && open.log_error == 0) {
    open.log = LoggedFile::begin(*open.team, open.path);
  }
  open.left = !open.log;
}

}  // namespace

int class_of(int error) {
  switch (error) {
    case ENOSPC:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    default:
      return MPI_ERR_IO;
  }
}

void end_log(OpenFile& open) {
  if (!open.log || open.guest) return;
  close_log(open);
  if ((open.mode & MPI_MODE_DELETE_ON_CLOSE) != 0) {
    if (open.team->rank() == 0) discard_log_of(open.path);
  } else if (open.log_error == 0 && !open.hints.flatten_later) {
    open.log_error = flatten_log(*open.team, open.path, open.hints);
  }
}

MPI_Offset etypes_before(const OpenFile& open, std::int64_t size) {
  return (open.view->position_at(size) + open.etype_bytes - 1) / open.etype_bytes;
}

bool is_served(OpenFile& open) {
  if (!open.tried) {
    open.tried = true;
    const bool reads = (open.mode & MPI_MODE_RDONLY) != 0;
    const int flags = reads ? O_RDONLY : (open.mode & MPI_MODE_WRONLY) != 0 ? O_WRONLY : O_RDWR;
    open.session = Session::begin(open.team, open.path, flags, open.hints);
  }
  return open.session != nullptr;
}

void agree_on_view(OpenFile& open, bool new_hints) {
  if (open.logged) return agree_on_log(open);
  const bool begins = !open.tried;
  if (!is_served(open)) return;
  if (open.worker) open.worker->drain([&open] { open.team->poke(); });
  const std::int32_t leave = open.view && !open.atomic ? 0 : kLeave;
  std::int32_t all = open.session->engine().agree(leave + (new_hints && !begins ? kNewHints : 0));
  if (all >= kNewHints) {
    end_session(open);
    if (!is_served(open)) return;
    all = open.session->engine().agree(leave);
  }
  open.left = all != 0;
}

void agree_on_hints(OpenFile& open, bool new_hints) {
  if (open.logged || !open.tried) return;  // the session will begin with them
  if (!open.session) {
    if (open.team->largest(new_hints ? 1 : 0) == 0) return;
    open.tried = false;
  }
  agree_on_view(open, new_hints);
}

Done transfer(const MpiFunctions& mpi, OpenFile& open, const Call& given) {
  Done done;
  leave_closed_log(open);
  if (!given.collective && (!open.log || !allows(open, given))) return done;
  if (!allows(open, given)) return {.served = true, .result = given.write ? MPI_ERR_READ_ONLY : MPI_ERR_ACCESS};
  if (open.log) return transfer_in_log(mpi, open, given, given.collective ? Together::ended : Together::alone);
  if (!fits(open, given) || !is_served(open)) return done;
  if (open.worker) open.worker->drain([&open] { open.team->poke(); });
  collective::Engine& engine = open.session->engine();
  if (given.where != Where::ordered && engine.passes(given.write)) return done;
  Call call = given;
  Order order;
  if (call.where == Where::ordered) {
    order = put_in_order(mpi, open, call);
    call.offset = order.begin;
  }
  Prepared prepared;
  prepare(mpi, open, call, prepared);
  prepared.part.must_collect = call.count > INT_MAX || call.where == Where::ordered;
  prepared.part.timed = call.ends;
  const Outcome outcome = call.write ? engine.write(prepared.part) : engine.read(prepared.part);
  if (outcome.verdict == Verdict::passed) return done;
  done.served = true;
  if (outcome.verdict == Verdict::independent) {
    by_itself(mpi, open, call, prepared, done);
  } else {
    settle(outcome, done);
    unpack(mpi, open, call, prepared, done.bytes);
  }
  if (call.where == Where::pointer && prepared.part.refusal == 0) {
    mpi.File_seek(call.file, prepared.position + prepared.etypes, MPI_SEEK_SET);
  } else if (call.where == Where::ordered) {
    mpi.File_seek_shared(call.file, order.end, MPI_SEEK_SET);
  }
  return done;
}

void passed_through(OpenFile& open) {
  if (open.session) open.session->engine().passed_through();
}

bool start_transfer(const MpiFunctions& mpi, const std::shared_ptr<OpenFile>& open, const Call& call, MPI_Request* request) {
  leave_closed_log(*open);
  if (open->log && allows(*open, call)) {
    const Done done = transfer_in_log(mpi, *open, call, call.collective ? Together::started : Together::alone);
    return start_completed(mpi, done.result, done.bytes, request);
  }
  if (!call.collective) return false;
  // A session cannot begin here: that would be waiting for the others.
  if (!fits(*open, call) || !open->session || !open->session->engine().is_ready() || open->team->nodes().size() > 1 ||
      !Pending::possible())
    return false;
  auto prepared = std::make_shared<Prepared>();
  prepare(mpi, *open, call, *prepared);
  prepared->part.must_collect = true;
  auto done = std::make_shared<Done>();
  Pending* const pending = Pending::start(
      mpi, [&mpi, open, call, prepared, done] { unpack(mpi, *open, call, *prepared, done->bytes); },
      [team = open->team] { team->poke(); }, request);
  if (pending == nullptr) return false;
  if (call.where == Where::pointer && prepared->part.refusal == 0) {
    mpi.File_seek(call.file, prepared->position + prepared->etypes, MPI_SEEK_SET);
  }
  if (!open->worker) open->worker = std::make_unique<Worker>();
  open->worker->add([open = open.get(), write = call.write, prepared, done, pending] {
    collective::Engine& engine = open->session->engine();
    settle(write ? engine.write(prepared->part) : engine.read(prepared->part), *done);
    pending->finish(done->result, done->bytes);
  });
  return true;
}

void set_status(const MpiFunctions& mpi, MPI_Status* status, MPI_Count bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  mpi.Status_set_elements_x(status, MPI_BYTE, bytes);
  mpi.Status_set_cancelled(status, 0);
}

}  // namespace iez::preload
