#include "lustre/params.hpp"

#include <array>
#include <charconv>

#include "base/result.hpp"

namespace iez::lustre {

namespace {

using Names1 = std::array<std::string_view, 1>;
using Names2 = std::array<std::string_view, 2>;
using enum Home;

// Small values everybody may read: sysfs since 2.12 or so, procfs before.
constexpr std::array kValue{sysfs, procfs};
// Tables: debugfs (root only) since 2.13 or so, procfs before.
constexpr std::array kTable{debugfs, procfs};
// Never left procfs, but may.
constexpr std::array kProc{procfs, sysfs, debugfs};
constexpr std::array kKernel{kernel};
// Of LNet, which is no part of Lustre's own trees: debugfs since 2.7 or so.
constexpr std::array kNetwork{debug, kernel};

constexpr Names1 kVersion{"version"};
constexpr Names1 kHealthCheck{"health_check"};
constexpr Names1 kJobidVar{"jobid_var"};
constexpr Names1 kJobidName{"jobid_name"};
constexpr Names2 kOstTotal{"obdfilter.*.kbytestotal", "osd-*.*.kbytestotal"};
constexpr Names2 kOstFree{"obdfilter.*.kbytesfree", "osd-*.*.kbytesfree"};
constexpr Names2 kOstAvailable{"obdfilter.*.kbytesavail", "osd-*.*.kbytesavail"};
constexpr Names1 kOstStats{"obdfilter.*.stats"};
constexpr Names1 kOstJobStats{"obdfilter.*.job_stats"};
constexpr Names1 kOstExportStats{"obdfilter.*.exports.*.stats"};
constexpr Names2 kOstBrwStats{"osd-*.*.brw_stats", "obdfilter.*.brw_stats"};
constexpr Names1 kOstDegraded{"obdfilter.*.degraded"};
constexpr Names1 kOstReadOnly{"obdfilter.*.readonly"};
constexpr Names1 kOstNoCreate{"obdfilter.*.no_create"};
constexpr Names1 kOstIoStats{"ost.OSS.ost_io.stats"};
constexpr Names1 kMdtJobStats{"mdt.*.job_stats"};
constexpr Names2 kMdtStats{"mdt.*.md_stats", "mdt.*.stats"};
constexpr Names2 kOspTotal{"osp.*.kbytestotal", "osc.*.kbytestotal"};
constexpr Names2 kOspFree{"osp.*.kbytesfree", "osc.*.kbytesfree"};
constexpr Names2 kOspAvailable{"osp.*.kbytesavail", "osc.*.kbytesavail"};
constexpr Names2 kOspActive{"osp.*.active", "osc.*.active"};
constexpr Names2 kOspMaxCreateCount{"osp.*.max_create_count", "osc.*.max_create_count"};
constexpr Names2 kOspImport{"osp.*.import", "osc.*.import"};
constexpr Names1 kOscTotal{"osc.*.kbytestotal"};
constexpr Names1 kOscFree{"osc.*.kbytesfree"};
constexpr Names1 kOscAvailable{"osc.*.kbytesavail"};
constexpr Names1 kOscImport{"osc.*.import"};
constexpr Names1 kOscRpcStats{"osc.*.rpc_stats"};
constexpr Names1 kOscMaxRpcs{"osc.*.max_rpcs_in_flight"};
constexpr Names1 kOscMaxDirty{"osc.*.max_dirty_mb"};
constexpr Names1 kLliteStats{"llite.*.stats"};
constexpr Names2 kLnetStats{"lnet.stats", "sys.lnet.stats"};
constexpr Names1 kHostName{"sys.kernel.hostname"};
constexpr Names1 kHostStat{"stat"};
constexpr Names1 kHostMeminfo{"meminfo"};
constexpr Names1 kHostLoadavg{"loadavg"};

using K = DeviceKind;

constexpr std::array kRows{
    ParamRow{Param::version, K::none, kVersion, kValue},
    ParamRow{Param::health_check, K::none, kHealthCheck, kValue},
    ParamRow{Param::jobid_var, K::none, kJobidVar, kValue},
    ParamRow{Param::jobid_name, K::none, kJobidName, kValue},
    ParamRow{Param::ost_kbytes_total, K::ost, kOstTotal, kValue},
    ParamRow{Param::ost_kbytes_free, K::ost, kOstFree, kValue},
    ParamRow{Param::ost_kbytes_available, K::ost, kOstAvailable, kValue},
    ParamRow{Param::ost_stats, K::ost, kOstStats, kTable},
    ParamRow{Param::ost_job_stats, K::ost, kOstJobStats, kProc},
    ParamRow{Param::ost_export_stats, K::ost, kOstExportStats, kTable},
    ParamRow{Param::ost_brw_stats, K::ost, kOstBrwStats, kTable},
    ParamRow{Param::ost_degraded, K::ost, kOstDegraded, kValue},
    ParamRow{Param::ost_read_only, K::ost, kOstReadOnly, kValue},
    ParamRow{Param::ost_no_create, K::ost, kOstNoCreate, kValue},
    ParamRow{Param::ost_io_stats, K::none, kOstIoStats, kTable},
    ParamRow{Param::mdt_job_stats, K::mdt, kMdtJobStats, kProc},
    ParamRow{Param::mdt_stats, K::mdt, kMdtStats, kProc},
    ParamRow{Param::osp_kbytes_total, K::osp, kOspTotal, kValue},
    ParamRow{Param::osp_kbytes_free, K::osp, kOspFree, kValue},
    ParamRow{Param::osp_kbytes_available, K::osp, kOspAvailable, kValue},
    ParamRow{Param::osp_active, K::osp, kOspActive, kValue},
    ParamRow{Param::osp_max_create_count, K::osp, kOspMaxCreateCount, kValue},
    ParamRow{Param::osp_import, K::osp, kOspImport, kTable},
    ParamRow{Param::osc_kbytes_total, K::osc, kOscTotal, kValue},
    ParamRow{Param::osc_kbytes_free, K::osc, kOscFree, kValue},
    ParamRow{Param::osc_kbytes_available, K::osc, kOscAvailable, kValue},
    ParamRow{Param::osc_import, K::osc, kOscImport, kTable},
    ParamRow{Param::osc_rpc_stats, K::osc, kOscRpcStats, kTable},
    ParamRow{Param::osc_max_rpcs_in_flight, K::osc, kOscMaxRpcs, kValue},
    ParamRow{Param::osc_max_dirty_mb, K::osc, kOscMaxDirty, kValue},
    ParamRow{Param::llite_stats, K::client, kLliteStats, kTable},
    ParamRow{Param::lnet_stats, K::none, kLnetStats, kNetwork},
    ParamRow{Param::host_name, K::none, kHostName, kKernel},
    ParamRow{Param::host_stat, K::none, kHostStat, kKernel},
    ParamRow{Param::host_meminfo, K::none, kHostMeminfo, kKernel},
    ParamRow{Param::host_loadavg, K::none, kHostLoadavg, kKernel},
};

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].param != static_cast<Param>(i)) return false;
  }
  return kRows.back().param == Param::host_loadavg;
}
static_assert(rows_follow_the_enumeration());

constexpr std::size_t kIndexDigits = 4;

// "OST000a" at text[at..] gives 10. Lustre writes at least four hexadecimal digits.
std::optional<std::uint32_t> target_index(std::string_view digits) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view directory(Home home) {
  switch (home) {
    case sysfs:
      return "sys/fs/lustre";
    case procfs:
      return "proc/fs/lustre";
    case debugfs:
      return "sys/kernel/debug/lustre";
    case kernel:
      return "proc";
    case debug:
      return "sys/kernel/debug";
  }
  return "";
}

std::span<const ParamRow> param_table() { return kRows; }

const ParamRow& row(Param param) { return kRows.at(static_cast<std::size_t>(param)); }

std::optional<DeviceName> parse_device(std::string_view device) {
  // The file system's name may itself contain "-OST": the last marker with digits behind it counts for the target, but an
  // "-osc-MDT0000" tail names the MDS that connects, not the target.
  std::string_view tail;
  std::string_view target = device;
  if (const std::size_t at = device.find("-osc-"); at != std::string_view::npos) {
    target = device.substr(0, at);
    tail = device.substr(at + 5);
    if (tail.empty()) return std::nullopt;
  }
  if (target.size() < 4 + kIndexDigits) return std::nullopt;
  std::size_t marker = target.rfind("-OST");
  const std::size_t mdt_marker = target.rfind("-MDT");
  const bool is_ost = marker != std::string_view::npos && (mdt_marker == std::string_view::npos || mdt_marker < marker);
  if (!is_ost) marker = mdt_marker;
  if (marker == std::string_view::npos || marker == 0) return std::nullopt;
  const std::string_view digits = target.substr(marker + 4);
  const auto index = digits.size() == kIndexDigits ? target_index(digits) : std::nullopt;
  if (!index || (!is_ost && !tail.empty())) return std::nullopt;

  DeviceName name{.file_system = std::string(target.substr(0, marker)),
                  .kind = is_ost ? DeviceKind::ost : DeviceKind::mdt,
                  .index = *index,
                  .target = std::string(target)};
  if (!tail.empty()) name.kind = tail.starts_with("MDT") ? DeviceKind::osp : DeviceKind::osc;
  return name;
}

std::optional<NameMatch> match_name(std::string_view pattern, std::string_view name) {
  NameMatch match;
  int stars = 0;
  const bool osd = pattern.starts_with("osd-*.");
  if (osd) {  // the back end's name (ldiskfs, zfs, wbcfs): any word
    const std::size_t dot = name.find('.');
    if (!name.starts_with("osd-") || dot == std::string_view::npos) return std::nullopt;
    pattern.remove_prefix(6);
    name.remove_prefix(dot + 1);
  }
  while (!pattern.empty()) {
    if (pattern.front() != '*') {
      if (name.empty() || name.front() != pattern.front()) return std::nullopt;
      pattern.remove_prefix(1);
      name.remove_prefix(1);
      continue;
    }
    pattern.remove_prefix(1);
    ++stars;
    // What follows the last star is a fixed tail, so a NID takes all but that.
    const std::size_t length =
        stars == 1 ? name.find('.') : (name.size() > pattern.size() ? name.size() - pattern.size() : std::string_view::npos);
    if (length == std::string_view::npos || length == 0) return std::nullopt;
    (stars == 1 ? match.device : match.client) = name.substr(0, length);
    name.remove_prefix(length);
  }
  if (!name.empty()) return std::nullopt;
  return match;
}

bool wanted(DeviceKind kind, std::string_view device) {
  if (kind == DeviceKind::none) return device.empty();
  if (kind == DeviceKind::client) return !device.empty();
  const auto parsed = parse_device(device);
  return parsed && parsed->kind == kind;
}

}  // namespace iez::lustre
