// `import` of an osc, osp, mdc or mgc: the client side of one connection, and how its requests fared.
//
// Only what is named below is read. Versions differ in what they print, so every field may be missing: a missing number is
// nothing, never zero, and a missing text is empty. Other keys are none of our business.
//
// Thread safety: plain values; parsing is safe from any thread, one stream each. Memory: bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "input/byte_stream.hpp"
#include "input/parse_report.hpp"

namespace iez::lustre {

enum class ImportState {
  unknown,
  closed,
  created,  // NEW
  disconnected,
  connecting,
  replay,
  replay_locks,
  replay_wait,
  recover,
  full,  // in service
  evicted,
  idle,  // disconnected for want of use; the next request reconnects
};

struct Import {
  static constexpr std::size_t kMaxText = 128;  // bytes, of each text
  static constexpr std::size_t kMaxNids = 64;

  // Since the device was set up.
  struct Averages {
    std::optional<Bytes> bytes_per_rpc;
    std::optional<Duration> time_per_rpc;
    std::optional<BytesPerSecond> rate;

    friend bool operator==(const Averages&, const Averages&) = default;
  };

  std::string name;    // "lustre-OST0000-osc-ffff888111310800"
  std::string target;  // "lustre-OST0000", without _UUID
  ImportState state = ImportState::unknown;
  std::string state_text;  // as printed: it tells more where state is unknown

  std::string target_version;      // "2.17.0.0"
  std::string current_connection;  // a NID; empty also when there is none
  std::vector<std::string> failover_nids;
  std::optional<Bytes> max_brw_size;
  std::optional<Duration> idle;  // since the last reply

  std::optional<std::uint64_t> inflight;
  std::optional<std::uint64_t> unregistering;
  std::optional<std::uint64_t> timeouts;
  std::optional<Duration> avg_waittime;
  std::optional<Duration> service_estimate;
  std::optional<Duration> network_estimate;
  std::optional<Averages> read;
  std::optional<Averages> write;

  friend bool operator==(const Import&, const Import&) = default;
};

std::string_view to_string(ImportState state);  // as Lustre prints it: "FULL", "DISCONN"; "<UNKNOWN>"

// Fails where the stream does, and for text that does not begin with "import:". A known key with a malformed or repeated value
// is skipped and counted, and so is one on a last line without its newline: its value may have been longer.
[[nodiscard]] Result<Import> parse_import(input::ByteStream& stream, std::string_view origin, input::ParseReport& report);

}  // namespace iez::lustre
