#include "lab/mds_params.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

namespace iez::lab {

namespace {

using model::Operation;

std::optional<Operation> operation_of(Op op) {
  switch (op) {
    case Op::lookup:
    case Op::get_attributes:
    case Op::read_link:
      return Operation::getattr;
    case Op::set_attributes:
      return Operation::setattr;
    case Op::open:
      return Operation::open;
    case Op::close:
      return Operation::close;
    case Op::unlink:
      return Operation::unlink;
    case Op::remove_directory:
      return Operation::rmdir;
    case Op::rename:
      return Operation::rename;
    case Op::link:
      return Operation::link;
    case Op::get_xattr:
    case Op::list_xattrs:
      return Operation::getxattr;
    case Op::set_xattr:
    case Op::remove_xattr:
      return Operation::setxattr;
    default:
      return std::nullopt;  // Lustre has no row for it
  }
}

}  // namespace

MdsParams::MdsParams(const Config& config, WallTime start)
    : config_(config), files_(params_root(config, "mds")), start_(start), jobs_(mdt_job_operations()) {}

void MdsParams::count_one(Operation operation, std::string_view job, Duration took, WallTime now) {
  const auto us = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  all_.count(operation, us, now);
  jobs_.count(job, operation, us, now);
}

void MdsParams::count_plain(Op op, std::string_view job, Duration took, WallTime now) {
  if (const auto operation = operation_of(op)) count_one(*operation, job, took, now);
}

void MdsParams::count_make(const MakeRequest& request, std::string_view job, Duration took, WallTime now) {
  count_one(S_ISDIR(request.mode) ? Operation::mkdir : Operation::mknod, job, took, now);
  if (request.open != 0) count_one(Operation::open, job, took, now);
}

Result<void> MdsParams::write_ost(const ObjectAllocator::Ost& ost) {
  const std::string target = fmt::format("{}-OST{:04x}", config_.name, ost.space.ost);
  const std::string device = target + "-osc-MDT0000";
  const std::string values = "sys/fs/lustre/osp/" + device;
  IEZ_CHECK(files_.put(values + "/active", ost.active ? "1\n" : "0\n"));
  IEZ_CHECK(files_.put(values + "/kbytestotal", fmt::format("{}\n", ost.space.total >> 10U)));
  IEZ_CHECK(files_.put(values + "/kbytesfree", fmt::format("{}\n", ost.space.free >> 10U)));
  IEZ_CHECK(files_.put(values + "/kbytesavail", fmt::format("{}\n", ost.space.free >> 10U)));
  IEZ_CHECK(files_.put(values + "/max_create_count", ost.space.usable != 0 ? "20000\n" : "0\n"));
  return files_.put("sys/kernel/debug/lustre/osp/" + device + "/import",
                    fmt::format("import:\n"
                                "    name: {0}\n"
                                "    target: {1}_UUID\n"
                                "    state: {2}\n"
                                "    connection:\n"
                                "       failover_nids: [ \"oss{3}@lab\" ]\n"
                                "       current_connection: \"oss{3}@lab\"\n",
                                device, target, ost.answers ? "FULL" : "DISCONN", config_.oss_of(ost.space.ost)));
}

Result<void> MdsParams::write(std::span<const ObjectAllocator::Ost> osts, std::size_t clients, WallTime now) {
  jobs_.forget_idle(now);
  const std::string mdt = config_.name + "-MDT0000";
  IEZ_CHECK(files_.put("sys/fs/lustre/version", "2.17.0\n"));
  IEZ_CHECK(files_.put("sys/fs/lustre/health_check", "healthy\n"));
  IEZ_CHECK(files_.put("sys/fs/lustre/jobid_var", (config_.job_variable.empty() ? "nodelocal" : config_.job_variable) + "\n"));
  IEZ_CHECK(files_.put("sys/fs/lustre/jobid_name", config_.job_variable.empty() ? "%e.%u\n" : "%j\n"));
  IEZ_CHECK(files_.put("proc/sys/kernel/hostname", "mds\n"));
  IEZ_CHECK(files_.put("sys/fs/lustre/mdt/" + mdt + "/num_exports", fmt::format("{}\n", clients)));
  IEZ_CHECK(files_.put("proc/fs/lustre/mdt/" + mdt + "/job_stats", jobs_.text()));
  IEZ_CHECK(files_.put("proc/fs/lustre/mdt/" + mdt + "/md_stats", all_.stats_text(start_, now)));

  const std::string lod = "lod/" + mdt + "-mdtlov";
  IEZ_CHECK(files_.put("sys/fs/lustre/" + lod + "/qos_threshold_rr", "17%\n"));
  IEZ_CHECK(files_.put("sys/fs/lustre/" + lod + "/qos_prio_free", "90%\n"));
  IEZ_CHECK(files_.put("sys/fs/lustre/" + lod + "/qos_maxage", "5\n"));
  IEZ_CHECK(files_.put("sys/fs/lustre/" + lod + "/stripecount", fmt::format("{}\n", config_.stripe_count)));
  IEZ_CHECK(files_.put("sys/fs/lustre/" + lod + "/stripesize", fmt::format("{}\n", config_.stripe_size.count)));
  IEZ_CHECK(files_.put("sys/fs/lustre/" + lod + "/numobd", fmt::format("{}\n", osts.size())));
  std::string targets;
  for (const ObjectAllocator::Ost& ost : osts) {
    IEZ_CHECK(write_ost(ost));
    targets += fmt::format("{0}: {1}-OST{0:04x}_UUID {2}\n", ost.space.ost, config_.name, ost.usable() ? "ACTIVE" : "INACTIVE");
  }
  IEZ_CHECK(files_.put("sys/kernel/debug/lustre/" + lod + "/target_obd", targets));
  return files_.put("sys/kernel/debug/lustre/lov/" + mdt + "-mdtlov/target_obd", targets);
}

}  // namespace iez::lab
