// Which files of a prediction are planned, and what they would get from Lustre otherwise.
//
// Left to Lustre are files that are small (a layout costs a round trip and gains nothing; but of those that are written together
// with larger ones, which wait for them, only what is below a sixteenth of the limit), that are written over in place (they
// keep the OSTs they have; those that the program also read must stay, whoever asks for new ones), whose stripes somebody chose -
// a directory with a default of its own, or the program itself - and those whose default is more than a plain one, unless it is a
// progressive one of the site that the policy lets iez replace. All of these still take their turn among the others when Lustre's
// own choice is simulated.
//
// The stripe count of a planned file is open where it would come from Lustre's built-in default, or from the site's where the
// policy lets iez replace that; otherwise it is that default's.
//
// Thread safety: pure, but for what DirectoryDefaults asks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "runs/directory_defaults.hpp"
#include "store/records.hpp"

namespace iez::runs {

inline constexpr std::uint64_t kTogether = 16;  // see above

struct RowRules {
  Bytes least_file = Bytes::mib(1);
  bool free_layout = false;  // the site's default may be replaced
  bool override_directories =
      false;             // directories with a layout of their own are planned, too: their stripe count, sizes of ours
  bool replace = false;  // files that exist are moved aside before the run
};

// Why a file is left to Lustre.
enum class LeftReason : std::uint8_t { none, small, existing, kept, directory, site, program };

// Files that are left to Lustre, by reason.
struct LeftAlone {
  std::uint64_t small = 0;
  std::uint64_t existing = 0;
  std::uint64_t kept = 0;       // exist, too, and were read by the program
  std::uint64_t directory = 0;  // with a layout of its own
  std::uint64_t site = 0;       // whose default is not a plain one, and is not to be replaced
  std::uint64_t program = 0;    // chose the stripes itself

  std::vector<LeftReason> rows;  // of each row

  std::uint64_t all() const { return small + existing + kept + directory + site + program; }
};

// Sets stripe_count, left_alone, default_stripes and default_stripe_size of all rows. `last`: files of the newest run.
LeftAlone apply_rules(std::span<store::PredictionRow> rows, std::span<const store::FileRow> last, DirectoryDefaults& defaults,
                      const RowRules& rules);

// "400 files below 1 MiB, 3 written over in place"; empty: none.
std::string left_alone_text(const LeftAlone& left, Bytes least_file);

// What a file gets without a plan: "4 stripes".
std::string default_stripes_text(const store::PredictionRow& row);

// Why one file is left to Lustre, and what it gets there: one sentence with the numbers that decided. Empty: it is not. The row
// is one that apply_rules() has looked at.
std::string left_reason_text(LeftReason reason, const store::PredictionRow& row, Bytes least_file);

}  // namespace iez::runs
