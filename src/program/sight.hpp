// What libiez.so sees of a program, judged by its file alone.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/elf.hpp"

namespace iez::program {

enum class Sight : std::uint8_t {
  all,   // every call that goes through the C library
  part,  // some calls may bypass it; they are counted by the size of files
  none,  // the library is not loaded, or sees nothing
};

// How the file is started, beside its bytes.
struct FileTraits {
  bool set_user = false;      // setuid, and not the user's own
  bool set_group = false;     // setgid, likewise
  bool capabilities = false;  // security.capability
};

struct Finding {
  Sight sight = Sight::all;
  std::string what;    // "static program"
  std::string why;     // one sentence
  std::string remedy;  // one sentence, or empty
};

struct Report {
  Sight sight = Sight::all;  // the worst of the findings
  std::string mpi;           // "openmpi" or "mpich": whose library goes with it; empty: none is linked
  bool hdf5 = false;
  std::vector<Finding> findings;
};

Report judge(const Elf& elf, const FileTraits& traits);

std::string_view to_string(Sight sight);

}  // namespace iez::program
