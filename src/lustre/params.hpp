// One table of every Lustre parameter iez reads or writes: its names over the versions, its homes, and the order in which to try
// them.
//
// Lustre moved its parameters from procfs to sysfs and debugfs over the years, and a few changed their name (brw_stats left
// obdfilter for osd-*). No version decides here, only what exists: for each device, the first (name, home) pair of the row wins.
// docs/guide/parameters.md shows the table; a new parameter is one row in params.cpp and one enumerator here.
//
// Thread safety: constants.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace iez::lustre {

enum class Param : std::uint8_t {
  version,
  health_check,
  jobid_var,
  jobid_name,
  ost_kbytes_total,
  ost_kbytes_free,
  ost_kbytes_available,
  ost_stats,
  ost_job_stats,
  ost_export_stats,
  ost_brw_stats,
  ost_degraded,
  ost_read_only,
  ost_no_create,
  ost_io_stats,
  mdt_job_stats,
  mdt_stats,
  osp_kbytes_total,
  osp_kbytes_free,
  osp_kbytes_available,
  osp_active,
  osp_max_create_count,
  osp_import,
  osc_kbytes_total,
  osc_kbytes_free,
  osc_kbytes_available,
  osc_import,
  osc_rpc_stats,
  osc_max_rpcs_in_flight,
  osc_max_dirty_mb,
  llite_stats,
  lnet_stats,
  host_name,
  host_stat,
  host_meminfo,
  host_loadavg,
};

enum class Home : std::uint8_t { sysfs, procfs, debugfs, kernel, debug };

// Below the root: "sys/fs/lustre", "proc/fs/lustre", "sys/kernel/debug/lustre", "proc", "sys/kernel/debug".
std::string_view directory(Home home);

// Which devices of a row are meant: osd-* also lists MDTs, and osc on an MDS also lists that MDS's own connections.
enum class DeviceKind : std::uint8_t { none, ost, mdt, osc, osp, client };

struct ParamRow {
  Param param;
  DeviceKind kind;
  std::span<const std::string_view> names;  // dotted, as lctl writes them; '*' is the device, a second '*' the client's NID
  std::span<const Home> homes;
};

std::span<const ParamRow> param_table();
const ParamRow& row(Param param);

// "lustre-OST000a", "lustre-OST000a-osc-ffff888111310800", "lustre-OST000a-osc-MDT0000", "lustre-MDT0000": its parts.
struct DeviceName {
  std::string file_system;
  DeviceKind kind = DeviceKind::none;  // ost, mdt, osc or osp
  std::uint32_t index = 0;             // of the target
  std::string target;                  // "lustre-OST000a"
};

std::optional<DeviceName> parse_device(std::string_view device);

// A name of the table matched against a real one.
struct NameMatch {
  std::string device;
  std::string client;
};

// obdfilter.*.exports.*.stats with obdfilter.lustre-OST0000.exports.10.1.2.3@tcp.stats. A device has no dot in it; a NID may.
std::optional<NameMatch> match_name(std::string_view pattern, std::string_view name);

// True if a row of this kind wants this device.
bool wanted(DeviceKind kind, std::string_view device);

}  // namespace iez::lustre
